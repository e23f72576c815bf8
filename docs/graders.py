"""Makes the manual pages in docs/graders/: one a grader, from its code, and their list.

    python docs/graders.py            write the pages
    python docs/graders.py --check    say which pages are not those of the code, and exit with 1 if any is not

What a page says stands once, in the code: the module's first line is the question, the class's docstring the answer
with an example that is run as a test, and the fields are the settings and what is remembered.
"""

import ast
import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, TypeGuard, get_type_hints

from stream_graders.catalogue import catalogue
from stream_graders.events import Message, RunEnd, RunStart, ToolCall, ToolResult
from stream_graders.folding import Combination
from stream_graders.grading import Grader, setting_fields, state_fields
from stream_graders.questions import AskingGrader, JudgeGrader
from stream_graders.replies import ReplyGrader
from stream_graders.verdicts import Outcome, Reason

FOLDER = Path(__file__).resolve().parent / "graders"
MADE = "<!-- Made by docs/graders.py from the code: change it there. -->"
READS = {
    Message: "messages", ToolCall: "tool calls", ToolResult: "tool results", RunEnd: "the run's end", RunStart: "its start",
}  # fmt: skip


def page(kind: type[Grader]) -> str:
    """The manual page of a grader."""
    return "\n".join([*_page(kind), ""])


def _page(kind: type[Grader]) -> Iterator[str]:
    told, example = _docstring(kind)
    yield MADE
    yield f"# `{kind.name}`"
    yield ""
    yield f"**{_question(kind)}**"
    yield ""
    yield told
    yield ""
    yield "## Settings"
    yield ""
    yield from _settings(kind)
    yield ""
    yield "## Outcomes"
    yield ""
    yield "| outcome | reason | meaning |"
    yield "|---|---|---|"
    for outcome, reason in _findings(kind):
        yield f"| `{outcome}` | `{reason}` | {Reason(reason).meaning} |"
    yield ""
    yield "Besides these any grader's outcome may be [`not_graded`](../concepts.md#outcomes), where what is missing could change it."
    yield ""
    yield "## How it works"
    yield ""
    yield from (f"- {line}" for line in _facts(kind))
    if example:
        yield ""
        yield "## Example"
        yield ""
        yield "```python"
        yield from example.splitlines()
        yield "```"
        yield ""
        yield "It is run as a test."
    yield ""
    yield f"[The code](../../{kind.__module__.replace('.', '/')}.py) · [All graders](README.md)"


def _question(kind: type[Grader]) -> str:
    """The first line of its module."""
    return _first(import_module(kind.__module__).__doc__)


def _first(text: str | None) -> str:
    return (text or "").strip().splitlines()[0]


def _docstring(kind: type[Grader]) -> tuple[str, str]:
    """What the class says, and its example."""
    text = inspect.cleandoc(kind.__doc__ or "")
    head, mark, example = text.partition(">>> ")
    words = re.sub(r"``([^`]+)``", r"`\1`", head).strip()
    return words, textwrap.dedent(mark + example).strip()


def _settings(kind: type[Grader]) -> Iterator[str]:
    fields = setting_fields(kind)
    if not fields:
        yield "None."
        return
    hints, told = get_type_hints(kind), _told_of_fields(kind)
    yield "| setting | type | default | |"
    yield "|---|---|---|---|"
    for f in fields:
        default = (
            "required" if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING else _shown(f)
        )
        place = kind.references.get(f.name)
        words = told.get(f.name, "") + (f" A run may bring its own: `expected.{place}` of its start." if place else "")
        yield f"| `{f.name}` | {_type(hints[f.name])} | {default} | {words.strip()} |"


def _shown(f: dataclasses.Field[Any]) -> str:
    value = f.default_factory() if callable(f.default_factory) else f.default
    return "none" if value is None else f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(hint: Any) -> str:
    if hint is Any:
        return "anything"
    words = str(hint) if getattr(hint, "__args__", None) else getattr(hint, "__name__", str(hint))
    words = words.replace("typing.", "").replace("NoneType", "None")
    for python, ours in (
        ("str", "text"),
        ("bool", "yes or no"),
        ("int", "number"),
        ("float", "number"),
        ("dict", "mapping"),
    ):
        words = re.sub(rf"\b{python}\b", ours, words)
    words = re.sub(r"Literal\[([^\]]*)\]", lambda found: found[1].replace("'", "`"), words)
    words = words.replace(" | None", "").replace("list[text]", "list of texts").replace("number | number", "number")
    return words.replace("|", "or")


