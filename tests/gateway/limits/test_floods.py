"""Floods without a valid key leave room for those who have one."""

import asyncio

import pytest
from starlette.types import Scope

from gateway.app import Gateway
from gateway.server.admission import Permit, Rejection
from storage import api_keys
from storage.cache import key_digests
from storage.errors import UnavailableError
from tests.fixtures import World, make_key, open_client, open_database, run_gateway

pytestmark = pytest.mark.anyio


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


@pytest.mark.parametrize(
    "invented", [api_keys.generate_key(), "malformed", None], ids=["unknown", "malformed", "none"]
)
async def test_the_first_request_of_a_new_key_is_served_during_a_flood(
    own_world: World, monkeypatch: pytest.MonkeyPatch, invented: str | None
) -> None:
    monkeypatch.setattr(key_digests, "REREAD_SECONDS", 0.0)
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
        async with asyncio.timeout(30):
            while not read.is_set():  # the flood goes on
                assert isinstance(gateway.admission.admit(scope(invented)), Rejection)
                await asyncio.sleep(0.01)
        async with open_client(gateway, key) as client:
            assert (await client.get("/v1/units")).status_code == 200


async def test_a_flood_that_the_database_cannot_be_asked_about_is_rejected_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object) -> None:
        raise UnavailableError("down")

    monkeypatch.setattr(api_keys, "list_digests", fail)
    async with run_gateway(world.settings()) as gateway:
        take_all_slots(gateway, api_keys.generate_key())
        await asyncio.sleep(0)
        assert isinstance(gateway.admission.admit(scope()), Rejection)
    assert "exception was never retrieved" not in caplog.text
