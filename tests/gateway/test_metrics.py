"""What a worker counts: each request once, under names that no client can invent."""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gateway import metrics
from gateway.graphql.request import hash_document
from gateway.metrics import (
    FAMILIES,
    MAX_OPERATIONS,
    NO_OPERATION,
    OTHER,
    Counters,
    Snapshot,
    SnapshotMemory,
    Total,
    create_shared_memory,
    publishing,
)
from resolvers.request.caller import Caller
from resolvers.request.context import (
    Context,
    count_without_deadline,
    ended_without_deadline,
    limit_write,
    without_deadline,
)
from storage.administration.trusted_documents import TrustedDocument, register_documents
from storage.mongo.spans import Command
from tests.doc_pages import page, section
from tests.fixtures import World, open_database
from tests.gateway.floorgate_process import FastPathServer, serve_with_fast_path
from tests.waiting import TIMEOUT_SECONDS, wait_until

REGISTERED = "query Registered { units(perPage: 1) { data { id } } }"
Requests = dict[tuple[str, str, str], float]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counters:
    """The counters of this process, which begin at 0."""
    counters = Counters()
    for name, value in vars(counters).items():
        monkeypatch.setattr(metrics.counters, name, value)
    return metrics.counters


@pytest.fixture
async def served(
    own_world: World, monkeypatch: pytest.MonkeyPatch, counted: Counters
) -> AsyncIterator[FastPathServer]:
    async with open_database(own_world) as database:
        ids = [hash_document(REGISTERED), "registered"]
        await register_documents(database, [TrustedDocument(ids=ids, text=REGISTERED)])
    async with serve_with_fast_path(own_world.settings(), monkeypatch) as served:
        yield served


@pytest.fixture
def memory() -> Iterator[SnapshotMemory]:
    descriptor = create_shared_memory(2)
    yield SnapshotMemory(descriptor)
    os.close(descriptor)


def admitted(count: int) -> Snapshot:
    return {"requests_admitted_total": {(): count}}


def requests_of(counted: Counters) -> Requests:
    """The numbers of requests by operation, status and code."""
    return counted.read()["requests_total"]  # type: ignore[return-value]


def document(**members: Any) -> bytes:
    return json.dumps(members).encode()


INVENTED = document(query="query Invented { units(perPage: 1) { data { id } } }")
BY_ID = document(documentId="registered")
NOT_IN_IT = document(documentId="registered", operationName="Invented")


