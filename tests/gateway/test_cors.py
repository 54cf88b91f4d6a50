"""Web pages of other origins: those of the setting, and those that keys are bound to."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import msgspec
import pytest

from rest.responses import WARNINGS_HEADER
from storage.administration import api_keys
from storage.administration.api_keys import KeySummary
from storage.cache import api_key_cache
from storage.errors import UnavailableCause, UnavailableError
from tests.fixtures import (
    BASE_URL,
    World,
    freeze_limiter,
    gateway_client,
    make_key,
    open_client,
    open_database,
    run_gateway,
)
from tests.gateway.floorgate_process import serve_with_fast_path
from tests.gateway.test_app import wait_until

ORIGIN = {"Origin": "https://app.example"}
PREFLIGHT = {
    **ORIGIN,
    "Access-Control-Request-Method": "GET",
    "Access-Control-Request-Headers": "api-key, experimental-flags, floorgate-explain",
}


async def test_other_origins_are_not_allowed_by_default(client: httpx.AsyncClient) -> None:
    response = await client.get("/v1/units", headers=ORIGIN)
    assert not [name for name in response.headers if name.startswith("access-control")]
    preflight = await client.options("/v1/units", headers=PREFLIGHT)
    assert preflight.status_code == 204
    assert not [name for name in preflight.headers if name.startswith("access-control")]


async def test_pages_of_configured_origins_may_call(world: World) -> None:
    settings = world.settings(cors_origins="https://app.example, https://other.example")
    async with gateway_client(settings) as client:
        preflight = await client.options("/v1/units", headers=PREFLIGHT)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == "https://app.example"
        assert "api-key" in preflight.headers["access-control-allow-headers"].lower()
        response = await client.get("/v1/units", headers=ORIGIN)
        assert response.status_code == 401  # readable for the page, as any answer
        assert response.headers["access-control-allow-origin"] == "https://app.example"
        exposed = response.headers["access-control-expose-headers"]
        assert {"ETag", "Link", WARNINGS_HEADER, "RateLimit", "RateLimit-Policy"} <= {
            *exposed.split(", ")
        }
        assert "Origin" in response.headers["vary"]


async def test_other_origins_get_the_usual_error_response(world: World) -> None:
    async with gateway_client(world.settings(cors_origins="https://app.example")) as client:
        for changed in (
            {"Origin": "https://evil.example"},
            {"Access-Control-Request-Method": "PATCH"},
            {"Access-Control-Request-Headers": "x-unheard-of"},
        ):
            response = await client.options("/v1/units", headers={**PREFLIGHT, **changed})
            assert response.status_code == 403
            assert response.headers["content-type"] == "application/json"
            assert response.json()["code"] == "ORIGIN_NOT_ALLOWED"


async def test_every_origin_may_be_let_in(world: World) -> None:
    async with gateway_client(world.settings(cors_origins="*")) as client:
        response = await client.options("/v1/units", headers=PREFLIGHT)
    assert response.headers["access-control-allow-origin"] == "*"


SHOP, OTHER = "https://shop.example", "https://other.example:8443"
BOUND = [SHOP, "http://[::1]:8080"]
UNITS = {"query": "{ units { data { id } } }"}


def preflight(origin: str) -> dict[str, str]:
    return {**PREFLIGHT, "Origin": origin}


@pytest.mark.parametrize(
    ("origins", "status"),
    [
        ([], 200),  # a program, or a page of the service that reads
        ([SHOP], 200),
        ([BOUND[1]], 200),
        ([BASE_URL], 200),  # a page of the service that writes
        (["http://inside.test:8080"], 200),  # the same, where it has another name
        ([OTHER], 403),
        (["null"], 403),  # a file, or a frame in a sandbox
        ([""], 403),
        (["http://shop.example"], 403),
        (["https://shop.example.evil.example"], 403),
        (["https://SHOP.example"], 403),  # no browser sends these
        (["https://shop.example:443"], 403),
        (["http://[::1"], 403),
        ([SHOP, OTHER], 403),
        ([f"{SHOP}, {OTHER}"], 403),
    ],
)
async def test_only_pages_of_its_origins_use_a_key(
    own_world: World, origins: list[str], status: int
) -> None:
    async with open_database(own_world) as database:
        _, key = await make_key(database, "website", origins=BOUND)
    async with gateway_client(own_world.settings(), key) as client:
        client.base_url = httpx.URL("http://inside.test:8080")
        sent = [("Origin", origin) for origin in origins]
        for method, path, body in 2 * (  # the second response is a cached one
            ("GET", "/v1/units", None),
            ("GET", "/v1/openapi.json", None),
            ("POST", "/graphql", UNITS),
        ):
            response = await client.request(method, path, json=body, headers=sent)
            assert response.status_code == status
            if status == 403:
                assert "ORIGIN_NOT_ALLOWED" in response.text
                assert repr(origins[-1]) in response.text
            elif origins and origins[0] in BOUND:
                assert response.headers["access-control-allow-origin"] == origins[0]


async def test_the_services_own_pages_use_a_key_behind_a_proxy_that_sends_no_name(
    own_world: World,
) -> None:
    async with open_database(own_world) as database:
        _, key = await make_key(database, "website", origins=BOUND)
    async with gateway_client(own_world.settings(), key) as client:
        headers = {"Origin": BASE_URL, "Host": "_:no-port"}
        assert (await client.get("/v1/units", headers=headers)).status_code == 200


async def test_no_picture_in_pages_of_others_is_sent_for_a_bound_key(own_world: World) -> None:
    async with open_database(own_world) as database:
        _, key = await make_key(database, "website", origins=BOUND)
    path = f"/v1/units?api-key={key}"
    async with gateway_client(own_world.settings()) as client:
        refused = await client.get(path)
        assert (refused.status_code, refused.json()["code"]) == (403, "ORIGIN_NOT_ALLOWED")
        for origin, status in ((SHOP, 200), (OTHER, 403)):
            response = await client.get(path, headers={"Origin": origin})
            assert response.status_code == status


async def test_the_pages_of_other_keys_read_why_they_are_refused(own_world: World) -> None:
    async with open_database(own_world) as database:
        _, key = await make_key(database, "website", origins=BOUND)
        await make_key(database, "another", origins=[OTHER])
    async with gateway_client(own_world.settings(), key) as client:
        response = await client.get("/v1/units", headers={"Origin": OTHER})
        assert response.status_code == 403
        assert response.headers["access-control-allow-origin"] == OTHER
        assert "Origin" in response.headers["vary"]
        assert response.json()["message"] == (
            f"Web pages of {OTHER!r} are not allowed: the operator of the service can add that"
            " origin to the API key"
        )


async def test_what_other_sites_send_does_not_use_up_the_rate_of_a_key(own_world: World) -> None:
    async with open_database(own_world) as database:
        _, key = await make_key(database, "website", origins=BOUND)
    settings = own_world.settings(rate_limit=1, rate_burst=2)
    async with run_gateway(settings) as gateway, open_client(gateway, key) as client:
        freeze_limiter(gateway)
        statuses = [
            (await client.get("/v1/units", headers={"Origin": origin})).status_code
            for origin in (OTHER, OTHER, OTHER, SHOP, SHOP, SHOP)
        ]
    assert statuses == [403, 403, 403, 200, 200, 429]


async def test_preflights_are_answered_for_all_valid_keys(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0
    read_key_summary = api_keys.read_key_summary

    async def count(database: Any) -> KeySummary:
        nonlocal reads
        reads += 1
        return await read_key_summary(database)

    monkeypatch.setattr(api_keys, "read_key_summary", count)
    async with (
        open_database(own_world) as database,
        gateway_client(own_world.settings()) as client,
    ):

        async def is_answered(origin: str, status: int = 204) -> bool:
            response = await client.options("/v1/units", headers=preflight(origin))
            if response.status_code == 204:
                assert response.headers.get("access-control-allow-origin") in (None, origin)
            is_off = "access-control-allow-methods" not in response.headers
            return (0 if is_off else response.status_code) == status

        assert await is_answered(SHOP, 0)  # CORS is off
        first, _ = await make_key(database, "first", origins=[SHOP])
        await wait_until(lambda: is_answered(SHOP))
        assert await is_answered(OTHER, 403)
        second, _ = await make_key(database, "second", origins=[SHOP, OTHER])
        await wait_until(lambda: is_answered(OTHER))
        await api_keys.revoke_api_key(database, second)
        await wait_until(lambda: is_answered(OTHER, 403))
        assert await is_answered(SHOP)
        await api_keys.update_api_key(
            database, first, lambda record: msgspec.structs.replace(record, origins=[OTHER])
        )
        await wait_until(lambda: is_answered(SHOP, 403))
        assert await is_answered(OTHER)
        known = reads
        for number in range(50):
            assert await is_answered(f"https://{number}.example", 403)
        assert reads <= known + 1  # the report of the last change may have come in between
        ends = datetime.now(UTC) + timedelta(seconds=1)
        await api_keys.update_api_key(
            database, first, lambda record: msgspec.structs.replace(record, expires_at=ends)
        )
        await wait_until(lambda: is_answered(OTHER, 0))
        assert datetime.now(UTC) >= ends


async def test_preflights_are_answered_while_the_database_is_not(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: object) -> None:
        raise UnavailableError("down", UnavailableCause.DATABASE_UNREACHABLE)

    async with open_database(own_world) as database:
        await make_key(database, "website", origins=[SHOP])
        async with gateway_client(own_world.settings()) as client:
            monkeypatch.setattr(api_keys, "read_key_summary", fail)
            await make_key(database, "another", origins=[OTHER])
            response = await client.options("/v1/units", headers=preflight(SHOP))
            assert response.status_code == 204


async def test_no_cached_response_is_for_pages_that_the_key_does_not_allow(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_database(own_world) as database:
        id, key = await make_key(database, "website", origins=[SHOP])
        async with (
            serve_with_fast_path(own_world.settings(), monkeypatch) as served,
            served.connect(key) as connection,
        ):

            async def get(origin: str) -> int:
                return (await connection.request("/v1/units", Origin=origin)).status

            async def is_refused() -> bool:
                return await get(SHOP) == 403

            assert [await get(SHOP) for _ in range(3)] == [200, 200, 200]
            assert served.found == [200, 200]
            assert [await get(OTHER) for _ in range(3)] == [403, 403, 403]
            assert [await get(SHOP) for _ in range(2)] == [200, 200]
            await api_keys.update_api_key(
                database, id, lambda record: msgspec.structs.replace(record, origins=[OTHER])
            )
            await wait_until(is_refused)
            assert [await get(OTHER) for _ in range(3)] == [200, 200, 200]
            assert await get(SHOP) == 403


async def test_a_cached_response_has_the_origins_of_the_moment(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own key is for all pages, and the keys of others decide which of them may read it."""
    monkeypatch.setattr(api_key_cache, "REREAD_SECONDS", 0.0)
    async with (
        open_database(own_world) as database,
        serve_with_fast_path(own_world.settings(), monkeypatch) as served,
        served.connect(own_world.keys.full) as connection,
    ):

        async def is_allowed(expected: bool = True) -> bool:
            response = await connection.request("/v1/units", Origin=SHOP)
            return (response.headers.get("access-control-allow-origin") == SHOP) == expected

        assert not any([await is_allowed() for _ in range(3)])
        id, _ = await make_key(database, "website", origins=[SHOP])
        await wait_until(is_allowed)
        await api_keys.revoke_api_key(database, id)
        await wait_until(lambda: is_allowed(False))
        assert served.found
        assert {*served.found} == {200}
