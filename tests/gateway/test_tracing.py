"""Traces: what OpenTelemetry's collector gets of a request, and what it costs who has none."""

import logging
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import orjson
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from gateway import tracing
from gateway.errors import StartError
from gateway.request_spans import open_tracing
from tests.fixtures import SEEN, World, open_client, run_gateway
from tests.gateway.floorgate_process import CHECKOUT
from tests.gateway.log_lines import LogLines, capture_log_lines
from tests.resolvers.worlds import processed

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
CALLER = f"00-{TRACE_ID}-b7ad6b7169203331-{{}}"
SECRET = "a-value-of-the-client"


class Collector:
    """Receives traces as OTLP over HTTP."""

    def __init__(self) -> None:
        self.resources: list[dict[str, Any]] = []
        self.spans: list[Any] = []
        self.bodies: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.receive(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def receive(self, body: bytes) -> None:
        self.bodies.append(body)
        for each in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(attributes_of(each.resource))
            self.spans += [span for scope in each.scope_spans for span in scope.spans]

    @contextmanager
    def run(self) -> Iterator[None]:
        thread = Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def tree(self) -> list[str]:
        """The names of all spans in the order in which they began, indented.

        Without the handshakes of new connections to MongoDB, which any request may need.
        """
        inside: dict[bytes, list[Any]] = {}
        ids = {span.span_id for span in self.spans}
        for span in sorted(self.spans, key=lambda each: each.start_time_unix_nano):
            inside.setdefault(
                span.parent_span_id if span.parent_span_id in ids else b"", []
            ).append(span)

        def write(parent: bytes, depth: int) -> Iterator[str]:
            for span in inside.get(parent, ()):
                if not span.name.startswith(("sasl", "hello")):
                    yield "  " * depth + span.name
                yield from write(span.span_id, depth + 1)

        return [*write(b"", 0)]

    def find(self, name: str) -> Any:
        """The attributes of the last span with a name."""
        return attributes_of([span for span in self.spans if span.name == name][-1])


def attributes_of(message: Any) -> dict[str, Any]:
    return {each.key: read_value(each.value) for each in message.attributes}


def read_value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [read_value(each) for each in value.array_value.values]
    return getattr(value, kind)


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    with collector.run():
        yield collector


@pytest.fixture(autouse=True)
def _keep_loggers() -> Iterator[None]:
    log = logging.getLogger("opentelemetry")
    before = log.handlers, log.propagate
    yield
    log.handlers, log.propagate = before


@pytest.fixture
def variables(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    return monkeypatch


@asynccontextmanager
async def traced(world: World, **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway that exports its traces when it stops."""
    async with run_gateway(world.settings(**settings)) as gateway:
        assert gateway.spans is not None
        async with open_client(gateway, world.keys.full) as client:
            yield client


pytestmark = pytest.mark.usefixtures("variables")


async def test_a_request_of_rest_is_a_tree_of_spans(world: World, collector: Collector) -> None:
    async with traced(world) as client:
        await client.get("/v1/units")  # a worker plans an operation once
        response = await client.get(f"/v1/units?asset={SEEN}&page=2&per-page=3")
    tree = collector.tree()
    reads_of_keys = [line for line in tree if line == "  find api_keys"]
    assert reads_of_keys, "those of a key are in the request that needs it"
    assert [line for line in tree if line not in reads_of_keys][-4:] == [
        "GET /v1/units",
        "  query",
        "    Query.units",
        "      find units",
    ]
    request = collector.find("GET /v1/units")
    key_id = request.pop("floorgate.key_id")
    assert key_id.startswith("key_")
    assert request == {
        "http.request.method": "GET",
        "http.route": "/v1/units",
        "http.response.status_code": 200,
        "url.scheme": "https",
        "floorgate.request_id": response.headers["X-Request-Id"],
    }
    assert collector.find("query") == {
        "graphql.operation.type": "query",
        "graphql.operation.name": "ListUnits",
    }
    assert collector.find("Query.units") == {"floorgate.objects": 1}
    command = collector.find("find units")
    assert command.pop("server.port") > 0
    assert command == {
        "server.address": "127.0.0.1",
        "db.system.name": "mongodb",
        "db.operation.name": "find",
        "db.collection.name": "units",
        "db.response.returned_rows": 4,  # one tells of the next page
    }
    [resource] = collector.resources
    assert resource["service.name"] == "floorgate"


async def test_levels_of_a_query_and_their_commands_are_spans(
    world: World, collector: Collector
) -> None:
    query = "query Mine { units(perPage: 2) { data { id floor { name } } } }"
    async with traced(world, cache_mb=0) as client:
        assert (await client.post("/graphql", json={"query": query})).status_code == 200
    assert [line for line in collector.tree() if line != "  find api_keys"][-5:] == [
        "  query",
        "    Query.units",
        "      find units",
        "    Unit.floor",
        "      find floors",
    ]
    assert collector.find("query")["graphql.operation.name"] == "Mine"
    assert collector.find("Unit.floor") == {"floorgate.objects": 2}


async def test_writes_and_drawings_are_spans(own_world: World, collector: Collector) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"/>'
    mutation = 'mutation { createApiKey(input: {name: "traced"}) { key } }'
    async with traced(own_world) as client:
        made = await client.post("/graphql", json={"query": mutation})
        media_type = {"Content-Type": "application/vnd.map+xml"}
        parsed = await client.post("/v1/maps/parse", content=svg, headers=media_type)
        assert parsed.status_code == 200, parsed.text
    tree = [line.strip() for line in collector.tree()]
    assert {"mutation", "Mutation.createApiKey", "insert api_keys", "commitTransaction"} <= {*tree}
    assert "process parse_unit_map" in tree
    secret = made.json()["data"]["createApiKey"]["key"]
    assert not any(secret.encode() in body for body in collector.bodies)


async def test_a_route_shows_its_network_and_its_search(
    own_world: World, tmp_path: Path, collector: Collector
) -> None:
    path = "/v1/maps/tower/route?from=10,10,lower&to=90,10,upper"
    async with processed(own_world, tmp_path) as client:
        assert (await client.get(path)).status_code == 200
    tree = [line.strip() for line in collector.tree()]
    assert {"GET /v1/maps/{map}/route", "Map.route", "wait network", "thread search route"} <= {
        *tree
    }


async def test_nothing_that_a_client_sends_is_exported(world: World, collector: Collector) -> None:
    name = f"N{world.keys.full}"
    query = f'query {name} {{ unit(id: "{SECRET}") {{ {SECRET.replace("-", "_")}: id }} }}'
    headers = {
        "tracestate": f"x={SECRET}",
        "baggage": f"x={SECRET}",
        "traceparent": CALLER.format("01"),
    }
    async with traced(world) as client:
        await client.post("/graphql", json={"query": query}, headers=headers)
        await client.get(f"/v1/units/{SECRET}?api-key={world.keys.full}", headers=headers)
        await client.get(f"/{SECRET}", headers={"User-Agent": SECRET})
        await client.request(SECRET.upper(), "/v1/units")
    exported = b"".join(collector.bodies)
    assert b"GET /v1/units/{unit}" in exported
    for secret in (SECRET, SECRET.upper(), SECRET.replace("-", "_"), world.keys.full):
        assert secret.encode() not in exported


async def test_errors_have_our_codes(world: World, collector: Collector) -> None:
    async with traced(world) as client:
        await client.get("/v1/units/none")
    [request] = [span for span in collector.spans if span.name.startswith("GET")]
    assert attributes_of(request)["floorgate.error_codes"] == ["NOT_FOUND"]
    assert not request.status.code, "a 404 is no error of the server"


@pytest.mark.parametrize("flags", ["00", "01"])
async def test_the_trace_of_the_client_is_taken_up(
    world: World, collector: Collector, lines: LogLines, flags: str
) -> None:
    async with traced(world) as client:
        headers = {"traceparent": CALLER.format(flags)}
        response = await client.get("/v1/units", headers=headers)
    [request] = [span for span in collector.spans if span.name == "GET /v1/units"]
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE_ID, "b7ad6b7169203331")
    assert response.headers["traceresponse"] == f"00-{TRACE_ID}-{request.span_id.hex()}-01"
    assert lines.last()["trace_id"] == TRACE_ID


@pytest.mark.parametrize(
    "malformed", ["", "x", "00-0-0-01", f"00-{'0' * 32}-b7ad6b7169203331-01", "0" * 600]
)
async def test_a_malformed_traceparent_is_ignored(
    world: World, collector: Collector, malformed: str
) -> None:
    traces = logging.getLogger("floorgate.traces")
    with capture_log_lines(traces, logging.WARNING) as logged:
        async with traced(world) as client:
            response = await client.get("/v1/units", headers={"traceparent": malformed})
    assert response.status_code == 200 and not logged.texts
    [request] = [span for span in collector.spans if span.name == "GET /v1/units"]
    assert request.parent_span_id == b""


async def test_clients_cannot_have_all_requests_exported(
    world: World, collector: Collector, monkeypatch: pytest.MonkeyPatch, lines: LogLines
) -> None:
    monkeypatch.setattr(tracing, "MAX_TRACES_PER_SECOND", 0)
    async with traced(world) as client:
        response = await client.get("/v1/units", headers={"traceparent": CALLER.format("01")})
    assert "traceresponse" not in response.headers
    assert lines.last()["trace_id"] == TRACE_ID
    assert not collector.spans


@pytest.mark.parametrize("sampler", [None, "always_off"])
@pytest.mark.parametrize("headers", [{}, {"traceparent": CALLER.format("00")}])
async def test_a_slow_request_is_recorded_beyond_the_rate(
    world: World,
    collector: Collector,
    variables: pytest.MonkeyPatch,
    lines: LogLines,
    headers: dict[str, str],
    sampler: str | None,
) -> None:
    if sampler:
        variables.setenv("OTEL_TRACES_SAMPLER", sampler)
    async with run_gateway(world.settings()) as gateway:
        assert gateway.spans is not None and gateway.spans._slow is not None
        traces: Any = gateway.spans._tracing
        if traces._limit is not None:
            traces._limit.take = lambda: False  # it is used up
        async with open_client(gateway, world.keys.full) as client:
            await client.get("/v1/assets")
            gateway.spans._slow.seconds = 0.0
            await client.get("/v1/units", headers=headers)
    if sampler:  # the operator wants none
        assert not collector.spans
        return
    assert "find units" in "".join(collector.tree())
    assert {span.trace_id.hex() for span in collector.spans} == {lines.last()["trace_id"]}
    if headers:
        assert lines.last()["trace_id"] == TRACE_ID


async def test_operators_choose_a_sampler(
    world: World, collector: Collector, variables: pytest.MonkeyPatch
) -> None:
    variables.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    variables.setenv("OTEL_SERVICE_NAME", "maps")
    async with traced(world) as client:
        await client.get("/v1/units")
        await client.get("/v1/assets", headers={"traceparent": CALLER.format("01")})
    assert {span.trace_id.hex() for span in collector.spans} == {TRACE_ID}
    assert collector.resources[0]["service.name"] == "maps"


async def test_probes_are_not_traced(world: World, collector: Collector) -> None:
    async with traced(world) as client:
        assert (await client.get("/health/live")).status_code == 200
    assert not collector.spans


async def test_without_a_collector_requests_go_on_and_one_line_says_so(
    world: World, variables: pytest.MonkeyPatch
) -> None:
    variables.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    variables.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
    variables.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "1")
    logger = logging.getLogger("floorgate.traces")
    with capture_log_lines(logger, logging.WARNING) as lines:
        async with traced(world) as client:
            for _ in range(5):
                assert (await client.get("/v1/units")).status_code == 200
    [line] = map(orjson.loads, lines.texts)
    assert line["message"].startswith("Traces are not exported: ")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"OTEL_SERVICE_NAME": "floorgate"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_tracing_is_off_unless_a_variable_asks_for_it(given: dict[str, str]) -> None:
    assert open_tracing(given) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_TRACES_EXPORTER", "jaeger"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4318"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "many"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "many"),
        ("OTEL_TRACES_SAMPLER", "secret"),
        ("OTEL_RESOURCE_ATTRIBUTES", "secret"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization: secret"),
    ],
)
def test_what_cannot_be_is_said_at_the_start(name: str, value: str) -> None:
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", name: value}
    code = "from gateway.request_spans import open_tracing; open_tracing()"
    started = subprocess.run(
        [sys.executable, "-c", code], env=variables, cwd=CHECKOUT, capture_output=True, text=True
    )
    kind, _, message = started.stderr.splitlines()[-1].partition(": ")
    assert kind == "gateway.errors.StartError"
    assert message.startswith((f"{name} must be", "The OTEL_* variables cannot be used: "))
    assert "secret" not in started.stderr


def test_the_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "gateway.tracing")
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(StartError, match=re.escape("as FILE[otel]")):
        open_tracing({"OTEL_TRACES_EXPORTER": "otlp"})


def test_a_worker_without_traces_does_not_import_opentelemetry() -> None:
    code = (
        "import sys\n"
        "from gateway.app import Gateway\n"
        "from gateway.settings import Settings\n"
        "assert Gateway(Settings(slow_ms=0)).spans is None\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env={},
        check=True,
    )
    assert ran.stdout == "[]\n"
