"""Who asks: the key of a request, what it may do, and clients whose keys are always invalid."""

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from pymongo import MongoClient

from gateway import authentication
from gateway.app import Gateway
from gateway.authentication import BadKeyThrottle
from gateway.exchange import group_address
from gateway.rate_limits import ArrivalTables
from resolvers.request.threads import owner
from storage.administration import api_keys
from storage.cache import api_key_cache
from storage.errors import UnavailableCause, UnavailableError
from tests.fixtures import (
    BASE_URL,
    HIDDEN,
    SEEN,
    World,
    freeze_limiter,
    gateway_client,
    make_key,
    open_client,
    open_database,
    run_gateway,
)
from tests.gateway.log_lines import LogLines, capture_log_lines
from tests.rest.error_bodies import read_error, read_message

REST = "/v1/units/unit-1"
GRAPHQL = "/graphql?query={__typename}"
ENDPOINTS = [REST, GRAPHQL]
NO_KEY = "No API key found in request"
DUPLICATE = "Duplicate API key found"
INVALID = "Invalid authentication credentials"
REVOKED_WITHIN_SECONDS = 1.0

Pairs = list[tuple[str, str]]


async def answer(client: httpx.AsyncClient, endpoint: str, headers: Pairs, query: Pairs) -> Any:
    url = httpx.URL(endpoint)
    return await client.get(url, params=[*url.params.multi_items(), *query], headers=headers)


def message(response: httpx.Response) -> str:
    """What an error of either endpoint says."""
    body = response.json()
    text: str = body["errors"][0]["message"] if "errors" in body else body["message"]
    return text


CHALLENGED: list[tuple[Pairs, Pairs, str]] = [
    ([], [], NO_KEY),
    ([("API-Key", "")], [], NO_KEY),
    ([("API-Key", "  ")], [], NO_KEY),
    ([], [("api-key", "")], NO_KEY),
    ([("API-Key", "")], [("api-key", "")], NO_KEY),
    ([], [("API-Key", "{key}")], NO_KEY),  # the parameter's name is case-sensitive
    ([("X-API-Key", "{key}")], [], NO_KEY),
    ([("API-Key", "{key}"), ("API-Key", "{key}")], [], DUPLICATE),
    ([("API-Key", "{key}"), ("api-key", "")], [], DUPLICATE),
    ([], [("api-key", "{key}"), ("api-key", "{key}")], DUPLICATE),
    ([("API-Key", "{key}")], [("api-key", "a"), ("api-key", "b")], DUPLICATE),
]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_a_request_without_one_key_is_challenged(
    anonymous: httpx.AsyncClient, world: World, endpoint: str
) -> None:
    for headers, query, expected in CHALLENGED:
        filled = [
            [(name, value.format(key=world.keys.full)) for name, value in pairs]
            for pairs in (headers, query)
        ]
        response = await answer(anonymous, endpoint, *filled)
        assert response.status_code == 401
        assert message(response) == expected
        assert response.headers["www-authenticate"] == 'Key realm="floorgate"'


@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_a_key_is_taken_from_the_header_or_the_query(
    anonymous: httpx.AsyncClient, world: World, endpoint: str
) -> None:
    key = world.keys.full
    for headers, query in (
        ([("API-Key", key)], []),
        ([("aPi-kEy", f" {key} ")], []),
        ([], [("api-key", key)]),
        ([("API-Key", "")], [("api-key", key)]),  # an empty key is no key
        ([("API-Key", key)], [("api-key", "fgk_unknown")]),  # the header counts
    ):
        assert (await answer(anonymous, endpoint, headers, query)).status_code == 200
    wrong = ([("API-Key", api_keys.generate_key())], [("api-key", key)])
    assert (await answer(anonymous, endpoint, *wrong)).status_code == 403


async def test_a_percent_encoded_parameter_is_the_same_parameter(
    anonymous: httpx.AsyncClient, world: World
) -> None:
    encoded = "".join(f"%{ord(letter):02x}" for letter in world.keys.full)
    assert (await anonymous.get(f"{REST}?api%2Dkey={encoded}")).status_code == 200
    twice = await anonymous.get(f"{REST}?api%2Dkey={encoded}&api-key={encoded}")
    assert message(twice) == DUPLICATE


