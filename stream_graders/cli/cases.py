"""``stream-graders test``: the cases that suites bring along."""

from collections.abc import Iterator
from pathlib import Path

import typer

from ..config import load
from ..config.cases import ENDING, CaseError, read_cases
from ..events import compact
from .errors import Exit, UserError, leave


def run_cases_of(files: list[Path], *, as_json: bool) -> None:
    """Run the cases of files, and of folders; exit code 1 if one of them says something else than it should."""
    paths = list(_case_files(files))
    if not paths:
        raise UserError(f"{', '.join(map(str, files))}: no {ENDING} file there; write one beside the suite")
    failed = total = 0
    for path in paths:
        try:
            suite_file, cases = read_cases(path)
            suite = load(suite_file)
            for case in cases:
                total += 1
                differences = list(case.differences(suite))
                failed += bool(differences)
                if as_json:
                    typer.echo(compact({"file": path.name, "run": case.name, "differences": differences}))
                for line in differences if not as_json else ():
                    typer.echo(f"{case.file}:{case.line}: {case.name}: {line}", err=True)
        except CaseError as error:
            raise UserError(str(error)) from error
    if not as_json:
        typer.echo(f"{total - failed} of {total} cases passed")
    if failed:
        leave(Exit.GATE_MISSED)


def _case_files(files: list[Path]) -> Iterator[Path]:
    for file in files:
        if file.is_dir():
            yield from sorted(file.glob(f"*{ENDING}"))
        elif file.name.endswith(ENDING):
            yield file
        else:
            # A suite stands for its cases.
            beside = file.with_name(file.name.removesuffix(".yaml") + ENDING)
            if not beside.exists():
                raise UserError(f"{file}: has no cases; write {beside.name} beside it")
            yield beside
