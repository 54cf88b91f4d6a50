"""Making a mongod the primary of a single-member replica set, which transactions require."""

import socket
import time
from typing import Any

from storage.mongo.direct import DirectClient, OperationFailure, PyMongoError, connect_directly

HOST = "127.0.0.1"

_CONNECT_TIMEOUT_SECONDS = 0.2
_POLL_SECONDS = 0.005
_ALREADY_INITIALIZED = 23
_NOT_YET_INITIALIZED = 94


def make_primary(name: str, port: int, deadline: float) -> bool:
    """Make the mongod at `port` the primary and only member of the replica set `name`.

    Initiates a set without configuration and reconfigures one with its member at another port.
    Idempotent. Returns False if the server is gone, belongs to another set, or is not primary
    when `time.monotonic()` reaches `deadline`.
    """
    if not _is_listening(port):
        return False
    try:
        with connect_directly(HOST, port) as client:
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
    """Return whether anything accepts connections; far cheaper than a driver connection."""
    with socket.socket() as connection:
        connection.settimeout(_CONNECT_TIMEOUT_SECONDS)
        return connection.connect_ex((HOST, port)) == 0


def _is_member_of(client: DirectClient, name: str) -> bool:
    options = client.admin.command("getCmdLineOpts")["parsed"]
    return bool(options.get("replication", {}).get("replSet") == name)


def _is_primary(client: DirectClient, port: int) -> bool:
    hello = client.admin.command("hello")
    return bool(hello["isWritablePrimary"] and hello["me"] == f"{HOST}:{port}")


def _configure(client: DirectClient, name: str, port: int) -> None:
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


def _initiate(client: DirectClient, config: dict[str, Any]) -> None:
    try:
        client.admin.command("replSetInitiate", config)
    except OperationFailure as failure:
        # The server has a configuration and is still loading it. It looks for itself among the
        # members, which takes half a minute if a program at its old port does not answer.
        if failure.code != _ALREADY_INITIALIZED:
            raise
