"""The fast path sends what the full pipeline would, or nothing."""

import asyncio
import gc
import json
import logging
from collections.abc import AsyncIterator
from itertools import count
from urllib.parse import quote

import pytest

from storage.administration import api_keys
from tests.fixtures import HIDDEN, SEEN, World, freeze_limiter, make_key, open_database
from tests.gateway.cache.fast_path_server import (
    TIMEOUT_SECONDS,
    VOLATILE,
    Connection,
    FastPathServer,
    serve_with_fast_path,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PATHS = ("/v1/units", "/v1/units/unit-1", "/v1/units?per-page=2&page=2", "/v1/maps/plan%2Fone")
QUERY = b'{"query": "{ units { data { id } } }"}'


@pytest.fixture
async def served(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FastPathServer]:
    async with serve_with_fast_path(
        own_world.settings(rate_limit=1, rate_burst=1000), monkeypatch
    ) as served:
        yield served


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("coding", ["identity", "gzip", "zstd", "*;q=0.5, gzip;q=0"])
async def test_the_fast_path_sends_what_the_pipeline_does(
    served: FastPathServer, own_world: World, path: str, coding: str
) -> None:
    async with served.connect(own_world.keys.full) as connection:
        uncached = await connection.request(path, Accept_Encoding=coding)
        assert uncached.status == 200
        assert not served.found
        fast = await connection.request(path, Accept_Encoding=coding)
        assert served.found == [200]
        assert fast.repeatable == uncached.repeatable
        assert fast.headers["x-request-id"] != uncached.headers["x-request-id"]
        not_modified = await connection.request(
            path, Accept_Encoding=coding, If_None_Match=uncached.headers["etag"]
        )
        assert (not_modified.status, not_modified.body, served.found) == (304, b"", [200, 304])
        assert not_modified.headers["etag"] == uncached.headers["etag"]
        full_pipeline = await connection.request(
            path, Accept_Encoding=coding, If_None_Match=uncached.headers["etag"], Content_Length="0"
        )
        assert not_modified.repeatable == full_pipeline.repeatable


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("HEAD", {}),
        ("POST", {}),
        ("GET", {"Content_Length": "0"}),
        ("GET", {"Expect": "100-continue"}),
        ("GET", {"Connection": "close"}),
        ("GET", {"Experimental_Flags": "references"}),
        ("GET", {"Host": "other.test"}),
        ("GET", {"Accept": "text/html"}),
    ],
)
async def test_unusual_requests_take_the_pipeline(
    served: FastPathServer, own_world: World, method: str, headers: dict[str, str]
) -> None:
    async with served.connect(own_world.keys.full) as connection:
        for _ in range(2):
            await connection.request("/v1/units")
        assert served.found == [200]
        connection.send("/v1/units", method, b"", **headers)
        await connection.receive(method)
        assert served.found == [200]


async def test_pipelined_requests_are_answered_in_order(
    served: FastPathServer, own_world: World
) -> None:
    async with served.connect(own_world.keys.full) as connection:
        for path in PATHS[:2]:
            await connection.request(path)
        for path in ("/v1/units/unit-1", "/v1/units/unit-2", "/v1/units/unit-1", "/v1/units"):
            connection.send(path)
        answers = [json.loads((await connection.receive()).body) for _ in range(4)]
        assert [answer.get("id", "a list") for answer in answers] == [
            "unit-1",
            "unit-2",
            "unit-1",
            "a list",
        ]


async def test_a_revoked_key_is_rejected(served: FastPathServer, own_world: World) -> None:
    async with open_database(own_world) as database:
        key_id, key = await make_key(database, "short-lived", asset_ids=[SEEN])
        async with served.connect(key) as connection:
            await served.wait_for_fast_path(connection, "/v1/units")
            await api_keys.revoke_api_key(database, key_id)
            pages = (f"/v1/units?page={number}" for number in count(1))  # not on the fast path
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while (await connection.request(next(pages))).status != 403:
                    await asyncio.sleep(0.01)
            assert (await connection.request("/v1/units")).status == 403


async def test_a_key_with_changed_permissions_gets_no_earlier_entry(
    served: FastPathServer, own_world: World
) -> None:
    async with open_database(own_world) as database:
        key_id, key = await make_key(database, "narrowed", asset_ids=[SEEN, HIDDEN])
        async with served.connect(key) as connection:
            await served.wait_for_fast_path(connection, "/v1/units/unit-s")
            rights = {"$set": {"asset_ids": [SEEN]}}
            await database[api_keys.KEYS_COLLECTION].update_one({"_id": key_id}, rights)
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while len(json.loads((await connection.request("/v1/assets")).body)["data"]) > 1:
                    await asyncio.sleep(0.01)
            assert (await connection.request("/v1/units/unit-s")).status == 404


async def test_keys_do_not_share_entries(served: FastPathServer, own_world: World) -> None:
    async with served.connect(own_world.keys.full) as full, served.connect(None) as other:
        for _ in range(2):
            await full.request("/v1/units/unit-s")
        assert served.found == [200]
        assert (await other.request("/v1/units/unit-s")).status == 401
        other.key = own_world.keys.restricted
        assert (await other.request("/v1/units/unit-s")).status == 404
        assert served.found == [200]


