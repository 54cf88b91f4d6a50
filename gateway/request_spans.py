"""Export the spans of a request when it has ended, and log those of a slow one.

A line says what `Floorgate-Explain` would, without the values that the client sent. MongoDB's plans
are asked for afterwards, one request at a time, and it runs nothing again for them: a service that
is slow is not made slower. See docs/decisions/server/spans.md.
"""

import asyncio
import logging
import os
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any, TypeAlias

from starlette.types import Scope

from gateway.errors import StartError
from gateway.exchange import SCOPE_KEY_ID, SCOPE_TRACE_ID, find_operation_name
from gateway.read_descriptions import describe_read, without_none
from rest.scope_members import SCOPE_ROUTE
from storage.mongo import driver
from storage.mongo.plans import CommandPlan, explain_commands
from storage.mongo.spans import Command, Root, Span, begin_root, list_reads

if TYPE_CHECKING:
    from gateway.tracing import Tracing

MAX_LOGGED_SPANS = 20
MAX_PLANS = 3
"""The longest reads of a request, for which MongoDB is asked for plans."""
PLAN_SECONDS = 2.0
QUIET_SECONDS = 10.0
"""The time between two lines about the same operation of a key."""
MAX_LINES = 100
"""Lines in that time; clients can invent names of operations."""

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

    def begin(self, scope: Scope) -> Root:
        if self._tracing is not None:
            self._tracing.begin(scope)
        return begin_root()

    def end(self, scope: Scope, root: Root, status: int, codes: Codes, seconds: float) -> None:
        """End the spans of a request, the work of which has taken so many seconds."""
        is_slow = self._slow is not None and seconds >= self._slow.seconds and not root.is_long
        if self._tracing is not None:
            self._tracing.end(scope, root, status, codes, is_slow=is_slow)
        if is_slow and self._slow is not None:
            self._slow.note(scope, root, status, codes, seconds)
        root.spans.clear()  # what the request has started may outlive it with its context

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
        self._logged: dict[tuple[str | None, ...], float] = {}
        """When each operation of a key had a line, for those that had one a moment ago."""
        self._lines: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    def note(self, scope: Scope, root: Root, status: int, codes: Codes, seconds: float) -> None:
        """Log a request, unless there was a line about that operation of its key a moment ago."""
        now, key_id = time.monotonic(), scope.get(SCOPE_KEY_ID)
        name = scope.get(SCOPE_ROUTE), find_operation_name(scope), key_id
        self._logged = {each: at for each, at in self._logged.items() if now - at < QUIET_SECONDS}
        if name in self._logged or len(self._logged) >= MAX_LINES:
            return
        self._logged[name] = now
        alike: dict[tuple[str, ...], list[Span]] = {}
        for each in sorted(root.spans, key=lambda each: -each.seconds):
            inside = each.outer.name if each.outer else ""
            alike.setdefault((each.name, inside, each.code), []).append(each)
        longest = [*alike.values()]
        fields = {
            "request_id": scope["state"]["request_id"],
            "method": scope.get("method"),
            "route": name[0],
            "operation": name[1],
            "key_id": key_id,
            "status": status,
            "duration_ms": _to_ms(seconds),
            "errors": sorted(set(codes)) or None,
            "trace_id": scope.get(SCOPE_TRACE_ID),
            "omitted_spans": len(longest[MAX_LOGGED_SPANS:]) or None,
        }
        # In a context of its own: what it sends is not a part of the request.
        line = self._log(without_none(fields), longest[:MAX_LOGGED_SPANS], root.started)
        task = asyncio.create_task(line, context=Context())
        self._lines.add(task)
        task.add_done_callback(self._lines.discard)

    async def close(self) -> None:
        """Write the lines that wait for plans, without them."""
        self._get_database = lambda: None
        await asyncio.gather(*self._lines)

    async def _log(
        self, fields: dict[str, Any], spans: Sequence[Sequence[Span]], began: float
    ) -> None:
        """Log a request with its spans, alike ones together, of which the longest come first."""
        reads = list_reads(alike[0] for alike in spans)[:MAX_PLANS]
        plans: Sequence[CommandPlan | None] = []
        async with self._turn:
            if (database := self._get_database()) is not None:
                commands = [each.read for each in reads]
                plans = await explain_commands(database, commands, PLAN_SECONDS, again=False)
        plan_of = {id(read): plan for read, plan in zip(reads, plans, strict=False)}
        fields["spans"] = [
            _describe(alike, began, plan_of.get(id(alike[0])))
            for alike in sorted(spans, key=lambda alike: alike[0].started)
        ]
        _logger.warning("slow request", extra={"fields": fields})


def _describe(alike: Sequence[Span], began: float, plan: CommandPlan | None) -> dict[str, Any]:
    """Return what a line says of spans, the longest first; of a read the shape, and no value."""
    span, *others = alike
    described: dict[str, Any] = {
        "span": span.name,
        "in": span.outer and span.outer.name,
        "at_ms": _to_ms(span.started - began),
        "ms": _to_ms(span.seconds),
        "code": span.code or None,
        "objects": span.objects,
        "times": len(alike) if others else None,
        "all_ms": _to_ms(sum(each.seconds for each in alike)) if others else None,
    }
    if isinstance(span, Command):
        described |= {"server": span.server, "returned": span.returned}
        described |= describe_read(span, frozenset())
        described["plan"] = plan and [scan._asdict() for scan in plan.scans]
    return without_none(described)


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
    for name in asking:
        if name in _ENDPOINTS and not given[name].startswith(("http://", "https://")):
            raise StartError(f"{name} must be a URL that begins with http:// or https://")
    try:
        from gateway.tracing import Tracing

        return Tracing(given)
    except ModuleNotFoundError as error:
        raise StartError(
            f"{asking[0]} asks for traces, which need OpenTelemetry: install the wheel with"
            " its extra, as FILE[otel], or set OTEL_SDK_DISABLED=true"
        ) from error
    except (ValueError, OSError) as error:  # some are read when the package is imported
        # The SDK goes on to say which default it would use.
        problem = re.split(r"\. |, (?:using|ignoring)", str(error))[0].rstrip(".")
        raise StartError(f"The OTEL_* variables cannot be used: {problem}") from error
