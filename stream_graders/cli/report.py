"""What came of graded runs: for people in a terminal, as Markdown, as JUnit XML, and as annotations of a build."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

import typer

from ..verdicts import Outcome, RunVerdict, Verdict

ANNOTATIONS = 10
"""Annotations of one kind that a GitHub step shows; more would be dropped without a word."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What XML 1.0 cannot hold."""

RunKey = tuple[str, str, str]
"""Run id, the time its segment opened, suite."""


@dataclass
class Report:
    """The last word on each run and check, and the first failure of each check."""

    runs: dict[RunKey, RunVerdict] = field(default_factory=dict)
    checks: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    """Of each suite and check, how many runs ended with which outcome."""
    first: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    failed: dict[RunKey, list[Verdict]] = field(default_factory=dict)
    """What failed or went wrong in each run."""

    def add(self, record: Verdict | RunVerdict) -> None:
        """Take a final or amended record in; an amended one takes the place of what it amends."""
        key = (record.run_id, record.opened_at, record.suite)
        if isinstance(record, RunVerdict):
            if (before := self.runs.get(key)) is not None:
                self._count(before, -1)
            self.runs[key] = record
            self._count(record, 1)
            return
        told = [v for v in self.failed.get(key, ()) if (v.check, v.turn) != (record.check, record.turn)]
        if record.outcome in (Outcome.FAIL, Outcome.ERROR):
            told.append(record)
            self.first.setdefault((record.suite, record.check), record)
        if told:
            self.failed[key] = told
        else:
            self.failed.pop(key, None)

    def rate(self) -> tuple[int, int]:
        """How many run verdicts passed, and how many passed or failed."""
        counts = Counter(str(run.outcome) for run in self.runs.values())
        return counts["pass"], counts["pass"] + counts["fail"]

    def _count(self, record: RunVerdict, by: int) -> None:
        for line in record.checks:
            self.checks.setdefault((record.suite, line.check), Counter())[line.outcome] += by


def as_text(report: Report) -> Iterator[str]:
    """The lines for a terminal: one a check, the first failure of each, the runs."""
    width = max((len(check) for _, check in report.checks), default=5)
    for suite in dict.fromkeys(suite for suite, _ in report.checks):
        yield f"suite {suite}"
        for (of, check), counts in report.checks.items():
            if of == suite:
                yield f"  {check:<{width}}  {counted(counts)}"
                if (first := report.first.get((of, check))) is not None:
                    yield f"  {'':<{width}}  first: {first.run_id}: {first.evidence}"
    counts = Counter(str(run.outcome) for run in report.runs.values())
    yield f"{len(report.runs)} run verdicts: {counted(counts)}"


def counted(counts: Counter[str]) -> str:
    """A rate of passes and what else there was: unknown is in no rate."""
    rated = counts["pass"] + counts["fail"]
    rate = f"{counts['pass'] / rated:>6.1%} of {rated}" if rated else "  no rate"
    rest = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()) if count and outcome != "pass")
    return f"{rate}" + (f"  ({rest})" if rest else "")


def as_markdown(report: Report) -> Iterator[str]:
    """The lines of a summary for a build's page or a pull request."""
    counts = Counter(str(run.outcome) for run in report.runs.values())
    yield f"**{len(report.runs)} runs graded**: {counted(counts).strip()}"
    for suite in dict.fromkeys(suite for suite, _ in report.checks):
        yield ""
        yield f"### {_cell(suite)}"
        yield ""
        yield "| check | pass | fail | skipped | error | not graded | first failure |"
        yield "|---|---:|---:|---:|---:|---:|---|"
        for (of, check), outcomes in report.checks.items():
            if of == suite:
                first = report.first.get((of, check))
                told = "" if first is None else f"`{_cell(first.run_id)}`: {_cell(first.evidence)}"
                numbers = " | ".join(str(outcomes[str(outcome)]) for outcome in Outcome)
                yield f"| {_cell(check)} | {numbers} | {told} |"


def write_junit(report: Report, out: TextIO) -> None:
    """JUnit XML: a suite a run, a case a check. What has no verdict is skipped there, with its reason."""
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="stream-graders">\n')
    for key, run in report.runs.items():
        told = {verdict.check: verdict for verdict in reversed(report.failed.get(key, []))}
        failures, errors = (sum(line.outcome == of for line in run.checks) for of in ("fail", "error"))
        skipped = sum(line.outcome in ("skipped", "not_graded") for line in run.checks)
        name = _attribute(f"{run.suite}: {run.run_id}")
        out.write(
            f'  <testsuite name={name} tests="{len(run.checks)}" failures="{failures}" errors="{errors}"'
            f' skipped="{skipped}" timestamp={_attribute(run.first_event_at)}>\n'
        )
        for line in run.checks:
            out.write(f"    <testcase classname={name} name={_attribute(line.check)}")
            if line.outcome is Outcome.PASS:
                out.write("/>\n")
                continue
            verdict = told.get(line.check)
            kind = {"fail": "failure", "error": "error"}.get(line.outcome, "skipped")
            message = _attribute(verdict.evidence if verdict else f"{line.outcome} ({line.reason})")
            out.write(f"><{kind} message={message}")
            if verdict is None:
                out.write("/></testcase>\n")
            else:
                body = escape(_clean(f"{line.severity}, {verdict.grader}: {line.reason}"))
                out.write(f">{body}</{kind}></testcase>\n")
        out.write("  </testsuite>\n")
    out.write("</testsuites>\n")


def annotations(report: Report) -> Iterator[str]:
    """Workflow commands of GitHub: an error for each failed critical check, a warning for each other one."""
    shown: Counter[str] = Counter()
    for verdicts in report.failed.values():
        for verdict in verdicts:
            kind = "error" if verdict.severity == "critical" else "warning"
            shown[kind] += 1
            if verdict.severity != "info" and shown[kind] <= ANNOTATIONS:
                title = f"{verdict.suite}: {verdict.check}".replace(",", " ").replace(":", " -")
                yield f"::{kind} title={_data(title)}::{_data(f'{verdict.run_id}: {verdict.evidence}')}"


def echo(lines: Iterator[str]) -> None:
    """Print lines."""
    for line in lines:
        typer.echo(line)


def _cell(text: str) -> str:
    return " ".join(_clean(text).replace("|", "\\|").split())


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _clean(text: str) -> str:
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))
