"""A system whose state can be looked at, on a real port: what lies at which path. It keeps what it was asked."""

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.judges.server import Does


class StateServer:
    """Answers GET with the JSON that lies at a path, with 404 where nothing does; a `Does` is done as it says."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.state = dict(state)
        self.asked: list[tuple[str, str, str | None]] = []
        """Method, path, and what was sent as authorization."""
        self.closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def _do(self) -> None:
                outer.asked.append((self.command, self.path, self.headers["Authorization"]))
                found = outer.state.get(self.path, Does(404))
                if isinstance(found, list) and found and isinstance(found[0], Does):
                    found = found.pop(0) if len(found) > 1 else found[0]
                does = found if isinstance(found, Does) else Does(200, json.dumps(found).encode())
                while does.waits is not None and not (does.waits.wait(0.02) or outer.closing.is_set()):
                    pass
                data = does.body if isinstance(does.body, bytes) else json.dumps(does.body).encode()
                try:
                    self.send_response(does.status)
                    for name, value in {**does.headers, "Content-Length": str(len(data))}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    return  # The client would not wait.

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _do  # noqa: N815  (the base class's own names)

            def log_message(self, *args: Any) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
