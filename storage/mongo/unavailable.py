"""Tell the errors that mean that MongoDB cannot be used now, or at all, from a wrong command.

`check_requirements` finds out before a gateway starts on a MongoDB where every write would fail.
"""

import asyncio
import errno
import logging
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any

import pymongo
from bson import Timestamp
from msgspec import Struct, field
from pymongo.errors import (
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    ExecutionTimeout,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
)
from pymongo.read_preferences import ReadPreference
from pymongo.server_type import SERVER_TYPE
from pymongo.topology_description import TopologyDescription

from storage.errors import DiskFullError, MongoUnusableError, UnavailableCause, UnavailableError
from storage.mongo import topology
from storage.mongo.protocols import Client

# The operation that a task works on: when its commands have to end, and what its reads see.
#
# A context variable holds it, so that it reaches the commands through the layers between, and those
# of the tasks that the operation starts.


SNAPSHOT_SECONDS = 60.0
"""The longest that an operation reads from one snapshot. MongoDB keeps snapshots for 300 seconds.
"""


_operation: ContextVar[Any] = ContextVar("operation", default=None)


# A Struct: every request has one.
class OperationDeadline(Struct, eq=False):
    """A deadline by `time.monotonic`, which may be moved, and the snapshot that is read."""

    end: float
    client: Any = None
    """The client that it reads with; None before the first read."""
    snapshot_time: Timestamp | None = None
    """The cluster time that all reads see; None before the first read and after a write."""
    snapshot_taken: float = 0.0
    """A moment before that snapshot was taken, by `time.monotonic`."""
    began_reading: float = math.inf
    """A moment before the first snapshot: what was read then may be used again later."""
    first_read: asyncio.Future[None] | None = None
    """Done when the read that takes the snapshot has ended; None while there is none."""
    outer: "OperationDeadline | None" = field(default_factory=_operation.get)

    def __enter__(self) -> None:
        _operation.set(self)

    def __exit__(self, *_: object) -> None:
        _operation.set(self.outer)

    def get_snapshot_time(self) -> Timestamp | None:
        """Return the time of the snapshot, unless there is none or it may be too old to read."""
        if self.snapshot_time is None:
            return None
        is_recent = time.monotonic() - self.snapshot_taken < SNAPSHOT_SECONDS
        return self.snapshot_time if is_recent else None

    def end_snapshot(self) -> None:
        """Let the next read take another snapshot."""
        self.snapshot_time = None
        self.began_reading = math.inf


get_operation: Callable[[], OperationDeadline | None] = _operation.get
"""Returns the operation that this task works on."""


def limit_time(seconds: float) -> OperationDeadline:
    """Let no command inside the `with` block, or in a task started there, go on for longer.

    MongoDB itself ends a command at that time. Applies to commands inside `translate_errors`, and
    to transactions, which are then rolled back. All reads inside see the same snapshot of the
    database, until there is a transaction.
    """
    return OperationDeadline(time.monotonic() + seconds)


def remaining_seconds() -> float | None:
    """Return how long commands may go on; None without a limit."""
    operation = get_operation()
    if operation is None or operation.end == math.inf:
        return None
    return max(operation.end - time.monotonic(), 0.001)  # 0 would mean no limit to the driver


def snapshot_taken() -> float:
    """Return a moment since which this operation's reads may lack changes; else infinity."""
    operation = get_operation()
    if operation is None:
        return math.inf
    return operation.began_reading


TIMEOUT_SECONDS = 3.0
"""Timeout of one operation of the driver."""

MIN_RELEASE = "6.0"
MIN_WIRE_VERSION = 17
"""Servers of that release say this in their reply to `hello`."""

DISK_FULL = "MongoDB has no room left on its disk: make room there, and try again"

