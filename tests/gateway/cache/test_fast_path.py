"""The fast path sends what the full pipeline would, or nothing."""

import asyncio
import contextlib
import gc
import json
import logging
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import quote

import pytest
import uvicorn

from gateway.app import Gateway
from gateway.cache.fast_path import FastPath, FastResponse
from gateway.server import uvicorn_server
from gateway.server.config import ServerConfig
from gateway.server.connections.connection_table import ConnectionTable
from gateway.server.connections.listener import Listener
from gateway.settings import Settings
from storage.administration import api_keys
from storage.cache import change_feed
from tests.fixtures import HIDDEN, SEEN, World, make_key, open_database

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TIMEOUT_SECONDS = 30
PATHS = ("/v1/units", "/v1/units/unit-1", "/v1/units?per-page=2&page=2", "/v1/maps/plan%2Fone")
QUERY = b'{"query": "{ units { data { id } } }"}'
VOLATILE = ("x-request-id", "date", "ratelimit")


@dataclass
class WireResponse:
    """A response as it came over the connection."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def repeatable(self) -> tuple[int, dict[str, str], bytes]:
        """What an identical request gets too."""
        headers = {name: text for name, text in self.headers.items() if name not in VOLATILE}
        return self.status, headers, self.body


class Connection:
    """A connection to a gateway."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str | None
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.key = key

    def send(self, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> None:
        given = {"Host": "directory.test"}
        if body:
            given |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        given |= {name.replace("_", "-"): text for name, text in headers.items()}
        if self.key is not None:
            given = {"API-Key": self.key, **given}
        lines = [
            f"{method} {path} HTTP/1.1",
            *(f"{name}: {text}" for name, text in given.items()),
        ]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)

    async def receive(self, method: str = "GET") -> WireResponse:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            fields = (line.partition(": ") for line in head[1:-2])
            headers = {name.lower(): text for name, _, text in fields}
            length = 0 if method == "HEAD" else int(headers.get("content-length", "0"))
            status = int(head[0].split()[1])
            body = await self.reader.readexactly(0 if status == 304 else length)
        return WireResponse(status, headers, body)

    async def request(
        self, path: str, method: str = "GET", body: bytes = b"", **headers: str
    ) -> WireResponse:
        self.send(path, method, body, **headers)
        return await self.receive(method)


@dataclass
class FastPathServer:
    """A gateway behind a real socket; `found` has the status of each fast response."""

    gateway: Gateway
    port: int
    found: list[int]

    @contextlib.asynccontextmanager
    async def connect(self, key: str | None) -> AsyncIterator[Connection]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        try:
            yield Connection(reader, writer, key)
        finally:
            writer.close()

    async def wait_for_fast_path(self, connection: Connection, path: str) -> None:
        """Send requests until the fast path responds: creating a key invalidates entries too."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not self.found:
                assert (await connection.request(path)).status == 200


@pytest.fixture
async def served(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FastPathServer]:
    async with serve_with_fast_path(
        own_world.settings(rate_limit=1, rate_burst=1000), monkeypatch
    ) as served:
        yield served


@contextlib.asynccontextmanager
async def serve_with_fast_path(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FastPathServer]:
    """A gateway that uses its caches however slow this machine is."""
    monkeypatch.setattr(change_feed, "CONFIRMATION_TTL_SECONDS", 3600.0)
    found = list[int]()
    look_up = FastPath.look_up

    def counting(self: FastPath, *request: Any, **method: Any) -> FastResponse | None:
        answer = look_up(self, *request, **method)
        if answer is not None:
            found.append(answer.status)
        return answer

    monkeypatch.setattr(FastPath, "look_up", counting)
    gateway = Gateway(settings)
    application = gateway.build_app_with_fast_path()
    service = ServerConfig(lambda _: application, headers=(("x-content-type-options", "nosniff"),))
    config = uvicorn_server.build_uvicorn_config(service, application)
    server = uvicorn.Server(config)

    async def create_server(create_protocol: Any, *, sock: socket.socket, **_: Any) -> Listener:
        return Listener(create_protocol, sock, ConnectionTable(service.limits))

    monkeypatch.setattr(asyncio.get_running_loop(), "create_server", create_server)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # As uvloop does; else a response in two parts waits 40 ms for the client's kernel.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        serving = asyncio.create_task(server._serve([listener]))
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not (
                server.started and gateway.state and gateway.state.change_feed.take_snapshot()
            ):
                if serving.done():  # it could not start
                    await serving
                await asyncio.sleep(0.01)
        yield FastPathServer(gateway, listener.getsockname()[1], found)
        server.should_exit = True
        await serving


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
