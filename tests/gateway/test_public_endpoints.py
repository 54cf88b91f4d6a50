"""What needs no API key: health probes, and the description of the API."""

import asyncio
import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import orjson
import pytest
import yaml
import zstandard
from pymongo import MongoClient
from starlette.requests import Request

from gateway import public_endpoints as health_module
from gateway import responses as compression
from gateway.public_endpoints import HealthEndpoints, OpenApiEndpoints
from gateway.responses import CachedResponse
from gateway.settings import Settings
from rest.errors import HttpError
from rest.openapi import description
from rest.responses import Encoding
from storage.cache.change_feed import ChangeFeed
from storage.errors import UnavailableCause, UnavailableError
from storage.mongo import driver, topology
from tests.fixtures import World, gateway_client, open_client, run_gateway
from tests.storage.mongo.replica_set_of_three import run_replica_set
from tests.waiting import TIMEOUT_SECONDS

REQUEST = Request({"type": "http"})
YAML = "/v1/openapi.yaml"


async def body_of(response: CachedResponse, **headers: str) -> bytes:
    """The body that a GET with these headers gets."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    _, body = await response.prepare_messages({"type": "http", "method": "GET", "headers": raw})
    content: bytes = body["body"]
    return content


async def test_both_formats_describe_the_same() -> None:
    openapi = OpenApiEndpoints("https://maps.example")
    as_json = await openapi.get_document("/v1/openapi.json")
    as_yaml = await openapi.get_document(YAML)
    described = orjson.loads(await body_of(as_json))
    assert described["servers"][0]["url"].startswith("https://maps.example")
    assert yaml.load(await body_of(as_yaml), yaml.CSafeLoader) == described


async def test_a_document_is_rendered_and_compressed_once_for_all_clients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    to_yaml, compress = description.to_yaml, compression.compress

    def counted_to_yaml(document: dict[str, Any]) -> str:
        calls.append("yaml")
        return to_yaml(document)

    def counted_compress(body: bytes, encoding: Encoding) -> bytes:
        calls.append(encoding)
        return compress(body, encoding)

    monkeypatch.setattr(description, "to_yaml", counted_to_yaml)
    monkeypatch.setattr(compression, "compress", counted_compress)
    openapi = OpenApiEndpoints(None)
    responses = await asyncio.gather(*(openapi.get_document(YAML) for _ in range(3)))
    assert sorted(calls) == ["gzip", "identity", "yaml", "zstd"]  # by the thread
    plain, gzipped, zstd = [
        [await body_of(response, accept_encoding=coding) for response in responses]
        for coding in ("identity", "gzip", "zstd")
    ]
    assert len(calls) == 4
    assert gzip.decompress(gzipped[0]) == zstandard.decompress(zstd[0]) == plain[0]


async def test_the_event_loop_goes_on_while_a_document_is_rendered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rendering, proceed = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait_for_the_loop(_: object) -> str:
        loop.call_soon_threadsafe(rendering.set)
        asyncio.run_coroutine_threadsafe(proceed.wait(), loop).result(30)
        return "openapi: 3.1.0"

    monkeypatch.setattr(description, "to_yaml", wait_for_the_loop)
    request = asyncio.create_task(OpenApiEndpoints(None).get_document(YAML))
    await rendering.wait()
    proceed.set()
    assert await body_of(await request) == b"openapi: 3.1.0"


async def test_a_gateway_that_is_about_to_stop_is_live_and_serves_but_is_not_ready(
    world: World,
) -> None:
    async with (
        run_gateway(world.settings()) as gateway,
        open_client(gateway, world.keys.full) as client,
    ):
        assert (await client.get("/health/ready")).status_code == 200
        gateway.announce_stop()
        assert (await client.get("/health/ready")).status_code == 503
        assert (await client.get("/health/live")).status_code == 200
        assert (await client.get("/v1/units")).status_code == 200


async def probe_until(client: httpx.AsyncClient, **expected: object) -> httpx.Response:
    """Return the first response to a probe that has these members, and a lag."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            body = (response := await client.get("/health/ready")).json()
            lag = body["change_stream_lag_seconds"]
            if expected.items() <= body.items() and lag is not None:
                return response
            await asyncio.sleep(0.05)


async def test_a_probe_says_what_works_and_names_no_member(tmp_path: Path) -> None:
    with run_replica_set(tmp_path) as three:
        async with gateway_client(Settings(mongo_url=three.url, database="probed"), None) as client:
            body = (await probe_until(client, majority=True)).json()
            assert body.pop("change_stream_lag_seconds") >= 0
            works = {"primary": True, "majority": True, "writes": True}
            assert body == {"status": "ready", "seconds_without_primary": 0.0, **works}
            with three.without_majority():
                reads = await probe_until(client, majority=False, writes=False)
                assert reads.json()["primary"]
            three.lose_majority()
            response = await probe_until(client, status="unavailable", primary=False)
            body = response.json()
            assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
            assert (body["code"], body["majority"], body["writes"]) == ("NO_MAJORITY", False, False)
            assert body["seconds_without_primary"] > 0
            assert {"message", "code", "request_id", "docs"} < body.keys()
            assert not [each for each in three.members if str(each.port) in response.text]
            three.members[0].kill()
            await probe_until(client, code="DATABASE_UNREACHABLE", status="unavailable")


class Pings:
    """A MongoDB that answers pings when told to, and counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.answered = asyncio.Event()
        self.error: Exception | None = None
        monkeypatch.setattr(driver, "ping", self.ping)

    async def ping(self, *_: Any) -> None:
        self.count += 1
        await self.answered.wait()
        if self.error is not None:
            raise self.error


def endpoints_of_any_database() -> HealthEndpoints:
    unconnected = MongoClient[dict[str, Any]]("mongodb://any", connect=False)
    database: Any = SimpleNamespace(client=unconnected)
    topology.describe(database.client, topology.Deployment.at("mongodb://any"))
    state: Any = SimpleNamespace(
        store=SimpleNamespace(database=database), change_feed=ChangeFeed(database)
    )
    return HealthEndpoints(lambda: state)


async def test_probes_at_the_same_time_share_one_ping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_module, "READINESS_TTL_SECONDS", 0.0)  # a ping may take longer
    pings, health = Pings(monkeypatch), endpoints_of_any_database()
    probes = [asyncio.create_task(health.readiness(REQUEST)) for _ in range(100)]
    await asyncio.sleep(0)
    probes[0].cancel()  # a client that leaves does not take the ping along
    pings.answered.set()
    responses = await asyncio.gather(*probes[1:])
    assert {response.status_code for response in responses} == {200}
    assert pings.count == 1


async def test_a_result_is_used_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_module, "READINESS_TTL_SECONDS", 3600.0)
    pings, health = Pings(monkeypatch), endpoints_of_any_database()
    pings.answered.set()
    assert [(await health.readiness(REQUEST)).status_code for _ in range(3)] == [200] * 3
    assert pings.count == 1
    monkeypatch.setattr(health_module, "READINESS_TTL_SECONDS", 0.0)
    health = endpoints_of_any_database()
    pings.error = UnavailableError("away", UnavailableCause.DATABASE_UNREACHABLE)
    with pytest.raises(HttpError):
        await health.readiness(REQUEST)
    pings.error = None
    assert (await health.readiness(REQUEST)).status_code == 200
    assert pings.count == 3
