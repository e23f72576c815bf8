"""``stream-graders grade``: the verdicts of finished runs in files, reports of them, and a gate for a build."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import typer

from ..config import load_fleet
from ..events import to_json
from ..gradebook import Publish
from ..verdicts import Outcome, Verdict, Violation
from .errors import Exit, UserError, leave
from .gate import FAILABLE, Baseline, Gate, need_of
from .report import Report, annotations, as_markdown, as_text, echo, write_junit
from .runs import Graded, records
from .sharing import tell_unsigned, with_key


@dataclass(frozen=True)
class Asked:
    """The options of ``grade``."""

    as_json: bool = False
    fail_on: str | None = None
    min_pass_rate: float | None = None
    min_score: float | None = None
    group_by: str | None = None
    need: str | None = None
    baseline: Path | None = None
    junit: Path | None = None
    markdown: Path | None = None
    github: bool = False
    soft: bool = False

    def gate(self) -> Gate:
        """The gate they ask for.

        Raises:
            UserError: options do not go together, or name what is not there.
        """
        # Whoever asks for a rate or a number of repetitions allows single runs to fail.
        usual = "error" if self.min_pass_rate is not None or self.need is not None or self.baseline else "fail,error"
        if self.min_score is not None:
            usual = ""  # The mean leaves degraded runs out.
        words = frozenset(
            word.strip() for word in (usual if self.fail_on is None else self.fail_on).split(",") if word.strip()
        )
        if unknown := words - set(FAILABLE):
            raise UserError(f"--fail-on: {', '.join(sorted(unknown))} is no outcome; use {', '.join(FAILABLE)}")
        if (self.need is None) != (self.group_by is None) and self.baseline is None:
            raise UserError("--group-by and --need go together: which runs repeat one case, and how many have to pass")
        need = None if self.need is None else need_of(self.need)
        baseline = None if self.baseline is None else Baseline.read(self.baseline, self.group_by)
        return Gate(words, self.min_pass_rate, self.min_score, self.group_by, need, baseline)


def grade_files(files: list[Path], suites: list[Path], asked: Asked) -> None:
    """Grade files and print verdicts, or a report; leave with the exit code that the outcomes ask for."""
    gate = asked.gate()
    graded = Graded(with_key(load_fleet(suites), required=False))
    report = Report()
    write = sys.stdout.buffer.write
    for effect in records(graded, files):
        if not isinstance(effect, Publish):
            continue
        record = effect.record
        if isinstance(record, Violation) or record.state == "early":
            continue
        report.add(record)
        if asked.as_json and isinstance(record, Verdict):
            write(to_json(record) + b"\n")
    if asked.as_json:
        for run_verdict in report.runs.values():
            write(to_json(run_verdict) + b"\n")
        sys.stdout.flush()
    else:
        echo(as_text(report))
    _write_reports(report, asked)
    tell_unsigned(graded)
    if graded.refused:
        told = ", ".join(f"{count} {reason}" for reason, count in graded.refused.most_common())
        count = graded.refused.total()
        typer.echo(f"{count} records could not be graded ({told}); the first: {graded.first_refusal}", err=True)
    met = gate.judge(report.runs.values())
    for line in gate.told:
        typer.echo(line, err=True)
    for line in gate.missed:
        typer.echo(f"gate missed: {line}", err=True)
    leave(_exit_code(graded, report, met=met or asked.soft))


def _write_reports(report: Report, asked: Asked) -> None:
    summary = os.environ.get("GITHUB_STEP_SUMMARY") if asked.github else None
    try:
        if asked.junit is not None:
            with asked.junit.open("w", encoding="utf-8") as out:
                write_junit(report, out)
        markdown = "".join(f"{line}\n" for line in as_markdown(report)) if asked.markdown or summary else ""
        if asked.markdown is not None:
            asked.markdown.write_text(markdown, encoding="utf-8", errors="replace")
        if summary:
            with Path(summary).open("a", encoding="utf-8", errors="replace") as out:
                out.write(markdown)
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be written: {error.strerror}") from error
    if asked.github:
        echo(annotations(report))


def _exit_code(graded: Graded, report: Report, *, met: bool) -> Exit:
    is_graded = any(run.outcome in (Outcome.PASS, Outcome.FAIL) for run in report.runs.values())
    if not met and report.runs:
        return Exit.GATE_MISSED
    if graded.refused:
        return Exit.BAD_INPUT
    return Exit.OK if is_graded else Exit.NOTHING_GRADED
