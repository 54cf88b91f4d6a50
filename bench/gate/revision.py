"""The revision to compare with: its files, beside this checkout and with the same packages."""

import io
import subprocess
import tarfile
from pathlib import Path

from bench.load.servers import CHECKOUT

MAIN_BRANCH = "main"


class RevisionError(Exception):
    """The repository does not have a revision."""


def find_previous() -> str:
    """Return where this branch left `main`, or on `main` itself the commit before this one."""
    base = _run_git("merge-base", "HEAD", MAIN_BRANCH)
    return "HEAD~1" if base in ("", _run_git("rev-parse", "HEAD")) else base


def extract_revision(revision: str, directory: Path) -> Path:
    """Write a revision's files into a directory. Raises RevisionError."""
    archive = subprocess.run(["git", "archive", revision], cwd=CHECKOUT, capture_output=True)
    if archive.returncode:
        raise RevisionError(f"{revision}: {archive.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(directory, filter="data")
    return directory


def describe_revision(revision: str) -> str:
    """Return a short id and the subject of a revision."""
    return _run_git("log", "-1", "--format=%h %s", revision)


def _run_git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True)
    return done.stdout.strip()
