"""Peers: servers of the same data, and how to start them on a loaded directory.

Floorgate is two of them, as users run it behind a proxy, with one worker and all checks and logs:
without and with the response cache, so that figures of both are kept apart.
"""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

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
    arguments: tuple[str, ...] = ()
    """Added to the command line."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment."""

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


# The key check of the peers on starlette

Handler = Callable[[Request], Awaitable[Response]]


def read_keys() -> frozenset[str]:
    """Return all keys, from the environment."""
    return frozenset([os.environ[KEY_VARIABLE], *os.environ[SCOPED_KEYS_VARIABLE].split(",")])


def require_key(handler: Handler) -> Handler:
    """Return a handler that answers 403 to requests without a key."""
    keys = read_keys()

    async def guarded(request: Request) -> Response:
        if request.headers.get("api-key") not in keys:
            return Response(status_code=403)
        return await handler(request)

    return guarded


# Floorgate's answers to every request, recorded in a file for peers that replay them


class RecordedAnswer(msgspec.Struct, frozen=True):
    """A request and the answer to it."""

    path: str
    body: bytes
    """Body of the request."""
    content_type: str
    etag: str
    content: bytes


def write_recorded_answers(path: Path, answers: list[RecordedAnswer]) -> None:
    """Write answers to a file."""
    path.write_bytes(msgspec.msgpack.encode(answers))


def read_recorded_answers(path: str) -> list[RecordedAnswer]:
    """Return the answers in a file."""
    return msgspec.msgpack.decode(Path(path).read_bytes(), type=list[RecordedAnswer])


# Floorgate

COMMAND = [sys.executable, "-c", "from gateway.cli.main import main; main()"]
CACHE_OFF = {"FLOORGATE_CACHE_MB": "0"}


def command(port: int) -> list[str]:
    """Return the command line of `floorgate serve`."""
    return [*COMMAND, "serve", "--host", HOST, "--port", str(port), "--behind-proxy"]


def environment(directory: Directory) -> dict[str, str]:
    """Return the settings of a gateway on a directory; without an address it has its own mongod."""
    settings = {"FLOORGATE_BASE_URL": BASE_URL, "FLOORGATE_RATE_LIMIT": "0"}
    if directory.mongo_url:
        settings |= {
            "FLOORGATE_MONGO_URL": directory.mongo_url,
            "FLOORGATE_DATABASE": directory.database,
        }
    return settings


def with_settings(name: str, title: str, **settings: str) -> Peer:
    """Return a gateway with additional environment variables."""
    return Peer(name, title, command, environment, settings=settings)


UNCACHED = with_settings("floorgate", "Floorgate, cache off", **CACHE_OFF)
CACHED = with_settings("floorgate-cached", "Floorgate, cache on")
