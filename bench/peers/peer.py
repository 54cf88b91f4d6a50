"""What the harness knows of a peer: how to start it on a directory that is already loaded."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.directory import Directory

BASE_URL = "https://floorgate.test"
"""What paging links start with, in every peer, so that all can answer the same bytes."""
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Peer:
    """One way to serve the same directory."""

    name: str
    title: str
    command: Callable[[int], list[str]]
    """From the port to listen on to the command line."""
    environment: Callable[[Directory], dict[str, str]]
