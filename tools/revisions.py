"""The files of other revisions, beside the working tree."""

import io
import subprocess
import tarfile
from pathlib import Path

import click

ROOT = Path(__file__).parents[1]


class RevisionError(click.ClickException):
    """The repository does not have a revision."""


def extract_revision(revision: str, directory: Path) -> Path:
    """Write a revision's files into a directory, and return it. Raises RevisionError."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True)
    if archive.returncode:
        raise RevisionError(f"{revision}: {archive.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(directory, filter="data")
    return directory