async def test_a_change_invalidates_the_fast_path_too(
    served: FastPathServer, own_world: World
) -> None:
    async with (
        served.connect(own_world.keys.full) as connection,
        open_database(own_world) as database,
    ):
        for _ in range(2):
            await connection.request("/v1/units/unit-1")
        await database["units"].update_one({"_id": "unit-1"}, {"$set": {"name": "Elsewhere"}})
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while (
                json.loads((await connection.request("/v1/units/unit-1")).body)["name"]
                != "Elsewhere"
            ):
                await asyncio.sleep(0.01)


async def test_the_fast_path_counts_towards_the_rate_limit(
    served: FastPathServer, own_world: World
) -> None:
    limiter = served.gateway.rate_limiter
    limiter.burst, limiter._tolerance_seconds = 3, 2.0  # of one request a second
    freeze_limiter(served.gateway)
    async with served.connect(own_world.keys.full) as connection:
        statuses = [(await connection.request("/v1/units")).status for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        assert served.found == [200, 200]


async def test_fast_responses_are_logged_like_others(
    served: FastPathServer, own_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async with served.connect(own_world.keys.full) as connection:
        await connection.request("/v1/units")
        with caplog.at_level(logging.INFO, "floorgate.access"):
            response = await connection.request("/v1/units", X_Request_Id="mine")
    assert response.headers["x-request-id"] == "mine"
    logged = [record.__dict__["fields"] for record in caplog.records]
    (fields,) = [each for each in logged if each["request_id"] == "mine"]
    assert (fields["route"], fields["status"]) == ("/v1/units", 200)
    assert fields["bytes"] == len(response.body)
    assert fields["key_id"]
    assert own_world.keys.full not in str(fields)


async def test_a_key_in_the_query_takes_the_pipeline(
    served: FastPathServer, own_world: World
) -> None:
    async with served.connect(None) as connection:
        for _ in range(3):
            assert (
                await connection.request(f"/v1/units?api-key={own_world.keys.full}")
            ).status == 200
        assert not served.found


async def test_a_long_url_gets_an_entry(served: FastPathServer, own_world: World) -> None:
    async with served.connect(own_world.keys.full) as connection:
        for _ in range(2):
            assert (await connection.request(f"/v1/units/{'%C3%9F' * 255}")).status == 200
        assert served.found == [200]


async def test_entries_keep_no_response_in_memory(served: FastPathServer, own_world: World) -> None:
    state = served.gateway.state
    assert state is not None
    async with served.connect(own_world.keys.full) as connection:
        for _ in range(2):
            await connection.request("/v1/units")
        assert served.found == [200]
        [entry] = [each.value.response for each in state.fast_path._entries._entries.values()]
        cached = entry()
        assert cached is not None
        state.response_cache._responses.discard(cached.cache_key)
        del cached
        gc.collect()
        assert entry() is None
        assert (await connection.request("/v1/units")).status == 200
        assert served.found == [200]


async def test_a_graphql_query_takes_the_fast_path_however_long_it_is(
    served: FastPathServer, own_world: World
) -> None:
    query = "query($n:Int){units(perPage:$n){data{id}}}#" + "x" * 3000
    variables = quote(json.dumps({"n": 1, "unknown": "y" * 2000}))
    path = f"/graphql?query={quote(query)}&variables={variables}"
    async with served.connect(own_world.keys.full) as connection:
        uncached = await connection.request(path)
        assert json.loads(uncached.body) == {"data": {"units": {"data": [{"id": "!unit-s"}]}}}
        fast = await connection.request(path)
        assert served.found == [200]
        assert fast.repeatable == uncached.repeatable
        etag = uncached.headers["etag"]
        assert (await connection.request(path, If_None_Match=etag)).status == 304
        assert served.found == [200, 304]
        more = path.replace(quote('"n": 1'), quote('"n": 2'))
        assert len(json.loads((await connection.request(more)).body)["data"]["units"]["data"]) == 2


@pytest.mark.parametrize("allowed", ["", "https://elsewhere.test", "*"])
@pytest.mark.parametrize("origin", [None, "https://elsewhere.test", "https://third.test", "null"])
async def test_an_origin_gets_the_same_headers_on_both_paths(
    own_world: World, monkeypatch: pytest.MonkeyPatch, allowed: str, origin: str | None
) -> None:
    sent = {} if origin is None else {"Origin": origin}
    settings = own_world.settings(cors_origins=allowed)
    async with (
        serve_with_fast_path(settings, monkeypatch) as served,
        served.connect(own_world.keys.full) as connection,
    ):
        for method, path, body in (("GET", "/v1/units", b""), ("POST", "/graphql", QUERY)):
            heads = []
            served.found.clear()
            for _ in range(3):  # by the pipeline, the fast path, and from the same bytes
                connection.send(path, method, body, **sent)
                heads.append(await read_head(connection))
            assert served.found == [200, 200]
            assert heads[1] == heads[2] == heads[0]
            granted = {"*": "*", origin: origin}.get(allowed) if origin and allowed else None
            assert heads[0].get("access-control-allow-origin") == granted
            assert ("Origin" in heads[0]["vary"].split(", ")) is bool(allowed)


async def read_head(connection: Connection) -> dict[str, str]:
    """Read a response, and return its header fields that an identical request gets too."""
    lines = (await connection.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[1:-2]
    fields: dict[str, str] = {}
    for name, _, text in (line.partition(": ") for line in lines):
        fields[name] = f"{fields[name]}, {text}" if name in fields else text
    await connection.reader.readexactly(int(fields["content-length"]))
    return {name: text for name, text in fields.items() if name not in VOLATILE}
