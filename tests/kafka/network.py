"""A way to the broker that a test can cut."""

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from .broker import KafkaBroker, free_ports


class Link:
    """Forwards what is said to a port of this machine, both ways.

    While it is cut nothing arrives, and nobody is told: connections stay open and new ones seem to come about. What was
    under way arrives once it is mended, late, as TCP has it.
    """

    def __init__(self, port: int, target: int) -> None:
        self.port = port
        self._target = target
        self._is_whole = threading.Event()
        self._is_whole.set()
        self._topic = b""
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_at_write(self, topic: str) -> None:
        """From the next write to this topic on, and without that write, nothing arrives."""
        self._topic = topic.encode()

    @property
    def is_cut(self) -> bool:
        """Does nothing arrive?"""
        return not self._is_whole.is_set()

    def mend(self) -> None:
        """Let all arrive that was held up, and what comes."""
        self._is_whole.set()

    def close(self) -> None:
        """End every connection."""
        self.mend()
        for each in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # Closed.
            while True:
                client, _ = self._listener.accept()
                broker = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += client, broker
                for source, sink in ((client, broker), (broker, client)):
                    threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):  # The other direction closed both.
            while data := source.recv(65_536):
                if self._topic and _is_write(data, self._topic):
                    self._topic = b""
                    self._is_whole.clear()
                self._is_whole.wait()
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def _is_write(data: bytes, topic: bytes) -> bool:
    """Does a produce request to this topic begin here? Four bytes of length, then the request's number, which is 0."""
    return data[4:6] == b"\x00\x00" and topic in data


class LinkedBroker(KafkaBroker):
    """A broker with a second listener, which is reached by a link alone."""

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(directory, settings)
        self._listener, advertised = free_ports(2)
        direct = f"PLAINTEXT://127.0.0.1:{self.port}"
        self.set(
            {
                "listeners": f"{direct},LINKED://127.0.0.1:{self._listener},CONTROLLER://127.0.0.1:{self.controller_port}",
                "advertised.listeners": f"{direct},LINKED://127.0.0.1:{advertised}",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LINKED:PLAINTEXT",
            }
        )
        self.linked = f"127.0.0.1:{advertised}"
        """The bootstrap address of clients behind the link."""
        self._advertised = advertised

    @contextlib.contextmanager
    def link(self) -> Iterator[Link]:
        """The link, while the broker runs."""
        link = Link(self._advertised, self._listener)
        try:
            yield link
        finally:
            link.close()
