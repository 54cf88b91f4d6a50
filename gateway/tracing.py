"""Traces: the spans of requests, exported by OpenTelemetry in a thread of its own.

Imported only if traces are on; the `OTEL_*` variables are read by its SDK. A request takes up the
trace of its client, which does not decide whether it is recorded: unless an operator chooses a
sampler, a worker records `MAX_TRACES_PER_SECOND`, and as many more of requests that were slow or
have failed, which is known when they end. See docs/decisions/server/spans.md.
"""

import asyncio
import logging
import os
import re
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
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
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
from gateway.read_descriptions import without_none
from rest.scope_members import SCOPE_ROUTE
from storage.mongo.spans import Command, Root, Span

MAX_TRACES_PER_SECOND = 10
FLUSH_SECONDS = 2.0
LOG_SECONDS = 60.0
"""The time between two lines about the exporter."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_SCOPE_SPAN = "floorgate.span"
_PROPAGATOR = TraceContextTextMapPropagator()
_logger = logging.getLogger("floorgate.traces")


class Tracing:
    def __init__(self, variables: Mapping[str, str]) -> None:
        """Start the thread that exports.

        Raises StartError, ValueError or OSError for variables that are wrong.
        """
        for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
            if variables.get(name, "http/protobuf") != "http/protobuf":
                raise StartError(f"{name} must be http/protobuf: traces are sent in no other way")
        log, handler = logging.getLogger("opentelemetry"), _ExporterLog(logging.WARNING)
        log.handlers, log.propagate = [handler], False
        own: Any = {
            "service.name": "floorgate",
            "service.version": version("floorgate"),
            "process.pid": os.getpid(),
        }
        given = OTELResourceDetector().detect()
        is_chosen = "OTEL_TRACES_SAMPLER" in variables
        self._limit, self._late_limit = None if is_chosen else _Rate(), _Rate()
        self._provider = TracerProvider(
            None if is_chosen else ALWAYS_ON,
            Resource.create(own).merge(given),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        handler.is_started = True
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
        if span.is_recording() and (self._limit is None or self._limit.take()):
            span_id = trace.format_span_id(own.span_id)
            scope[SCOPE_TRACE_RESPONSE] = f"00-{trace_id}-{span_id}-01".encode()

    def end(
        self, scope: Scope, root: Root, status: int, codes: Collection[str], *, is_slow: bool
    ) -> None:
        """Export the spans of a request, if it is recorded, or was slow or has failed.

        What does not end is not exported.
        """
        request: Any = scope.pop(_SCOPE_SPAN)
        is_error = status >= 500 or "SERVER_ERROR" in codes
        if SCOPE_TRACE_RESPONSE not in scope:
            is_late = request.is_recording() and (is_slow or is_error)
            if not (is_late and self._late_limit.take()):
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
        request.set_attributes(without_none(attributes))
        _end(request, min(codes, default=str(status)) if is_error else "", time.time_ns())
        epoch = request.start_time - round(root.started * 1e9)
        made: dict[int, trace.Span] = {}
        for span in reversed(root.spans):  # so that each comes after the one that it is a part of
            outer = made.get(id(span.outer), request)
            part = made[id(span)] = self._tracer.start_span(
                span.name,
                trace.set_span_in_context(outer, Context()),
                SpanKind.CLIENT if isinstance(span, Command) else SpanKind.INTERNAL,
                _list_attributes(span, find_operation_name(scope)),
                start_time=epoch + round(span.started * 1e9),
            )
            _end(part, span.code, epoch + round((span.started + span.seconds) * 1e9))

    async def close(self) -> None:
        """Export what is left, for `FLUSH_SECONDS` at most."""
        # A daemon: the process ends, however long the collector takes.
        closing = threading.Thread(target=self._provider.shutdown, name="traces end", daemon=True)
        closing.start()
        await asyncio.to_thread(closing.join, FLUSH_SECONDS)


def _list_attributes(span: Span, operation: str | None) -> dict[str, Any]:
    """Return the attributes of a span: nothing that a client has sent."""
    attributes: dict[str, Any] = {"floorgate.objects": span.objects}
    if isinstance(span, Command):
        host, _, port = span.server.rpartition(":")
        attributes = {
            "db.system.name": "mongodb",
            "db.operation.name": span.command,
            "db.collection.name": span.collection or None,
            "db.response.returned_rows": span.returned,
            "server.address": host or span.server,
            "server.port": int(port) if port.isdigit() else None,
        }
    elif span.name in ("query", "mutation", "subscription"):
        attributes = {"graphql.operation.type": span.name, "graphql.operation.name": operation}
    return without_none(attributes)


def _end(span: trace.Span, code: str, at_ns: int) -> None:
    if code:
        span.set_attribute("error.type", code)
        span.set_status(Status(StatusCode.ERROR, code))
    span.end(at_ns)


class _Rate:
    """Allow `MAX_TRACES_PER_SECOND`: any client could have all exported if it were asked."""

    _second = 0
    _left = 0

    def take(self) -> bool:
        if self._second != int(time.monotonic()):
            self._second, self._left = int(time.monotonic()), MAX_TRACES_PER_SECOND
        self._left -= 1
        return self._left >= 0


class _ExporterLog(logging.Handler):
    """The log of OpenTelemetry: at the start, what it does not understand and would ignore.

    Later, the exporter has a line for each attempt: one a minute is passed on.
    """

    is_started = False
    _quiet_until = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a line of the exporter on, unless there was one a moment ago.

        Raises ValueError at the start, without values: a header is a secret.
        """
        if not self.is_started:
            arguments = iter(record.args or ())
            raise ValueError(re.sub("%[a-z]", lambda _: _name(next(arguments)), record.msg))
        is_of_clients = not record.name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))
        if not is_of_clients and time.monotonic() >= self._quiet_until:
            self._quiet_until = time.monotonic() + LOG_SECONDS
            _logger.warning("Traces are not exported: %s", record.getMessage())


def _name(argument: object) -> str:
    return str(argument) if str(argument).startswith("OTEL_") else "…"
