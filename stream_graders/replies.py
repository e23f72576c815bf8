"""The final reply of a run, for the graders that judge it and nothing else."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from .events import Event, Message, RunEnd
from .grading import Grader, RunFacts, Seen, excerpt, shown
from .matching.patterns import Pattern
from .matching.sought import look
from .matching.text import Needle
from .verdicts import Finding, Outcome, Point, Reason, finding_with


@dataclass
class ReplyGrader(Grader):
    """Judges the final reply: the output that the run's end reports, else the last assistant message that has text.

    Of the last one so far a judgement is kept, never the text: which is the last of all shows at the end. A subclass says what it makes of a text (`read`) and what that means (`told`); where the
    reply lies, and whether another one may be missing, is worked out here (design 6, "final reply").
    """

    order_free = True
    lazy: ClassVar[bool] = False
    """True if `read` looks at nothing but the text, and raises for none: then a reply is read when somebody asks.

    Most messages are followed by another one before that, and are never read. A grader that raised would do so or not by
    where a batch ends, which must not show: so a grader has to say that it does not.
    """

    replied: list[Any] | None = field(default=None, init=False)
    """The last assistant message with text: place, event id, seq, judgement, excerpt, partial, truncated."""
    output: list[Any] | None = field(default=None, init=False)
    """The output that the run's end reports, likewise."""
    unheard: list[Any] | None = field(default=None, init=False)
    """The last assistant message whose text was left out or cut to nothing: place, truncated."""
    spoken: bool = field(default=False, init=False)
    """There was an assistant message, with text or without."""

    def read(self, seen: Seen) -> Any:
        """What the grader makes of a reply: JSON values of bounded size. Its text is ``seen.text``, never empty."""
        raise NotImplementedError

    def told(self, judgement: Any, *, reported: bool) -> Finding:
        """What a judgement means; None is that of an empty reply, or of none at all if not ``reported``.

        The finding is ``sound`` if no further text of the same reply could change it. Its points are added here.
        """
        raise NotImplementedError

    def shows(self, seen: Seen, judgement: Any) -> tuple[int, int] | None:
        """Which part of a reply the evidence is to quote, in characters; by default none: it is named by its event."""
        return None

    def wants(self) -> tuple[type[Event], ...]:
        return (Message, RunEnd)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages"})

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        is_end = type(event) is RunEnd
        if not is_end and not seen.is_assistant:
            return
        self.spoken = self.spoken or not is_end
        # What fills a gap stands before the event behind the gap, in the order of its own numbers.
        place = [seen.position, 0 if seen.late else 1, event.seq or 0]
        if seen.text:
            unread = self.__dict__.get("_unread")
            if unread is not None and (is_end or unread[0] > place):
                self._read_on()
            if not is_end and (self.replied is None or place >= self.replied[0]) and self.lazy:
                self.__dict__["_unread"] = (place, seen)
            else:
                self._take(place, seen, is_end=is_end)
        elif not is_end and seen.partial:
            self.unheard = _later(self.unheard, [place, seen.truncated])

    def _read_on(self) -> None:
        """Read the message that was left unread."""
        unread = self.__dict__.pop("_unread", None)
        if unread is not None:
            self._take(*unread, is_end=False)

    def _take(self, place: list[int], seen: Seen, *, is_end: bool) -> None:
        event, judgement = seen.event, self.read(seen)
        shown_part = self.shows(seen, judgement)
        quoted = None if shown_part is None else excerpt(seen.text, *shown_part)
        reply = [place, event.id, event.seq, judgement, quoted, seen.partial, seen.truncated]
        if is_end:
            self.output = _later(self.output, reply)
        else:
            self.replied = _later(self.replied, reply)

    def snapshot(self) -> list[Any]:
        self._read_on()
        return super().snapshot()

    def finding(self, run: RunFacts) -> Finding:
        self._read_on()
        if self.output is not None:
            return self._judged(self.output, "output", sound=True)
        unheard, replied = self.unheard, self.replied
        if replied is None:
            found = self.told(None, reported=self.spoken)
            return finding_with(found, points=(), sound=False, cut=unheard is not None and unheard[1])
        position, follows_gap, _ = replied[0]
        if run.last_gap >= position + follows_gap:
            # Said here, for the gap may be closed where order does not matter: here the order of messages does.
            text = f"a later message may be missing; so far: {self._judged(replied, 'content', sound=False).evidence}"
            return Finding(Outcome.NOT_GRADED, Reason.INCOMPLETE, text)
        if unheard is not None and unheard[0] > replied[0]:
            return self._judged(replied, "content", sound=False, cut=unheard[1])
        return self._judged(replied, "content", sound=not run.tail_unknown)

    def _judged(self, reply: list[Any], path: str, *, sound: bool, cut: bool = False) -> Finding:
        _, event_id, seq, judgement, text, partial, truncated = reply
        found = self.told(judgement, reported=True)
        points = (Point(event_id, seq, path, text),)
        if found.sound:
            return finding_with(found, points=points, sound=sound, cut=cut)
        return finding_with(found, points=points, sound=sound and not partial, cut=cut or truncated)


def _later(one: list[Any] | None, other: list[Any]) -> list[Any]:
    """Of two messages that one which stands later in the run."""
    return other if one is None or other[0] >= one[0] else one


@dataclass
class SoughtReply(ReplyGrader):
    """Looks for a text or a pattern in the final reply. A subclass says which, and what it means that it is there.

    A pattern that is not valid fails every run, and says so (R19, R56).
    """

    lazy = True
    written_in: ClassVar[str] = "pattern"
    """The setting that holds the pattern."""
    tells: ClassVar[bool] = False
    """True if its evidence says what stands around the hit, and so has to be kept."""

    def __post_init__(self) -> None:
        self._sought = self.sought()
        self._error = self._sought.error if isinstance(self._sought, Pattern) else None
        self.settled = self._error is not None

    def sought(self) -> Needle | Pattern:
        """What is looked for; asked once."""
        raise NotImplementedError

    def is_there(self, *, firm: bool, around: str) -> Finding:
        """What it means that it is in the reply; ``around`` is the text there if it ``tells``."""
        raise NotImplementedError

    def is_missing(self) -> Finding:
        """What it means that it is not in the reply."""
        raise NotImplementedError

    def warnings(self) -> list[tuple[str, str]]:
        return [] if self._error is None else [(self.written_in, f"the check will fail every run: {self._error}")]

    def finding(self, run: RunFacts) -> Finding:
        if self._error is not None:
            assert isinstance(self._sought, Pattern)
            text = f"invalid pattern {shown(self._sought.source)}: {self._error}"
            return Finding(Outcome.FAIL, Reason.INVALID_PATTERN, text, sound=True)
        return super().finding(run)

    def read(self, seen: Seen) -> list[Any] | bool:
        hit = look(self._sought, seen.text, seen.lower if isinstance(self._sought, Needle) else "")
        if hit is None:
            return False
        return [*hit, excerpt(seen.text, hit.start, hit.end) if self.tells else ""]

    def shows(self, seen: Seen, judgement: Any) -> tuple[int, int] | None:
        return (judgement[0], judgement[1]) if judgement else None

    def told(self, judgement: Any, *, reported: bool) -> Finding:
        if not reported:
            text = "the run reported no reply, so there is nothing to check"
            return Finding(Outcome.FAIL, Reason.REPLY_NOT_REPORTED, text)
        if judgement is None:
            return self.is_missing() if look(self._sought, "", "") is None else self.is_there(firm=False, around="")
        return self.is_there(firm=judgement[2], around=judgement[3]) if judgement else self.is_missing()
