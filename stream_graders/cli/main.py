"""The command ``stream-graders``."""

from pathlib import Path
from typing import Annotated

import typer

from .errors import told

app = typer.Typer(
    name="stream-graders",
    help="Grade the runs of AI agents while they run.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
topics_app = typer.Typer(help="Kafka topics as code.", no_args_is_help=True)
app.add_typer(topics_app, name="topics")

Suites = Annotated[
    list[Path], typer.Option("--suite", "-s", help="A suite file, or a folder of them; may be repeated.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]


@app.command()
def grade(
    files: Annotated[list[Path], typer.Argument(help="JSON Lines of events or of chat transcripts; .gz is read too.")],
    suite: Suites,
    json: AsJson = False,
    fail_on: Annotated[
        str, typer.Option(help="Run outcomes that miss the gate, with commas: fail, error, not_graded, skipped.")
    ] = "fail,error",
) -> None:
    """Grade finished runs in files: the verdicts that a worker gives on the same events."""
    from .grade import grade_files

    with told():
        grade_files(files, suite, as_json=json, fail_on=fail_on)


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(help="Suite files, or folders of them.")],
    json: AsJson = False,
) -> None:
    """Check suite files: every problem, with its file, line and likely fix."""
    from .check import check_files

    with told():
        check_files(files, as_json=json)


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
