"""Equal requests that miss at once read once, and none gets more or less than it would alone."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from gateway.cache import response_cache
from gateway.cache.response_cache import ResponseCache
from storage.store import Store
from tests.fixtures import World, open_client
from tests.gateway.cache.test_response_cache import (
    RunningGateway,
    rename,
    run_gateway_of,
    running_gateway,
)
from tests.waiting import TIMEOUT_SECONDS

__all__ = ["running_gateway"]

pytestmark = pytest.mark.anyio

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
        executor = running.gateway.service.executor
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
        create = running.gateway.service.executor.load_client_operation
        count = 0

        async def load(*arguments: Any) -> Any:  # of each mutation, once both have come
            nonlocal count
            count += 1
            if count == 2:
                created.set()
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await created.wait()
            return await create(*arguments)

        monkeypatch.setattr(running.gateway.service.executor, "load_client_operation", load)
        async with open_client(running.gateway, own_world.keys.full) as client:
            body = json.dumps({"query": mutation})
            headers = {"Content-Type": "application/json"}
            both = await asyncio.gather(
                *(client.post("/graphql", content=body, headers=headers) for _ in range(2))
            )
    assert [each.status_code for each in both] == [200, 200]
    assert cache.counters.entries == 0
