"""A model's endpoint on a real port that does what a script says: scores, faults, hangs. It keeps what it was asked."""

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
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
        body["usage"] = {
            "prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage),
            "prompt_tokens_details": {"cached_tokens": 30},
        }  # fmt: skip
    return Does(body=body)


def scores(score: Any, reason: str = "because") -> Does:
    """A verdict as the schema asks for it."""
    return says(json.dumps({"reason": reason, "outcome": "graded", "score": score}))


def fails(status: int, code: str = "", *, headers: dict[str, str] | None = None, message: str = "no") -> Does:
    """An error as OpenAI's form has it."""
    return Does(status, {"error": {"message": message, "type": "e", "code": code}}, headers or {})


_STOPS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
_TYPES = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}  # fmt: skip
_TOLD = {
    "insufficient_quota": "Your credit balance is too low to access the Anthropic API.",
    "context_length_exceeded": "prompt is too long: 210000 tokens > 200000 maximum",
}


def as_anthropic(does: Does) -> Does:
    """The same in Anthropic's form; what is no reply and no error of OpenAI's form stays as it is."""
    if not isinstance(does.body, dict) or ("error" not in does.body and "choices" not in does.body):
        return does
    if does.status != 200:
        error = does.body["error"]
        status = 400 if error["code"] == "insufficient_quota" else does.status  # It has no 429 for that.
        told = {"type": _TYPES.get(status, "api_error"), "message": _TOLD.get(error["code"], error["message"])}
        return replace(does, status=status, body={"type": "error", "error": told})
    if not does.body.get("choices"):
        return does
    [choice] = does.body["choices"]
    text, usage = choice["message"]["content"], does.body.get("usage")
    counted = usage and {
        "input_tokens": usage["prompt_tokens"] - 30, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 0,
        "output_tokens": usage["completion_tokens"],
    }  # fmt: skip
    stop = "refusal" if choice["message"].get("refusal") else _STOPS[choice["finish_reason"]]
    body = {
        "id": "m", "type": "message", "role": "assistant", "model": does.body["model"], "stop_sequence": None,
        "content": [] if text is None else [{"type": "text", "text": text}], "stop_reason": stop,
    }  # fmt: skip
    return replace(does, body={**body, "usage": counted} if counted else body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # With the usual five, clients that come together on a busy machine are not let in.


class ScriptedServer:
    """Listens on a free port of 127.0.0.1. ``script`` says what to do with the n-th request, from 0, and its body.

    What comes to Anthropic's path is answered in Anthropic's form.
    """

    def __init__(self, script: Callable[[int, Body], Does]) -> None:
        self.script = script
        self.asked: list[Body] = []
        self.paths: list[str] = []
        self.keys: list[str] = []
        """The keys that came along."""
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
                    outer.paths.append(self.path.partition("?")[0])
                    bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
                    outer.keys.append(self.headers.get("X-Api-Key", bearer))
                does = outer.script(n, body)
                outer._answer(self, as_anthropic(does) if outer.paths[n] == "/v1/messages" else does)

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
