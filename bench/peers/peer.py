"""Peers: other servers of the same data, and how to start them on a loaded directory."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.data.directory import Directory

BASE_URL = "https://floorgate.test"
"""Base of paging links in every peer, so that answers can be equal."""
HOST = "127.0.0.1"
MONGO_URL_VARIABLE, DATABASE_VARIABLE, KEY_VARIABLE, SCOPED_KEYS_VARIABLE, ANSWERS_VARIABLE = (
    f"BENCH_{name}" for name in ("MONGO_URL", "DATABASE", "KEY", "SCOPED_KEYS", "ANSWERS")
)


@dataclass(frozen=True, slots=True)
class Peer:
    """A server that can be compared."""

    name: str
    title: str
    command: Callable[[int], list[str]]
    """Return the command line for a port."""
    environment: Callable[[Directory], dict[str, str]]
    workloads: frozenset[str] | None = None
    """Names of the workloads that it serves; None means all."""
    rewrite_path: Callable[[str], str] = lambda path: path
    """Return the peer's own form of a path."""
    checkout: Path | None = None
    """The directory of its code; None means this one."""

    def serves(self, workload: str) -> bool:
        """Return whether the peer serves a workload."""
        return self.workloads is None or workload in self.workloads


def peer_environment(directory: Directory) -> dict[str, str]:
    """Return the environment variables of a peer in this package."""
    return {
        MONGO_URL_VARIABLE: directory.mongo_url,
        DATABASE_VARIABLE: directory.database,
        KEY_VARIABLE: directory.key,
        SCOPED_KEYS_VARIABLE: ",".join(directory.scoped_keys),
        ANSWERS_VARIABLE: str(directory.answers_path),
    }


def uvicorn_command(application: str) -> Callable[[int], list[str]]:
    """Return a production command line on uvicorn: uvloop, httptools, no access log."""

    def command(port: int) -> list[str]:
        return [
            *(sys.executable, "-m", "uvicorn", "--factory", f"bench.peers.{application}"),
            *("--host", HOST, "--port", str(port), "--loop", "uvloop", "--http", "httptools"),
            *("--no-access-log", "--log-level", "warning"),
        ]

    return command
