"""Both APIs answer 503 to a read that takes too long, and stop it when its client leaves."""

import asyncio
import dataclasses
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from resolvers import processed_maps, unit_maps
from resolvers.processing import process_pool, stale_networks
from resolvers.processing.task_process import MAX_PARSE_CPU_SECONDS
from resolvers.request.context import extend_read
from resolvers.request.errors import RefusedDocumentError
from rest import dispatch
from storage.cache.api_key_cache import ApiKeyCache
from storage.mongo import driver
from storage.store import Store
from tests.fixtures import World, open_client, run_gateway
from tests.rest.error_bodies import read_message

pytestmark = pytest.mark.anyio


class Hang:
    """Reads of lists that never end."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def list_page(self, *_: Any) -> Any:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()

    @property
    def goes_on(self) -> bool:
        """On a busy machine, the deadline may come before a read begins."""
        return self.begun.is_set() and not self.ended.is_set()


@pytest.fixture
async def hang(monkeypatch: pytest.MonkeyPatch, anyio_backend: str) -> Hang:
    hang = Hang()
    monkeypatch.setattr(Store, "list_page", hang.list_page)
    return hang


@pytest.fixture
async def impatient(world: World, anyio_backend: str) -> AsyncIterator[httpx.AsyncClient]:
    async with run_gateway(world.settings()) as gateway:
        gateway.executor.deadline_seconds = 0.05
        async with open_client(gateway, world.keys.full) as client:
            yield client


async def test_rest_answers_503_at_the_deadline(impatient: httpx.AsyncClient, hang: Hang) -> None:
    response = await impatient.get("/v1/units")
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert "took over 0.05 seconds" in response.json()["message"]
    assert not hang.goes_on


@pytest.mark.parametrize("path", ["/v1/units", "/graphql?query={__typename}"])
async def test_a_key_that_cannot_be_looked_up_in_time_is_503(
    world: World, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    hang = Hang()
    async with run_gateway(world.settings()) as gateway:
        gateway.authenticate = dataclasses.replace(gateway.authenticate, timeout_seconds=0.05)
        monkeypatch.setattr(ApiKeyCache, "get_authenticated_key", hang.list_page)
        async with open_client(gateway, world.keys.full) as client:
            response = await client.get(path)
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert not hang.goes_on


async def test_graphql_answers_503_at_the_deadline(
    impatient: httpx.AsyncClient, hang: Hang
) -> None:
    response = await impatient.post("/graphql", json={"query": "{ units { data { id } } }"})
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    body = response.json()
    assert [error["extensions"]["code"] for error in body["errors"]] == ["DEADLINE_EXCEEDED"]
    assert "data" not in body
    assert not hang.goes_on


def wait_forever(svg: bytes, *, force: bool, max_places: int) -> None:
    """Hang without using CPU time."""
    signal.pause()


async def test_a_drawing_that_waits_for_too_long_is_503_and_not_its_fault(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parsing.svg.unit_map.parse_unit_map", wait_forever)
    monkeypatch.setattr(process_pool, "WALL_SECONDS_PER_CPU_SECOND", 0.05)
    extensions: list[float] = []

    @contextmanager
    def extend(seconds: float) -> Iterator[None]:
        extensions.append(seconds)
        with extend_read(seconds):
            yield

    monkeypatch.setattr(unit_maps, "extend_read", extend)
    async with (
        run_gateway(world.settings()) as gateway,
        open_client(gateway, world.keys.full) as client,
    ):
        xml = {"Content-Type": "application/vnd.map+xml"}
        rest = await client.post("/v1/maps/parse", content="<svg/>", headers=xml)
        query = {"query": '{ parsedUnitMap(svg: "<svg/>") { map } }'}
        graphql = await client.post("/graphql", json=query)
    for response in (rest, graphql):
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    message = "The service is busy; try again later"
    assert read_message(rest) == message
    [error] = graphql.json()["errors"]
    assert (error["message"], error["extensions"]["code"]) == (message, "SERVICE_UNAVAILABLE")
    # The deadline comes after the end of all that the pool does, waiting included.
    assert extensions == [process_pool.max_seconds(MAX_PARSE_CPU_SECONDS)] * 2


async def test_an_import_and_the_processing_of_a_map_have_no_deadline(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    remaining: list[float | None] = []

    async def refuse(*_: Any, **__: Any) -> Any:
        remaining.append(driver.remaining_seconds())
        raise RefusedDocumentError("no")

    monkeypatch.setattr(stale_networks, "import_catalog", refuse)
    monkeypatch.setattr(processed_maps, "process_with_other_maps", refuse)
    async with (
        run_gateway(world.settings()) as gateway,
        open_client(gateway, world.keys.full) as client,
    ):
        for field in (
            'importCatalog(input: { bundle: "{}" }) { notes }',
            'processMap(input: { id: "m" }) { report }',
        ):
            await client.post("/graphql", json={"query": f"mutation {{ {field} }}"})
    assert remaining == [None, None]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_read_ends_when_its_client_leaves(
    world: World, hang: Hang, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "WATCH_AFTER_SECONDS", 0.0)
    body = b'{"query": "{ units { data { id } } }"}' if method == "POST" else b""
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body}]
    sent: list[Any] = []

    async def receive() -> Any:
        if messages:
            return messages.pop()
        await hang.begun.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    async with run_gateway(world.settings()) as gateway:
        path = "/graphql" if method == "POST" else "/v1/units"
        headers = [(b"api-key", world.keys.full.encode()), (b"content-type", b"application/json")]
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": headers,
            "scheme": "https",
            "state": {},
        }
        await gateway.build_app()(scope, receive, send)
    assert not hang.goes_on
    assert sent == []
