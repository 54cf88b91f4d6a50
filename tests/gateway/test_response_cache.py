"""Cached responses and records are exact, and only shared by callers who may see the same."""

import asyncio
import gc
import hashlib
import json
import time
import tracemalloc
from base64 import b64encode
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx
import pytest
from graphql import get_introspection_query

from gateway import response_cache
from gateway.app import Gateway
from gateway.response_cache import ResponseCache
from schema import execution, interpretation
from storage.cache.change_feed import ChangeTable, RecordChange
from storage.routing_inputs import NETWORK_FORMAT
from storage.store import Store
from tests.fixtures import (
    ALL_FLAGS,
    HIDDEN,
    HIDDEN_MAP,
    MAP,
    SEEN,
    World,
    data_of,
    make_key,
    open_client,
    open_database,
    run_following_gateway,
)
from tests.waiting import TIMEOUT_SECONDS

UNITS = {"unit-1": SEEN, "unit-2": SEEN, "unit-s": HIDDEN}
FLOORS = {SEEN: "n/1 %", HIDDEN: "s-1"}
IMPORT = "mutation ($bundle: String!) { importCatalog(input: { bundle: $bundle }) { notes } }"


@dataclass
class RunningGateway:
    """A gateway and a client of each of its keys."""

    gateway: Gateway
    clients: dict[str, httpx.AsyncClient]
    numbers: "count[int]" = field(default_factory=count)

    @property
    def cache(self) -> ResponseCache:
        assert self.gateway.state is not None
        return self.gateway.state.response_cache

    @property
    def full(self) -> httpx.AsyncClient:
        return self.clients["full"]

    @property
    def restricted(self) -> httpx.AsyncClient:
        return self.clients["restricted"]

    async def get_map(self, key: str, client: httpx.AsyncClient, fields: str = "name") -> Any:
        """Look a map up under an alias of its own, so that no response is cached."""
        query = f"query ($id: ID!) {{ map{next(self.numbers)}: map(id: $id) {{ {fields} }} }}"
        [found] = (await data_of(client, query, {"id": key})).values()
        return found


@asynccontextmanager
async def run_gateway_of(
    world: World, keys: dict[str, str], **settings: Any
) -> AsyncIterator[RunningGateway]:
    """Run a gateway that caches, with a client of each key."""
    given = world.settings(request_seconds=60, **settings)
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(run_following_gateway(given))
        clients = {
            name: await stack.enter_async_context(open_client(gateway, key))
            for name, key in keys.items()
        }
        yield RunningGateway(gateway, clients)


@pytest.fixture
async def running_gateway(never_expire: None, own_world: World) -> AsyncIterator[RunningGateway]:
    """A gateway and its clients."""
    named = {"full": own_world.keys.full, "restricted": own_world.keys.restricted}
    async with run_gateway_of(own_world, named) as gateway:
        yield gateway


async def rename(client: httpx.AsyncClient, unit: str, name: str) -> None:
    """Rename a unit through a gateway."""
    asset = UNITS[unit]
    member = {"id": unit, "asset_id": asset, "floor_id": FLOORS[asset], "name": name}
    await data_of(client, IMPORT, {"bundle": json.dumps({"units": [member]})})


@pytest.mark.parametrize(
    "path", ["/v1/units", "/v1/units/unit-1", "/graphql?query={units{data{id}}}"]
)
async def test_the_second_identical_request_is_a_hit(
    running_gateway: RunningGateway, path: str
) -> None:
    miss = await running_gateway.full.get(path)
    hit = await running_gateway.full.get(path)
    assert (hit.content, hit.headers["etag"]) == (miss.content, miss.headers["etag"])
    assert (running_gateway.cache.counters.misses, running_gateway.cache.counters.hits) == (1, 1)


@pytest.mark.usefixtures("never_expire")
async def test_callers_who_may_see_the_same_share_an_entry(own_world: World) -> None:
    async with open_database(own_world) as database:
        _, first = await make_key(database, "first", asset_ids=[SEEN, HIDDEN])
        _, second = await make_key(database, "second", asset_ids=[HIDDEN, SEEN])
    async with run_gateway_of(own_world, {"first": first, "second": second}) as running_gateway:
        await running_gateway.clients["first"].get("/v1/units")
        await running_gateway.clients["second"].get("/v1/units")
        assert running_gateway.cache.counters.hits == 1


