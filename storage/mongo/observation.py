"""What is told of each MongoDB command when it has ended, to whoever counts or traces commands.

The driver's commands are told in the thread that ran them, with the context variables of the task
that asked for them; reads of the event loop itself are told there.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import pymongo.errors
from pymongo.errors import OperationFailure
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

from storage.mongo.unavailable import find_cause


class CommandEnd(NamedTuple):
    """A command that has succeeded or failed."""

    command: str
    collection: str
    """Empty if it concerns none."""
    seconds: float
    code: str
    """Why it failed: an UnavailableCause, or the name that MongoDB or the driver gives the error.
    Empty if it succeeded."""
    server: str = ""
    """The member that it was sent to, as `host:port`."""
    read: Mapping[str, Any] | None = None
    """The command itself, if it selects documents outside of transactions."""
    returned: int | None = None
    """Documents in the reply."""


Observe: TypeAlias = Callable[[CommandEnd], None]
_SELECTION = {"find": "filter", "aggregate": "pipeline"}


class CommandObserver(CommandListener):
    """Pass the end of each of the driver's commands on."""

    def __init__(self, observe: Observe) -> None:
        self.observe = observe
        self._started: dict[int, tuple[str, Mapping[str, Any] | None]] = {}
        """The collections of the commands in progress, and the reads, by the number of the request.
        """

    def started(self, event: CommandStartedEvent) -> None:
        """Remember the collection and a read, which the end does not tell."""
        command, name = event.command, event.command_name
        is_read = _SELECTION.get(name) in command and "txnNumber" not in command
        self._started[event.request_id] = (
            find_collection(name, command),
            command if is_read else None,
        )

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Tell that a command has succeeded."""
        self._end(event, "", count_returned(event.reply))

    def failed(self, event: CommandFailedEvent) -> None:
        """Tell that a command has failed."""
        self._end(event, _find_code(event.failure), None)

    def _end(
        self, event: CommandSucceededEvent | CommandFailedEvent, code: str, returned: int | None
    ) -> None:
        collection, read = self._started.pop(event.request_id, ("", None))
        seconds = event.duration_micros / 1_000_000
        server = format_server(event.connection_id)
        self.observe(
            CommandEnd(event.command_name, collection, seconds, code, server, read, returned)
        )


def find_collection(command_name: str, command: Mapping[str, Any]) -> str:
    """Return the collection that a command concerns; empty if there is none.

    >>> find_collection("find", {"find": "units", "filter": {}})
    'units'
    >>> find_collection("getMore", {"getMore": 7, "collection": "units"})
    'units'
    >>> find_collection("ping", {"ping": 1})
    ''
    """
    name = command.get("collection" if command_name == "getMore" else command_name)
    return name if isinstance(name, str) else ""


def format_server(address: tuple[str, int | None]) -> str:
    """Return an address as text.

    >>> format_server(("db.example", 27017)), format_server(("/tmp/mongod.sock", None))
    ('db.example:27017', '/tmp/mongod.sock')
    """
    host, port = address
    return host if port is None else f"{host}:{port}"


def count_returned(reply: Mapping[str, Any]) -> int | None:
    """Return how many documents a reply has; None if it is none of a cursor."""
    cursor = reply.get("cursor")
    if not isinstance(cursor, dict):
        return None
    batch = cursor.get("firstBatch", cursor.get("nextBatch"))
    return None if batch is None else len(batch)


def describe_error(error: BaseException) -> str:
    """Return the `code` of a CommandEnd for an error of the driver.

    >>> describe_error(OperationFailure("interrupted", 11602)) == describe_error(
    ...     pymongo.errors.NotPrimaryError("not primary")
    ... )
    True
    >>> describe_error(OperationFailure("E11000", 11000, {"codeName": "DuplicateKey"}))
    'DuplicateKey'
    """
    if cause := find_cause(error):
        return str(cause)
    details = (error.details if isinstance(error, OperationFailure) else None) or {}
    return str(details.get("codeName", type(error).__name__))


def _find_code(failure: Mapping[str, Any]) -> str:
    """Return the code of a reply of MongoDB, or of an exception as the driver describes it."""
    message, name = str(failure.get("errmsg", "")), failure.get("errtype")
    if name is None:
        return describe_error(OperationFailure(message, failure.get("code"), failure))
    kind = getattr(pymongo.errors, name, None)
    return str(name) if kind is None else describe_error(kind(message))
