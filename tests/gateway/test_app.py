"""The application as a whole: health, what is open without a key, and behaviour without MongoDB."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.types import Message, Scope

from gateway.app import Gateway
from gateway.server.admission import SCOPE_ADMISSION
from gateway.settings import Settings
from rest.endpoints import EndpointHandler
from storage.embedded import embedded_mongo
from tests.drivers import EACH_DRIVER
from tests.endpoints import ENDPOINTS
from tests.fixtures import World, create_world, gateway_client
from tests.waiting import TIMEOUT_SECONDS

pytestmark = pytest.mark.anyio


async def wait_until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Waits for something that takes its time."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not await holds():
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/health/live", "application/json"),
        ("/health/ready", "application/json"),
        ("/", "text/html; charset=utf-8"),
        ("/v1", "application/json"),
        ("/v1/openapi.json", "application/json"),
        ("/v1/openapi.yaml", "application/yaml"),
        ("/v1/openapi", "text/html; charset=utf-8"),
        ("/v1/bundle.schema.json", "application/schema+json"),
    ],
)
async def test_some_addresses_need_no_key(
    anonymous: httpx.AsyncClient, path: str, content_type: str
) -> None:
    response = await anonymous.get(path, headers={"Accept": "text/html"})
    assert response.headers["content-type"] == content_type
    assert response.status_code in (200, 503 if content_type.startswith("text/html") else 200)


async def test_an_application_that_has_not_started_is_unavailable() -> None:
    transport = httpx.ASGITransport(Gateway(Settings()).build_app())
    async with httpx.AsyncClient(transport=transport, base_url="https://x") as client:
        for path in ("/v1/units", "/graphql?query={__typename}", "/health/ready"):
            response = await client.get(path, headers={"API-Key": "any"})
            assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        assert (await client.get("/health/live")).status_code == 200


@pytest.mark.parametrize("driver", EACH_DRIVER)
async def test_without_mongodb_rest_and_graphql_are_unavailable_until_it_is_back(
    tmp_path: Path, driver: str
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        mongod = stack.enter_context(contextlib.ExitStack())
        url = mongod.enter_context(embedded_mongo.run_embedded_mongo(tmp_path))
        world = await create_world(url, "floorgate", tmp_path / "bundle.json")
        settings = world.settings(mongo_driver=driver)
        client = await stack.enter_async_context(gateway_client(settings, world.keys.full))
        assert (await client.get("/v1/units")).status_code == 200

        mongod.close()
        await wait_until(lambda: is_closed(url))
        await wait_until(
            lambda: is_unavailable(client, "/v1/units")
        )  # the cached response lives a little longer
        for path in ("/v1/units", "/v1/units/none", "/graphql?query={units{data{id}}}"):
            response = await client.get(path)
            assert response.status_code == 503
            assert response.headers["retry-after"] == "1"
            assert "Service unavailable" in response.text
        assert (await client.get("/health/ready")).status_code == 503
        assert (await client.get("/health/live")).status_code == 200

        assert stack.enter_context(embedded_mongo.run_embedded_mongo(tmp_path)) == url
        await wait_until(lambda: is_served(client, "/v1/units"))
        await wait_until(lambda: is_served(client, "/health/ready"))


async def is_unavailable(client: httpx.AsyncClient, path: str) -> bool:
    return (await client.get(path)).status_code == 503


async def is_closed(url: str) -> bool:
    """Whether nothing listens at a MongoDB's address any more."""
    parts = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex((parts.hostname or "", parts.port or 0)) != 0


async def is_served(client: httpx.AsyncClient, path: str) -> bool:
    return (await client.get(path)).status_code == 200


@pytest.mark.parametrize("option", ["cors", "proxy"])
async def test_the_slot_of_a_request_that_middleware_answers_is_released(
    world: World, option: str
) -> None:
    cors = {"cors_origins": "https://a.example"}
    gateway = Gateway(world.settings(**(cors if option == "cors" else {"behind_proxy": True})))
    app = gateway.build_app()
    preflight = [(b"origin", b"https://a.example"), (b"access-control-request-method", b"GET")]
    scope: Scope = {
        "type": "http",
        "method": "OPTIONS",
        "path": "/v1/units",
        "raw_path": b"/v1/units",
        "query_string": b"",
        "headers": preflight,
        "client": ("192.0.2.1", 1),
    }
    scope[SCOPE_ADMISSION] = gateway.admission.admit(scope)  # as the protocol does
    assert gateway.admission.in_flight == 1
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    assert sent[0]["status"] == (204 if option == "cors" else 403)
    assert gateway.admission.in_flight == 0


# What a gateway leaves until it is ready is there soon after, and for the first request.


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the endpoints that have been prepared."""
    paths: list[str] = []
    prepare = EndpointHandler.__init__

    def note(self: EndpointHandler, *arguments: object) -> None:
        prepare(self, *arguments)  # type: ignore[arg-type]
        paths.append(self.endpoint.path)

    monkeypatch.setattr(EndpointHandler, "__init__", note)
    return paths


async def test_a_gateway_is_built_without_its_endpoints_and_prepares_each_once(
    world: World, prepared: list[str]
) -> None:
    gateway = Gateway(world.settings())
    gateway.build_app()
    assert not prepared
    await gateway.warm_up()
    assert sorted(prepared) == sorted(row.path for row in ENDPOINTS)
    await gateway.warm_up()
    assert len(prepared) == len(ENDPOINTS)


async def test_the_first_request_prepares_its_endpoint(world: World, prepared: list[str]) -> None:
    async with gateway_client(world.settings(), world.keys.full) as client:
        for _ in range(2):
            assert (await client.get("/v1/units/unit-1")).status_code == 200
    assert prepared == ["/v1/units/{unit}"]
