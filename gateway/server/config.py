"""The interface of server and application, and of supervisor and worker processes.

Imports little, because the supervisor imports it too and needs no application.
"""

import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gateway.metrics import Snapshot
from gateway.rate_limits import ArrivalTables
from gateway.server.logs import LogFormat
from rest.scope_members import MAX_HEADER_BYTES, MAX_URL_BYTES
from storage.mongo.shared_memory import CounterSlot, WriteCounter

if TYPE_CHECKING:
    import asyncio

    from starlette.types import ASGIApp

    from gateway.response_cache import FastPath
    from gateway.server.admission import Admission


class Application:
    """What a worker serves: an ASGI application, and what its server also asks for."""

    admission: "Admission"
    """Decides in the protocol which requests the application gets."""
    configured_base_url: str | None = None
    """The configured URL of the service, for errors that the protocol sends."""
    websocket_paths: frozenset[bytes] = frozenset()
    """The paths at which the application accepts WebSockets."""

    def build_app(self) -> "ASGIApp":
        """Return the ASGI application."""
        raise NotImplementedError

    def get_fast_path(self) -> "FastPath | None":
        """Return the fast path; connections ask for it once the application has started."""
        return None

    def run(self) -> AbstractAsyncContextManager[None]:
        """Return what is entered to start the application, and left to stop it.

        Raises StartError if it cannot start.
        """
        return nullcontext()

    async def warm_up(self) -> None:
        """Prepare what only later requests need. Run as a task once the service is ready."""

    def announce_stop(self) -> None:
        """Get ready to stop, while requests are still served."""

    def read_metrics(self) -> Snapshot:
        """Return the metrics of the application. Called in another thread."""
        return {}

    def end_streams(self) -> None:
        """End all streams, because no more connections are accepted."""

    def get_long_tasks(self) -> "frozenset[asyncio.Task[Any]]":
        """Return the tasks of requests that a reload lets end: imports, processing of maps."""
        return frozenset()


class SharedMemory(NamedTuple):
    """What the serving processes of a gateway share."""

    write_counter: WriteCounter
    arrivals: ArrivalTables

    @classmethod
    def for_single_process(cls) -> "SharedMemory":
        """Return memory that no other process uses."""
        return cls(WriteCounter.for_single_process(), ArrivalTables.for_single_process())


CreateApplication: TypeAlias = Callable[[SharedMemory], Application]
"""Called once in each serving process."""


@dataclass(frozen=True)
class ConnectionLimits:
    """What one connection may send, how long it may take, and how many a worker holds.

    Limits per address count all of an IPv6 /64 as one address.
    """

    handshake_seconds: float = 10.0
    """The time for the TLS handshake, from the connection on."""
    header_seconds: float = 10.0
    """The time from the connection, or from a request's first byte, to the end of its headers."""
    body_idle_seconds: float = 30.0
    """The time between two pieces of a request body, or between two reads of the response."""
    grace_seconds: float = 5.0
    """The time without any progress: from the end of the headers to the first bytes of a body, or
    from when a response begins to wait for its client until that reads."""
    min_bytes_per_second: int = 240
    """The rate of a body or of the reading of a response: so many bytes give a client one more
    second after the grace, but never more than `body_idle_seconds` from now (as in ASP.NET's
    Kestrel)."""
    body_seconds: float = 300.0
    """The time for a whole request body."""
    keep_alive_seconds: int = 65
    """The time between two requests: over the 60 s after which common proxies close."""
    linger_seconds: float = 2.0
    """How long to keep reading after an early response, so a TCP reset does not destroy it."""
    max_url_bytes: int = MAX_URL_BYTES
    max_header_bytes: int = MAX_HEADER_BYTES
    max_headers: int = 100
    max_connections: int = 4_000
    max_connections_per_address: int = 1_000
    """0 sets no limit, for a proxy that makes all connections."""
    max_unread_bytes: int = 256 << 20
    """The size of all responses that wait for their clients to read on."""
    max_unread_bytes_per_address: int = 64 << 20


RENEWAL_MARGIN = timedelta(days=30)
"""A self-signed certificate that expires sooner is renewed at the next start."""


def self_signed_paths(data_dir: Path) -> tuple[Path, Path]:
    """Return where the self-signed certificate and its key are; see `tls.ensure_certificate`."""
    return data_dir / "tls" / "cert.pem", data_dir / "tls" / "key.pem"


@dataclass(frozen=True)
class ServerConfig:
    """Everything a serving process needs. It is pickled for worker processes."""

    create_application: CreateApplication
    """A module-level function, or a `functools.partial` of one, so that it can be pickled."""
    certificate: tuple[str, str] | None = None
    """Paths of certificate and key; None serves plain HTTP."""
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    proxy_hops: int = 0
    """How many proxies before us append to `X-Forwarded-For`; 0 ignores the header."""
    drain_seconds: int = 10
    """The time for requests in progress when the service stops accepting connections."""
    drain_notice_seconds: int = 0
    """The time from SIGTERM until then, in which load balancers see the readiness probe fail."""
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every response, including those that the protocol makes itself."""
    log_level: str = "info"
    log_format: LogFormat = "json"
    log_file: Path | None = None
    """The file that lines are appended to; None means standard error."""


# The interface of supervisor and worker processes: orders, signals, reports and exit statuses.
#
# Supervisor and workers may be of adjacent releases while the service is reloaded.


READY_MESSAGE = b"\0"
"""Written by a worker to its channel once it serves. Anything else is its start-up error."""
LONG_TASKS_MESSAGE = b"\1"
"""Written by a retired worker that still imports or processes a map after its drain seconds."""
EXIT_START_FAILED = 3
"""Exit status of a worker process if its application did not start."""
EXIT_FORCED = 128 + signal.SIGINT
"""Exit status after a second SIGINT."""
RETIRE_SIGNAL = signal.SIGHUP
"""Tells a worker that others have taken its place: it drains, and the service goes on."""
GRACE_SECONDS = 5
"""The time for the application's own shutdown, after draining."""
MAX_LONG_TASK_SECONDS = 7200
"""The time for imports and for processing of maps after a reload; processing takes less."""


class WorkerOrders(NamedTuple):
    """The data that the supervisor pickles to a worker's standard input.

    The numbers are file descriptors that the worker inherits. Not sent as command-line arguments,
    which every user of the machine can read: the settings may hold a database password.
    """

    server_config: ServerConfig
    listeners: list[int]
    channel: int
    slot: CounterSlot
    arrivals: int
    metrics: int | None = None
    """Memory that the worker writes its metrics to; None if they are not served."""


def max_stop_seconds(server_config: ServerConfig) -> int:
    """Return how long a worker may take to stop. One that takes longer is killed."""
    return server_config.drain_notice_seconds + server_config.drain_seconds + 3 * GRACE_SECONDS
