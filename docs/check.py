"""Checks the links in README.md, CHANGELOG.md and docs/: every relative one leads to a file, every anchor to a heading.

So does every test that a page names, as ``tests/file.py`` or ``tests/file.py::test_name``. Prints one line for each that
leads nowhere, with file and line, and exits with 1 if there is any. Addresses of other sites are not visited: a build
must not fail because somebody else's server does.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|^\[[^\]]+\]:\s*(\S+)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
FENCE = re.compile(r"^\s*(```|~~~)")
TEST = re.compile(r"\btests/[\w/]+\.py(?:::(\w+))?")
INLINE_CODE = re.compile(r"`[^`]*`")


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a Markdown file outside its code blocks, where a bracket is not a link."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(path: Path) -> set[str]:
    """The anchors that a forge makes of a page's headings: lower case, no punctuation, dashes for blanks."""
    found: set[str] = set()
    for _, line in prose(path):
        if heading := HEADING.match(line):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            number = next(n for n in range(len(found) + 1) if (f"{slug}-{n}" if n else slug) not in found)
            found.add(f"{slug}-{number}" if number else slug)
    return found


def broken(path: Path) -> Iterator[str]:
    for number, line in prose(path):
        for target in (found[1] or found[2] for found in LINK.finditer(INLINE_CODE.sub("", line))):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            file, _, anchor = unquote(target).partition("#")
            aim = (path.parent / file).resolve() if file else path
            place = f"{path.relative_to(ROOT)}:{number}"
            if not aim.is_relative_to(ROOT) or not aim.exists():
                yield f"{place}: there is no {file}"
            elif anchor and aim.suffix == ".md" and anchor not in anchors(aim):
                yield f"{place}: {aim.relative_to(ROOT)} has no heading #{anchor}"


def untested(path: Path) -> Iterator[str]:
    """Tests that a page names and that are not there."""
    for number, line in prose(path):
        for named in TEST.finditer(line):
            file = ROOT / named[0].partition("::")[0]
            if not file.exists() or (named[1] and f"def {named[1]}(" not in file.read_text(encoding="utf-8")):
                yield f"{path.relative_to(ROOT)}:{number}: there is no {named[0]}"


def main() -> int:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "tests" / "README.md"]
    existing = [page for page in sorted(pages) if page.exists()]
    problems = [problem for page in existing for problem in (*broken(page), *untested(page))]
    print("\n".join(problems) if problems else f"{len(pages)} pages, no broken link, every test there")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
