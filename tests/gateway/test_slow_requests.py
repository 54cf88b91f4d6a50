"""The log of slow requests says what took the time, and no value that a client has sent."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import orjson
import pytest

from gateway import request_spans
from gateway.request_spans import SlowRequests
from storage.mongo.spans import MAX_SPANS, Span, begin_root
from tests.fixtures import FLOOR, UNIT, World, open_client, open_database, run_gateway
from tests.gateway.log_lines import LogLines, capture_log_lines
from tests.gateway.server.served_application import on_server_loop
from tests.gateway.subscriptions.service import publish, serve, wait_for_subscriptions

SECRET = "a-value-of-the-client"


class SlowGateway:
    """A gateway for which every request is slow, and a client of it."""

    def __init__(self, client: httpx.AsyncClient, slow: SlowRequests, lines: LogLines) -> None:
        self.client = client
        self.slow = slow
        self._lines = lines
        slow.seconds = 0.0

    async def list_lines(self) -> list[dict[str, Any]]:
        """The lines so far, without the times in them."""
        while self.slow._lines:
            await asyncio.wait(self.slow._lines)
        return [orjson.loads(text) for text in self._lines.texts]


@asynccontextmanager
async def open_slow(world: World, **settings: Any) -> AsyncIterator[SlowGateway]:
    logger = logging.getLogger("floorgate.slow")
    with capture_log_lines(logger, logging.WARNING) as lines:
        async with run_gateway(world.settings(**settings)) as gateway:
            assert gateway.spans is not None
            assert gateway.spans._slow is not None
            async with open_client(gateway, world.keys.full) as client:
                yield SlowGateway(client, gateway.spans._slow, lines)


def find(line: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in line["spans"] if each["span"] == name)
    return found


async def test_a_line_says_which_query_of_which_key_was_slow_and_why(own_world: World) -> None:
    async with open_slow(own_world) as slow, open_database(own_world) as database:
        await database["units"].drop_indexes()
        response = await slow.client.get("/v1/units", params={"floor": FLOOR})
        [line] = await slow.list_lines()
    assert line["message"] == "slow request"
    assert line["request_id"] == response.headers["X-Request-Id"]
    assert line["key_id"].startswith("key_")
    assert (line["operation"], line["route"], line["status"]) == ("ListUnits", "/v1/units", 200)
    operation, field, command = (
        find(line, name) for name in ("query", "Query.units", "find units")
    )
    assert line["duration_ms"] >= operation["ms"] >= field["ms"] >= command["ms"] > 0
    assert operation["at_ms"] <= field["at_ms"]
    assert (field["objects"], command["in"], command["returned"]) == (1, "Query.units", 24)
    assert command["filter"] == {"$and": [{"floor_id": "…"}, {"asset_id": "…"}]}
    assert command["server"].startswith("127.0.0.1:")
    # Without the index of the field, MongoDB goes through all records.
    assert command["plan"] == [{"stage": "IXSCAN", "index_name": "_id_", "index_keys": {"_id": 1}}]
    assert FLOOR not in orjson.dumps(line).decode()


async def test_what_clients_send_is_in_no_line(world: World) -> None:
    name = f"N{world.keys.full}"
    query = f'query {name} {{ unit(id: "{SECRET}") {{ {SECRET.replace("-", "_")}: id }} }}'
    async with open_slow(world) as slow:
        await slow.client.post("/graphql", json={"query": query})
        await slow.client.get(f"/v1/units/{SECRET}?x={SECRET}", headers={"User-Agent": SECRET})
        lines = orjson.dumps(await slow.list_lines()).decode()
    assert "find units" in lines
    for secret in (SECRET, SECRET.replace("-", "_"), world.keys.full):
        assert secret not in lines


async def test_an_operation_of_a_key_has_one_line_in_a_while(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_slow(world) as slow:
        for path in ("/v1/units", "/v1/units", "/v1/assets", "/v1/units"):
            await slow.client.get(path)
        await slow.client.get("/v1/units", headers={"API-Key": world.keys.restricted})
        lines = await slow.list_lines()
        assert [line["operation"] for line in lines] == ["ListUnits", "ListAssets", "ListUnits"]
        assert lines[0]["key_id"] != lines[2]["key_id"]
        monkeypatch.setattr(request_spans, "MAX_LINES", 4)
        for name in ("A", "B", "C"):  # clients invent names
            await slow.client.post("/graphql", json={"query": f"query {name} {{ __typename }}"})
        assert [line["operation"] for line in await slow.list_lines()][3:] == ["A"]
        monkeypatch.setattr(request_spans, "QUIET_SECONDS", 0.0)
        await slow.client.get("/v1/units")
        assert [line["operation"] for line in await slow.list_lines()][4:] == ["ListUnits"]


async def test_spans_that_are_alike_are_told_once_with_their_number(world: World) -> None:
    async with open_slow(world) as slow:
        root = begin_root()
        for seconds in (0.1, 0.3, 0.2):
            root.spans.append(Span("update units", seconds=seconds, code="WRITE_CONFLICT"))
        slow.slow.note({"type": "http", "state": {"request_id": "1"}}, root, 503, (), 1.0)
        [line] = await slow.list_lines()
    [told] = line["spans"]
    assert (told["span"], told["code"]) == ("update units", "WRITE_CONFLICT")
    assert (told["times"], told["ms"], told["all_ms"]) == (3, 300.0, 600.0)


async def test_probes_are_never_slow(world: World) -> None:
    async with open_slow(world) as slow:
        await slow.client.get("/health/live")
        assert await slow.list_lines() == []


async def test_quick_requests_have_no_line(world: World) -> None:
    async with open_slow(world) as slow:
        slow.slow.seconds = 3600.0
        await slow.client.get("/v1/units")
        assert await slow.list_lines() == []


async def test_what_takes_long_by_nature_has_none(own_world: World) -> None:
    query = "mutation($text: String!) { importCatalog(input: {bundle: $text}) { __typename } }"
    async with open_slow(own_world) as slow:
        body = {"query": query, "variables": {"text": '{"assets": []}'}}
        response = await slow.client.post("/graphql", json=body)
        assert "errors" not in response.json()
        assert await slow.list_lines() == []


@on_server_loop
async def test_operations_of_websockets_have_lines_and_their_streams_have_none(
    world: World,
) -> None:
    logger = logging.getLogger("floorgate.slow")
    with capture_log_lines(logger, logging.WARNING) as lines:
        async with serve(world) as service, service.socket() as socket:
            assert service.gateway.spans is not None
            assert service.gateway.spans._slow is not None
            service.gateway.spans._slow.seconds = 0.0
            await socket.subscribe(id="stream")
            await wait_for_subscriptions()
            await socket.subscribe(f'{{ unit(id: "{UNIT}") {{ id }} }}', id="query")
            assert (await socket.receive())["id"] == "query"
            publish(0)
            while (await socket.receive())["id"] != "stream":
                pass
    [line] = map(orjson.loads, lines.texts)
    assert find(line, "Query.unit")["objects"] == 1


async def test_lines_are_written_before_the_worker_stops(world: World) -> None:
    logger = logging.getLogger("floorgate.slow")
    with capture_log_lines(logger, logging.WARNING) as lines:
        async with open_slow(world) as slow:
            await slow.client.get(f"/v1/units/{UNIT}")
        [line] = map(orjson.loads, lines.texts)
    assert find(line, "find units")["returned"] == 1


def test_only_so_many_spans_are_kept_and_what_they_are_parts_of() -> None:
    root = begin_root()
    with Span("outer"):
        for number in range(MAX_SPANS + 3):
            with Span(str(number)):
                pass
    assert [each.name for each in root.spans][:: MAX_SPANS - 1] == ["4", "outer"]
    assert root.spans[0].outer is root.spans[-1]
