"""One change is an event of every follower: what they share is done once, or a few times."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.subscriptions import shared_results
from gateway.subscriptions.operations import MAX_EVENTS_AT_A_TIME
from tests.fixtures import UNIT, World, open_database
from tests.gateway.server.served_application import on_server_loop, wait_until
from tests.gateway.subscriptions.service import (
    Socket,
    publish,
    serve,
    wait_for_subscriptions,
)

FOLLOWERS = 5 * MAX_EVENTS_AT_A_TIME


CONDITIONAL = "subscription($no: Boolean!) { ticks { number @skip(if: $no) unit { name } } }"


async def follow(socket: Socket, query: str, count: int = FOLLOWERS) -> None:
    """Follow ticks so many times over one WebSocket."""
    for number in range(count):
        await socket.subscribe(query, id=str(number))
    await wait_for_subscriptions(count)


async def receive(socket: Socket, count: int = FOLLOWERS) -> dict[str, Any]:
    """The next tick of each subscription, by its id."""
    messages = [await socket.receive() for _ in range(count)]
    ticks = {message["id"]: message["payload"]["data"]["ticks"] for message in messages}
    assert len(ticks) == count
    return ticks


@asynccontextmanager
async def count_reads(database: Any) -> AsyncIterator[dict[str, int]]:
    """By collection, how often the block reads the database; filled in at its end."""
    reads: dict[str, int] = {}
    await database.command("profile", 2)
    yield reads
    await database.command("profile", 0)
    for collection in ("api_keys", "units"):
        where = {"ns": f"{database.name}.{collection}", "op": "query"}
        reads[collection] = await database["system.profile"].count_documents(where)


@pytest.mark.usefixtures("never_expire")
@on_server_loop
async def test_one_event_is_read_a_few_times_for_any_number_of_followers(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_results, "SHARING_SECONDS", 3600.0)

    async with (
        serve(own_world) as service,
        service.socket() as socket,
        open_database(own_world) as database,
    ):
        await follow(socket, "subscription { ticks { number unit { id } } }")
        assert service.gateway.state is not None
        feed = service.gateway.state.change_feed
        # Until then, nothing is cached.
        await wait_until(lambda: feed.take_snapshot() is not None)
        async with count_reads(database) as reads:
            feed.count_write()  # the key may be another now
            publish(1)
            ticks = await receive(socket)
    assert [*ticks.values()] == FOLLOWERS * [{"number": 1, "unit": {"id": UNIT}}]
    assert 1 <= reads["units"] <= MAX_EVENTS_AT_A_TIME
    assert 1 <= reads["api_keys"] <= 2 * MAX_EVENTS_AT_A_TIME


@on_server_loop
async def test_followers_with_other_rights_share_nothing(world: World) -> None:
    query = "subscription { ticks { southernUnit { id } } }"
    async with (
        serve(world) as service,
        service.socket(world.keys.full) as full,
        service.socket(world.keys.restricted) as restricted,
    ):
        await follow(full, query)
        await restricted.subscribe(query)
        await wait_for_subscriptions(FOLLOWERS + 1)
        publish(1)
        seen, hidden = await receive(full), await receive(restricted, 1)
    assert [*seen.values()] == FOLLOWERS * [{"southernUnit": {"id": "unit-s"}}]
    assert [*hidden.values()] == [{"southernUnit": None}]


@on_server_loop
async def test_followers_with_other_variables_share_nothing(world: World) -> None:
    async with serve(world) as service, service.socket() as socket:
        for number in range(FOLLOWERS):
            variables = {"no": number % 2 == 1}
            await socket.subscribe(CONDITIONAL, id=str(number), variables=variables)
        await wait_for_subscriptions(FOLLOWERS)
        publish(1)
        ticks = await receive(socket)
    assert all(("number" in tick) == (int(id) % 2 == 0) for id, tick in ticks.items())


@on_server_loop
async def test_errors_are_not_shared_because_they_name_the_request(world: World) -> None:
    async with serve(world) as service, service.socket(world.keys.restricted) as socket:
        await follow(socket, "subscription { ticks { number secret } }")
        publish(1)
        results = [(await socket.receive())["payload"] for _ in range(FOLLOWERS)]
    assert {result["data"]["ticks"]["number"] for result in results} == {1}
    named = {result["errors"][0]["extensions"]["requestId"] for result in results}
    assert len(named) == FOLLOWERS


@on_server_loop
async def test_what_is_shared_is_soon_read_again(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_results, "SHARING_SECONDS", -1.0)

    async with (
        serve(own_world) as service,
        service.socket() as socket,
        open_database(own_world) as database,
    ):
        await follow(socket, "subscription { ticks { unit { name } } }", 1)
        for name in ("one", "two"):
            await database["units"].update_one({"_id": UNIT}, {"$set": {"name": name}})
            publish(1)
            assert await receive(socket, 1) == {"0": {"unit": {"name": name}}}