@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_an_invalid_key_is_rejected_without_a_reason(
    anonymous: httpx.AsyncClient, world: World, endpoint: str
) -> None:
    answers = []
    for key in (
        "a",
        "fgk_",
        api_keys.generate_key(),  # well formed and unknown
        world.keys.full[:-1],
        world.keys.full.swapcase(),
        f"{world.keys.full}, {world.keys.full}",  # what a proxy makes of two header lines
        "\u00e9" * 53,
        world.keys.revoked,
        world.keys.expired,
    ):
        response = await answer(anonymous, endpoint, [], [("api-key", key)])
        assert response.status_code == 403
        assert message(response) == INVALID
        answers.append(response.content.replace(response.headers["x-request-id"].encode(), b""))
    assert len(set(answers)) == 1


async def test_an_unknown_address_needs_no_key_to_be_unknown(anonymous: httpx.AsyncClient) -> None:
    assert (await anonymous.get("/v1/nothing")).status_code == 404
    assert (await anonymous.delete(REST)).status_code == 405
    assert (await anonymous.get("/v1/units/none?page=x")).status_code == 401


@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_the_work_of_a_request_in_threads_is_done_for_its_key(
    own_world: World, endpoint: str
) -> None:
    async with open_database(own_world) as database:
        key_id, key = await make_key(database, "worker")
    async with gateway_client(own_world.settings(), key) as client:
        assert (await client.get(endpoint)).status_code == 200
    assert owner.get() == key_id


@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_a_key_beyond_its_rate_gets_a_retry_after(world: World, endpoint: str) -> None:
    async with run_gateway(world.settings(rate_limit=1, rate_burst=3)) as gateway:
        freeze_limiter(gateway)
        async with open_client(gateway, world.keys.full) as client:
            answers = [await client.get(endpoint) for _ in range(4)]
            other = await client.get(endpoint, headers={"API-Key": world.keys.restricted})
    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    assert message(answers[-1]) == "API rate limit exceeded"
    assert answers[-1].headers["retry-after"] == "1"
    assert answers[-1].headers["ratelimit"] == '"default";r=0;t=1'
    assert other.status_code == 200


async def test_a_key_ends_when_it_expires_though_it_is_held_in_memory(own_world: World) -> None:
    async with (
        open_database(own_world) as database,
        run_gateway(own_world.settings()) as gateway,
    ):
        for lifetime in (1, 4, 16, 64):  # a busy machine may need longer for the first request
            ends = datetime.now(UTC) + timedelta(seconds=lifetime)
            _, key = await make_key(database, f"short {lifetime}", expires_at=ends)
            async with open_client(gateway, key) as client:
                if (await client.get(REST)).status_code != 200:
                    continue
                while datetime.now(UTC) < ends:
                    await asyncio.sleep(0.05)
                assert (await client.get(REST)).status_code == 403
                return
        pytest.fail("no key was valid for its first request")


async def test_a_revoked_key_ends_on_every_gateway_within_a_second(own_world: World) -> None:
    loop = asyncio.get_running_loop()
    async with (
        open_database(own_world) as database,
        run_gateway(own_world.settings()) as one,
        run_gateway(own_world.settings(mongo_driver="pymongo")) as other,
    ):
        key_id, key = await make_key(database, "short")
        async with open_client(one, key) as here, open_client(other, key) as there:
            for client in (here, there):
                assert (await client.get(REST)).status_code == 200
            async with open_client(one, own_world.keys.full) as operator:
                await operator.post(
                    "/graphql",
                    json={
                        "query": "mutation ($id: ID!) {"
                        " revokeApiKey(input: { id: $id }) { __typename } }",
                        "variables": {"id": key_id},
                    },
                )
            deadline = loop.time() + REVOKED_WITHIN_SECONDS
            while loop.time() < deadline:
                await asyncio.sleep(0.02)
            assert [(await each.get(REST)).status_code for each in (here, there)] == [403, 403]


