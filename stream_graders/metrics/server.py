"""The pages that a worker serves: /metrics, /healthz and /readyz."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder


class Shown(Protocol):
    """Whatever has metrics to show."""

    registry: CollectorRegistry


class Server:
    """Serves from a thread, so that the pages answer while the event loop is busy or stuck."""

    def __init__(
        self, metrics: Shown, address: tuple[str, int], healthy: Callable[[], bool], ready: Callable[[], bool]
    ):
        """Start serving.

        Args:
            metrics: what to show.
            address: host and port; port 0 takes a free one.
            healthy: is the event loop alive? Asked from another thread.
            ready: are the partitions recovered? Asked from another thread.

        Raises:
            OSError: the port is taken.
        """
        pages = {"/healthz": healthy, "/readyz": ready}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # (the base class's own name)
                path = self.path.partition("?")[0]
                if path == "/metrics":
                    encode, kind = choose_encoder(self.headers.get("Accept", ""))
                    self._answer(200, kind, encode(metrics.registry))
                elif path in pages:
                    good = pages[path]()
                    body = json.dumps({path[1:-1]: good}).encode()
                    self._answer(200 if good else 503, "application/json", body)
                else:
                    self._answer(404, "text/plain", b"try /metrics, /healthz or /readyz\n")

            def _answer(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                """Probes every few seconds are not worth a line each."""

        self._server = ThreadingHTTPServer(address, Handler)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