def _told_of_fields(kind: type[Grader]) -> dict[str, str]:
    """The docstrings under the fields of a class and its bases."""
    told: dict[str, str] = {}
    for base in kind.__mro__:
        if not issubclass(base, Grader):
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(body, ast.ClassDef)
        for field, after in zip(body.body, [*body.body[1:], None], strict=True):
            is_told = (
                isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
                and isinstance(after.value.value, str)
            )
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_told:
                assert isinstance(after, ast.Expr)
                assert isinstance(after.value, ast.Constant)
                words = re.sub(r"``?([^`]+)``?", r"`\1`", " ".join(str(after.value.value).split()))
                told.setdefault(field.target.id, words.replace("|", "\\|"))
    return told


def _findings(kind: type[Grader]) -> list[tuple[str, str]]:
    """The outcomes and reasons that its code and that of its family's bases give."""
    shared = (Grader, ReplyGrader, AskingGrader, JudgeGrader)
    modules = {base.__module__ for base in kind.__mro__ if issubclass(base, Grader) and base not in shared}
    trees = [ast.parse(inspect.getsource(import_module(module))) for module in sorted(modules)]
    names = {"Outcome": {o.name for o in Outcome}, "Reason": {r.name for r in Reason}}
    found: set[tuple[str, str]] = set()
    for tree in trees:
        helpers = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "scored"]
        inside = {inner for helper in helpers for inner in ast.walk(helper)}  # It passes on what its callers name.
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "scored":
                for outcome, reason in zip((Outcome.PASS, Outcome.FAIL), node.args[1:3], strict=True):
                    if _is_of(reason, "Reason", names["Reason"]):
                        found.add((outcome.value, Reason[reason.attr].value))
            elif node in inside:
                continue
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                outcomes, reasons = (
                    {n.attr for part in node.args[at : at + 1] for n in ast.walk(part) if _is_of(n, of, names[of])}
                    for at, of in ((0, "Outcome"), (1, "Reason"))
                )
                found |= {
                    (Outcome[o].value, Reason[r].value)
                    for o in outcomes or _any(tree, "Outcome", names)
                    for r in reasons or _any(tree, "Reason", names)
                }
    if issubclass(kind, AskingGrader):
        found |= _of_a_judge(kind) if issubclass(kind, JudgeGrader) else _of_a_probe(kind)
    order = [outcome.value for outcome in Outcome]
    return sorted(found, key=lambda pair: (order.index(pair[0]), list(Reason).index(Reason(pair[1]))))


def _of_a_judge(kind: type[JudgeGrader]) -> set[tuple[str, str]]:
    """What becomes of any question to a judge."""
    failed = (Reason.JUDGE_ERROR, Reason.JUDGE_DEADLINE)
    spared = (Reason.NOTHING_TO_JUDGE, Reason.NO_JUDGE, Reason.BUDGET, Reason.SAMPLED_OUT)
    found = {(Outcome.PASS, Reason.JUDGED_WELL), (Outcome.FAIL, Reason.JUDGED_BADLY)}
    found |= {(kind.unanswered, reason) for reason in failed} | {(Outcome.NOT_GRADED, reason) for reason in spared}
    return {(outcome.value, reason.value) for outcome, reason in found}


def _of_a_probe(kind: type[AskingGrader]) -> set[tuple[str, str]]:
    failed = {(kind.unanswered, Reason.JUDGE_ERROR), (kind.unanswered, Reason.JUDGE_DEADLINE)}
    found = failed | {(Outcome.NOT_GRADED, Reason.SAMPLED_OUT)}
    return {(outcome.value, reason.value) for outcome, reason in found}


def _any(tree: ast.AST, of: str, names: dict[str, set[str]]) -> set[str]:
    """Where a finding takes its outcome or reason from a variable: those that the module names otherwise."""
    return {n.attr for n in ast.walk(tree) if _is_of(n, of, names[of])}


