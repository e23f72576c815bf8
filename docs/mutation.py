"""Runs the mutation check of docs/mutation.md with mutmut, and prints its score by family.

``make mutation`` runs every mutant, ``make mutation ARGS='--one-in 6'`` a sixth of them, ``make mutation
ARGS='stream_graders.graders.trajectory.precedes.*'`` those of a module, and ``make mutation ARGS=--score`` none: it prints
what the runs before have left in ``mutants/``. What has a result is run again only where a pattern names it.

mutmut starts a mutant in a process in which the tests' modules are loaded: a grader in a table of cases was built before,
without the mutant. So ``--survivors`` runs what survived again, and what survives that once more, in a process of its own.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MUTANTS = ROOT / "mutants"
ALONE = MUTANTS / "alone.json"
"""Of what survived mutmut's run: was it noticed in a process of its own?"""
PYTHON = Path(sys.executable)
MUTMUT = [str(PYTHON.with_name("mutmut")), "run", "--max-children", "1"]
CHEAP = "stream_graders.graders.trajectory._steps.*"
SURVIVED = {0: "survived", 33: "no test"}
TIMEOUTS = (36, 24, -24, 152, 255)
"""mutmut's exit codes; every other one is a test that failed."""


def results() -> dict[str, int | None]:
    """Every mutant's exit code; None where it has not been run."""
    found: dict[str, int | None] = {}
    for path in sorted(MUTANTS.rglob("*.meta")):
        found |= json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
    return found


def drawn(name: str, one_in: int) -> bool:
    """Is a mutant one of the sample? By its name alone, so that it stays one whatever else is changed."""
    return int.from_bytes(sha256(name.encode()).digest()[:8]) % one_in == 0


def outcome(name: str, code: int) -> str:
    if code in SURVIVED:
        return "alone" if noticed_alone().get(name) else SURVIVED[code]
    return "timeout" if code in TIMEOUTS else "killed"


def noticed_alone() -> dict[str, bool]:
    found: dict[str, bool] = json.loads(ALONE.read_text(encoding="utf-8")) if ALONE.exists() else {}
    return found


def files_about(name: str) -> list[str]:
    """The test files that name a mutant's module; for what a family shares, the family; for matching, its users too."""
    module = name.rpartition(".")[0].removeprefix("stream_graders.")
    parent, _, last = module.rpartition(".")
    sought = [f"{parent}." if last.startswith("_") else module]
    if parent == "matching":
        users = (ROOT / "stream_graders" / "graders").rglob("*.py")
        sought += [f"graders.{u.parent.name}.{u.stem}" for u in users if f"{module} import" in u.read_text("utf-8")]
    files = [*(ROOT / "tests" / "graders").rglob("test_*.py"), ROOT / "tests" / "core" / "test_matching.py"]
    named = [file for file in files if any(each in file.read_text("utf-8") for each in sought)]
    return [str(file.relative_to(ROOT)) for file in sorted(named, key=lambda file: file.stat().st_size)]


def is_noticed(name: str) -> bool:
    pytest = [str(PYTHON), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--timeout=60", *files_about(name)]
    mutant = os.environ | {"MUTANT_UNDER_TEST": name}
    told = subprocess.run(pytest, cwd=MUTANTS, env=mutant, capture_output=True, check=False)
    return told.returncode == 1


def table(one_in: int) -> str:
    counts: dict[str, Counter[str]] = {}
    for name, code in results().items():
        if drawn(name, one_in) and code is not None:
            _, folder, group, *_ = name.split(".")
            for row in (f"{folder}.{group}" if folder == "graders" else folder, "all"):
                counts.setdefault(row, Counter())[outcome(name, code)] += 1
    lines = ["| | mutants | killed | survived | score |", "|---|---|---|---|---|"]
    for row in sorted(counts, key=lambda row: (row == "all", row)):
        total = counts[row].total()
        alive = counts[row]["survived"] + counts[row]["no test"]
        lines.append(f"| {row} | {total} | {total - alive} | {alive} | {1 - alive / total:.1%} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("patterns", nargs="*", help="names of mutants, with * for any characters")
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="of N mutants one, drawn by its name")
    parser.add_argument("--survivors", action="store_true", help="run again what survived before")
    parser.add_argument("--score", action="store_true", help="run nothing; name what survived")
    asked = parser.parse_args()

    def alive() -> list[str]:
        return [name for name, code in results().items() if drawn(name, asked.one_in) and code in SURVIVED]

    names: list[str] = asked.patterns
    if asked.one_in > 1 and not results():
        subprocess.run([*MUTMUT, CHEAP], cwd=ROOT, check=True)  # It writes all mutants before it runs the first.
    if asked.survivors:
        names = alive()
    elif asked.one_in > 1:
        names = [name for name, code in results().items() if drawn(name, asked.one_in) and code is None]
    if not asked.score and (names or not (asked.survivors or asked.one_in > 1)):
        subprocess.run([*MUTMUT, *names], cwd=ROOT, check=True)
    if asked.survivors:
        noticed: dict[str, bool] = {}
        for name in alive():
            noticed[name] = is_noticed(name)
            ALONE.write_text(json.dumps(noticed, indent=1), encoding="utf-8")
    if asked.score:
        print("\n".join(name for name in alive() if not noticed_alone().get(name)))
    print(table(asked.one_in))
    return 0


if __name__ == "__main__":
    sys.exit(main())