async def test_a_changed_key_has_its_new_rights_on_every_gateway_within_a_second(
    own_world: World,
) -> None:
    loop = asyncio.get_running_loop()
    async with (
        open_database(own_world) as database,
        run_gateway(own_world.settings()) as one,
        run_gateway(own_world.settings(mongo_driver="pymongo")) as other,
    ):
        key_id, key = await make_key(database, "till")
        async with open_client(one, key) as here, open_client(other, key) as there:
            for client in (here, here, there, there):  # the second response is a cached one
                listed = (await client.get("/v1/assets")).json()["data"]
                assert {asset["id"] for asset in listed} == {SEEN, HIDDEN}
            async with open_client(one, own_world.keys.full) as operator:
                given = f'input: {{ id: "{key_id}", assetIds: ["{SEEN}"] }}'
                query = f"mutation {{ updateApiKey({given}) {{ apiKey {{ id }} }} }}"
                changed = await operator.post("/graphql", json={"query": query})
            assert "errors" not in changed.json()
            deadline = loop.time() + REVOKED_WITHIN_SECONDS
            while loop.time() < deadline:
                await asyncio.sleep(0.02)
            for client in (here, there):
                listed = (await client.get("/v1/assets")).json()["data"]
                assert [asset["id"] for asset in listed] == [SEEN]


@pytest.fixture
def lines() -> Iterator[LogLines]:
    """Every line that is logged, at the lowest level."""
    with capture_log_lines(logging.getLogger(), logging.DEBUG) as lines:
        yield lines


async def test_no_key_is_ever_stored_or_logged(own_world: World, lines: LogLines) -> None:
    async with gateway_client(own_world.settings()) as client:
        sent = [own_world.keys.full, own_world.keys.revoked, api_keys.generate_key()]
        for key in sent:
            await client.get(REST, headers={"API-Key": key})
            await client.get(REST, params={"api-key": key})
            await client.get(f"/v1/units/{key}", headers={"API-Key": key, "X-Request-Id": key})
            body = {"query": f'{{ unit(id: "{key}") {{ id }} }}', "variables": {"key": key}}
            await client.post("/graphql", json=body, headers={"API-Key": key})
        created = await client.post(
            "/graphql",
            json={
                "query": 'mutation { createApiKey(input: {name: "new", allAssets: true}) { key } }'
            },
            headers={"API-Key": own_world.keys.full},
        )
        sent.append(created.json()["data"]["createApiKey"]["key"])
    with MongoClient[dict[str, Any]](own_world.mongo_url) as mongo:
        database = mongo[own_world.database]
        stored = repr([list(database[name].find()) for name in database.list_collection_names()])
    assert len(lines.texts) >= 13
    for key in sent:
        secret = key.removeprefix("fgk_")
        assert secret not in stored
        assert secret not in "\n".join(lines.texts)


async def test_only_an_administrator_makes_lists_and_ends_keys(
    client: httpx.AsyncClient, restricted: httpx.AsyncClient
) -> None:
    for query in (
        "{ apiKeys { data { id } } }",
        'mutation { createApiKey(input: { name: "mine" }) { key } }',
        'mutation { revokeApiKey(input: { id: "any" }) { __typename } }',
        'mutation { updateApiKey(input: { id: "any", allAssets: true }) { apiKey { id } } }',
        'mutation { rotateApiKey(input: { id: "any" }) { key } }',
    ):
        response = await restricted.post("/graphql", json={"query": query})
        (error,) = response.json()["errors"]
        assert error["message"] == "Access denied: this key lacks the permission service.admin"
        assert error["extensions"]["code"] == "PERMISSION_REQUIRED"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (f'name: "{"n" * 256}"', "name"),
        ('name: "a\\u0000"', "name"),
        ('name: "n", assetIds: [""]', "assetIds"),
        ('name: "n", assetIds: ["a"], allAssets: true', "allAssets"),
        ('name: "n", expires: "2020-01-01"', "expires"),
        ('name: "n", expires: "9999-12-31T23:59:59-01:00"', "expires"),
    ],
)
async def test_a_malformed_key_is_rejected_with_the_expected_form(
    client: httpx.AsyncClient, arguments: str, field: str
) -> None:
    query = f"mutation {{ createApiKey(input: {{ {arguments} }}) {{ key }} }}"
    (error,) = (await client.post("/graphql", json={"query": query})).json()["errors"]
    assert error["extensions"]["code"] == "INVALID_INPUT"
    assert list(error["extensions"]["fields"]) == [f"input.{field}"]
    assert "must" in error["message"]