async def test_introspection_is_run_once_for_all_keys_and_doors(
    running_gateway: RunningGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreted = []

    async def interpret(schema: Any, operation: Any, *arguments: Any) -> Any:
        interpreted.append(operation.text)
        return await interpretation.interpret(schema, operation, *arguments)

    monkeypatch.setattr(execution, "interpret", interpret)
    full, restricted = running_gateway.clients.values()
    texts = [
        get_introspection_query(),
        get_introspection_query(input_value_deprecation=True),
        '{ __type(name: "Unit") { name } }',
        '{ __type(name: "Map") { name } }',
    ]
    bodies = []
    for text in texts:
        first = await full.post("/graphql", json={"query": text})
        assert "errors" not in first.json()
        bodies.append(first.content)
        await rename(full, "unit-1", f"after {len(bodies)}")  # no data is in it
        got = await full.get("/graphql", params={"query": text})
        digest = hashlib.sha256(text.encode()).hexdigest()
        persisted = {"extensions": {"persistedQuery": {"version": 1, "sha256Hash": digest}}}
        for again in (
            got,
            await full.post("/graphql", json={"query": text}, headers=ALL_FLAGS),
            await restricted.post("/graphql", json={"query": text}),
            await full.post("/graphql", json={"query": text, **persisted}),
            await full.post("/graphql", json=persisted),
        ):
            assert (again.status_code, again.content) == (200, first.content)
        known = {"If-None-Match": got.headers["etag"]}
        unchanged = await restricted.get("/graphql", params={"query": text}, headers=known)
        assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert len({*bodies}) == len(texts)
    assert interpreted == texts


async def test_introspection_beside_data_is_of_the_data_and_the_key(
    running_gateway: RunningGateway,
) -> None:
    query = """query ($data: Boolean!) {
        __type(name: "Unit") { name } unit(id: "unit-s") @include(if: $data) { name }
    }"""
    for name in ("one", "two"):
        await rename(running_gateway.full, "unit-s", name)
        for key, unit in (("full", {"name": name}), ("restricted", None)):
            client = running_gateway.clients[key]
            assert (await data_of(client, query, {"data": False})).keys() == {"__type"}
            assert (await data_of(client, query, {"data": True}))["unit"] == unit


async def test_flags_and_permissions_are_checked_before_the_cache(
    running_gateway: RunningGateway,
) -> None:
    assert (
        await running_gateway.full.get("/v1/assets/references", headers=ALL_FLAGS)
    ).status_code == 200
    assert (await running_gateway.full.get("/v1/assets/references")).status_code == 400
    query = "/graphql?query={assetReferences{data{id}}}"
    assert "errors" not in (await running_gateway.full.get(query, headers=ALL_FLAGS)).json()
    assert "errors" in (await running_gateway.full.get(query)).json()
    assert (
        "errors"
        in (await running_gateway.clients["restricted"].get(query, headers=ALL_FLAGS)).json()
    )


async def test_a_write_through_the_gateway_invalidates_at_once(
    running_gateway: RunningGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = ChangeTable.record

    def record_late(table: ChangeTable, changes: Iterable[RecordChange]) -> None:
        time.sleep(0.05)
        record(table, changes)

    monkeypatch.setattr(ChangeTable, "record", record_late)
    for number in range(5):
        await rename(running_gateway.full, "unit-1", f"Suite {number}")
        for _ in range(2):
            assert (await running_gateway.full.get("/v1/units/unit-1")).json()[
                "name"
            ] == f"Suite {number}"
    assert running_gateway.cache.counters.hits == 5


async def test_unknown_flags_share_an_entry(running_gateway: RunningGateway) -> None:
    for flag in ("none", "nothing", "references-of-old"):
        await running_gateway.full.get(
            "/graphql?query={units{data{id}}}", headers={"Experimental-Flags": flag}
        )
    assert running_gateway.cache.counters.entries == 1


async def test_a_response_with_an_incomplete_read_log_is_not_cached(
    running_gateway: RunningGateway,
) -> None:
    for _ in range(2):
        await data_of(
            running_gateway.full, "{ apiKeys { data { id lastUsedAt } } assets { data { id } } }"
        )
    assert running_gateway.cache.counters.entries == 0


@pytest.mark.parametrize(
    "path",
    [
        "/v1/units/none",
        "/graphql?query={units(page:0){data{id}}}",
        "/graphql?query={units{data{id}}assetReferences{data{id}}}",
    ],
)
async def test_errors_are_not_cached(running_gateway: RunningGateway, path: str) -> None:
    await running_gateway.full.get(path)
    assert running_gateway.cache.counters.entries == 0


@pytest.mark.usefixtures("never_expire")
async def test_the_cache_is_bounded_in_bytes(own_world: World) -> None:
    keys = {"full": own_world.keys.full}
    async with run_gateway_of(own_world, keys, cache_mb=1) as running_gateway:
        for number in range(200):
            await running_gateway.full.get(f"/v1/units?per-page={100 + number}")
        counters = running_gateway.cache.counters
        assert counters.evictions > 0
        assert counters.entries + counters.evictions == counters.misses
        assert counters.size_bytes <= 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize(("path", "encoding"), [("/v1/assets", "identity"), ("/v1/units", "gzip")])
async def test_the_cache_takes_no_more_memory_than_it_counts(
    running_gateway: RunningGateway, path: str, encoding: str
) -> None:
    async def request(first: int, last: int) -> None:
        for page in range(first, last):
            headers = {"Accept-Encoding": encoding}
            response = await running_gateway.full.get(f"{path}?per-page={page}", headers=headers)
            assert response.status_code == 200

    await request(1, 51)  # what all responses share
    gc.collect()
    counted = running_gateway.cache.counters
    tracemalloc.start()
    try:
        await request(51, 451)
        # asyncio's cancelled timers hold what their requests had; those of uvloop hold nothing.
        timers = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
        timers[:] = sorted(timer for timer in timers if not timer.cancelled())
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    counters = running_gateway.cache.counters
    assert counters.entries - counted.entries == 400
    assert grown < 1.1 * (counters.size_bytes - counted.size_bytes)


async def test_a_size_of_0_turns_the_cache_off(own_world: World) -> None:
    keys = {"full": own_world.keys.full}
    async with run_gateway_of(own_world, keys, cache_mb=0) as running_gateway:
        for _ in range(3):
            await running_gateway.full.get("/v1/units")
        assert (running_gateway.cache.counters.entries, running_gateway.cache.counters.hits) == (
            0,
            0,
        )


# Equal requests that miss at once read once, and none gets more or less than it would alone.


LIST = "/v1/units"
QUERY = "/graphql?query={units{data{id%20name}}}"
COUNT = 20


class Gate:
    """Lists that have been read, and are not returned before the gate opens."""

    def __init__(self) -> None:
        self._list_page = Store.list_page
        self._get_or_create = ResponseCache.get_or_create
        self._is_open = asyncio.Event()
        self.arrived = 0
        self.begun = 0
        self.scopes: list[Any] = []

    async def list_page(self, store: Store, *arguments: Any) -> Any:
        self.begun += 1
        page = await self._list_page(store, *arguments)
        self.scopes.append(arguments[1])
        await self._is_open.wait()
        return page

    async def get_or_create(self, cache: ResponseCache, *arguments: Any) -> Any:
        self.arrived += 1
        return await self._get_or_create(cache, *arguments)

    @asynccontextmanager
    async def requests(
        self, client: httpx.AsyncClient, path: str, count: int
    ) -> AsyncIterator[list[asyncio.Task[httpx.Response]]]:
        """Send equal requests, which all have missed or wait when the block begins."""
        before = self.arrived
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(client.get(path)) for _ in range(count)]
            await self.wait_for_arrivals(before + count)
            yield tasks

    async def wait_for_arrivals(self, count: int) -> None:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while self.arrived < count:
                await asyncio.sleep(0.001)

    async def wait_for_reads(self, count: int) -> None:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while len(self.scopes) < count:
                await asyncio.sleep(0.001)

    def open(self) -> None:
        self._is_open.set()

    def close(self) -> None:
        self._is_open.clear()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate()
    monkeypatch.setattr(Store, "list_page", lambda *arguments: gate.list_page(*arguments))
    monkeypatch.setattr(
        ResponseCache, "get_or_create", lambda *arguments: gate.get_or_create(*arguments)
    )
    monkeypatch.setattr(response_cache, "WAIT_SECONDS", TIMEOUT_SECONDS)
    return gate


def names(response: httpx.Response) -> set[str]:
    return {unit["name"] for unit in response.json()["data"]}


@pytest.mark.parametrize("path", [LIST, QUERY])
async def test_equal_misses_read_once(
    running_gateway: RunningGateway, gate: Gate, path: str
) -> None:
    async with gate.requests(running_gateway.full, path, COUNT) as tasks:
        await gate.wait_for_reads(1)
        gate.open()
    assert gate.begun == 1
    responses = [task.result() for task in tasks]
    assert len({(each.status_code, each.content, each.headers["etag"]) for each in responses}) == 1
    assert len({each.headers["x-request-id"] for each in responses}) == COUNT
    counters = running_gateway.cache.counters
    assert (counters.misses, counters.hits) == (1, COUNT - 1)


async def test_equal_misses_get_the_encoding_and_the_method_that_each_asks_for(
    running_gateway: RunningGateway, gate: Gate
) -> None:
    client = running_gateway.full
    async with gate.requests(client, LIST, 1) as [first], asyncio.TaskGroup() as group:
        await gate.wait_for_reads(1)
        head = group.create_task(client.head(LIST))
        gzip = group.create_task(client.get(LIST, headers={"Accept-Encoding": "gzip"}))
        await gate.wait_for_arrivals(3)
        gate.open()
    assert gate.begun == 1
    assert (head.result().content, head.result().headers["etag"]) == (
        b"",
        first.result().headers["etag"],
    )
    assert gzip.result().headers["content-encoding"] == "gzip"
    assert gzip.result().content == first.result().content


async def test_keys_that_see_other_assets_do_not_wait_for_each_other(
    running_gateway: RunningGateway, gate: Gate
) -> None:
    async with gate.requests(running_gateway.full, LIST, 1) as [full]:
        await gate.wait_for_reads(1)
        async with gate.requests(running_gateway.clients["restricted"], LIST, 1) as [restricted]:
            await gate.wait_for_reads(2)
            gate.open()
    assert len(full.result().json()["data"]) > len(restricted.result().json()["data"])


async def test_a_request_after_a_write_does_not_get_what_was_read_before_it(
    running_gateway: RunningGateway, gate: Gate
) -> None:
    async with gate.requests(running_gateway.full, LIST, 1) as [before]:
        await gate.wait_for_reads(1)
        await rename(running_gateway.full, "unit-1", "Renamed")
        async with gate.requests(running_gateway.full, LIST, COUNT) as after:
            gate.open()
    assert "Renamed" not in names(before.result())
    assert all("Renamed" in names(each.result()) for each in after)
    assert gate.begun == 2


async def test_whoever_waits_for_a_second_read_needs_no_third(
    running_gateway: RunningGateway, gate: Gate
) -> None:
    """However often the collection changes: the second read begins after the requests arrive."""
    async with gate.requests(running_gateway.full, LIST, 1):
        await gate.wait_for_reads(1)
        await rename(running_gateway.full, "unit-1", "Second")
        async with gate.requests(running_gateway.full, LIST, COUNT) as waiting:
            gate.open()
            gate.close()
            await gate.wait_for_reads(2)
            await rename(running_gateway.full, "unit-1", "Third")
            async with gate.requests(running_gateway.full, LIST, COUNT) as latest:
                gate.open()
    assert all("Second" in names(each.result()) for each in waiting)
    assert all("Third" in names(each.result()) for each in latest)
    assert gate.begun == 3


async def test_a_client_that_leaves_lets_another_read(
    running_gateway: RunningGateway, gate: Gate
) -> None:
    async with gate.requests(running_gateway.full, LIST, 1) as [leaving]:
        await gate.wait_for_reads(1)
        async with gate.requests(running_gateway.full, LIST, COUNT) as waiting:
            leaving.cancel()
            await gate.wait_for_reads(2)
            gate.open()
    assert {each.result().status_code for each in waiting} == {200}
    assert gate.begun == 2


@pytest.mark.usefixtures("never_expire")
async def test_a_response_that_the_cache_cannot_hold_is_shared_all_the_same(
    running_gateway: RunningGateway, gate: Gate
) -> None:
    running_gateway.cache._responses.max_bytes = 100
    async with gate.requests(running_gateway.full, LIST, COUNT) as tasks:
        await gate.wait_for_reads(1)
        gate.open()
    assert gate.begun == 2  # the first one's is not in the cache, so it cannot be looked up there
    assert len({each.result().content for each in tasks}) == 1


async def test_a_request_waits_for_a_bounded_time(
    running_gateway: RunningGateway, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_cache, "WAIT_SECONDS", 0.01)
    async with gate.requests(running_gateway.full, LIST, 3):
        await gate.wait_for_reads(3)
        gate.open()


async def test_waiting_counts_for_the_deadline(
    own_world: World, gate: Gate, never_expire: None
) -> None:
    async with run_gateway_of(own_world, {"full": own_world.keys.full}) as running:
        executor = running.gateway.executor
        async with gate.requests(running.full, LIST, 1) as [first]:
            await gate.wait_for_reads(1)
            executor.deadline_seconds = 0.05
            async with gate.requests(running.full, LIST, 1) as [second]:
                await asyncio.sleep(0.06)  # longer than it may take
                first.cancel()
        executor.deadline_seconds = 5
    assert second.result().status_code == 503


async def test_equal_mutations_do_not_wait_for_each_other(
    own_world: World, never_expire: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutation = """mutation { assignUnitAttributes(input: {groupId: "view", assignments: [
      {attributeId: "sea", assetId: "north", unitId: "unit-1"}]}) { units { id } } }"""
    async with run_gateway_of(own_world, {"full": own_world.keys.full}) as running:
        cache = running.cache
        created = asyncio.Event()
        create = running.gateway.load_client_operation
        count = 0

        async def load(*arguments: Any) -> Any:  # of each mutation, once both have come
            nonlocal count
            count += 1
            if count == 2:
                created.set()
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await created.wait()
            return await create(*arguments)

        monkeypatch.setattr(running.gateway, "load_client_operation", load)
        async with open_client(running.gateway, own_world.keys.full) as client:
            body = json.dumps({"query": mutation})
            headers = {"Content-Type": "application/json"}
            both = await asyncio.gather(
                *(client.post("/graphql", content=body, headers=headers) for _ in range(2))
            )
    assert [each.status_code for each in both] == [200, 200]
    assert cache.counters.entries == 0


DRAWING = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 30">
<g data-type="Level" data-tags="floor=hall">
  <g data-type="UnitLayer">
    <rect id="hall-1" width="20" height="20"/><rect id="hall-2" x="40" width="20" height="20"/>
  </g>
  <rect data-tags="indoor=corridor" y="21" width="60" height="9"/>
  <rect data-tags="door=yes" x="8" y="19" width="4" height="3"/>
  <rect data-tags="door=yes" x="48" y="19" width="4" height="3"/>
</g></svg>"""
HALL: dict[str, list[dict[str, Any]]] = {
    "assets": [{"id": "hall", "name": "Hall"}],
    "floors": [{"id": "hall", "asset_id": "hall", "name": "Hall"}],
    "units": [
        {"id": f"hall-{number}", "asset_id": "hall", "floor_id": "hall", "name": str(number)}
        for number in (1, 2)
    ],
    "maps": [
        {
            "id": "hall",
            "asset_id": "hall",
            "name": "Hall",
            "feet_per_unit": 1,
            "source": "data:image/svg+xml;base64," + b64encode(DRAWING).decode(),
        }
    ],
}


async def test_a_record_that_one_key_sees_is_never_answered_to_another(
    running_gateway: RunningGateway,
) -> None:
    for _ in range(2):
        assert await running_gateway.get_map(HIDDEN_MAP, running_gateway.full) == {"name": "South"}
        assert await running_gateway.get_map(HIDDEN_MAP, running_gateway.restricted) is None
        assert await running_gateway.get_map(MAP, running_gateway.restricted) == {
            "name": "All floors"
        }


async def test_a_mutation_sees_what_it_has_just_written(
    running_gateway: RunningGateway,
) -> None:
    assign = """mutation ($bundle: String!, $data: [AssignmentInput!]!) {
        importCatalog(input: { bundle: $bundle }) { notes }
        assignUnitAttributes(input: { groupId: "view", assignments: $data }) { units { name } }
    }"""
    query = '{ unit(id: "unit-2") { name } }'
    assert await data_of(running_gateway.full, query) == {"unit": {"name": "unit-2"}}
    unit = {"id": "unit-2", "asset_id": SEEN, "floor_id": "n/1 %", "name": "Suite 2"}
    assignment = {"groupId": "view", "attributeId": "sea", "assetId": SEEN, "unitId": "unit-2"}
    given = {"bundle": json.dumps({"units": [unit]}), "data": [assignment]}
    made = await data_of(running_gateway.full, assign, given)
    assert made["assignUnitAttributes"] == {"units": [{"name": "Suite 2"}]}


async def test_a_response_without_the_network_is_not_cached(
    running_gateway: RunningGateway, own_world: World
) -> None:
    await data_of(running_gateway.full, IMPORT, {"bundle": json.dumps(HALL)})
    async with open_database(own_world) as database:
        state: dict[str, Any] = {"source": "$source", "feet_per_unit": "$feet_per_unit"}
        state["network_format"] = NETWORK_FORMAT
        published = {"network": "0" * 64, "network_state": state}
        await database["maps"].update_one({"_id": "hall"}, [{"$set": published}])
    await running_gateway.get_map("hall", running_gateway.full)
    entries = running_gateway.cache.counters.entries
    matrix = """distanceMatrix(sources: [{x: 10, y: 10, floorId: "hall"}],
        targets: [{x: 50, y: 10, floorId: "hall"}]) { distanceMethod }"""
    found = await running_gateway.get_map("hall", running_gateway.full, matrix)
    assert found == {"distanceMatrix": {"distanceMethod": "euclidean"}}
    assert running_gateway.cache.counters.entries == entries
