"""The environment of users of clients: packages that do not fit with those of Floorgate."""

import fcntl
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

LOCK = Path(__file__).parents[2] / "requirements-clients.lock"


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    directory: Path

    @property
    def python(self) -> Path:
        return self.directory / "bin" / "python"

    def pip(self, *arguments: object) -> str:
        """Run pip on the environment; raises AssertionError with what it says when it fails."""
        quiet = ["--quiet", "--disable-pip-version-check", "--retries", "1"]
        return run(
            *(sys.executable, "-m", "pip", *quiet, "--python", self.python, *arguments),
            cwd=LOCK.parent,
        )


def run(*command: object, cwd: Path, **variables: str) -> str:
    """What a program prints; raises AssertionError with it all when it fails."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def install() -> Environment:
    """Return the environment of the lock file; skip the test if it cannot be had."""
    environment = Environment(Path(sys.prefix) / "clients")
    installed = environment.directory / ".installed"
    with LOCK.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if installed.exists() and installed.stat().st_mtime >= LOCK.stat().st_mtime:
            return environment
        create = (sys.executable, "-m", "venv", "--clear", "--without-pip")
        run(*create, environment.directory, cwd=LOCK.parent)
        try:
            environment.pip("install", "--require-hashes", "-r", LOCK)
        except AssertionError as error:
            pytest.skip(f"pip could not install {LOCK.name}: {error}")
        installed.touch()
    return environment