@pytest.mark.parametrize("level", [logging.INFO, logging.CRITICAL])
async def test_each_request_is_counted_once_whether_or_not_it_is_logged(
    served: FastPathServer, own_world: World, counted: Counters, level: int,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(level, "floorgate.access")
    async with served.connect(own_world.keys.full) as connection:
        for _ in range(3):  # the fast path answers the last ones
            await connection.request("/v1/units")
            await connection.request("/graphql", "POST", INVENTED)
            await connection.request("/graphql", "POST", BY_ID)
        assert len(served.found) >= 3
        await connection.request("/graphql", "POST", NOT_IN_IT)
        await connection.request("/v1/units/invented")
        await connection.request("/v1/invented/fgk_invented")
        await connection.request("/v1/units", "DELETE")
        await connection.request("/health/live")
        connection.send("/v1/units", "INVENTED")
        await connection.receive()
    async with served.connect(None) as connection:
        await connection.request("/v1/units")
    assert requests_of(counted) == {
        ("ListUnits", "200", ""): 3,
        (OTHER, "200", ""): 3,
        ("Registered", "200", ""): 3,
        (OTHER, "200", "OPERATION_RESOLUTION_FAILURE"): 1,
        ("GetUnit", "404", "NOT_FOUND"): 1,
        (NO_OPERATION, "404", "NOT_FOUND"): 1,
        ("/v1/units", "405", "METHOD_NOT_ALLOWED"): 1,
        ("/health/live", "200", ""): 1,
        (NO_OPERATION, "400", "BAD_REQUEST"): 1,
        ("ListUnits", "401", "UNAUTHENTICATED"): 1,
    }
    durations = counted.read()["request_duration_seconds"]
    for (operation,), histogram in durations.items():
        assert isinstance(histogram, list)
        counts = [n for (name, *_), n in requests_of(counted).items() if name == operation]
        assert sum(histogram[:-1]) == sum(counts)
        assert 0 <= histogram[-1] < TIMEOUT_SECONDS


async def test_a_rejected_request_is_counted_with_its_limit(
    own_world: World, monkeypatch: pytest.MonkeyPatch, counted: Counters
) -> None:
    settings = own_world.settings(rate_limit=1, rate_burst=1)
    async with serve_with_fast_path(settings, monkeypatch) as served:
        async with served.connect(None) as connection:
            statuses = [(await connection.request("/v1/units")).status for _ in range(3)]
        snapshot = served.gateway.read_metrics()
    assert statuses == [401, 429, 429]
    assert snapshot["requests_rejected_total"]["requests_per_address",] == 2
    assert snapshot["requests_admitted_total"] == {(): 1}
    assert requests_of(counted)[NO_OPERATION, "429", "ADDRESS_RATE_LIMITED"] == 2


async def test_a_gateway_knows_all_but_what_its_server_and_supervisor_do(
    served: FastPathServer, own_world: World, counted: Counters, memory: SnapshotMemory
) -> None:
    async with served.connect(own_world.keys.full) as connection:
        for _ in range(2):
            await connection.request("/v1/units")
    snapshot = counted.read() | served.gateway.read_metrics()
    missing = FAMILIES.keys() - snapshot.keys()
    assert missing == {"connections", "workers", "worker_exits_total", "build_info"}
    memory.write(1, snapshot)
    assert memory.read(1) == snapshot
    hits = snapshot["cache_hits_total"]
    assert hits["responses",] == served.gateway.state.response_cache.counters.hits >= 1  # type: ignore[union-attr]
    section_of_docs = section(page("operation.md"), "## Metrics")
    assert [cache for (cache,) in hits if f"`{cache}`" not in section_of_docs] == []
    commands = snapshot["mongodb_commands_total"]
    assert commands["find", "ok"] or commands["aggregate", "ok"]
    assert sum(v for v in snapshot["mongodb_connections"].values()) > 0  # type: ignore[misc]
    shown = format_text(snapshot)
    assert own_world.keys.full[4:] not in shown


def format_text(*snapshots: Snapshot) -> str:
    total = Total(set())
    for snapshot in snapshots:
        total.add(snapshot)
    return generate_latest(total).decode()


def parse(text: str) -> dict[tuple[str, ...], float]:
    """The value of each sample, by its name and the values of its labels in alphabetical order."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_bound_of_a_bucket_is_part_of_it() -> None:
    counters = Counters()
    for seconds in (0.0005, 0.001, 0.0011, 5.0, 60.0):
        counters.count_request("A", 200, "", seconds)
    samples = parse(format_text(counters.read(), counters.read()))
    name = "floorgate_request_duration_seconds"
    for bound, count in {"0.001": 4, "0.0025": 6, "5.0": 8, "+Inf": 10}.items():
        assert samples[f"{name}_bucket", bound, "A"] == count
    assert samples[f"{name}_count", "A"] == 10
    assert samples[f"{name}_sum", "A"] == pytest.approx(2 * 65.0026)


def test_names_beyond_the_bounds_are_counted_together_also_those_that_are_gone() -> None:
    counters = Counters()
    for number in range(MAX_OPERATIONS + 500):
        counters.count_request(f"Operation{number}", 200, "", 0)
    counters.count_request("x" * 1_000, 200, "", 0)
    counters.count_request("Operation1", 200, "", 0)
    requests = requests_of(counters)
    assert requests[OTHER, "200", ""] == 501
    assert requests["Operation1", "200", ""] == 2
    assert len(requests) == len(counters.read()["request_duration_seconds"]) == MAX_OPERATIONS + 1
    names, other = set[str](), Counters()
    for number in range(MAX_OPERATIONS):
        other.count_request(f"Later{number}", 200, "", 0)
    first, both = Total(names), Total(names)
    first.add(counters.read())
    both.add(counters.read())
    both.add(other.read())
    shown = both.values["requests_total"]
    assert len(shown) == MAX_OPERATIONS + 1
    assert shown[OTHER, "200", ""] == 501 + MAX_OPERATIONS
    assert first.values["requests_total"].items() - shown.items() == {((OTHER, "200", ""), 501)}


def test_a_sum_has_the_counts_of_processes_that_have_ended_and_no_gauge_of_them() -> None:
    ended, running = Total(set()), Total(set())
    one: Snapshot = {
        "requests_admitted_total": {(): 2},
        "requests_in_flight": {(): 3},
        "change_stream_lag_seconds": {(): 5},
        "event_loop_lag_seconds": {(): [1.0] * 14},
    }
    ended.add(one, has_ended=True)
    assert ended.values == {
        "requests_admitted_total": {(): 2},
        "event_loop_lag_seconds": {(): [1.0] * 14},
    }
    for each in (ended.values, one, one | {"change_stream_lag_seconds": {(): 4.0}}):
        running.add(each)
    assert running.values == {
        "requests_admitted_total": {(): 6},
        "requests_in_flight": {(): 6},
        "change_stream_lag_seconds": {(): 5},
        "event_loop_lag_seconds": {(): [3.0] * 14},
    }


def test_what_another_release_counts_is_taken_as_far_as_it_is_known() -> None:
    other: Snapshot = {
        "later_total": {(): 1},
        "requests_admitted_total": {(): 2},
        "event_loop_lag_seconds": {(): [1.0, 2.0]},
    }
    assert parse(format_text(other)) == {("floorgate_requests_admitted_total",): 2}


def test_a_slot_has_the_latest_snapshot_of_its_process(memory: SnapshotMemory) -> None:
    assert [memory.read(slot) for slot in range(3)] == [{}] * 3
    for count in range(1, 4):
        memory.write(1, admitted(count))
        assert [memory.read(slot) for slot in range(3)] == [{}, admitted(count), {}]
    memory.write(1, {})
    assert memory.read(1) == {}


def test_a_snapshot_that_was_not_written_to_its_end_leaves_the_one_before(
    memory: SnapshotMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.write(0, admitted(1))
    memory.write(0, admitted(2))
    with monkeypatch.context() as patch, pytest.raises(InterruptedError):
        patch.setattr("gateway.metrics.os.pwrite", write_half)
        memory.write(0, admitted(3))
    assert memory.read(0) == admitted(2)


def test_a_snapshot_that_is_replaced_while_it_is_read_is_read_again(
    memory: SnapshotMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.write(0, admitted(1))
    read, longer = os.pread, iter([admitted(2) | {"connections": {(): n}} for n in range(2)])

    def read_late(descriptor: int, size: int, offset: int) -> bytes:
        if size == len(msgspec.msgpack.encode(admitted(1))):  # the head is known already
            for snapshot in longer:
                memory.write(0, snapshot)
        return read(descriptor, size, offset)

    monkeypatch.setattr("gateway.metrics.os.pread", read_late)
    assert memory.read(0) == admitted(2) | {"connections": {(): 1}}


def write_half(descriptor: int, content: bytes, offset: int, pwrite: Any = os.pwrite) -> None:
    pwrite(descriptor, content[: len(content) // 2], offset)
    raise InterruptedError


def test_the_last_snapshot_is_written_at_the_end(memory: SnapshotMemory) -> None:
    counts = iter(range(1_000_000))
    with publishing(memory, 0, lambda: admitted(next(counts))):
        wait_until(lambda: memory.read(0) == admitted(0))
    assert memory.read(0) == admitted(next(counts) - 1) != admitted(0)


def test_a_question_is_answered_by_what_was_counted_before_it(memory: SnapshotMemory) -> None:
    count = 0
    assert memory.has_answered(0, memory.ask())  # nobody writes there
    with publishing(memory, 0, lambda: admitted(count)):
        wait_until(lambda: memory.read(0) == admitted(0))
        for count in range(1, 4):
            question = memory.ask()
            wait_until(partial(memory.has_answered, 0, question))
            assert memory.read(0) == admitted(count)


def test_commands_are_counted_from_all_threads() -> None:
    counters = Counters()
    end, failed = (
        Command("", seconds=0.01, command="find"),
        Command("", seconds=1, code="NO_PRIMARY", command="find"),
    )
    with ThreadPoolExecutor(8) as pool:
        [*pool.map(counters.count_command, [end, failed] * 5_000)]
    snapshot = counters.read()
    assert snapshot["mongodb_commands_total"] == {
        ("find", "ok"): 5_000,
        ("find", "NO_PRIMARY"): 5_000,
    }
    histogram = snapshot["mongodb_command_duration_seconds"]["find",]
    assert isinstance(histogram, list)
    assert histogram[-1] == pytest.approx(5_050)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(None, "succeeded"), (ValueError, "failed"), (asyncio.CancelledError, "cancelled")],
)
async def test_an_import_is_counted_with_how_it_ends(
    error: type[BaseException] | None, outcome: str
) -> None:
    before = ended_without_deadline["import", outcome]

    async def run() -> None:
        with without_deadline("import"):
            assert count_without_deadline("import") == 1
            if error is not None:
                raise error

    with suppress(ValueError, asyncio.CancelledError):
        await limit_write(run(), Context(Caller("k", scope=None), _store=None), 60)  # type: ignore[arg-type]
    assert count_without_deadline("import") == 0
    assert ended_without_deadline["import", outcome] == before + 1
