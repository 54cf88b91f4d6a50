"""Floods without a valid key leave room for those who have one."""

import asyncio
import logging

import pytest
from starlette.types import Scope

from gateway.app import Gateway
from gateway.rate_limits import ArrivalTables
from gateway.server.admission import Decision, Permit, Rejection
from gateway.server.config import ConnectionLimits, SharedMemory
from gateway.settings import Settings
from storage.administration import api_keys
from storage.cache import api_key_cache
from storage.errors import UnavailableCause, UnavailableError
from storage.mongo.shared_memory import WriteCounter
from tests.fixtures import World, make_key, open_client, open_database, run_gateway
from tests.gateway.log_lines import capture_log_lines
from tests.gateway.server.served_application import GET, HOST, exchange, statuses

BURST = 5


def scope(key: str | None = None, path: str = "/v1/units", address: str = "192.0.2.1") -> Scope:
    headers = [] if key is None else [(b"api-key", key.encode())]
    return {
        "type": "http", "path": path, "query_string": b"", "headers": headers,
        "client": (address, 50_000),
    }  # fmt: skip


def take_all_slots(gateway: Gateway, key: str | None) -> None:
    """Hold every slot that requests without a valid key can get."""
    while isinstance(gateway.admission.admit(scope(key)), Permit):
        pass


@pytest.mark.anyio
@pytest.mark.parametrize(
    "invented", [api_keys.generate_key(), "malformed", None], ids=["unknown", "malformed", "none"]
)
async def test_the_first_request_of_a_new_key_is_served_during_a_flood(
    own_world: World, monkeypatch: pytest.MonkeyPatch, invented: str | None
) -> None:
    monkeypatch.setattr(api_key_cache, "REREAD_SECONDS", 0.0)
    read = asyncio.Event()
    list_digests = api_keys.list_digests
    created = list[bytes]()

    async def list_and_tell(*arguments: object) -> frozenset[bytes]:
        digests: frozenset[bytes] = await list_digests(*arguments)  # type: ignore[arg-type]
        if digests.issuperset(created):
            asyncio.get_running_loop().call_soon(read.set)
        return digests

    monkeypatch.setattr(api_keys, "list_digests", list_and_tell)
    async with run_gateway(own_world.settings()) as gateway, open_database(own_world) as database:
        take_all_slots(gateway, invented)
        _, key = await make_key(database, "new")
        created.append(api_keys.hash_key(key))
        read.clear()
        while not read.is_set():  # the flood goes on
            assert isinstance(gateway.admission.admit(scope(invented)), Rejection)
            await asyncio.sleep(0.01)
        async with open_client(gateway, key) as client:
            assert (await client.get("/v1/units")).status_code == 200


@pytest.mark.anyio
async def test_a_flood_that_the_database_cannot_be_asked_about_is_rejected_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object) -> None:
        raise UnavailableError("down", UnavailableCause.UNREACHABLE)

    monkeypatch.setattr(api_keys, "list_digests", fail)
    async with run_gateway(world.settings()) as gateway:
        take_all_slots(gateway, api_keys.generate_key())
        await asyncio.sleep(0)
        assert isinstance(gateway.admission.admit(scope()), Rejection)
    assert "exception was never retrieved" not in caplog.text


def small_gateway(arrivals: ArrivalTables | None = None) -> Gateway:
    """A gateway that admits few requests without a valid key, and forgives nothing."""
    arrivals = arrivals or ArrivalTables.for_single_process()
    shared = SharedMemory(WriteCounter.for_single_process(), arrivals)
    gateway = Gateway(Settings(rate_burst=BURST), shared)
    limiter = gateway.admission._address_limiter
    assert limiter is not None
    limiter._interval_seconds, limiter._tolerance_seconds = 900.0, (BURST - 1) * 900.0
    return gateway


def admit(gateway: Gateway, **sent: str) -> Decision:
    """Ask for a slot, and give it back at once."""
    decision = gateway.admission.admit(scope(**sent))
    if isinstance(decision, Permit):
        decision.release()
    return decision


