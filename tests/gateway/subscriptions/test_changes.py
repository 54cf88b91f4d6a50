"""The subscription of changes over both transports, from the stream of MongoDB to the client."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import resolvers.changes
from gateway.state import GatewayState
from resolvers.request.caller import FLAGS
from schema.root import GRAPHQL_SCHEMA
from storage.cache.record_cache import RecordCacheKey
from storage.changes.events import Cursor
from storage.records.visibility import AssetScope
from tests.fixtures import UNIT, World, make_key, open_database
from tests.gateway.server.served_application import on_server_loop, wait_until
from tests.gateway.subscriptions.service import Service, read_events, serve

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
        old = str(Cursor.parse(cursor)._replace(epoch=b"else"))
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
        positions = [Cursor.parse(each["cursor"]) for each in (change, later)]
        assert Cursor.parse(cursor) <= positions[0] <= positions[1]
        async with service.client() as client:
            headers = {"Experimental-Flags": "changes"}
            page = await client.get(
                "/v1/changes", params={"after": later["cursor"]}, headers=headers
            )
        assert page.json()["data"] == []
