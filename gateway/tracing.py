"""Traces: the spans of requests, exported by OpenTelemetry in a thread of its own.

Imported only if traces are on; the `OTEL_*` variables are read by its SDK. A request takes up the
trace of its client, which does not decide whether it is recorded: unless an operator chooses a
sampler, a worker records `MAX_TRACES_PER_SECOND`. See docs/decisions/server/spans.md.
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Collection, Mapping
from importlib.metadata import version
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import Decision, ParentBased, Sampler, SamplingResult
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import Scope

from gateway.errors import StartError
from gateway.exchange import (
    SCOPE_KEY_ID,
    SCOPE_TRACE_ID,
    SCOPE_TRACE_RESPONSE,
    TRACEPARENT_HEADER,
    fields_of,
    find_operation_name,
)
from rest.scope_members import SCOPE_ROUTE
from storage.mongo.spans import Span

MAX_TRACES_PER_SECOND = 10.0
SHORTEST_WAIT_SECONDS = 0.0005
"""Shorter waits are none."""
FLUSH_SECONDS = 2.0
LOG_SECONDS = 60.0
"""The time between two lines about the exporter."""
SAMPLERS = tuple(
    prefix + name
    for prefix in ("", "parentbased_")
    for name in ("always_on", "always_off", "traceidratio")
)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_SCOPE_SPAN = "floorgate.span"
_PROPAGATOR = TraceContextTextMapPropagator()


class Tracing:
    """The tracer of a worker."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        """Start the thread that exports. Raises StartError for variables that are wrong."""
        sampler = variables.get("OTEL_TRACES_SAMPLER")
        if sampler not in (None, *SAMPLERS):
            raise StartError(f"OTEL_TRACES_SAMPLER must be one of {', '.join(SAMPLERS)}")
        for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
            if variables.get(name, "http/protobuf") != "http/protobuf":
                raise StartError(f"{name} must be http/protobuf: traces are sent in no other way")
        self._log = _ExporterLog()
        log = logging.getLogger("opentelemetry")
        log.handlers, log.propagate = [self._log], False
        own: Any = {
            "service.name": "floorgate",
            "service.version": version("floorgate"),
            "process.pid": os.getpid(),
        }
        try:
            given = OTELResourceDetector().detect().attributes
            self._provider = TracerProvider(
                None if sampler else _build_default_sampler(),
                Resource.create({**own, **given}),
                shutdown_on_exit=False,
            )
            self._exporter = OTLPSpanExporter()
            self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        except (ValueError, OSError) as error:
            raise StartError(f"The OTEL_* variables cannot be used: {error}") from error
        self._tracer = self._provider.get_tracer("floorgate")

    def begin(self, scope: Scope) -> None:
        """Begin the span of a request, in the trace of its client if that names one."""
        # Nothing else of a client: `tracestate` and baggage are any text.
        parent = fields_of(scope).get(TRACEPARENT_HEADER, b"").decode("latin-1")
        context = _PROPAGATOR.extract({"traceparent": parent}, Context())
        span = scope[_SCOPE_SPAN] = self._tracer.start_span(
            "request", context, SpanKind.SERVER, start_time=time.time_ns()
        )
        own = span.get_span_context()
        trace_id = scope[SCOPE_TRACE_ID] = trace.format_trace_id(own.trace_id)
        if span.is_recording():
            span_id = trace.format_span_id(own.span_id)
            scope[SCOPE_TRACE_RESPONSE] = f"00-{trace_id}-{span_id}-01".encode()

    def end(self, scope: Scope, root: Span, status: int, codes: Collection[str]) -> None:
        """Export the spans of a request, if it is recorded."""
        request: Any = scope.pop(_SCOPE_SPAN)
        if not request.is_recording():
            return
        method, route = scope.get("method", "GET"), scope.get(SCOPE_ROUTE)
        method = method if method in _METHODS else "_OTHER"
        attributes = {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": status,
            "url.scheme": scope.get("scheme"),
            "floorgate.key_id": scope.get(SCOPE_KEY_ID),
            "floorgate.request_id": scope["state"]["request_id"],
            "floorgate.error_codes": sorted(set(codes)) or None,
        }
        request.update_name(f"{method} {route}" if route else method)
        request.set_attributes(_without_none(attributes))
        if status >= 500 or "SERVER_ERROR" in codes:
            _set_error(request, min(codes, default=str(status)))
        epoch = request.start_time - round(root.started * 1e9)
        self._add_parts(request, root, epoch, find_operation_name(scope))
        request.end(epoch + root.ended_ns)

    def _add_parts(self, outer: trace.Span, span: Span, epoch: int, operation: str | None) -> None:
        """Add the parts of a span; `epoch` is when `time.perf_counter` was 0."""
        context = trace.set_span_in_context(outer, Context())
        for part in span.parts:
            if part.kind == "wait" and part.seconds < SHORTEST_WAIT_SECONDS:
                continue
            is_named = part.kind in ("process", "thread", "wait")
            made = self._tracer.start_span(
                f"{part.kind} {part.title}" if is_named else part.title,
                context,
                SpanKind.CLIENT if part.command else SpanKind.INTERNAL,
                _without_none(_list_attributes(part, operation)),
                start_time=epoch + round(part.started * 1e9),
            )
            if part.code:
                _set_error(made, part.code)
            self._add_parts(made, part, epoch, operation)
            made.end(epoch + part.ended_ns)

    async def close(self) -> None:
        """Export what is left, for `FLUSH_SECONDS` at most."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def shut_down() -> None:
            self._provider.shutdown()
            loop.call_soon_threadsafe(ended.set)

        # A daemon: the process ends, however long the collector takes.
        threading.Thread(target=shut_down, name="traces end", daemon=True).start()
        try:
            async with asyncio.timeout(FLUSH_SECONDS):
                await ended.wait()
        except TimeoutError:
            self._exporter.shutdown()  # type: ignore[no-untyped-call]
            self._log.write("The last traces could not be exported in time")


