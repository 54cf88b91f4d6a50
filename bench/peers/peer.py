"""What the harness knows of a peer: how to start it on a directory that is already loaded."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from bench.data.directory import Directory

BASE_URL = "https://floorgate.test"
"""What paging links start with, in every peer, so that all can answer the same."""
HOST = "127.0.0.1"
MONGO_URL_VARIABLE, DATABASE_VARIABLE, KEY_VARIABLE, ANSWERS_VARIABLE = (
    f"BENCH_{name}" for name in ("MONGO_URL", "DATABASE", "KEY", "ANSWERS")
)


@dataclass(frozen=True, slots=True)
class Peer:
    """One way to serve the same directory."""

    name: str
    title: str
    command: Callable[[int], list[str]]
    """From the port to listen on to the command line."""
    environment: Callable[[Directory], dict[str, str]]
    workloads: frozenset[str] | None = None
    """The names of the shapes that it serves; None is all of them."""
    rewrite_path: Callable[[str], str] = lambda path: path
    """The peer's own form of a path."""

    def serves(self, shape: str) -> bool:
        """Whether there is something to measure."""
        return self.workloads is None or shape in self.workloads


def peer_environment(directory: Directory) -> dict[str, str]:
    """The variables of a peer that is a file here."""
    return {
        MONGO_URL_VARIABLE: directory.mongo_url,
        DATABASE_VARIABLE: directory.database,
        KEY_VARIABLE: directory.key,
        ANSWERS_VARIABLE: str(directory.answers_path),
    }


def uvicorn_command(application: str) -> Callable[[int], list[str]]:
    """The command line of a peer on uvicorn, as in production: uvloop, httptools, no access log."""

    def command(port: int) -> list[str]:
        return [
            *(sys.executable, "-m", "uvicorn", "--factory", f"bench.peers.{application}"),
            *("--host", HOST, "--port", str(port), "--loop", "uvloop", "--http", "httptools"),
            *("--no-access-log", "--log-level", "warning"),
        ]

    return command
