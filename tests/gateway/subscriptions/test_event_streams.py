"""Server-sent events: a subscription is one long response, other operations a short one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from gateway.graphql import event_stream
from resolvers.request.errors import Cause, UnavailableError
from storage.administration import api_keys
from tests.fixtures import SEEN, UNIT, World, make_key, open_database
from tests.gateway.server.served_application import on_server_loop, wait_until
from tests.gateway.subscriptions.service import (
    TICKS,
    count_subscriptions,
    publish,
    read_events,
    serve,
    wait_for_subscriptions,
)

ACCEPT = {"Accept": "text/event-stream"}


@asynccontextmanager
async def subscribe(
    client: httpx.AsyncClient, query: str = TICKS, **headers: str
) -> AsyncIterator[httpx.Response]:
    """A stream that has begun."""
    async with client.stream(
        "POST", "/graphql", json={"query": query}, headers=ACCEPT | headers
    ) as response:
        yield response


@on_server_loop
async def test_each_tick_is_an_event_until_the_source_ends(world: World) -> None:
    async with (
        serve(world) as service,
        service.client() as client,
        subscribe(client) as response,
    ):
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        assert "content-encoding" not in response.headers
        await wait_for_subscriptions()
        for number in (1, 2, 0):
            publish(number)
        events = [event async for event in read_events(response)]
    assert events == [
        ("next", {"data": {"ticks": {"number": 1}}}),
        ("next", {"data": {"ticks": {"number": 2}}}),
        ("complete", None),
    ]


@on_server_loop
async def test_a_get_carries_the_operation_in_the_query(world: World) -> None:
    async with serve(world) as service, service.client() as client:
        parameters = {"query": TICKS, "api-key": world.keys.full}
        del client.headers["API-Key"]
        async with client.stream("GET", "/graphql", params=parameters, headers=ACCEPT) as response:
            await wait_for_subscriptions()
            publish(7)
            event = await anext(read_events(response))
    assert event == ("next", {"data": {"ticks": {"number": 7}}})


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f'{{ unit(id: "{UNIT}") {{ id }} }}', {"data": {"unit": {"id": UNIT}}}),
        ("{ nothing }", "Cannot query field 'nothing' on type 'Query'."),
        ("{", "Syntax Error: Expected Name, found <EOF>."),
    ],
)
@on_server_loop
async def test_other_operations_are_complete_after_one_event(
    world: World, query: str, expected: Any
) -> None:
    async with serve(world) as service, service.client() as client:
        response = await client.post("/graphql", json={"query": query}, headers=ACCEPT)
        events = [event async for event in read_events(response)]
    assert response.status_code == 200
    (name, body), end = events
    assert (name, end) == ("next", ("complete", None))
    assert expected in (body, body.get("errors", [{}])[0].get("message"))


@pytest.mark.parametrize(
    ("accept", "query", "status"),
    [
        ("application/json", TICKS, 406),
        ("*/*", TICKS, 406),
        ("application/json, text/event-stream", "{ __typename }", 200),
    ],
)
@on_server_loop
async def test_clients_that_prefer_json_get_json(
    world: World, accept: str, query: str, status: int
) -> None:
    async with serve(world) as service, service.client() as client:
        response = await client.post("/graphql", json={"query": query}, headers={"Accept": accept})
    assert response.status_code == status
    assert response.headers["content-type"].startswith("application/json")


@on_server_loop
async def test_an_error_of_one_field_leaves_the_rest_of_its_event(world: World) -> None:
    query = "subscription { ticks { number southernUnit { id } secret } }"
    async with (
        serve(world) as service,
        service.client(world.keys.restricted) as client,
        subscribe(client, query) as response,
    ):
        await wait_for_subscriptions()
        publish(1)
        _, body = await anext(read_events(response))
    assert body["data"] == {"ticks": {"number": 1, "southernUnit": None, "secret": None}}
    [error] = body["errors"]
    assert error["path"] == ["ticks", "secret"]
    assert error["extensions"]["code"] == "PERMISSION_REQUIRED"


@on_server_loop
async def test_a_source_that_fails_ends_the_stream_with_its_error(world: World) -> None:
    async with (
        serve(world) as service,
        service.client() as client,
        subscribe(client) as response,
    ):
        await wait_for_subscriptions()
        publish(UnavailableError("the database is away", Cause.UNREACHABLE))
        events = [event async for event in read_events(response)]
    [(_, body), end] = events
    assert body["errors"][0]["extensions"] == {
        "code": "SERVICE_UNAVAILABLE",
        "requestId": response.headers["x-request-id"],
    }
    assert end == ("complete", None)


@on_server_loop
async def test_a_client_that_leaves_ends_the_source(world: World) -> None:
    async with serve(world) as service:
        async with service.client() as client, subscribe(client):
            await wait_for_subscriptions()
            assert len(service.gateway.streams.subscriptions) == 1
            assert service.gateway.admission.in_flight == 0
        await wait_until(lambda: count_subscriptions() == 0)
        await wait_until(lambda: len(service.gateway.streams.subscriptions) == 0)


@on_server_loop
async def test_comments_keep_a_silent_stream_alive(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "HEARTBEAT_SECONDS", 0.01)

    async with (
        serve(world) as service,
        service.client() as client,
        subscribe(client) as response,
    ):
        lines = response.aiter_lines()
        assert [await anext(lines) for _ in range(6)] == [":", "", ":", "", ":", ""]


@pytest.mark.parametrize("change", ["revoked", "restricted"])
@on_server_loop
async def test_a_key_that_changes_ends_its_silent_streams_and_no_others(
    own_world: World, change: str
) -> None:
    """Without `complete`: the client may connect again."""
    async with (
        serve(own_world) as service,
        open_database(own_world) as database,
        service.client() as other,
        subscribe(other) as others,
    ):
        key_id, key = await make_key(database, "passing")
        async with service.client(key) as client, subscribe(client) as response:
            await wait_for_subscriptions(2)
            if change == "revoked":
                await api_keys.revoke_api_key(database, key_id)
            else:
                await api_keys.update_api_key(
                    database, key_id, lambda key: replace(key, asset_ids=[SEEN])
                )
            assert [event async for event in read_events(response)] == []
        publish(1)
        assert await anext(read_events(others)) == ("next", {"data": {"ticks": {"number": 1}}})


@on_server_loop
async def test_streams_end_without_complete_when_the_service_stops(world: World) -> None:
    async with serve(world) as service, service.client() as client:
        async with subscribe(client) as response:
            await wait_for_subscriptions()
            service.gateway.streams.end_all()
            assert [event async for event in read_events(response)] == []
        async with subscribe(client) as response:
            assert response.status_code == 503


@pytest.mark.parametrize(
    ("limits", "status"),
    [({"streams": 2}, 503), ({"streams_per_key": 2}, 429)],
)
@on_server_loop
async def test_more_streams_than_allowed_are_refused(
    world: World, limits: dict[str, Any], status: int
) -> None:
    async with serve(world, **limits) as service, service.client() as client:
        async with subscribe(client), subscribe(client):
            await wait_for_subscriptions(2)
            async with subscribe(client) as third:
                body = (await third.aread()).decode()
            assert (third.status_code, third.headers["retry-after"]) == (status, "1")
            assert "code" in body
        await wait_for_subscriptions(0)
        async with subscribe(client) as fourth:
            assert fourth.status_code == 200