def _list_attributes(part: Span, operation: str | None) -> dict[str, Any]:
    """Return the attributes of a span: nothing that a client has sent."""
    end = part.command
    if end is not None:
        host, _, port = end.server.rpartition(":")
        return {
            "db.system": "mongodb",
            "db.system.name": "mongodb",
            "db.operation.name": end.command,
            "db.collection.name": end.collection or None,
            "db.response.returned_rows": end.returned,
            "server.address": host or end.server,
            "server.port": int(port) if port.isdigit() else None,
        }
    if part.kind == "operation":
        is_known = part.name.partition(" ")[2] == operation
        name = operation if is_known else None
        return {"graphql.operation.type": part.title, "graphql.operation.name": name}
    return {"floorgate.objects": part.objects}


def _without_none(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _set_error(span: trace.Span, code: str) -> None:
    span.set_attribute("error.type", code)
    span.set_status(Status(StatusCode.ERROR, code))


def _build_default_sampler() -> Sampler:
    """Return a sampler that asks the clients for nothing: any of them could have all exported."""
    limit = _RateSampler(MAX_TRACES_PER_SECOND)
    return ParentBased(limit, remote_parent_sampled=limit, remote_parent_not_sampled=limit)


class _RateSampler(Sampler):
    """Record so many traces per second. Used in an event loop."""

    def __init__(self, per_second: float) -> None:
        self._per_second = self._left = per_second
        self._looked = time.monotonic()

    def should_sample(self, *_: Any, **__: Any) -> SamplingResult:
        """Return whether to record a trace."""
        now = time.monotonic()
        self._left = min(self._per_second, self._left + (now - self._looked) * self._per_second)
        self._looked = now
        if self._left < 1:
            return SamplingResult(Decision.DROP)
        self._left -= 1
        return SamplingResult(Decision.RECORD_AND_SAMPLE)

    def get_description(self) -> str:
        """Return what it does."""
        return f"{self._per_second:g} traces per second"


class _ExporterLog(logging.Handler):
    """The log of the exporter, which has a line for each attempt: one a minute is passed on."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._quiet_until = 0.0
        self._left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a line on, or count it."""
        self.write(f"Traces are not exported: {record.getMessage()}")

    def write(self, message: str) -> None:
        """Log a message, or count it."""
        now = time.monotonic()
        if now < self._quiet_until:
            self._left_out += 1
            return
        self._quiet_until = now + LOG_SECONDS
        fields = {"left_out": self._left_out} if self._left_out else {}
        self._left_out = 0
        logging.getLogger("floorgate.traces").warning(message, extra={"fields": fields})
