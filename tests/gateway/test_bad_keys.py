"""Clients that send invalid keys again and again are slowed down, and nobody else is."""

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace

import httpx
import pytest

from gateway import authentication
from gateway.app import Gateway
from gateway.authentication import BadKeyThrottle
from gateway.exchange import group_address
from gateway.rate_limits import ArrivalTables
from storage.administration import api_keys
from storage.cache import api_key_cache
from storage.errors import UnavailableCause, UnavailableError
from tests.fixtures import BASE_URL, World, make_key, open_database, run_gateway
from tests.gateway.log_lines import LogLines, capture_log_lines
from tests.rest.error_bodies import read_error, read_message

pytestmark = pytest.mark.anyio

REST = "/v1/units/unit-1"
GRAPHQL = "/graphql?query={__typename}"
ATTACKER, OTHER = "198.51.100.7", "198.51.100.8"
BURST = 5

build_app = functools.lru_cache(maxsize=1)(Gateway.build_app)


@pytest.fixture
async def gateway(world: World, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gateway]:
    """A gateway that soon throttles, and forgives nothing however slow this machine is."""
    monkeypatch.setattr(api_key_cache, "REREAD_SECONDS", 3600.0)
    async with run_gateway(world.settings(bad_key_limit=1, bad_key_burst=BURST)) as gateway:
        gateway.bad_keys._each._interval_seconds = gateway.bad_keys._all._interval_seconds = 900.0
        gateway.bad_keys._each._tolerance_seconds = (BURST - 1) * 900.0
        gateway.bad_keys._all._tolerance_seconds = (BURST * 50 - 1) * 900.0
        yield gateway


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is read of the keys in MongoDB: single keys, or all digests."""
    counted = list[str]()
    for name in ("find_api_key", "list_digests"):
        monkeypatch.setattr(api_keys, name, _counting(getattr(api_keys, name), name, counted))
    return counted


def _counting(read, name: str, counted: list[str]):  # type: ignore[no-untyped-def]
    async def count(*arguments: object) -> object:
        counted.append(name)
        return await read(*arguments)

    return count


@pytest.fixture
def lines() -> Iterator[LogLines]:
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
    gateway: Gateway, path: str, reads: list[str]
) -> None:
    keys = [api_keys.generate_key() for _ in range(BURST + 20)]
    statuses = [await ask(gateway, key, path=path) for key in keys]
    assert statuses == [403] * BURST + [429] * 20
    assert reads.count("find_api_key") == BURST
    assert reads.count("list_digests") <= 1


async def test_a_throttled_client_is_told_when_to_try_again_and_not_what_is_wrong(
    gateway: Gateway, world: World
) -> None:
    await exhaust(gateway)
    keys = ("fgk_x", api_keys.generate_key(), world.keys.revoked, world.keys.expired)
    responses = [await request(gateway, key) for key in keys]
    assert {each.status_code for each in responses} == {429}
    assert {read_message(each) for each in responses} == {"Too many invalid API keys"}
    assert len({str(read_error(each)) for each in responses}) == 1
    assert all(0 < int(each.headers["retry-after"]) <= 900 for each in responses)
    assert "ratelimit" not in responses[0].headers  # of which key?


async def test_valid_keys_from_the_same_address_still_work(gateway: Gateway, world: World) -> None:
    assert await ask(gateway, world.keys.full) == 200
    await exhaust(gateway)
    for _ in range(2 * BURST):
        assert await ask(gateway, world.keys.full) == 200
        assert await ask(gateway, world.keys.restricted) == 200  # was never cached before
        assert await ask(gateway, api_keys.generate_key()) == 429


async def test_valid_keys_are_not_counted(gateway: Gateway, world: World) -> None:
    for _ in range(3 * BURST):
        assert gateway.state is not None
        gateway.state.key_cache._records.discard(api_keys.hash_key(world.keys.full))
        assert await ask(gateway, world.keys.full) == 200
    await exhaust(gateway)


async def test_requests_at_once_are_all_counted(gateway: Gateway, reads: list[str]) -> None:
    keys = [api_keys.generate_key() for _ in range(4 * BURST)]
    statuses = await asyncio.gather(*(ask(gateway, key) for key in keys))
    assert sorted(statuses) == [403] * BURST + [429] * 3 * BURST
    assert reads.count("find_api_key") == BURST
    assert reads.count("list_digests") <= 1


async def test_other_addresses_are_not_throttled(gateway: Gateway) -> None:
    await exhaust(gateway)
    assert await ask(gateway, "not a key") == 429
    await exhaust(gateway, OTHER)


async def test_all_addresses_together_have_a_limit(gateway: Gateway, lines: LogLines) -> None:
    addresses = [f"2001:db8:0:{number:x}::" for number in range(BURST * 50 + 10)]
    excesses = [gateway.bad_keys.charge(group_address(address)) for address in addresses]
    assert [excess is not None for excess in excesses] == [False] * BURST * 50 + [True] * 10
    for _ in range(2 * BURST):
        excess = gateway.bad_keys.charge(OTHER)
        assert excess is not None
        assert excess.client == "all"  # and nothing is held against this client
        gateway.bad_keys.count(excess.client, is_throttled=True)
    assert len(lines.texts) == 1


async def test_requests_without_a_key_are_not_counted(gateway: Gateway) -> None:
    assert [await ask(gateway, None) for _ in range(3 * BURST)] == [401] * 3 * BURST
    await exhaust(gateway)
    assert await ask(gateway, None) == 401


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
    gateway: Gateway, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise UnavailableError("down", UnavailableCause.UNREACHABLE)

    with monkeypatch.context() as broken:
        broken.setattr(api_keys, "find_api_key", fail)
        keys = [api_keys.generate_key() for _ in range(3 * BURST)]
        assert {await ask(gateway, key) for key in keys} == {503}
    await exhaust(gateway)


async def test_throttling_can_be_turned_off(world: World) -> None:
    async with run_gateway(world.settings(bad_key_limit=0)) as gateway:
        assert {await ask(gateway, "not a key") for _ in range(50)} == {403}


async def test_one_line_is_logged_when_a_client_is_throttled(
    gateway: Gateway, lines: LogLines
) -> None:
    await exhaust(gateway)
    assert not lines.texts
    for _ in range(20):
        await ask(gateway, "not a key")
    assert len(lines.texts) == 1
    assert ATTACKER in lines.texts[0]
    assert f'"bad_keys":{BURST + 1}' in lines.texts[0].replace(" ", "")


def test_a_client_that_goes_on_is_logged_once_a_minute(
    lines: LogLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    throttle = BadKeyThrottle(1, 1, ArrivalTables.for_single_process().addresses)
    clock = [1000.0]
    monkeypatch.setattr(authentication, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    for second in range(150):
        clock[0] = 1000.0 + second
        throttle.count("client", is_throttled=True)
    assert len(lines.texts) == 3