def _is_of(node: ast.AST, of: str, names: set[str]) -> TypeGuard[ast.Attribute]:
    is_one = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == of
    return is_one and node.attr in names  # type: ignore[attr-defined]  # is_one says so


def _facts(kind: type[Grader]) -> Iterator[str]:
    grader = object.__new__(kind)
    for f in dataclasses.fields(kind):
        default = f.default_factory() if callable(f.default_factory) else f.default
        setattr(grader, f.name, None if default is dataclasses.MISSING else default)
    try:
        reads = [READS.get(event, event.__name__) for event in grader.wants()]
        yield f"Reads {', '.join(reads)}." if reads else "Reads no event."
    except Exception:  # noqa: BLE001  (what it reads depends on settings that have no default)
        yield "What it reads depends on its settings."
    if issubclass(kind, ReplyGrader):
        yield "Looks at the final reply: the output that the run's end reports, else the last assistant message with text. Decided at the end."
    if issubclass(kind, JudgeGrader):
        yield "Asks a judge once the run is complete, of the share of runs that the check's `judge:` names; the run verdict waits for the answer."
    elif issubclass(kind, AskingGrader):
        yield "Has the judge worker look once the run is complete, of each run unless the check's `judge:` says otherwise; the run verdict waits for the answer."
    if kind.order_free:
        yield "The order of events does not matter to it, so an event that comes late mends its verdict."
    if list(kind.scale) != [0, 1] or kind.pass_at is not None:
        lowest, highest = kind.scale
        at = (
            ""
            if kind.pass_at is None
            else f", and passes from {kind.pass_at:g} unless the check's `pass_at` says otherwise"
        )
        yield f"Scores {lowest:g} to {highest:g}{at}."
    if kind.assumes is not None:
        yield f"A run in which {kind.assumes} fails: give the check a `when` if not every run should."
    bound = (
        "at most 64 kB, shared with the other growing checks of a run"
        if kind.grows
        else "at most 16 kB, and mostly a few bytes"
    )
    told = _told_of_fields(kind)
    kept = [f.name for f in state_fields(kind) if f.name != "settled"]
    yield f"Remembers {bound}" + (f": {', '.join(f'`{name}`' for name in kept)}." if kept else ".")
    yield from (f"`{name}`: {told[name]}" for name in kept if name in told)
    if kind.metadata:
        yield "Metadata: " + ", ".join(f"{key} {value}" for key, value in kind.metadata.items()) + "."


def index() -> str:
    """The list of all graders by family."""
    lines = [
        MADE,
        "# Graders",
        "",
        "The name is what a suite writes under `grader:`; dashes may stand for underscores.",
        "",
    ]
    lines += ["Which one for which question: [which grader](../which-grader.md).", ""]
    family = ""
    for name, kind in catalogue().items():
        if name.partition(".")[0] != family:
            family = name.partition(".")[0]
            package = import_module(kind.__module__.rpartition(".")[0])
            lines += [
                f"## {family}",
                "",
                _first(package.__doc__),
                "",
                "| grader | question |",
                "|---|---|",
            ]
        lines.append(f"| [`{name}`]({name}.md) | {_question(kind)} |")
    lines += ["", f"A check may also be made of others: {inspect.getdoc(Combination)}", ""]
    spaced: list[str] = []
    for line in lines:
        if line.startswith("## ") and spaced and spaced[-1]:
            spaced.append("")
        spaced.append(line)
    return "\n".join(spaced)


def main() -> int:
    pages = {f"{name}.md": page(kind) for name, kind in catalogue().items()}
    pages["README.md"] = index()
    if "--check" not in sys.argv:
        FOLDER.mkdir(exist_ok=True)
        for old in FOLDER.glob("*.md"):
            if old.name not in pages:
                old.unlink()
        for name, text in pages.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"{len(pages)} pages written")
        return 0
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    stale = sorted(name for name in pages.keys() | there.keys() if pages.get(name) != there.get(name))
    for name in stale:
        print(f"docs/graders/{name} is not what the code says: run python docs/graders.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
