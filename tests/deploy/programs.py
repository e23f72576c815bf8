"""The programs that check what is deployed, from Debian's packages prometheus and prometheus-alertmanager."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
NAMES = {
    "prometheus": ("prometheus",),
    "promtool": ("promtool",),
    "alertmanager": ("prometheus-alertmanager", "alertmanager"),  # as Debian names it, and as its makers do
    "amtool": ("amtool",),
}


def program(name: str) -> str | None:
    """Where a program is; None if it is not on the path."""
    return next((path for each in NAMES[name] if (path := shutil.which(each))), None)


def missing_programs() -> list[str]:
    """Those that are not on the path."""
    return [name for name in NAMES if program(name) is None]


def told_by(name: str, *arguments: str | Path) -> tuple[int, str]:
    """Exit code and output of a program."""
    command: Sequence[str] = [str(program(name)), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
    return done.returncode, done.stdout
