"""Makes docs/odd-inputs.md: what every grader says of six odd runs.

    python docs/odd_inputs.py            write the page
    python docs/odd_inputs.py --check    exit with 1 if the page is not what the graders say

The graders are those that the tests configure, one of each kind.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # The graders' configurations are the tests', which no installed package holds.

from stream_graders.events import Event  # noqa: E402  (the path above comes first)
from stream_graders.grading import Grader, setting_fields  # noqa: E402  (the path above comes first)
from stream_graders.suites import Check  # noqa: E402  (the path above comes first)
from stream_graders.testing import graded, run  # noqa: E402  (the path above comes first)
from stream_graders.verdicts import Verdict  # noqa: E402  (the path above comes first)
from tests.core.stories import GRADERS  # noqa: E402  (the path above comes first)

PAGE = ROOT / "docs" / "odd-inputs.md"


def called(args: object) -> Iterator[Event]:
    """A run that looks an order up, makes a call with these arguments, and replies."""
    told = run().starts().asks("Refund order ORD-123456, please.").calls("orders.find", {"id": "ORD-123456"})
    told.returns({"id": "ORD-123456"}, is_error=False).says("Shall I refund ORD-123456?").asks("Yes.")
    yield from told.calls("payments.refund", args).returns("ok", is_error=False).says("It is done: ORD-123456.").ends()


RUNS: dict[str, list[Event]] = {
    "arguments cut off": list(called('{"order": "ORD-12')),
    "arguments a list": list(called([1, 2])),
    "a result without a call": list(
        run()
        .starts()
        .asks("Where is it?")
        .returns("ORD-123456", name="orders.find", call_id="x")
        .says("Here: ORD-123456.")
        .ends()
    ),
    "an empty run": list(run().starts().ends()),
    "an open run": list(run().starts().asks("Refund it.").calls("orders.find", {"id": "ORD-123456"})),
}
NOTHING = "nothing expected"
COLUMNS = [*RUNS, NOTHING]


def kinds() -> dict[str, Grader]:
    """One grader of each kind, by its name."""
    found: dict[str, Grader] = {}
    for grader in GRADERS.values():
        found.setdefault(grader.name, grader)
    return dict(sorted(found.items()))


def said(grader: Grader, column: str) -> Verdict | None:
    """What a grader says of a run; of one in which calls were made that nobody expected, if it expects any."""
    if column != NOTHING:
        return graded(Check("c", grader, "critical"), RUNS[column])
    if not grader.references:
        return None
    bare = {
        f.name: None if f.name in grader.references else getattr(grader, f.name) for f in setting_fields(type(grader))
    }
    return graded(Check("c", type(grader)(**bare), "critical"), called({"order": "ORD-123456"}))


def lines() -> Iterator[str]:
    yield "<!-- Made by `python docs/odd_inputs.py` from the graders: run it again, do not edit. -->"
    yield "# Odd runs, and what the graders say of them"
    yield ""
    yield (
        "Arguments that break off in the middle or are no object, a result whose call never came, a run in which nothing happened, one that did"
        " not end, and calls where nothing was expected: no grader fails on any of them, and each outcome has a reason. The graders are"
        " configured as the tests do; what they look for differs, so a pass is right where the odd part is not what is asked about."
        " `grade` is at the end of its input, so an open run is completed there and flagged `end_implied`; a worker waits for it."
    )
    yield ""
    yield f"| grader | {' | '.join(COLUMNS)} |"
    yield f"|---|{'---|' * len(COLUMNS)}"
    for name, grader in kinds().items():
        cells = []
        for column in COLUMNS:
            verdict = said(grader, column)
            cells.append("–" if verdict is None else f"{verdict.outcome}<br>`{verdict.reason}`")
        yield f"| [`{name}`](graders/{name}.md) | {' | '.join(cells)} |"


def main() -> int:
    text = "".join(f"{line}\n" for line in lines())
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print("docs/odd-inputs.md is not what the graders say: run python docs/odd_inputs.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
