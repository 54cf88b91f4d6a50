"""The subscription of changes over both transports, from the stream of MongoDB to the client."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import resolvers.changes
from gateway.graphql import streams
from gateway.graphql.streams import MAX_EVENTS_AT_A_TIME
from gateway.server.worker import EventLoop
from gateway.state import GatewayState
from resolvers.request.caller import FLAGS
from schema.root import GRAPHQL_SCHEMA
from storage.cache.record_cache import RecordCacheKey
from storage.changes.events import ChangeCursor
from storage.records.visibility import AssetScope
from tests.fixtures import UNIT, World, make_key, open_database
from tests.gateway.server.served_application import on_server_loop, wait_until
from tests.gateway.subscriptions.service import (
    TICKS,
    Service,
    Socket,
    publish,
    read_events,
    serve,
    wait_for_subscriptions,
)

QUERY = """subscription($after: String, $kinds: [RecordKind!], $progress: Boolean) {
  changes(after: $after, kinds: $kinds, progress: $progress) {
    cursor operation recordId unit { name floor { name } }
  }
}"""
LIFETIME = timedelta(seconds=30)


async def follow_events(
    service: Service, key: str | None = None, **variables: Any
) -> AsyncGenerator[dict[str, Any]]:
    """Yield the results over server-sent events; the last one is empty if they are complete."""
    headers = {"Accept": "text/event-stream", "Experimental-Flags": ", ".join(FLAGS)}
    body = {"query": QUERY, "variables": variables}
    async with (
        service.client(key) as client,
        client.stream("POST", "/graphql", json=body, headers=headers) as response,
    ):
        assert response.status_code == 200
        async for name, result in read_events(response):
            yield result if name == "next" else {}


async def follow_socket(
    service: Service, key: str | None = None, **variables: Any
) -> AsyncGenerator[dict[str, Any]]:
    """Yield the results over a WebSocket; the last one is empty if they are complete."""
    async with service.socket(key, experimentalFlags=[*FLAGS]) as socket:
        await socket.subscribe(QUERY, variables=variables)
        while (message := await socket.receive())["type"] == "next":
            yield message["payload"]
        assert message["type"] == "complete"
        yield {}


TRANSPORTS = pytest.mark.parametrize("follow", [follow_events, follow_socket])


@asynccontextmanager
async def opened(world: World) -> AsyncIterator[tuple[Service, Any, str]]:
    """A gateway, its database, and the cursor of now."""
    async with serve(world, schema=GRAPHQL_SCHEMA) as service, open_database(world) as database:
        yield service, database, str(await state_of(service).change_hub.get_cursor())


def state_of(service: Service) -> GatewayState:
    assert service.gateway.state is not None
    return service.gateway.state


@TRANSPORTS
@on_server_loop
async def test_a_client_that_leaves_leaves_nothing(own_world: World, follow: Any) -> None:
    async with opened(own_world) as (service, database, cursor):
        async with aclosing(follow(service, after=cursor)) as results:
            await database["units"].update_one({"_id": UNIT}, {"$set": {"name": "new"}})
            change = (await anext(results))["data"]["changes"]
            assert (change["operation"], change["recordId"]) == ("updated", UNIT)
            assert state_of(service).change_hub.follower_count == 1
        await wait_until(lambda: state_of(service).change_hub.follower_count == 0)
        await wait_until(lambda: not len(service.gateway.streams.subscriptions))
        await wait_until(lambda: not len(service.gateway.streams.sockets))


@TRANSPORTS
@on_server_loop
async def test_a_cursor_that_is_too_old_is_told_with_what_to_do(world: World, follow: Any) -> None:
    async with opened(world) as (service, _, cursor):
        old = str(ChangeCursor.parse(cursor)._replace(epoch=b"else"))
        results = [result async for result in follow(service, after=old)]
    failed, complete = results
    [error] = failed["errors"]
    assert error["extensions"]["code"] == "CHANGES_EXPIRED"
    assert "copy the directory again" in error["message"]
    assert (error["path"], error["locations"]) == (["changes"], [{"line": 2, "column": 3}])
    assert failed["data"] is None
    assert complete == {}


@pytest.mark.slow  # a key cannot be one that has expired when its stream begins
@on_server_loop
async def test_streams_end_when_their_key_expires(own_world: World) -> None:
    async with opened(own_world) as (service, database, _):
        until = datetime.now(UTC) + LIFETIME
        _, key = await make_key(database, "passing", expires_at=until)
        async with AsyncExitStack() as stack:
            events = await stack.enter_async_context(aclosing(follow_events(service, key)))
            socket = await stack.enter_async_context(
                service.socket(key, experimentalFlags=["changes"])
            )
            await socket.subscribe("subscription { changes { cursor } }")
            results = asyncio.create_task(_list(events))
            assert await socket.wait_for_close() == (4403, "The API key has ended")
            assert await results == []
        assert datetime.now(UTC) >= until


@TRANSPORTS
@on_server_loop
async def test_a_collection_that_is_dropped_is_a_reset_and_followed_on(
    own_world: World, follow: Any
) -> None:
    async with opened(own_world) as (service, database, cursor):
        unit = await database["units"].find_one({"_id": UNIT})
        variables = {"after": cursor, "kinds": ["units"]}
        async with (
            aclosing(follow(service, **variables)) as results,
            aclosing(follow(service, after=cursor, kinds=["floors"])) as others,
        ):
            await database["units"].update_one({"_id": UNIT}, {"$set": {"name": "one"}})
            assert _named(await anext(results)) == "one"
            await database["units"].drop()
            reset = (await anext(results))["data"]["changes"]
            assert (reset["operation"], reset["recordId"]) == ("reset", None)
            await database["units"].insert_one({**unit, "name": "two"})
            assert _named(await anext(results)) == "two"
            await database["floors"].update_one(
                {"_id": unit["floor_id"]}, {"$set": {"name": "new"}}
            )
            assert (await anext(others))["data"]["changes"]["recordId"] == unit["floor_id"]
        async with aclosing(follow(service, after=reset["cursor"], kinds=["units"])) as results:
            assert _named(await anext(results)) == "two"


def _named(result: dict[str, Any]) -> str:
    name: str = result["data"]["changes"]["unit"]["name"]
    return name


async def _list(results: AsyncIterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return [result async for result in results]


@on_server_loop
async def test_records_of_a_change_do_not_come_from_the_record_cache(own_world: World) -> None:
    async with opened(own_world) as (service, database, cursor):
        cache = state_of(service).record_cache
        assert cache is not None
        unit = await database["units"].find_one({"_id": UNIT})

        async def load_old() -> Any:
            return {"name": "old"}

        for kind, key in (("units", UNIT), ("floors", unit["floor_id"])):
            old = RecordCacheKey(kind, "", AssetScope(None), key)
            await cache.get_or_load(old, load_old)
        await database["floors"].update_one({"_id": unit["floor_id"]}, {"$set": {"name": "new"}})
        await database["units"].update_one({"_id": UNIT}, {"$set": {"name": "new"}})
        async with aclosing(follow_events(service, after=cursor, kinds=["units"])) as results:
            change = (await anext(results))["data"]["changes"]
    assert change["unit"] == {"name": "new", "floor": {"name": "new"}}


@on_server_loop
async def test_a_record_that_is_gone_by_now_is_null(own_world: World) -> None:
    async with opened(own_world) as (service, database, cursor):
        await database["units"].update_one({"_id": UNIT}, {"$set": {"name": "new"}})
        await database["units"].delete_one({"_id": UNIT})
        await database["units"].update_one({"_id": "unit-2"}, {"$set": {"name": "new"}})
        async with aclosing(follow_events(service, after=cursor, kinds=["units"])) as results:
            async for result in results:
                change = result["data"]["changes"]
                if change["recordId"] == "unit-2":
                    break
                assert (change["recordId"], change["unit"]) == (UNIT, None)


@TRANSPORTS
@on_server_loop
async def test_a_follower_of_what_rarely_changes_gets_new_cursors(
    world: World, follow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolvers.changes, "PROGRESS_SECONDS", 0.1)

    async with opened(world) as (service, _, cursor):
        async with aclosing(follow(service, after=cursor, progress=True)) as results:
            change = (await anext(results))["data"]["changes"]
            later = (await anext(results))["data"]["changes"]
        assert (change["operation"], change["recordId"]) == ("progress", None)
        positions = [ChangeCursor.parse(each["cursor"]) for each in (change, later)]
        assert ChangeCursor.parse(cursor) <= positions[0] <= positions[1]
        async with service.client() as client:
            headers = {"Experimental-Flags": "changes"}
            page = await client.get(
                "/v1/changes", params={"after": later["cursor"]}, headers=headers
            )
        assert page.json()["data"] == []


# One change is an event of every follower: what they share is done once, or a few times.


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
    monkeypatch.setattr(streams, "SHARING_SECONDS", 3600.0)

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
    monkeypatch.setattr(streams, "SHARING_SECONDS", -1.0)

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


# An idle stream takes little memory: a worker holds a thousand in less than 100 MB.


CHECKOUT = Path(__file__).parents[3]
STREAMS = int(os.environ.get("FLOORGATE_TEST_STREAMS", "200"))
MAX_KB = 100.0


@pytest.mark.slow
def test_an_idle_stream_takes_less_than_100_kilobytes(world: World) -> None:
    async def scenario() -> str:
        async with serve(world, streams=3 * STREAMS, streams_per_key=3 * STREAMS) as service:
            program = [sys.executable, "-m", "bench.streams", service.address, world.keys.full]
            options = ["--pid", str(os.getpid()), "--streams", str(STREAMS), "--query", TICKS]
            process = await asyncio.create_subprocess_exec(
                *program, *options, cwd=CHECKOUT, stdout=asyncio.subprocess.PIPE
            )
            output, _ = await process.communicate()
            return output.decode()

    with asyncio.Runner(loop_factory=EventLoop) as runner:
        output = runner.run(scenario())

    sys.stdout.write(output)
    grown = re.findall(r"^(\w+): ([0-9.-]+) KB", output, re.MULTILINE)
    assert [transport for transport, _ in grown] == ["websocket", "sse"]
    assert all(float(kilobytes) < MAX_KB for _, kilobytes in grown), output
