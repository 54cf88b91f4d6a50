"""Note what a request spends its time on, as spans in a tree whose root is the request.

Explanations, the log of slow requests and traces are all made of them when the request has ended.
The current span is a context variable, so that it reaches MongoDB's commands through the layers
between, and those of the tasks and threads that the request starts. Without a root, as in the
command line, nothing is noted. See docs/decisions/server/spans.md.
"""

import time
from collections.abc import Iterator
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

from msgspec import Struct, field

from storage.mongo.observation import CommandEnd

MAX_SPANS = 200
"""Spans that are kept of one request; further ones are counted."""


# A Struct: there are several for each request.
class Span(Struct, eq=False):
    """A part of a request's work."""

    kind: str
    """What `span` was given, or `command` for one of MongoDB."""
    name: str
    started: float
    """By `time.perf_counter`, as `seconds` is measured."""
    root: "Span | None" = None
    seconds: float = 0.0
    code: str = ""
    """Why it failed: a code of ours, or the name of an exception. Empty if it succeeded."""
    objects: int | None = None
    """The objects that a field was resolved for at once."""
    command: CommandEnd | None = None
    parts: list["Span"] = field(default_factory=list)
    left: int = MAX_SPANS
    """Of a root: how many more spans are kept; below 0 if some were not."""
    is_long: bool = False
    """Of a root: true if it takes long by nature."""

    def add(self, kind: str, name: str) -> "Span | None":
        """Begin a part, unless there are too many."""
        root = self.root or self
        root.left -= 1
        if root.left < 0:
            return None
        part = Span(kind, name, time.perf_counter(), root)
        self.parts.append(part)
        return part

    @property
    def title(self) -> str:
        """Return the name for logs and traces, without the name that a client has given."""
        if self.command is not None:
            return f"{self.command.command} {self.command.collection}".strip()
        return self.name.partition(" ")[0] if self.kind == "operation" else self.name

    @property
    def ended_ns(self) -> int:
        """When it ended, by `time.perf_counter`, in nanoseconds."""
        return round((self.started + self.seconds) * 1e9)

    @property
    def omitted(self) -> int:
        """Of a root: how many spans were not kept."""
        return max(0, -self.left)

    def walk(self, inside: "Span | None" = None) -> Iterator[tuple["Span", "Span | None"]]:
        """Yield each span with the one that it is a part of, outer ones first."""
        yield self, inside
        for part in self.parts:
            yield from part.walk(self)

    def close(self) -> None:
        """Note nothing more: what the request has started may outlive it with its context."""
        self.parts, self.left = [], 0


_current: ContextVar[Span | None] = ContextVar("span", default=None)


def begin_root() -> Span:
    """Begin the root of the request that this task works on."""
    root = Span("request", "", time.perf_counter())
    _current.set(root)
    return root


def note_command(end: CommandEnd) -> None:
    """Add a command of MongoDB, which has just ended, to the span that it was sent in."""
    current = _current.get()
    part = current and current.add("command", end.command)
    if part is not None:
        part.started -= end.seconds
        part.seconds, part.code, part.command = end.seconds, end.code, end


def note_long_work() -> None:
    """Say that the request takes long by nature, such as a stream or an import."""
    current = _current.get()
    if current is not None:
        (current.root or current).is_long = True


class span:
    """Note the work inside the `with` block as a part of the request, if there is one.

    >>> root = begin_root()
    >>> with span("thread", "build"), span("thread", "search"):
    ...     pass
    >>> [(each.name, inside and inside.name) for each, inside in root.walk()]
    [('', None), ('build', ''), ('search', 'build')]
    """

    # A class: a generator takes several times as long.
    __slots__ = ("_kind", "_name", "_objects", "_span", "_token")

    def __init__(self, kind: str, name: str, objects: int | None = None) -> None:
        self._kind, self._name, self._objects = kind, name, objects

    def __enter__(self) -> Span | None:
        outer = _current.get()
        made = self._span = None if outer is None else outer.add(self._kind, self._name)
        if made is not None:
            made.objects = self._objects
            self._token: Token[Span | None] = _current.set(made)
        return made

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        made = self._span
        if made is not None:
            _current.reset(self._token)
            made.seconds = time.perf_counter() - made.started
            if error is not None:
                made.code = _describe(error)


def name_of(function: Any) -> str:
    """Return the name of a function, or of the one that a partial calls."""
    name: str = getattr(getattr(function, "func", function), "__name__", "")
    return name.strip("_")


def _describe(error: BaseException) -> str:
    for member in ("code", "cause"):
        if isinstance(code := getattr(error, member, None), str):
            return str(code)
    return type(error).__name__
