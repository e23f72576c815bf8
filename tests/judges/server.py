"""A model's endpoint on a real port that does what a script says: scores, faults, hangs. It keeps what it was asked."""

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


@dataclass
class Does:
    """What the server does with one request."""

    status: int = 200
    body: bytes | Body = b""
    headers: dict[str, str] = field(default_factory=dict)
    waits: threading.Event | None = None
    """It answers when this is set, or when it is closed."""
    drip: float = 0.0
    """Seconds between two bytes."""


def says(
    text: str | None, *, finish: str = "stop", refusal: str | None = None, usage: tuple[int, int] | None = (100, 20)
) -> Does:
    """A reply of the model."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    body: Body = {
        "id": "c", "object": "chat.completion", "created": 1, "model": "scripted-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }  # fmt: skip
    if usage is not None:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return Does(body=body)


def scores(score: Any, reason: str = "because") -> Does:
    """A verdict as the schema asks for it."""
    return says(json.dumps({"reason": reason, "outcome": "graded", "score": score}))


def fails(status: int, code: str = "", *, headers: dict[str, str] | None = None, message: str = "no") -> Does:
    """An error as OpenAI's form has it."""
    return Does(status, {"error": {"message": message, "type": "e", "code": code}}, headers or {})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # With the usual five, clients that come together on a busy machine are not let in.


class ScriptedServer:
    """Listens on a free port of 127.0.0.1. ``script`` says what to do with the n-th request, from 0, and its body."""

    def __init__(self, script: Callable[[int, Body], Does]) -> None:
        self.script = script
        self.asked: list[Body] = []
        self.closing = threading.Event()
        outer = self
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # (the base class's own name)
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    n = len(outer.asked)
                    outer.asked.append(body)
                outer._answer(self, outer.script(n, body))

            def log_message(self, *args: Any) -> None:
                """Nobody reads it."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def _answer(self, handler: BaseHTTPRequestHandler, does: Does) -> None:
        while does.waits is not None and not (does.waits.wait(0.02) or self.closing.is_set()):
            pass
        data = does.body if isinstance(does.body, bytes) else json.dumps(does.body).encode()
        try:
            handler.send_response(does.status)
            for name, value in {"Content-Type": "application/json", **does.headers}.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            if not does.drip:
                handler.wfile.write(data)
            for n in range(len(data) if does.drip else 0):
                if self.closing.wait(does.drip):
                    return
                handler.wfile.write(data[n : n + 1])
                handler.wfile.flush()
        except OSError:
            return  # The client would not wait.

    def prompts(self) -> list[str]:
        """The user's part of each prompt."""
        return [body["messages"][1]["content"] for body in self.asked]

    def __enter__(self) -> "ScriptedServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


def always(does: Does) -> Callable[[int, Body], Does]:
    """The same at every request."""
    return lambda n, body: does


def one_after_another(*several: Does) -> Callable[[int, Body], Does]:
    """One at each request, the last one for ever."""
    return lambda n, body: several[min(n, len(several) - 1)]


def slot(prompt: str, name: str) -> str:
    """What stands in a slot of a prompt."""
    found = re.search(rf"<{name}(_\w+)?>\n(.*?)\n</{name}\1>", prompt, re.DOTALL)
    assert found is not None
    return found.group(2)


def timed(work: Callable[[], Any]) -> float:
    """Seconds that it took."""
    begun = time.monotonic()
    work()
    return time.monotonic() - begun
