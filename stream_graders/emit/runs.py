"""What an agent tells of one run."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, Self, get_args
from uuid import uuid4

Put = Callable[[str, dict[str, Any]], None]
"""Takes the type and the body of an event."""

Status = Literal["ok", "error", "cancelled", "timeout", "limit", "handoff", "unknown"]

REPORTS = ("messages", "tools", "results", "usage", "end")
"""What this emitter sends, so that what is not seen did not happen."""

_STATUSES = frozenset(get_args(Status))
_LONGEST = 512


class Run:
    """One run of an agent. `Emitter.run` makes it; its start is sent by then.

    Use it in a ``with`` or ``async with`` block: leaving the block sends the end, with status ``ok``, ``cancelled``
    after an `asyncio.CancelledError`, and ``error`` after any other exception, which goes on its way. No method blocks,
    raises or looks at what it is handed before it is back.
    """

    def __init__(self, run_id: str, put: Put, **start: Any) -> None:
        self.run_id = run_id
        self._put = put
        self._ended = False
        put("run.start", {"reports": REPORTS, **_given(start)})

    def user(self, content: Any) -> None:
        """The user says something: a text, or a list of parts."""
        self.message("user", content)

    def assistant(self, content: Any, *, usage: Any = None, model: Any = None) -> None:
        """The agent says something; ``usage`` are the tokens that the model call took."""
        self.message("assistant", content, usage=usage, model=model)

    def message(self, role: str, content: Any, *, usage: Any = None, model: Any = None) -> None:
        """Somebody says something; beside ``user`` and ``assistant`` there is ``system``, and any role of yours."""
        optional = _given({"usage": snapshot(usage), "model": None if model is None else text_of(model)})
        self._put("message", {"role": text_of(role), "content": snapshot(content), **optional})

    def tool(self, name: str, args: Any = None, *, call_id: str | None = None) -> "Call":
        """The agent calls a tool, as of now. The call takes the result; a ``with`` block also tells of an exception."""
        return Call(self._put, text_of(name, "unnamed"), {} if args is None else snapshot(args), call_id)

    def pause(self, reason: str | None = None) -> None:
        """The run waits for somebody on purpose: silence does not end it."""
        self._put("run.pause", {} if reason is None else {"reason": text_of(reason)})

    def resume(self) -> None:
        """The wait is over."""
        self._put("run.resume", {})

    def outcome(self, name: str, value: Any) -> None:
        """A label of the run, also one that comes after its end: a reward, a person's judgement, a business result."""
        self._put("run.outcome", {"name": text_of(name, "unnamed"), "value": snapshot(value)})

    def custom(self, name: str, body: Any = None) -> None:
        """Anything else you want in the journal. It is the first to go when there is no room."""
        self._put("custom", {"name": text_of(name, "unnamed"), "body": snapshot(body)})

    def end(self, status: Status = "ok", output: Any = None) -> None:
        """The run is over; ``output`` is its final reply where that is not the last message. Only the first end counts."""
        known = text_of(status)
        reason = None if known in _STATUSES else known
        self._end({"status": known if reason is None else "unknown", "reason": reason, "output": snapshot(output)})

    def _end(self, body: dict[str, Any]) -> None:
        if self._ended:
            return
        self._ended = True
        self._put("run.end", _given(body))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.end()
        else:
            status = "cancelled" if isinstance(error, asyncio.CancelledError) else "error"
            self._end({"status": status, "error": told(error)})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, at)


class Call:
    """One call of a tool.

    Leaving its ``with`` block without a result sends one that is null: the tool returned nothing. An exception that
    leaves the block is sent as a failed result and goes on its way. Only the first result counts.
    """

    def __init__(self, put: Put, name: str, args: Any, call_id: str | None) -> None:
        self.name = name
        self.call_id = uuid4().hex if call_id is None else text_of(call_id)
        self._put = put
        self._answered = False
        self._started = time.perf_counter()
        put("tool.call", {"name": name, "call_id": self.call_id, "args": args})

    def result(self, value: Any = None, *, is_error: bool = False) -> None:
        """The tool answers; ``is_error`` where its answer is that it failed."""
        self._answer({"result": snapshot(value), "is_error": bool(is_error)})

    def _answer(self, body: dict[str, Any]) -> None:
        if not self._answered:
            self._answered = True
            took = round((time.perf_counter() - self._started) * 1_000, 3)
            self._put("tool.result", {"name": self.name, "call_id": self.call_id, **body, "duration_ms": took})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.result()
        else:
            self._answer({"result": None, "is_error": True, "error": told(error)})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, at)


def snapshot(value: Any) -> Any:
    """A shallow copy of what the agent may go on to change."""
    with suppress(Exception):
        if isinstance(value, dict | list | set):
            return value.copy()
    return value


def text_of(value: Any, default: str = "") -> str:
    """A short text of the envelope: anything as its `str`, at most 512 characters, never half a surrogate pair."""
    text = default
    with suppress(Exception):
        text = value if type(value) is str else str(value)
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return text[:_LONGEST] or default


def told(error: BaseException) -> dict[str, str]:
    """An exception as events carry it."""
    return {"type": type(error).__qualname__, "message": text_of(error)}


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