ATTACKER, OTHER = "198.51.100.7", "198.51.100.8"
BURST = 5

build_app = functools.lru_cache(maxsize=1)(Gateway.build_app)


@pytest.fixture
async def throttling(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gateway]:
    """A gateway that soon throttles, and forgives nothing however slow this machine is."""
    monkeypatch.setattr(api_key_cache, "REREAD_SECONDS", 3600.0)
    async with run_gateway(world.settings(bad_key_limit=1, bad_key_burst=BURST)) as gateway:
        gateway.bad_keys._each._interval_seconds = gateway.bad_keys._all._interval_seconds = 900.0
        gateway.bad_keys._each._tolerance_seconds = (BURST - 1) * 900.0
        gateway.bad_keys._all._tolerance_seconds = (BURST * 50 - 1) * 900.0
        yield gateway


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is read of the keys in MongoDB: single keys, or all at once."""
    counted = list[str]()
    for name in ("find_api_key", "read_key_summary"):
        monkeypatch.setattr(api_keys, name, _counting(getattr(api_keys, name), name, counted))
    return counted


def _counting(read, name: str, counted: list[str]):  # type: ignore[no-untyped-def]
    async def count(*arguments: object) -> object:
        counted.append(name)
        return await read(*arguments)

    return count


@pytest.fixture
def key_lines() -> Iterator[LogLines]:
    with capture_log_lines(logging.getLogger("floorgate.keys"), logging.INFO) as lines:
        yield lines


async def ask(gateway: Gateway, key: str | None, address: str = ATTACKER, path: str = REST) -> int:
    """Return the status that a client at this address gets."""
    return (await request(gateway, key, address, path)).status_code


async def request(
    gateway: Gateway, key: str | None, address: str = ATTACKER, path: str = REST
) -> httpx.Response:
    transport = httpx.ASGITransport(build_app(gateway), client=(address, 50_000))
    async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as client:
        return await client.get(path, headers={} if key is None else {"API-Key": key})


async def exhaust(gateway: Gateway, address: str = ATTACKER) -> None:
    for _ in range(BURST):
        assert await ask(gateway, "not a key", address) == 403


@pytest.mark.parametrize("path", [REST, GRAPHQL])
async def test_invalid_keys_beyond_the_burst_are_throttled(
    throttling: Gateway, path: str, reads: list[str]
) -> None:
    keys = [api_keys.generate_key() for _ in range(BURST + 20)]
    statuses = [await ask(throttling, key, path=path) for key in keys]
    assert statuses == [403] * BURST + [429] * 20
    assert reads.count("find_api_key") == BURST
    assert reads.count("read_key_summary") <= 1


async def test_a_throttled_client_is_told_when_to_try_again_and_not_what_is_wrong(
    throttling: Gateway, world: World
) -> None:
    await exhaust(throttling)
    keys = ("fgk_x", api_keys.generate_key(), world.keys.revoked, world.keys.expired)
    responses = [await request(throttling, key) for key in keys]
    assert {each.status_code for each in responses} == {429}
    assert {read_message(each) for each in responses} == {"Too many invalid API keys"}
    assert len({str(read_error(each)) for each in responses}) == 1
    assert all(0 < int(each.headers["retry-after"]) <= 900 for each in responses)
    assert "ratelimit" not in responses[0].headers  # of which key?


async def test_valid_keys_from_the_same_address_still_work(
    throttling: Gateway, world: World
) -> None:
    assert await ask(throttling, world.keys.full) == 200
    await exhaust(throttling)
    for _ in range(2 * BURST):
        assert await ask(throttling, world.keys.full) == 200
        assert await ask(throttling, world.keys.restricted) == 200  # was never cached before
        assert await ask(throttling, api_keys.generate_key()) == 429


async def test_valid_keys_are_not_counted(throttling: Gateway, world: World) -> None:
    for _ in range(3 * BURST):
        assert throttling.state is not None
        throttling.state.key_cache._records.discard(api_keys.hash_key(world.keys.full))
        assert await ask(throttling, world.keys.full) == 200
    await exhaust(throttling)


async def test_requests_at_once_are_all_counted(throttling: Gateway, reads: list[str]) -> None:
    keys = [api_keys.generate_key() for _ in range(4 * BURST)]
    statuses = await asyncio.gather(*(ask(throttling, key) for key in keys))
    assert sorted(statuses) == [403] * BURST + [429] * 3 * BURST
    assert reads.count("find_api_key") == BURST
    assert reads.count("read_key_summary") <= 1


async def test_other_addresses_are_not_throttled(throttling: Gateway) -> None:
    await exhaust(throttling)
    assert await ask(throttling, "not a key") == 429
    await exhaust(throttling, OTHER)


async def test_all_addresses_together_have_a_limit(
    throttling: Gateway, key_lines: LogLines
) -> None:
    addresses = [f"2001:db8:0:{number:x}::" for number in range(BURST * 50 + 10)]
    excesses = [throttling.bad_keys.charge(group_address(address)) for address in addresses]
    assert [excess is not None for excess in excesses] == [False] * BURST * 50 + [True] * 10
    for _ in range(2 * BURST):
        excess = throttling.bad_keys.charge(OTHER)
        assert excess is not None
        assert excess.client == "all"  # and nothing is held against this client
        throttling.bad_keys.count(excess.client, is_throttled=True)
    assert len(key_lines.texts) == 1


async def test_requests_without_a_key_are_not_counted(throttling: Gateway) -> None:
    assert [await ask(throttling, None) for _ in range(3 * BURST)] == [401] * 3 * BURST
    await exhaust(throttling)
    assert await ask(throttling, None) == 401


async def test_a_key_created_meanwhile_works_at_a_throttled_address(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = own_world.settings(bad_key_limit=1, bad_key_burst=1)
    async with run_gateway(settings) as gateway, open_database(own_world) as database:
        gateway.bad_keys._each._tolerance_seconds = -1e9  # always over the limit
        assert await ask(gateway, api_keys.generate_key()) == 429
        _, key = await make_key(database, "new")
        monkeypatch.setattr(api_key_cache, "REREAD_SECONDS", 0.0)
        while await ask(gateway, key) != 200:
            await asyncio.sleep(0.05)


async def test_an_outage_of_the_database_is_not_held_against_clients(
    throttling: Gateway, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise UnavailableError("down", UnavailableCause.DATABASE_UNREACHABLE)

    with monkeypatch.context() as broken:
        broken.setattr(api_keys, "find_api_key", fail)
        keys = [api_keys.generate_key() for _ in range(3 * BURST)]
        assert {await ask(throttling, key) for key in keys} == {503}
    await exhaust(throttling)


async def test_throttling_can_be_turned_off(world: World) -> None:
    async with run_gateway(world.settings(bad_key_limit=0)) as gateway:
        assert {await ask(gateway, "not a key") for _ in range(50)} == {403}


async def test_one_line_is_logged_when_a_client_is_throttled(
    throttling: Gateway, key_lines: LogLines
) -> None:
    await exhaust(throttling)
    assert not key_lines.texts
    for _ in range(20):
        await ask(throttling, "not a key")
    assert len(key_lines.texts) == 1
    assert ATTACKER in key_lines.texts[0]
    assert f'"bad_keys":{BURST + 1}' in key_lines.texts[0].replace(" ", "")


def test_a_client_that_goes_on_is_logged_once_a_minute(
    key_lines: LogLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    throttle = BadKeyThrottle(1, 1, ArrivalTables.for_single_process().addresses)
    clock = [1000.0]
    monkeypatch.setattr(authentication, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    for second in range(150):
        clock[0] = 1000.0 + second
        throttle.count("client", is_throttled=True)
    assert len(key_lines.texts) == 3
