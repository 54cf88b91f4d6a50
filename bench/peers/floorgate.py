"""Floorgate as users run it behind a proxy: one worker, all checks and logs.

Two peers, without and with the response cache, so that figures of both are kept apart.
"""

import sys
from dataclasses import replace

from bench.data.directory import Directory
from bench.peers.peer import BASE_URL, HOST, Peer

COMMAND = [sys.executable, "-c", "from gateway.cli.main import main; main()"]
CACHE_OFF = {"FLOORGATE_CACHE_MB": "0"}


def command(port: int) -> list[str]:
    """Return the command line of `floorgate serve`."""
    return [*COMMAND, "serve", "--host", HOST, "--port", str(port), "--behind-proxy"]


def environment(directory: Directory) -> dict[str, str]:
    """Return the settings of a gateway on a directory."""
    return {
        "FLOORGATE_MONGO_URL": directory.mongo_url,
        "FLOORGATE_DATABASE": directory.database,
        "FLOORGATE_BASE_URL": BASE_URL,
        "FLOORGATE_RATE_LIMIT": "0",
    }


def with_settings(name: str, title: str, **settings: str) -> Peer:
    """Return a gateway with additional environment variables."""

    def own(directory: Directory) -> dict[str, str]:
        return environment(directory) | settings

    return Peer(name, title, command, own)


def with_workers(peer: Peer, workers: int) -> Peer:
    """Return the peer with several worker processes."""

    def own(port: int) -> list[str]:
        return [*peer.command(port), "--workers", str(workers)]

    return replace(peer, command=own)


UNCACHED = with_settings("floorgate", "Floorgate, cache off", **CACHE_OFF)
CACHED = with_settings("floorgate-cached", "Floorgate, cache on")
