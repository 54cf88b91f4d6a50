"""Which errors of MongoDB mean that it cannot be used now, and not that a command is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymongo
from pymongo.errors import (
    BulkWriteError,
    ConnectionFailure,
    ExecutionTimeout,
    OperationFailure,
    PyMongoError,
)

from storage.errors import UnavailableError
from storage.mongo.operations import remaining_seconds

TIMEOUT_SECONDS = 3.0
"""Timeout of one operation of the driver."""

_TRANSIENT_LABELS = (
    "RetryableWriteError",
    "TransientTransactionError",
    "UnknownTransactionCommitResult",
)
_UNAVAILABLE_CODES = frozenset(
    {
        6,  # HostUnreachable
        7,  # HostNotFound
        14031,  # OutOfDiskSpace
        24,  # LockTimeout
        43,  # CursorNotFound: the member that had it has restarted
        46,  # LockBusy
        50,  # MaxTimeMSExpired
        64,  # WriteConcernFailed: no majority acknowledged in time
        89,  # NetworkTimeout
        91,  # ShutdownInProgress
        100,  # UnsatisfiableWriteConcern
        112,  # WriteConflict
        133,  # FailedToSatisfyReadPreference
        134,  # ReadConcernMajorityNotAvailableYet
        175,  # QueryPlanKilled
        189,  # PrimarySteppedDown
        202,  # NetworkInterfaceExceededTimeLimit
        237,  # CursorKilled
        239,  # SnapshotTooOld
        246,  # SnapshotUnavailable
        251,  # NoSuchTransaction
        262,  # ExceededTimeLimit
        279,  # ClientDisconnect
        282,  # TransactionCoordinatorSteppingDown
        290,  # TransactionExceededLifetimeLimitSeconds
        9001,  # SocketException
        10058,  # LegacyNotPrimary
        10107,  # NotWritablePrimary
        11600,  # InterruptedAtShutdown
        11601,  # Interrupted
        11602,  # InterruptedDueToReplStateChange
        13435,  # NotPrimaryNoSecondaryOk
        13436,  # NotPrimaryOrSecondary
    }
)
"""From MongoDB's `error_codes.yml`: what is retryable, interrupted, or due to the set's state."""


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise UnavailableError for driver errors that mean that MongoDB cannot be used now.

    Commands inside end at the time that `limit_time` has set, if that is before the client's own
    timeout.
    """
    remaining = remaining_seconds()
    try:
        if remaining is None or remaining >= TIMEOUT_SECONDS:
            yield
        else:
            with pymongo.timeout(remaining):
                yield
    except PyMongoError as error:
        if is_unavailable(error):
            raise UnavailableError("MongoDB cannot be reached") from error
        raise


def is_unavailable(error: PyMongoError) -> bool:
    """Return whether the same command may succeed later, or on another member.

    >>> is_unavailable(OperationFailure("interrupted", 11602))
    True
    >>> is_unavailable(OperationFailure("duplicate key", 11000))
    False
    """
    if error.timeout or isinstance(error, (ConnectionFailure, ExecutionTimeout)):
        return True
    if any(error.has_error_label(label) for label in _TRANSIENT_LABELS):
        return True
    if isinstance(error, BulkWriteError):
        return _is_bulk_unavailable(error.details or {})
    return isinstance(error, OperationFailure) and error.code in _UNAVAILABLE_CODES


def _is_bulk_unavailable(details: Any) -> bool:
    """Return whether all errors of several writes together are of that kind."""
    errors = [*details.get("writeErrors", ()), *details.get("writeConcernErrors", ())]
    return bool(errors) and all(error.get("code") in _UNAVAILABLE_CODES for error in errors)
