"""Spans say what a request spends its time on, and which other span they are a part of.

Explanations, the log of slow requests and traces are made of them when the request has ended, and
metrics count the commands of MongoDB among them. The current span is a context variable, so that it
reaches the commands through the layers between, and those of the tasks and threads that the request
starts. Without a root, as in the command line, no span is kept. See docs/decisions/server/spans.md.
"""

import time
from collections import deque
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Any

import pymongo.errors
from msgspec import Struct, field
from pymongo.errors import OperationFailure
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

from storage.mongo.topology import Observe
from storage.mongo.unavailable import find_cause

MAX_SPANS = 200
"""Spans that are kept of one request: the last to end, so that what they are parts of is kept."""


class Root(Struct, eq=False):
    """The work of a request."""

    spans: "deque[Span]" = field(default_factory=partial(deque, maxlen=MAX_SPANS))
    """It has the spans that have ended."""
    started: float = field(default_factory=time.perf_counter)
    """It is a value of `time.perf_counter`, as all times of spans are."""
    is_long: bool = False
    """True if it takes long by nature."""


_OUTSIDE = Root(deque(maxlen=0))
_root: ContextVar[Root] = ContextVar("root", default=_OUTSIDE)
_current: ContextVar[Any] = ContextVar("span", default=None)


# A Struct: there are several for each request, and C makes them.
class Span(Struct, eq=False):
    """A part of a request's work: what is inside the `with` block.

    >>> root = begin_root()
    >>> with Span("thread build"), Span("thread search"):
    ...     pass
    >>> [(each.name, each.outer and each.outer.name) for each in root.spans]
    [('thread search', 'thread build'), ('thread build', None)]
    """

    name: str
    """Says nothing that a client has sent."""
    objects: int | None = None
    """The objects that a field was resolved for at once."""
    started: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0
    code: str = ""
    """Why it failed: a code of ours, or the name of an exception. Empty if it succeeded."""
    outer: "Span | None" = field(default_factory=_current.get)
    """It is the span that this one is a part of; None if that is the request itself."""
    root: Root = field(default_factory=_root.get)

    def __enter__(self) -> None:
        _current.set(self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _current.set(self.outer)
        self.seconds = time.perf_counter() - self.started
        if error is not None:
            code = getattr(error, "code", None) or getattr(error, "cause", None)
            self.code = str(code) if isinstance(code, str) else type(error).__name__
        self.root.spans.append(self)


def begin_root() -> Root:
    """Begin the request that this task works on. Clear its `spans` in the end."""
    root = Root()
    _root.set(root)
    return root


def note_long_work() -> None:
    """Say that the request takes long by nature, such as a stream or an import."""
    _root.get().is_long = True


def name_of(function: Any) -> str:
    """Return the name of a function, or of the one that a partial calls."""
    name: str = getattr(getattr(function, "func", function), "__name__", "")
    return name.strip("_")


# MongoDB's commands. Those of the driver end in the thread that ran them, with the context
# variables of the task that asked for them; reads of the event loop itself end there.


class Command(Span):
    """A command that has succeeded or failed.

    Its `code` is an UnavailableCause, or the name that MongoDB or the driver gives the error.
    """

    command: str = ""
    collection: str = ""
    """Empty if it concerns none."""
    server: str = ""
    """The member that it was sent to, as `host:port`."""
    read: Mapping[str, Any] = field(default_factory=dict)
    """The command itself, if it selects documents outside of transactions; else empty."""
    returned: int | None = None
    """Documents in the reply."""


def list_reads(spans: Iterable[Span]) -> list[Command]:
    """Return the commands that select documents outside of transactions."""
    return [each for each in spans if isinstance(each, Command) and each.read]


_SELECTION = {"find": "filter", "aggregate": "pipeline"}


class CommandObserver(CommandListener):
    """Note the driver's commands, and pass the end of each on."""

    def __init__(self, observe: Observe) -> None:
        self.observe = observe
        self._started: dict[int, tuple[str, Mapping[str, Any]]] = {}
        """The collections of the commands in progress, and the reads, by the number of the request.
        """

    def started(self, event: CommandStartedEvent) -> None:
        """Remember the collection and a read, which the end does not tell."""
        command, name = event.command, event.command_name
        collection = command.get("collection" if name == "getMore" else name)
        is_read = _SELECTION.get(name) in command and "txnNumber" not in command
        self._started[event.request_id] = (
            collection if isinstance(collection, str) else "",
            command if is_read else {},
        )

    def succeeded(self, event: CommandSucceededEvent) -> None:
        cursor = event.reply.get("cursor")
        batch = cursor.get("firstBatch", cursor.get("nextBatch")) if cursor else None
        self._end(event, "", None if batch is None else len(batch))

    def failed(self, event: CommandFailedEvent) -> None:
        self._end(event, _find_code(event.failure), None)

    def _end(
        self, event: CommandSucceededEvent | CommandFailedEvent, code: str, returned: int | None
    ) -> None:
        collection, read = self._started.pop(event.request_id, ("", {}))
        name, seconds = event.command_name, event.duration_micros / 1_000_000
        ended = Command(
            f"{name} {collection}".strip(),
            started=time.perf_counter() - seconds,
            seconds=seconds,
            code=code,
            command=name,
            collection=collection,
            server=format_server(event.connection_id),
            read=read,
            returned=returned,
        )
        ended.root.spans.append(ended)
        self.observe(ended)


def format_server(address: tuple[str, int | None]) -> str:
    """Return an address as text.

    >>> format_server(("db.example", 27017)), format_server(("/tmp/mongod.sock", None))
    ('db.example:27017', '/tmp/mongod.sock')
    """
    host, port = address
    return host if port is None else f"{host}:{port}"


def describe_error(error: BaseException) -> str:
    """Return the `code` of a command for an error of the driver.

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
