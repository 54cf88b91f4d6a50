"""Floorgate as its users run it behind a proxy: one worker, every check, its log lines written.

It is two peers, without its cache of responses and with it, for the two are not to be mixed.
"""

import sys
from dataclasses import replace

from bench.data.directory import Directory
from bench.peers.peer import BASE_URL, HOST, Peer

COMMAND = [sys.executable, "-c", "from gateway.cli.main import main; main()"]
CACHE_OFF = {"FLOORGATE_CACHE_MB": "0"}


def command(port: int) -> list[str]:
    """`floorgate serve`."""
    return [*COMMAND, "serve", "--host", HOST, "--port", str(port), "--behind-proxy"]


def environment(directory: Directory) -> dict[str, str]:
    """The settings of a gateway on a directory."""
    return {
        "FLOORGATE_MONGO_URL": directory.mongo_url,
        "FLOORGATE_DATABASE": directory.database,
        "FLOORGATE_BASE_URL": BASE_URL,
    }


def with_settings(name: str, title: str, **settings: str) -> Peer:
    """A gateway with these variables besides."""

    def own(directory: Directory) -> dict[str, str]:
        return environment(directory) | settings

    return Peer(name, title, command, own)


def with_workers(peer: Peer, workers: int) -> Peer:
    """The same of so many processes."""

    def own(port: int) -> list[str]:
        return [*peer.command(port), "--workers", str(workers)]

    return replace(peer, command=own)


UNCACHED = with_settings("floorgate", "Floorgate, cache off", **CACHE_OFF)
CACHED = with_settings("floorgate-cached", "Floorgate, cache on")
