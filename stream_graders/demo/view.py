"""What the demo shows: a live picture on a terminal, a line now and then elsewhere, and a summary at the end."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..suites import Suite
from ..verdicts import Outcome
from .agents import RELEASES
from .board import Board, Comparison
from .judging import SUITE

LINE_EVERY = 5.0
"""Seconds between two lines where there is no terminal."""
PICTURE_EVERY = 0.25
JUDGED_SHOWN = 3

VERSIONS = [release.version for release in RELEASES]


@dataclass
class Scene:
    """What there is to show."""

    suite: Suite
    board: Board
    doing: str = "starting"
    begun: int = 0
    """Runs that the agents began."""
    left: float = 0.0
    """Seconds until the agents stop."""
    ledger: Mapping[str, int] = field(default_factory=dict)
    restarts: int = 0
    is_judged: bool = False
    """Does a judge look at a sample of the runs?"""


class View:
    """Shows scenes as often as it suits the place they are shown at."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._next = 0.0
        self._doing = ""

    def __enter__(self) -> "View":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def is_due(self, scene: Scene) -> bool:
        """Did the last scene stand long enough, or does another act begin?"""
        return time.monotonic() >= self._next or scene.doing != self._doing

    def show(self, scene: Scene) -> None:
        """Show a scene."""
        self._doing = scene.doing
        if self._live is not None:
            self._next = time.monotonic() + PICTURE_EVERY
            self._live.update(picture(scene, self._console.height), refresh=True)
        else:
            self._next = time.monotonic() + LINE_EVERY
            self._console.print(line(scene), soft_wrap=True, highlight=False, markup=False)


def line(scene: Scene) -> str:
    """A scene in one line."""
    board = scene.board
    told = f"{scene.doing}: {scene.begun} runs begun, {len(board.runs)} graded, {board.failed} checks failed"
    told += f"; judged: {board.judged.line()}" if scene.is_judged else ""
    latest = board.latest_fails()
    return f"{told}; the last: {latest[0].check}: {latest[0].evidence}" if latest else told


def picture(scene: Scene, height: int) -> RenderableType:
    """A scene as a picture that fits into so many lines, if they are enough for the rates and one failure."""
    board = scene.board
    head = Text.assemble(
        ("stream-graders demo", "bold"),
        f" · {scene.doing}" + (f", {scene.left:.0f} s left" if scene.left else ""),
        f"\n{scene.begun} runs begun, {len(board.runs)} graded",
        f" · {board.failed} checks failed, {board.early} told before the end of their run",
        f" · worker started again {scene.restarts} times" if scene.restarts else "",
    )
    rates = _rates(scene.suite, board)
    room = height - rates.row_count - 14  # Titles, heads and rules of the two tables, the first lines and the last.
    last: list[RenderableType] = [Text(ledger_line(scene.ledger), "dim")]
    if scene.is_judged and room > 2 * JUDGED_SHOWN + 5:
        last.insert(0, _judged(board, JUDGED_SHOWN))
        room -= JUDGED_SHOWN + 5
    elif scene.is_judged:
        head.append(f"\njudged: {board.judged.line()}")
        room -= 1
    return Group(head, rates, _fails(board, max(1, room)), *last)


def ledger_line(ledger: Mapping[str, int]) -> str:
    """What became of the worker's events, in one line."""
    if not ledger:
        return "ledger: the worker has not counted anything yet"
    words = {"graded": "graded", "duplicate": "duplicates", "skipped": "skipped", "dead_lettered": "dead-lettered"}
    parts = [f"{ledger.get(fate, 0):,} {word}" for fate, word in words.items()]
    rest = f"{ledger.get('unselected', 0):,} unselected, {ledger.get('events_held', 0):,} held"
    return f"ledger: {', '.join(parts)}, {rest}; not accounted for: {ledger.get('ledger_difference_events', 0)}"


def _rates(suite: Suite, board: Board) -> Table:
    """The pass rate of each check, by version."""
    table = Table(box=SIMPLE_HEAD, title="pass rate: pass / (pass + fail)", title_justify="left")
    table.add_column("check", no_wrap=True)
    for version in VERSIONS:
        table.add_column(version, justify="right")
    for check in suite.checks:
        table.add_row(check.name, *(_rate(board.rate(version, check.name)) for version in VERSIONS))
    outcomes = [board.runs_of(version) for version in VERSIONS]
    shares = [
        runs[Outcome.PASS] / graded if (graded := runs[Outcome.PASS] + runs[Outcome.FAIL]) else None
        for runs in outcomes
    ]
    table.add_section()
    table.add_row(Text("whole runs", "bold"), *map(_rate, shares))
    return table