def rejections(gateway: Gateway, count: int, **sent: str) -> int:
    return sum(isinstance(admit(gateway, **sent), Rejection) for _ in range(count))


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"key": "invented"},
        {"path": "/v1/nothing", "key": "invented"},
        {"path": "/graphql"},  # also a handshake of a WebSocket
        {"path": "/v1/openapi.json", "key": "any"},
        {"path": "/pages/chunk.js"},
    ],
)
def test_an_address_may_send_so_many_requests_without_a_valid_key(sent: dict[str, str]) -> None:
    gateway = small_gateway()
    assert rejections(gateway, BURST, **sent) == 0
    assert rejections(gateway, 20, **sent) == 20
    assert rejections(gateway, 1, path="/v1/openapi.yaml") == 1  # they count together
    assert rejections(gateway, BURST, address="192.0.2.2", **sent) == 0
    assert gateway.admission.in_flight == 0


def test_health_and_known_keys_are_not_limited_by_the_address() -> None:
    gateway = small_gateway()
    assert rejections(gateway, BURST + 1) == 1
    gateway.admission._is_known_key = lambda key: key.text == "known"
    assert rejections(gateway, 50, key="known") == 0
    assert rejections(gateway, 50, path="/health/ready") == 0


def test_workers_of_a_gateway_count_together() -> None:
    arrivals = ArrivalTables.for_single_process()
    workers = [small_gateway(arrivals) for _ in range(2)]
    counts = [rejections(worker, BURST) for worker in workers]
    assert counts == [0, BURST]


def test_the_limit_of_an_address_can_be_turned_off() -> None:
    assert rejections(Gateway(Settings(rate_limit=0)), 5_000) == 0


def flood(raw: bytes, proxy_hops: int = 0) -> bytes:
    """What a gateway sends to a client that sends this on one connection."""
    gateway = small_gateway()
    return exchange(
        raw, gateway.build_app(), ConnectionLimits(keep_alive_seconds=1),
        admission=gateway.admission, proxy_hops=proxy_hops,
        websocket_paths=frozenset({b"/graphql"}),
    )  # fmt: skip


@pytest.mark.parametrize("header", [b"", b"Origin: https://a.example\r\n"])
def test_a_flood_gets_429_and_one_line_in_the_log(header: bytes) -> None:
    access, admission = (logging.getLogger(f"floorgate.{name}") for name in ("access", "admission"))
    with (
        capture_log_lines(access, logging.INFO) as requests,
        capture_log_lines(admission, logging.INFO) as limits,
    ):
        received = flood((GET[:-2] + header + b"\r\n") * 40)
    assert statuses(received) == [200] * BURST + [429] * (40 - BURST)
    assert len(requests.texts) == BURST
    assert len(limits.texts) == 1
    fields = limits.last()
    assert (fields["limit"], fields["client"]) == ("requests_per_address", "127.0.0.1")
    head, _, body = received.rpartition(b"HTTP/1.1 429")[2].partition(b"\r\n\r\n")
    assert body.startswith(b'{"message":"Too many requests from this address","code":"RATE')
    for line in (b"retry-after: 900", b'ratelimit: "default";r=0;t=900', b"ratelimit-policy: "):
        assert b"\r\n" + line in head


def test_a_websocket_over_the_limit_is_refused_and_its_connection_closed() -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    handshake = b"GET /graphql HTTP/1.1\r\n" + HOST + upgrade + b"\r\n"
    received = flood(GET * BURST + handshake + GET)
    assert statuses(received) == [200] * BURST + [429]


def test_behind_a_proxy_the_address_is_the_one_that_it_vouches_for() -> None:
    requests = (
        b"GET / HTTP/1.1\r\n" + HOST + b"X-Forwarded-For: 192.0.2.%d\r\n\r\n" % (number % 2)
        for number in range(2 * BURST + 2)
    )
    assert statuses(flood(b"".join(requests), 1)) == [200] * 2 * BURST + [429] * 2
