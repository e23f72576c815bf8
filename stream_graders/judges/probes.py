"""Probes: whether the state of a system is what a check's assertions say, read over HTTP and never changed.

A run may bring its own assertions, so it may name anything. What is asked is what the judge worker's file allows: GET, at
the target's address, on the paths of its kinds, into which the assertion's values go as one segment or value each.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec
import stamina
import yarl
from prometheus_client import Counter

from ..answers import ASSERTIONS, CAUSE
from ..events import from_json
from ..matching.arguments import holds
from ..matching.differences import shown_value
from ..matching.paths import parse, values_at
from ..verdicts import JudgeRequest
from .answering import failed, looked
from .settings import PLACE, KindSettings, ProbeSettings, key_of

log = logging.getLogger("stream_graders.judges")

TRIES = 2
LONGEST = 64 * 1024
"""Bytes that an answer of a target may have."""
SEGMENT = 200
"""Characters of a value that goes into a path."""
GONE = (404, 410)
BUSY = (429, 500, 502, 503, 504)
"""Statuses that may be over at the next try."""


class _NotLookedError(Exception):
    """Nobody could look; the message is the cause in evidence, and holds nothing of the answer."""


class _BusyError(_NotLookedError):
    """The target may answer at the next try."""


class Probes:
    """Looks at the targets of a file."""

    def __init__(self, targets: Mapping[str, ProbeSettings], looks: Counter) -> None:
        """Raises:
        JudgesError: a key is not set.
        """
        self._targets, self._looks = targets, looks
        self._keys = {name: key_of(target.key_variable, f"probes.{name}") for name, target in targets.items()}
        self._slots = {name: asyncio.Semaphore(target.at_once) for name, target in targets.items()}
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Give back the connections."""
        if self._session is not None:
            await self._session.close()

    async def answer(self, request: JudgeRequest, left: float) -> dict[str, Any]:
        """What looking at each assertion gave, within ``left`` seconds; never raises for what a target does."""
        name = request.model
        try:
            assertions = from_json(request.input.get("assertions", ""))
        except ValueError:
            assertions = None
        if not isinstance(assertions, list):
            return failed("unparseable", "the request holds no assertions", {"model": name})
        known = [each for each in assertions[:ASSERTIONS] if isinstance(each, dict) and isinstance(each.get("id"), str)]
        try:
            async with asyncio.timeout(max(0.0, left)):
                causes = await asyncio.gather(*(self._cause(name, each) for each in known))
        except TimeoutError:
            return failed("deadline", "there was no time left to look", {"model": name})
        results: dict[str, dict[str, Any]] = {}
        for each, cause in zip(known, causes, strict=True):
            # Of several assertions under one id all have to hold.
            if each["id"] not in results or results[each["id"]]["ok"]:
                results[each["id"]] = {"ok": True} if cause is None else {"ok": False, "cause": cause[:CAUSE]}
        return looked(results, {"model": name, "calls": len(known)})

    async def _cause(self, name: str, assertion: dict[str, Any]) -> str | None:
        """Why an assertion does not hold; None if it does."""
        target, kind = self._targets.get(name), assertion.get("kind")
        allowed = None if target is None or not isinstance(kind, str) else target.kinds.get(kind)
        label = "other" if target is None else name
        if target is None or allowed is None:
            self._looks.labels(label, "not_allowed").inc()
            what = "its target" if target is None else "its kind"
            return f"{what} is not on the allow list"
        try:
            cause = await self._look(name, target, allowed, assertion)
        except _NotLookedError as error:
            self._looks.labels(label, "failed").inc()
            return str(error)
        except Exception as error:  # noqa: BLE001  (a defect of ours is one assertion's; the others go on)
            log.warning("a probe of %s failed: %s", name, type(error).__name__)
            self._looks.labels(label, "failed").inc()
            return "the probe failed"
        self._looks.labels(label, "holds" if cause is None else "does_not_hold").inc()
        return cause

    async def _look(
        self, name: str, target: ProbeSettings, kind: KindSettings, assertion: dict[str, Any]
    ) -> str | None:
        url = yarl.URL(target.base_url.rstrip("/") + _filled(kind.path, assertion), encoded=True)
        attempts = stamina.retry_context(on=_BusyError, attempts=TRIES, timeout=None, wait_initial=0.2, wait_max=1.0)
        async for attempt in attempts:
            with attempt:
                async with self._slots[name]:
                    status, body = await self._read(name, url)
                return _why_not(kind, assertion, status, body)
        raise AssertionError("the last attempt raises")

    async def _read(self, name: str, url: yarl.URL) -> tuple[int, bytes]:
        """Status and body of what lies there.

        Raises:
            _NotLookedError: it is no answer that can be read.
        """
        if self._session is None:
            # No cookies: what one look is told must not change what another one sees. Nothing packed: its size would be unknown.
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False)
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._keys[name]:
            headers["Authorization"] = f"Bearer {self._keys[name]}"
        body = bytearray()
        try:
            async with (
                asyncio.timeout(self._targets[name].timeout),
                self._session.get(url, headers=headers, allow_redirects=False) as response,
            ):
                if response.status in BUSY:
                    raise _BusyError(f"the target answered with HTTP {response.status}")
                async for part in response.content.iter_chunked(LONGEST):
                    body += part
                    if len(body) > LONGEST:
                        raise _NotLookedError(f"the target answered with more than {LONGEST // 1024} kB")
        except TimeoutError:
            raise _BusyError("the target did not answer in time") from None
        except (aiohttp.ClientError, OSError) as error:
            raise _BusyError(f"the target could not be asked ({type(error).__name__})") from None
        return response.status, bytes(body)


def _filled(path: str, assertion: dict[str, Any]) -> str:
    """A kind's path with the assertion's values in their places.

    Raises:
        _NotLookedError: one is missing, or is no text or number of a fair length.
    """
    names = PLACE.findall(path)
    for name in names:
        value = assertion.get(name)
        text = "" if isinstance(value, bool) or not isinstance(value, str | int) else str(value)
        # Dots alone would climb out of the path, however they are quoted.
        if not text.strip(".") or len(text) > SEGMENT:
            raise _NotLookedError(f"has no {name} that can be asked about")
    return PLACE.sub(lambda place: quote(str(assertion[place[1]]), safe=""), path)


def _why_not(kind: KindSettings, assertion: dict[str, Any], status: int, body: bytes) -> str | None:
    """Why the state that was read is not as expected; None if it is.

    Raises:
        _NotLookedError: what came back says nothing about it.
    """
    if status in GONE:
        is_wanted = kind.field is not None or assertion.get("expected", True) is not False
        return "it is not there" if is_wanted else None
    if status != 200:
        raise _NotLookedError(f"the target answered with HTTP {status}")
    if kind.field is None:
        return "it is there" if assertion.get("expected", True) is False else None
    try:
        values = values_at(from_json(body), parse(kind.field))
    except (ValueError, RecursionError, msgspec.MsgspecError):
        raise _NotLookedError("the target answered with no JSON") from None
    if not values:
        return f"{kind.field} is not there"
    expected = assertion.get("expected", True)
    if any(holds(value, expected) for value in values):
        return None
    return f"{kind.field} is {shown_value(values[0])}, expected {shown_value(expected)}"