def _rate(share: float | None) -> Text:
    if share is None:
        return Text("–", "dim")
    return Text(f"{share:.0%}", "green" if share >= 0.9 else "yellow" if share >= 0.8 else "bold red")


def _fails(board: Board, most: int) -> Table:
    table = Table(box=SIMPLE_HEAD, title="latest failures", title_justify="left", expand=True)
    for name in ("run", "version", "check"):
        table.add_column(name, no_wrap=True)
    table.add_column("evidence", ratio=1, no_wrap=True, overflow="ellipsis")
    for verdict in board.latest_fails()[:most]:
        version = (verdict.agent and verdict.agent.version) or ""
        table.add_row(verdict.run_id, version, Text(verdict.check, "red"), Text(verdict.evidence))
    return table


def _judged(board: Board, most: int) -> Table:
    """The newest scores of the judge, with what it said."""
    title = f"judged by a very small model, whose scores mean nothing: {board.judged.line()}"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", expand=True)
    for name in ("run", "score", "outcome"):
        table.add_column(name, no_wrap=True)
    table.add_column("what the judge said", ratio=1, no_wrap=True, overflow="ellipsis")
    for verdict in reversed(board.judged.scored[-most:]):
        score = f"{verdict.score:g} of {verdict.scale[1]:g}"
        table.add_row(verdict.run_id, score, str(verdict.outcome), Text(" ".join(verdict.evidence.split())))
    return table


@dataclass(frozen=True)
class Totals:
    """What the agents sent."""

    events: int
    late: int
    twice: int
    lost: int


def summarise(console: Console, scene: Scene, comparison: Comparison, totals: Totals, suite_file: Path) -> None:
    """Say what was done wrong on purpose, what was found, and where to look next."""
    table = Table(box=SIMPLE_HEAD, title="failures: injected on purpose, and found", title_justify="left")
    table.add_column("check", no_wrap=True)
    for name in ("graded", "injected", "found", "missed", "invented"):
        table.add_column(name, justify="right")
    for row in comparison.rows:
        missed = row.injected - row.found
        cells = [Text(str(count), "bold red" if count else "dim") for count in (missed, row.invented)]
        table.add_row(row.check, str(row.graded), str(row.injected), str(row.found), *cells)
    board = scene.board
    console.print(_rates(scene.suite, board))
    console.print(table)
    console.print(f"{RELEASES[-1].version} is the release that was made worse on purpose.", highlight=False)
    console.print(f"{scene.begun:,} runs, {totals.events:,} events; {totals.late:,} came late, {totals.twice:,} twice")
    console.print(ledger_line(scene.ledger), soft_wrap=True)
    if scene.is_judged:
        console.print(_judged(board, 10 * JUDGED_SHOWN))
        console.print(
            "A check asked it about one run in twenty-five, in another process and within a budget; it shows the way that a good"
            " model would go. No other verdict waited for it.",
            highlight=False,
        )
        if len(board.judged.runs) < scene.begun:
            console.print(Text(f"{scene.begun - len(board.judged.runs)} runs have no judged verdict.", "bold red"))
    if board.repeated:
        console.print(f"{board.repeated:,} records came again; {board.conflicts:,} of them said something else")
    for place in (*(f"{place}: no verdict" for place in comparison.missing[:10]), *comparison.wrong[:10]):
        console.print(Text(place, "red"))
    console.print(_conclusion(comparison, board, totals))
    judged = [f"  what the judge was asked       {SUITE}"] if scene.is_judged else []
    for told in (*_next_steps(suite_file), *judged):
        console.print(Text(told, "dim"), soft_wrap=True)


def _conclusion(comparison: Comparison, board: Board, totals: Totals) -> Text:
    if comparison.agrees and not board.conflicts and not totals.lost:
        return Text("Every verdict is there and right.", "bold green")
    found = f"{len(comparison.missing)} verdicts are missing, {len(comparison.wrong)} are wrong"
    lost = f"; the agents could not send {totals.lost} events" if totals.lost else ""
    return Text(f"{found}{lost}.", "bold red")


def _next_steps(suite_file: Path) -> list[str]:
    return [
        "Where to look next:",
        f"  the suite of this demo        {suite_file}",
        "  grade runs that you have      stream-graders grade FILE --suite SUITE",
        "  send events from an agent     from stream_graders.emit import Emitter",
        "  grade your Kafka topics live  stream-graders topics apply, then stream-graders worker",
    ]
