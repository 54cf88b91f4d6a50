"""A blocking connection to one mongod, whether or not it belongs to a working replica set."""

from typing import Any, TypeAlias

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

__all__ = ["DirectClient", "OperationFailure", "PyMongoError", "connect_directly"]

# Short: a server that was just killed may accept connections and never answer.
_SERVER_SELECTION_TIMEOUT_MS = 500
_SOCKET_TIMEOUT_MS = 10_000

DirectClient: TypeAlias = MongoClient[dict[str, Any]]


def connect_directly(host: str, port: int, password: str) -> DirectClient:
    """Return a client for administrative commands to the server at this address.

    It authenticates as MongoDB's internal user. The password is the content of the server's
    keyfile: that user exists before any other does, and before a replica set is initiated.
    """
    return MongoClient(
        host,
        port,
        username="__system",
        password=password,
        authSource="local",
        authMechanism="SCRAM-SHA-256",
        directConnection=True,
        serverSelectionTimeoutMS=_SERVER_SELECTION_TIMEOUT_MS,
        socketTimeoutMS=_SOCKET_TIMEOUT_MS,
    )