_logger = logging.getLogger("floorgate.mongodb")
_logger.addHandler(logging.NullHandler())  # else a command would say it twice
_AUTHENTICATION_FAILED = 18
_NOT_AUTHORIZED = 13
_OUT_OF_DISK_SPACE = 14031
_NO_SPACE = f"{errno.ENOSPC}: {os.strerror(errno.ENOSPC)}"
"""Messages of errors that MongoDB passes on from its storage engine, without a code, begin so."""
_LABELS = (
    "RetryableWriteError",
    "TransientTransactionError",
    "UnknownTransactionCommitResult",
)
_CAUSES = {
    6: UnavailableCause.DATABASE_UNREACHABLE,  # HostUnreachable
    7: UnavailableCause.DATABASE_UNREACHABLE,  # HostNotFound
    _OUT_OF_DISK_SPACE: UnavailableCause.DISK_FULL,
    _NOT_AUTHORIZED: UnavailableCause.DATABASE_REFUSED,
    _AUTHENTICATION_FAILED: UnavailableCause.DATABASE_REFUSED,
    146: UnavailableCause.DATABASE_REFUSED,  # ExceededMemoryLimit
    292: UnavailableCause.DATABASE_REFUSED,  # QueryExceededMemoryLimitNoDiskUseAllowed
    24: UnavailableCause.WRITE_CONFLICT,  # LockTimeout
    43: UnavailableCause.INTERRUPTED,  # CursorNotFound: the member that had it has restarted
    46: UnavailableCause.WRITE_CONFLICT,  # LockBusy
    50: UnavailableCause.DEADLINE_EXCEEDED,  # MaxTimeMSExpired
    64: UnavailableCause.NO_MAJORITY,  # WriteConcernFailed: no majority acknowledged in time
    89: UnavailableCause.DATABASE_UNREACHABLE,  # NetworkTimeout
    91: UnavailableCause.NO_PRIMARY,  # ShutdownInProgress
    100: UnavailableCause.NO_MAJORITY,  # UnsatisfiableWriteConcern
    112: UnavailableCause.WRITE_CONFLICT,  # WriteConflict
    133: UnavailableCause.NO_PRIMARY,  # FailedToSatisfyReadPreference
    134: UnavailableCause.NO_MAJORITY,  # ReadConcernMajorityNotAvailableYet
    175: UnavailableCause.INTERRUPTED,  # QueryPlanKilled
    189: UnavailableCause.NO_PRIMARY,  # PrimarySteppedDown
    202: UnavailableCause.DATABASE_UNREACHABLE,  # NetworkInterfaceExceededTimeLimit
    237: UnavailableCause.INTERRUPTED,  # CursorKilled
    239: UnavailableCause.INTERRUPTED,  # SnapshotTooOld
    246: UnavailableCause.INTERRUPTED,  # SnapshotUnavailable
    251: UnavailableCause.INTERRUPTED,  # NoSuchTransaction
    262: UnavailableCause.DEADLINE_EXCEEDED,  # ExceededTimeLimit
    279: UnavailableCause.INTERRUPTED,  # ClientDisconnect
    282: UnavailableCause.NO_PRIMARY,  # TransactionCoordinatorSteppingDown
    290: UnavailableCause.INTERRUPTED,  # TransactionExceededLifetimeLimitSeconds
    365: UnavailableCause.WRITE_CONFLICT,  # TemporarilyUnavailable: its cache is full of changes
    462: UnavailableCause.QUEUE_FULL,  # IngressRequestRateLimitExceeded, of releases after 8.0
    9001: UnavailableCause.DATABASE_UNREACHABLE,  # SocketException
    10058: UnavailableCause.NO_PRIMARY,  # LegacyNotPrimary
    10107: UnavailableCause.NO_PRIMARY,  # NotWritablePrimary
    11600: UnavailableCause.NO_PRIMARY,  # InterruptedAtShutdown
    11601: UnavailableCause.INTERRUPTED,  # Interrupted
    11602: UnavailableCause.NO_PRIMARY,  # InterruptedDueToReplStateChange
    13435: UnavailableCause.NO_PRIMARY,  # NotPrimaryNoSecondaryOk
    13436: UnavailableCause.NO_PRIMARY,  # NotPrimaryOrSecondary
}
"""The codes of MongoDB's `error_codes.yml` that are retryable, interrupted, due to the set's state,
or need an operator."""


def translate_errors() -> AbstractContextManager[None]:
    """Raise UnavailableError for driver errors that mean that MongoDB cannot be used now.

    Commands inside end at the time that `limit_time` has set, if that is before the client's own
    timeout.
    """
    return _ErrorTranslation()


