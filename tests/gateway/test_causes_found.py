"""What makes a service slow, and why a 503 is one, is found in its metrics, log and traces alone.

Each test plants a cause in a service under load, and then looks as "Finding a cause" in
docs/runbook.md says: which code or operation the metrics show, of which key and why the log says,
and what the trace of that very request took its time for.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from pymongo import MongoClient
from pymongo.database import Database

from bench.load.machine import list_process_tree
from resolvers.request.caller import PERMISSIONS
from storage.mongo import driver
from storage.mongo.topology import APPLICATION
from tests.fixtures import ALL_FLAGS, FLOOR, SEEN, UNIT, create_world, make_key
from tests.gateway.floorgate_process import (
    Server,
    floorgate,
    run_serve_command,
    storage_options,
)
from tests.gateway.signals import Signals, find_span
from tests.gateway.test_tracing import Collector
from tests.storage.mongo.replica_set_of_three import ReplicaSet, run_replica_set
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("causes")]

DATABASE = "floorgate"
UNITS = 30_000
"""So many that a query without its index is slow."""
PER_KEY = 20
"""Requests of a key that a worker processes at a time."""
LIMITS = {
    "workers": 2,
    "slow-ms": 20,
    "request-seconds": 3,
    "rate-limit": 50,
    "rate-burst": 100,
    "requests-per-key": PER_KEY,
}
CLIENTS = {
    "website": ["/v1/assets", "/v1/maps", f"/v1/units/{UNIT}"],
    "signage": ["/v1/maps", "/v1/assets"],
    "kiosk": ["/v1/units?per-page=5", "/v1/units?per-page=5&page=2"],
}
"""What the clients of the background load ask for all the time, by the name of their key."""
CULPRITS = ("partner", "scraper", "reports", "editor", "designer")
ASSIGN = "/v1/units/attribute-groups/view/assignments"
DRAWING = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"/>'
ENDPOINT = """
query UnitsOnMap @endpoint(path: "/v1/x/units-on-map", summary: "List units with their places") {
  units(perPage: 5) { data { id location { x y } } }
}
"""


@dataclass
class Planted:
    """A service in which a cause is planted."""

    server: Server
    replica_set: ReplicaSet
    folder: Path
    keys: dict[str, tuple[str, str]]
    """The id and the text of each key, by its name."""

    def client(self, name: str) -> httpx.Client:
        client = self.server.client(self.keys[name][1])
        client.headers.update(ALL_FLAGS)
        return client

    def send(self, name: str, count: int, method: str, path: str, **request: Any) -> list[int]:
        """Send so many requests at a time; return their statuses."""

        def send(_: int) -> int:
            with self.client(name) as client:
                return client.request(method, path, **request).status_code

        with ThreadPoolExecutor(count) as pool:
            return [*pool.map(send, range(count))]

    @contextmanager
    def open_database(self) -> Iterator[Database[Any]]:
        with MongoClient[Any](self.replica_set.url, appname="nightly report") as client:
            yield client[DATABASE]

    @contextmanager
    def delayed(self, *commands: str, milliseconds: int, **more: Any) -> Iterator[None]:
        """Let MongoDB begin commands of the service later."""
        primary = self.replica_set.wait_for_primary()
        data = {"failCommands": commands, "appName": APPLICATION, **more}
        data |= {"blockConnection": True, "blockTimeMS": milliseconds}
        primary.command("configureFailPoint", "failCommand", mode="alwaysOn", data=data)
        try:
            yield
        finally:
            primary.command("configureFailPoint", "failCommand", mode="off")

    @contextmanager
    def under_load(self) -> Iterator[None]:
        is_over = threading.Event()

        def ask(name: str, paths: Sequence[str]) -> None:
            with self.client(name) as client:
                for path in [*paths] * 1_000_000:
                    with suppress(httpx.HTTPError):
                        client.get(path)
                    if is_over.wait(0.1):
                        return

        with ThreadPoolExecutor(len(CLIENTS)) as pool:
            for name, paths in CLIENTS.items():
                pool.submit(ask, name, paths)
            try:
                yield
            finally:
                is_over.set()


async def make_keys(url: str) -> dict[str, tuple[str, str]]:
    client = driver.connect(url, timeout_seconds=30)
    try:
        return {
            name: await make_key(client[DATABASE], name, permissions=PERMISSIONS)
            for name in (*CLIENTS, *CULPRITS)
        }
    finally:
        await driver.close(client)


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    collector = Collector()
    with collector.run():
        yield collector


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[Planted]:
    """A replica set of three, a gateway with two workers, and clients with keys of their own."""
    folder = tmp_path_factory.mktemp("planted")
    with ExitStack() as held:
        replica_set = held.enter_context(run_replica_set(folder, election_timeout_ms=2_000))
        asyncio.run(create_world(replica_set.url, DATABASE, folder / "bundle.json"))
        keys = asyncio.run(make_keys(replica_set.url))
        where = storage_options(replica_set.url, DATABASE, folder)
        (folder / "endpoints").mkdir()
        (folder / "endpoints" / "units-on-map.graphql").write_text(ENDPOINT)
        applied = floorgate("endpoints", "apply", "--yes", *where, folder / "endpoints")
        assert applied.returncode == 0, applied.stderr
        with MongoClient[Any](replica_set.url) as client:
            units = client[DATABASE]["units"]
            [unit] = units.find({"_id": UNIT})
            units.insert_many({**unit, "_id": f"z-{n}", "floor_id": "n-2"} for n in range(UNITS))
        options = [option for name, value in LIMITS.items() for option in (f"--{name}", value)]
        server = held.enter_context(
            run_serve_command(
                folder / "data",
                *(*where, *options, "--log-file", folder / "log"),
                *("--metrics-address", "127.0.0.1:0"),
                OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
                OTEL_BSP_SCHEDULE_DELAY="100",
            )
        )
        planted = Planted(server, replica_set, folder, keys)
        with planted.under_load():
            yield planted


@pytest.fixture(scope="module")
def all_signals(service: Planted, collector: Collector) -> Signals:
    return Signals(service.folder / "log", collector)


@pytest.fixture
def signals(all_signals: Signals) -> Signals:
    all_signals.begin()
    return all_signals


def test_a_query_that_lost_its_index(service: Planted, signals: Signals) -> None:
    """One key filters units by floor, and somebody has dropped the index for that."""
    with service.open_database() as database:
        for name, index in database["units"].index_information().items():
            if any(field in dict(index["key"]) for field in ("floor_id", "asset_id")):
                database["units"].drop_index(name)
    with service.client("partner") as client:
        for page in range(1, 11):
            client.get("/v1/units", params={"floor": FLOOR, "per-page": 3, "page": page})

    # "Operations by the time that they take" shows one above all others, and the log who and why.
    wait_until(lambda: signals.rise("requests_total", operation="ListUnits") >= 10)
    [(operation, _)] = signals.rises("request_duration_seconds_sum", "operation").most_common(1)
    assert operation == "ListUnits"
    key_id = service.keys["partner"][0]
    line = signals.wait_for_line(
        "slow",
        lambda line: find_span(line, "find units") is not None,
        message="slow request",
        operation=operation,
        key_id=key_id,
    )
    command = find_span(line, "find units")
    assert command is not None
    assert "floor_id" in str(command["filter"])
    [scan] = command["plan"]
    assert scan["stage"] == "COLLSCAN" or scan["index_name"] == "_id_"
    trace = signals.wait_for_trace(line["trace_id"], "find units")
    assert trace["GET /v1/units"]["floorgate.key_id"] == key_id
    assert trace["query"]["graphql.operation.name"] == operation


def test_a_key_that_sends_too_much(service: Planted, signals: Signals) -> None:
    """One key asks for one unit after the other, as fast as it can."""
    service.send("scraper", 8, "GET", f"/v1/units/{UNIT}")

    def flood(_: int) -> None:
        with service.client("scraper") as client:
            for number in range(50):
                client.get(f"/v1/units/z-{number}")

    with ThreadPoolExecutor(4) as pool:
        [*pool.map(flood, range(4))]

    signals.wait_for_rise("requests_total", "code", "RATE_LIMITED", status="429")
    signals.wait_for_rise("requests_total", "operation", "GetUnit", status="429")
    lines = signals.list_lines("access", status=429, errors=["RATE_LIMITED"])
    assert {line["key_id"] for line in lines} == {service.keys["scraper"][0]}


def test_a_key_that_does_not_wait_for_responses(service: Planted, signals: Signals) -> None:
    """Reports of one key take long, and it sends many at a time."""
    with service.delayed("find", "aggregate", namespace=f"{DATABASE}.units", milliseconds=1_000):
        statuses = service.send("reports", 4 * PER_KEY, "GET", "/v1/units?search=nothing")
    assert 429 in statuses

    signals.wait_for_rise("requests_rejected_total", "reason", "requests_per_key")
    wait_until(lambda: signals.rise("requests_total", code="TOO_MANY_IN_PROGRESS") > 0)
    line = signals.wait_for_line("admission", limit="requests_per_key")
    assert line["errors"] == ["TOO_MANY_IN_PROGRESS"]
    assert line["key_id"] == service.keys["reports"][0]


def test_a_transaction_of_another_program(service: Planted, signals: Signals) -> None:
    """Another program has changed a record, and does not end its transaction."""
    body = {
        "data": [
            {"group_id": "view", "attribute_id": "yard", "asset_id": SEEN, "unit_id": UNIT},
        ]
    }
    with service.open_database() as database, database.client.start_session() as session:
        session.start_transaction()
        held = database["attribute_assignments"]
        held.update_many({"unit_id": UNIT}, {"$set": {"seen": True}}, session=session)
        assert service.send("editor", 1, "PUT", ASSIGN, json=body) == [503]
        session.abort_transaction()

    signals.wait_for_rise("requests_total", "code", "WRITE_CONFLICT", status="503")
    # With pauses, so that the conflict of one request is no load: hundreds without.
    assert 1 < signals.rise("mongodb_retries_total", code="WRITE_CONFLICT") < 100
    key_id = service.keys["editor"][0]
    line = signals.wait_for_line("slow", status=503, key_id=key_id)
    assert (line["operation"], line["errors"]) == ("AssignUnitAttributes", ["WRITE_CONFLICT"])
    # The collection whose documents are held:
    tries = find_span(line, "update attribute_assignments", code="WRITE_CONFLICT")
    assert tries is not None and tries["times"] > 1
    assert find_span(line, "wait retry") is not None
    trace = signals.wait_for_trace(line["trace_id"], "update attribute_assignments")
    assert trace["update attribute_assignments"]["error.type"] == "WRITE_CONFLICT"


def test_drawings_that_fill_the_queue(service: Planted, signals: Signals) -> None:
    """The processes for drawings get no CPU time, and one key goes on sending drawings."""
    drawing: dict[str, Any] = {
        "content": DRAWING,
        "headers": {"Content-Type": "application/vnd.map+xml"},
    }
    path = "/v1/maps/parse"
    wait_until(lambda: service.send("designer", 8, "POST", path, **drawing) == [200] * 8)
    stopped = [
        pid
        for pid in list_process_tree(service.server.process.pid)
        if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    signals.begin()
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(service.send, "editor", 3 * PER_KEY, "POST", path, **drawing)
        try:
            wait_until(lambda: signals.rise("requests_total", code="QUEUE_FULL") > 0)
            wait_until(lambda: signals.read("drawings_waiting", pool="drawings") > 0)
            wait_until(lambda: signals.read("processes", pool="drawings", state="busy") > 0)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        assert {200, 503} <= {*sent.result()}

    signals.wait_for_rise("requests_total", "operation", "ParseMap", code="QUEUE_FULL")
    key_id = service.keys["editor"][0]
    lines = signals.list_lines("access", status=503, errors=["QUEUE_FULL"])
    assert {line["key_id"] for line in lines} == {key_id}
    signals.wait_for_line(
        "slow",
        lambda line: find_span(line, "wait process") is not None,
        operation="ParseMap",
        key_id=key_id,
    )


def test_an_endpoint_that_takes_too_long(service: Planted, signals: Signals) -> None:
    """The places of units are slow to read, and one saved endpoint asks for them."""
    with service.delayed(
        "find", "aggregate", namespace=f"{DATABASE}.locations", milliseconds=9_000
    ):
        assert service.send("designer", 1, "GET", "/v1/x/units-on-map") == [503]

    signals.wait_for_rise("requests_total", "code", "DEADLINE_EXCEEDED", status="503")
    signals.wait_for_rise("requests_total", "operation", "UnitsOnMap", status="503")
    line = signals.wait_for_line("slow", status=503, operation="UnitsOnMap")
    assert line["key_id"] == service.keys["designer"][0]
    assert find_span(line, "Unit.location") is not None
    command = find_span(line, "aggregate locations")
    assert command is not None, "the span of a command that was cut off is missing"
    trace = signals.wait_for_trace(line["trace_id"], "aggregate locations")
    assert trace["GET /v1/x/units-on-map"]["floorgate.error_codes"] == ["DEADLINE_EXCEEDED"]


def test_a_replica_set_without_a_majority(service: Planted, signals: Signals) -> None:
    """Two of the three members have ended."""
    primary = service.replica_set.wait_until_whole()
    others = [member for member in service.replica_set.members if member is not primary]
    for member in others:
        member.kill()
    wait_until(lambda: signals.rise("requests_total", code="NO_MAJORITY", status="503") > 10)
    service.send("editor", 1, "GET", "/v1/units?search=anything")

    codes = signals.rises("requests_total", "code", status="503")
    assert {*codes} <= {"NO_MAJORITY", "NO_PRIMARY", "INTERRUPTED"}, codes
    assert codes.most_common(1)[0][0] == "NO_MAJORITY"
    lost = signals.wait_for_line("changes", message="the change stream has ended")
    assert lost["member"] == primary.address
    assert lost["errors"] == ["NO_PRIMARY"]
    signals.wait_for_rise("change_stream_interruptions_total", "code", "NO_PRIMARY")
    wait_until(lambda: signals.read("change_stream_lag_seconds") > 1)
    # All keys are affected, and each line says which, although no key can be looked up.
    lines = signals.list_lines("access", status=503, errors=["NO_MAJORITY"])
    assert {service.keys[name][0] for name in CLIENTS} <= {line["key_id"] for line in lines}
    waited = signals.wait_for_line(
        "slow", lambda line: find_span(line, "wait primary") is not None, status=503
    )
    trace = signals.wait_for_trace(waited["trace_id"], "wait primary")
    assert "NO_MAJORITY" in str(trace)

    for member in others:
        member.restart()
    service.replica_set.wait_until_whole()
    for pid in {line["pid"] for line in signals.list_lines("changes")}:
        signals.wait_for_line("changes", message="the change stream goes on", pid=pid)
