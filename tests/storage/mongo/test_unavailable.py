"""Errors of the driver that mean that MongoDB cannot be used now have a cause."""

import pytest
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ConnectionFailure,
    NetworkTimeout,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
    WTimeoutError,
)

from storage.mongo.unavailable import find_cause

CONFLICT, DUPLICATE = {"code": 112}, {"code": 11000}


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ServerSelectionTimeoutError("No primary available for writes"), "no_primary"),
        (ServerSelectionTimeoutError("No replica set members match selector"), "no_primary"),
        (ServerSelectionTimeoutError("a:1: [Errno 111] Connection refused"), "unreachable"),
        (NotPrimaryError("not primary"), "no_primary"),
        (WaitQueueTimeoutError("no connection within 3 s"), "pool"),
        (NetworkTimeout("timed out"), "deadline"),
        (AutoReconnect("connection closed"), "unreachable"),
        (ConnectionFailure("refused"), "unreachable"),
        (WTimeoutError("no majority in time", 64), "no_majority"),
        (OperationFailure("conflict", 112), "write_conflict"),
        (OperationFailure("new", 99999, {"errorLabels": ["RetryableWriteError"]}), "interrupted"),
        (OperationFailure("duplicate key", 11000), None),
        (BulkWriteError({"writeErrors": [CONFLICT, CONFLICT]}), "write_conflict"),
        (BulkWriteError({"writeErrors": [CONFLICT, DUPLICATE]}), None),
        (BulkWriteError({}), None),
        (PyMongoError("something else"), None),
    ],
)
def test_an_error_has_the_cause_that_operators_look_for(
    error: PyMongoError, cause: str | None
) -> None:
    assert find_cause(error) == cause