class _ErrorTranslation(AbstractContextManager[None]):
    # A class: each read passes here, and a generator takes several microseconds more.
    __slots__ = ("_timeout",)

    def __enter__(self) -> None:
        operation = _operation.get()
        self._timeout: AbstractContextManager[None] | None = None
        if operation is not None and operation.end < time.monotonic() + TIMEOUT_SECONDS:
            self._timeout = pymongo.timeout(remaining_seconds())
            self._timeout.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timeout is not None:
            self._timeout.__exit__(kind, error, trace)
        if isinstance(error, PyMongoError):
            if is_disk_full(error):
                raise DiskFullError(DISK_FULL) from error
            if cause := find_cause(error):
                message = "MongoDB cannot be reached"
                if cause is UnavailableCause.DATABASE_REFUSED:
                    message = f"MongoDB refuses a command: {_shorten_refusal(error)}"
                    _logger.error(message)
                raise UnavailableError(message, cause) from error


def find_cause(error: BaseException) -> UnavailableCause | None:
    """Return why a command failed that may succeed later, or on another member; None if it may not.

    >>> find_cause(OperationFailure("interrupted", 11602))
    <UnavailableCause.NO_PRIMARY: 'NO_PRIMARY'>
    >>> find_cause(OperationFailure("duplicate key", 11000))
    """
    if isinstance(error, UnavailableError):
        return error.cause
    causes = [_CAUSES.get(code or 0) for code in _iter_codes(error)]
    if causes and all(causes):
        return causes[0]
    if isinstance(error, WaitQueueTimeoutError):
        return UnavailableCause.QUEUE_FULL
    if isinstance(error, NotPrimaryError):
        return UnavailableCause.NO_PRIMARY
    if isinstance(error, ServerSelectionTimeoutError):  # either no member will do, or why none is
        return (
            UnavailableCause.NO_PRIMARY
            if str(error).startswith("No ")
            else UnavailableCause.DATABASE_UNREACHABLE
        )
    if isinstance(error, ExecutionTimeout) or (isinstance(error, PyMongoError) and error.timeout):
        return UnavailableCause.DEADLINE_EXCEEDED
    if isinstance(error, ConnectionFailure):
        return UnavailableCause.DATABASE_UNREACHABLE
    is_transient = isinstance(error, PyMongoError) and any(map(error.has_error_label, _LABELS))
    return UnavailableCause.INTERRUPTED if is_transient else None


def _shorten_refusal(error: PyMongoError) -> str:
    """Return MongoDB's sentence without the command itself, which may be long.

    >>> text = "not authorized on floorgate to execute command { find: 'units' }"
    >>> _shorten_refusal(OperationFailure("…", 13, {"errmsg": text}))
    'not authorized on floorgate'
    """
    details = getattr(error, "details", None) or {}
    sentence, _, _ = str(details.get("errmsg", error)).partition(" to execute command")
    return sentence.rstrip(".")


def _iter_codes(error: BaseException) -> Iterator[int | None]:
    """Yield the codes of an error of MongoDB, or of several writes together."""
    if isinstance(error, BulkWriteError):
        details: Any = error.details or {}
        for each in (*details.get("writeErrors", ()), *details.get("writeConcernErrors", ())):
            yield each.get("code")
    elif isinstance(error, OperationFailure):
        yield error.code


def is_disk_full(error: PyMongoError) -> bool:
    """Return whether MongoDB could not write for lack of room.

    >>> is_disk_full(OperationFailure("28: No space left on device", 8))
    True
    >>> is_disk_full(OperationFailure("duplicate key: '28: No space left on device'", 11000))
    False
    """
    if not isinstance(error, OperationFailure):
        return False
    details: Mapping[str, Any] = error.details or {"code": error.code, "errmsg": str(error)}
    errors = [details, *details.get("writeErrors", ()), *details.get("writeConcernErrors", ())]
    return any(
        each.get("code") == _OUT_OF_DISK_SPACE or each.get("errmsg", "").startswith(_NO_SPACE)
        for each in errors
    )


async def check_requirements(client: Client, timeout_seconds: float) -> Mapping[str, Any]:
    """Return the primary's reply to `hello`. Raises MongoUnusableError."""
    started = time.monotonic()
    with explain_refusals():
        try:
            with pymongo.timeout(timeout_seconds):
                hello: Mapping[str, Any] = await client.admin.command(
                    "hello", read_preference=ReadPreference.PRIMARY
                )
        except PyMongoError as error:
            if find_cause(error) in (None, UnavailableCause.DATABASE_REFUSED):
                raise
            waited = f"waited {time.monotonic() - started:.0f} seconds"
            description = topology.of(client).description
            raise MongoUnusableError(f"{explain_absence(description)} ({waited})") from error
    if fault := find_fault(hello):
        raise MongoUnusableError(fault)
    return hello


