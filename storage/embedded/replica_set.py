"""Making one mongod the primary of a replica set of its own."""

import socket
import time
from typing import Any

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

HOST = "127.0.0.1"

_CONNECT_TIMEOUT_SECONDS = 0.2
_SERVER_SELECTION_TIMEOUT_MS = (
    500  # short: a server that was just killed may accept, and never answer
)
_SOCKET_TIMEOUT_MS = 10_000
_POLL_SECONDS = 0.005
_ALREADY_INITIALIZED = 23
_NOT_YET_INITIALIZED = 94

SyncClient = MongoClient[dict[str, Any]]


def make_primary(name: str, port: int, deadline: float) -> bool:
    """Bring the mongod at `port` to accept writes as the only member of the replica set `name`.

    A set without configuration is initiated; one that knows its member by a port that was taken
    meanwhile is reconfigured. Doing it again changes nothing. False when the server is gone, is
    another one, or took until `deadline`, a time of `time.monotonic()`.
    """
    if not _is_listening(port):
        return False
    try:
        with _connect(port) as client:
            if not _is_member_of(client, name):
                return False
            while not _is_primary(client, port):
                if time.monotonic() > deadline:
                    return False
                _configure(client, name, port)
                time.sleep(_POLL_SECONDS)
    except PyMongoError:
        return False
    return True


def _is_listening(port: int) -> bool:
    """Whether anything accepts connections there; far cheaper than asking with a driver."""
    with socket.socket() as connection:
        connection.settimeout(_CONNECT_TIMEOUT_SECONDS)
        return connection.connect_ex((HOST, port)) == 0


def _connect(port: int) -> SyncClient:
    return SyncClient(
        HOST,
        port,
        directConnection=True,
        serverSelectionTimeoutMS=_SERVER_SELECTION_TIMEOUT_MS,
        socketTimeoutMS=_SOCKET_TIMEOUT_MS,
    )


def _is_member_of(client: SyncClient, name: str) -> bool:
    options = client.admin.command("getCmdLineOpts")["parsed"]
    return bool(options.get("replication", {}).get("replSet") == name)


def _is_primary(client: SyncClient, port: int) -> bool:
    hello = client.admin.command("hello")
    return bool(hello["isWritablePrimary"] and hello["me"] == f"{HOST}:{port}")


def _configure(client: SyncClient, name: str, port: int) -> None:
    member = {"_id": 0, "host": f"{HOST}:{port}"}
    try:
        config = client.admin.command("replSetGetConfig")["config"]
    except OperationFailure as failure:
        if failure.code != _NOT_YET_INITIALIZED:
            raise
        _initiate(client, {"_id": name, "members": [member]})
        return
    if config["members"] != [config["members"][0] | member]:
        config = config | {"version": config["version"] + 1, "members": [member]}
        client.admin.command("replSetReconfig", config, force=True)


def _initiate(client: SyncClient, config: dict[str, Any]) -> None:
    try:
        client.admin.command("replSetInitiate", config)
    except OperationFailure as failure:
        # The server has a configuration and is still loading it: look for itself in there can
        # take it half a minute, when another program holds its old port and does not answer.
        if failure.code != _ALREADY_INITIALIZED:
            raise
