"""Making a mongod the primary of a single-member replica set, which transactions require.

It gets one user, who may do everything, with the password of its keyfile.
"""

import hashlib
import socket
import time
from typing import Any

from storage.embedded.mongod import HOST as HOST
from storage.mongo.driver import (
    BlockingClient,
    OperationFailure,
    PyMongoError,
    connect_directly,
)

_USER = "floorgate"
_CONNECT_TIMEOUT_SECONDS = 0.2
_POLL_SECONDS = 0.005
_ALREADY_INITIALIZED = 23
_NOT_YET_INITIALIZED = 94
_USER_EXISTS = 51003


def build_url(name: str, port: int, password: str) -> str:
    """Return the URL of the replica set `name`, with the password of its user.

    SCRAM proves to each side that the other knows the password and never sends it, so another
    program at this port cannot learn it.
    """
    return (
        f"mongodb://{_USER}:{password}@{HOST}:{port}/"
        f"?authSource=admin&authMechanism=SCRAM-SHA-256&replicaSet={name}"
    )


def make_primary(
    name: str, port: int, password: str, deadline: float, reply_seconds: float
) -> bool:
    """Make the mongod at `port` the primary and only member of the replica set `name`.

    Initiates a set without configuration, reconfigures one with its member at another port, and
    gives its user this password, which is that of its keyfile. Idempotent. Returns False if the
    server is gone, does not answer for `reply_seconds`, belongs to another set, has another
    keyfile, or is not primary when `time.monotonic()` reaches `deadline`.
    """
    if not _is_listening(port):
        return False
    try:
        with connect_directly(HOST, port, password, reply_seconds) as client:
            options = client.admin.command("getCmdLineOpts")["parsed"]
            if options.get("replication", {}).get("replSet") != name:
                return False
            while not _is_primary(client, port):
                if time.monotonic() > deadline:
                    return False
                _configure(client, name, port)
                time.sleep(_POLL_SECONDS)
            _set_password(client, password)
    except PyMongoError:
        return False
    return True


def _is_listening(port: int) -> bool:
    """Return whether anything accepts connections; far cheaper than a driver connection."""
    with socket.socket() as connection:
        connection.settimeout(_CONNECT_TIMEOUT_SECONDS)
        return connection.connect_ex((HOST, port)) == 0


def _is_primary(client: BlockingClient, port: int) -> bool:
    hello = client.admin.command("hello")
    return bool(hello["isWritablePrimary"] and hello["me"] == f"{HOST}:{port}")


def _configure(client: BlockingClient, name: str, port: int) -> None:
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


def _initiate(client: BlockingClient, config: dict[str, Any]) -> None:
    try:
        client.admin.command("replSetInitiate", config)
    except OperationFailure as failure:
        # The server has a configuration and is still loading it. It looks for itself among the
        # members, which takes half a minute if a program at its old port does not answer.
        if failure.code != _ALREADY_INITIALIZED:
            raise


def _set_password(client: BlockingClient, password: str) -> None:
    """Create the user, or change the password of one that has another."""
    digest = {"passwordDigest": hashlib.sha256(password.encode()).hexdigest()}
    user: dict[str, Any] = {
        "pwd": password,
        "roles": ["root"],
        "mechanisms": ["SCRAM-SHA-256"],
        "customData": digest,  # MongoDB shows no password; 256 random bits need no salt
        "writeConcern": {"w": "majority"},
    }
    existing = client.admin.command("usersInfo", _USER)["users"]
    if existing and existing[0].get("customData") == digest:
        return
    try:
        client.admin.command("updateUser" if existing else "createUser", _USER, **user)
    except OperationFailure as failure:
        if failure.code != _USER_EXISTS:  # by another process, just now
            raise