def find_fault(hello: Mapping[str, Any]) -> str | None:
    """Return why a server that answers so cannot be used.

    >>> find_fault({"maxWireVersion": 17, "setName": "rs"})
    >>> find_fault({"maxWireVersion": 13, "setName": "rs"})
    'MongoDB is too old: it must be 6.0 or newer'
    """
    if hello["maxWireVersion"] < MIN_WIRE_VERSION:
        return f"MongoDB is too old: it must be {MIN_RELEASE} or newer"
    if "setName" not in hello and hello.get("msg") != "isdbgrid":  # a router of a sharded cluster
        return (
            "MongoDB is standalone, and transactions need a replica set, of one member at least:"
            " start mongod with --replSet rs, and call rs.initiate() in mongosh once"
        )
    return None


def explain_loss(client: Client, error: UnavailableError) -> str:
    """Return why a command was not completed, from what the driver knows of the servers by now."""
    if not isinstance(error.__cause__, PyMongoError):
        return str(error)
    description = topology.of(client).description
    if not description.has_writable_server():
        return explain_absence(description, hint="")
    if missing := _describe_missing(description):
        return (
            "MongoDB has a primary, which did not complete a command: a majority of its members"
            f" must run and reach each other{missing}"
        )
    return "MongoDB did not complete a command, or not in time"


def explain_absence(
    description: TopologyDescription,
    hint: str = ": is it running, and is --mongo-url right?",
) -> str:
    """Return why the driver has found no primary, from what it has learnt of the servers."""
    servers = description.server_descriptions()
    if not servers:
        return (
            "No server that --mongo-url names is a member of the replica set"
            f" {description.replica_set_name!r}: it is standalone, or has another replicaSet"
        )
    types = {server.server_type for server in servers.values()}
    if types & {SERVER_TYPE.RSSecondary, SERVER_TYPE.RSOther}:
        return (
            "MongoDB has no primary: a majority of its members must run and reach each other"
            f"{_describe_missing(description)}"
        )
    if SERVER_TYPE.RSGhost in types:
        return "The replica set has no configuration: call rs.initiate() in mongosh once"
    reasons = sorted({shorten(server.error) for server in servers.values() if server.error})
    reason = f" ({'; '.join(reasons)})" if reasons else ""
    return f"MongoDB cannot be reached{hint}{reason}"


def _describe_missing(description: TopologyDescription) -> str:
    """Return which members do not answer, as the end of a sentence; empty if there are none."""
    servers = description.server_descriptions()
    unreachable = sorted(
        f"{host}:{port}"
        for (host, port), server in servers.items()
        if server.server_type == SERVER_TYPE.Unknown
    )
    return f"; {', '.join(unreachable)} cannot be reached" if unreachable else ""


def shorten(error: Exception) -> str:
    """Return a driver's error without its settings: the address, and what is wrong there.

    >>> shorten(PyMongoError("a:27017: closed (configured timeouts: connectTimeoutMS: 2000.0ms)"))
    'a:27017: closed'
    >>> shorten(PyMongoError("No primary, Timeout: 2.0s, Topology Description: <…>"))
    'No primary'
    """
    return str(error).partition(" (configured timeouts")[0].partition(", Timeout: ")[0]


@contextmanager
def explain_refusals(database_name: str | None = None) -> Iterator[None]:
    """Raise MongoUnusableError for a wrong password, missing permissions or a wrong address."""
    try:
        yield
    except ConfigurationError as error:  # also of the DNS query for a mongodb+srv URL
        raise MongoUnusableError(f"MongoDB cannot be used as --mongo-url says: {error}") from error
    except (OperationFailure, UnavailableError) as error:
        refusal = error.__cause__ if isinstance(error, UnavailableError) else error
        if not isinstance(refusal, OperationFailure):
            raise
        if refusal.code == _AUTHENTICATION_FAILED:
            sentence = "MongoDB refuses the user name or the password in --mongo-url"
        elif refusal.code == _NOT_AUTHORIZED:
            where = f" on the database {database_name}" if database_name else ""
            sentence = (
                f"MongoDB refuses the user of --mongo-url: it needs the roles readWrite and"
                f" dbAdmin{where}"
            )
        else:
            raise
        reason = (refusal.details or {}).get("errmsg", "")
        raise MongoUnusableError(f"{sentence} ({reason.rstrip('.')})") from error
