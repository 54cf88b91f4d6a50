"""Export the spans of a request when it has ended, and log those of a slow one.

A line says what `Floorgate-Explain` would, without the values that the client sent. MongoDB's plans
are asked for afterwards, one request at a time, and it runs nothing again for them: a service that
is slow is not made slower. See docs/decisions/server/spans.md.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any, TypeAlias

from starlette.types import Scope

from gateway.errors import StartError
from gateway.exchange import SCOPE_KEY_ID, SCOPE_TRACE_ID, find_operation_name
from gateway.read_descriptions import describe_read
from rest.scope_members import SCOPE_ROUTE
from storage.mongo import driver
from storage.mongo.plans import explain_commands
from storage.mongo.spans import Span, begin_root

if TYPE_CHECKING:
    from gateway.tracing import Tracing

MAX_LOGGED_SPANS = 20
MAX_PLANS = 3
"""The longest reads of a request, for which MongoDB is asked for plans."""
PLAN_SECONDS = 2.0
QUIET_SECONDS = 10.0
"""The time between two lines about the same operation."""
MAX_QUIET = 100
"""Operations with a line a moment ago; clients can invent names."""

GetDatabase: TypeAlias = Callable[[], driver.Database | None]
Codes: TypeAlias = Collection[str]
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_logger = logging.getLogger("floorgate.slow")


class RequestSpans:
    """Follow requests, of which some are traced, and those that are slow logged."""

    def __init__(self, slow: "SlowRequests | None", tracing: "Tracing | None") -> None:
        self._slow = slow
        self._tracing = tracing

    @classmethod
    def build(cls, slow_ms: int, get_database: GetDatabase) -> "RequestSpans | None":
        """Return what follows requests; None if there is nothing to do. Raises StartError."""
        slow = SlowRequests(slow_ms / 1000, get_database) if slow_ms else None
        tracing = open_tracing()
        return cls(slow, tracing) if slow or tracing else None

    def begin(self, scope: Scope) -> Span:
        """Begin the spans of a request, in its task."""
        root = begin_root()
        if self._tracing is not None:
            self._tracing.begin(scope)
        return root

    def end(self, scope: Scope, root: Span, status: int, codes: Codes, seconds: float) -> None:
        """End the spans of a request, the work of which has taken so many seconds."""
        root.seconds = time.perf_counter() - root.started
        if self._tracing is not None:
            self._tracing.end(scope, root, status, codes)
        if self._slow is not None and seconds >= self._slow.seconds and not root.is_long:
            self._slow.note(scope, root, status, codes, seconds)
        root.close()

    async def close(self) -> None:
        """Log and export what is left, within seconds."""
        if self._slow is not None:
            await self._slow.close()
        if self._tracing is not None:
            await self._tracing.close()


class SlowRequests:
    """The log of requests that took at least `seconds`."""

    def __init__(self, seconds: float, get_database: GetDatabase) -> None:
        self.seconds = seconds
        self._get_database = get_database
        self._left_out: dict[tuple[str | None, str | None], int] = {}
        """Counts requests without a line, for each operation that had one a moment ago."""
        self._lines: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    def note(self, scope: Scope, root: Span, status: int, codes: Codes, seconds: float) -> None:
        """Log a request, unless there was a line about its operation a moment ago."""
        name = route, operation = scope.get(SCOPE_ROUTE), find_operation_name(scope)
        if name not in self._left_out and len(self._left_out) >= MAX_QUIET:
            name = None, None
        if name in self._left_out:
            self._left_out[name] += 1
            return
        self._left_out[name] = 0
        asyncio.get_running_loop().call_later(QUIET_SECONDS, self._end_quiet, name)
        fields = {
            "request_id": scope["state"]["request_id"],
            "method": scope.get("method"),
            "route": route,
            "operation": operation,
            "key_id": scope.get(SCOPE_KEY_ID),
            "status": status,
            "duration_ms": _to_ms(seconds),
            "errors": sorted(set(codes)) or None,
            "trace_id": scope.get(SCOPE_TRACE_ID),
        }
        parts = sorted([*root.walk()][1:], key=lambda each: -each[0].seconds)
        omitted = root.omitted + len(parts[MAX_LOGGED_SPANS:])
        spans = [
            (part, _describe(part, inside, root.started))
            for part, inside in parts[:MAX_LOGGED_SPANS]
        ]
        logged = _without_none({**fields, "omitted_spans": omitted or None})
        # In a context of its own: what it sends is not a part of the request.
        task = asyncio.create_task(self._log(logged, spans), context=Context())
        self._lines.add(task)
        task.add_done_callback(self._lines.discard)

    async def close(self) -> None:
        """Write the lines that wait for plans, without them."""
        self._get_database = lambda: None
        await asyncio.gather(*self._lines)

    async def _log(
        self, fields: dict[str, Any], spans: Sequence[tuple[Span, dict[str, Any]]]
    ) -> None:
        """Log a request with its longest spans, the longest first."""
        ends = [(span.command, described) for span, described in spans]
        reads = [(end.read, each) for end, each in ends if end and end.read][:MAX_PLANS]
        async with self._turn:
            database = self._get_database()
            if database is not None:
                commands = [read for read, _ in reads]
                plans = await explain_commands(database, commands, PLAN_SECONDS, again=False)
                for (_, described), plan in zip(reads, plans, strict=True):
                    described["plan"] = plan and [scan._asdict() for scan in plan.scans]
        fields["spans"] = sorted((each for _, each in spans), key=lambda each: each["at_ms"])
        _logger.warning("slow request", extra={"fields": fields})

    def _end_quiet(self, name: tuple[str | None, str | None]) -> None:
        if left_out := self._left_out.pop(name, 0):
            fields = {"route": name[0], "operation": name[1], "count": left_out}
            _logger.warning("further slow requests", extra={"fields": fields})


def _describe(span: Span, inside: Span | None, began: float) -> dict[str, Any]:
    """Return what a line says of a span; of a read it says the shape, and no value."""
    end = span.command
    described: dict[str, Any] = {
        "span": f"{span.kind} {span.title}",
        "in": inside.title if inside is not None and inside.root else None,
        "at_ms": _to_ms(span.started - began),
        "ms": _to_ms(span.seconds),
        "code": span.code or None,
        "objects": span.objects,
    }
    if end is not None:
        described |= {"server": end.server, "returned": end.returned}
        described |= describe_read(end, frozenset())
    return _without_none(described)


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _to_ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def open_tracing(environment: Mapping[str, str] = os.environ) -> "Tracing | None":
    """Return what exports traces, if standard variables say where to. Raises StartError."""
    given = {name: value.strip().lower() for name, value in environment.items() if value.strip()}
    exporter = given.get("OTEL_TRACES_EXPORTER")
    asking = [name for name in ("OTEL_TRACES_EXPORTER", *_ENDPOINTS) if name in given]
    if given.get("OTEL_SDK_DISABLED") == "true" or exporter == "none" or not asking:
        return None
    if exporter not in (None, "otlp"):
        raise StartError(f"OTEL_TRACES_EXPORTER must be otlp or none, and is {exporter}")
    try:
        from gateway.tracing import Tracing
    except ModuleNotFoundError as error:
        raise StartError(
            f"{asking[0]} asks for traces, which need OpenTelemetry: install floorgate[otel],"
            " or set OTEL_SDK_DISABLED=true"
        ) from error
    return Tracing(given)
