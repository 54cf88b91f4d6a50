"""Subscriptions over WebSockets and server-sent events, from the change to the client."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from msgspec.structs import replace
from websockets.exceptions import InvalidStatus

import resolvers.changes
from bench.report import ROOT, read_records
from gateway.graphql import streams, websocket
from gateway.graphql.streams import MAX_EVENTS_AT_A_TIME
from gateway.graphql.websocket import MAX_OPERATIONS, OPERATION_METHOD, CloseError
from gateway.metrics import SUBSCRIPTION, counters
from gateway.server.websocket_connection import MAX_FRAMES_WITHOUT_KEY, MAX_MESSAGE_BYTES
from gateway.state import GatewayState
from resolvers.request.caller import FLAGS
from resolvers.request.errors import UnavailableCause, UnavailableError
from schema.root import GRAPHQL_SCHEMA
from storage.administration import api_keys
from storage.cache.record_cache import RecordCacheKey
from storage.changes.events import ChangeCursor
from storage.records.visibility import AssetScope
from tests.fixtures import SEEN, UNIT, World, freeze_limiter, make_key, open_database
from tests.gateway.server.served_application import on_server_loop, run, wait_until
from tests.gateway.subscriptions.service import (
    PROTOCOL,
    TICKS,
    Service,
    Socket,
    count_subscriptions,
    publish,
    read_events,
    serve,
    wait_for_subscriptions,
)

UNIT_NAME = f'{{ unit(id: "{UNIT}") {{ id }} }}'


@asynccontextmanager
async def open_socket(world: World, **settings: Any) -> AsyncIterator[tuple[Service, Socket]]:
    """A gateway, and a WebSocket to it after `connection_ack`."""
    async with serve(world, **settings) as service, service.socket() as socket:
        yield service, socket


@on_server_loop
async def test_operations_share_a_socket(world: World) -> None:
    async with open_socket(world) as (_, socket):
        await socket.subscribe(id="ticks")
        await wait_for_subscriptions()
        await socket.subscribe(UNIT_NAME, id="unit")
        assert await socket.receive() == {
            "id": "unit",
            "type": "next",
            "payload": {"data": {"unit": {"id": UNIT}}},
        }
        assert await socket.receive() == {"id": "unit", "type": "complete"}
        publish(1)
        assert await socket.receive() == {
            "id": "ticks",
            "type": "next",
            "payload": {"data": {"ticks": {"number": 1}}},
        }
        publish(0)
        assert await socket.receive() == {"id": "ticks", "type": "complete"}


@on_server_loop
async def test_subscriptions_and_their_sockets_are_counted_together(world: World) -> None:
    def count() -> tuple[Any, ...]:
        requests = counters.read()["requests_total"]
        return tuple(requests.get((SUBSCRIPTION, status, ""), 0) for status in ("200", "101"))

    subscriptions, sockets = count()
    async with open_socket(world) as (_, socket):
        await socket.subscribe("subscription Invented { ticks { number } }")
        await wait_for_subscriptions()
        await socket.send("complete", id="1")
        await wait_until(lambda: count() == (subscriptions + 1, sockets))
    await wait_until(lambda: count() == (subscriptions + 1, sockets + 1))


@on_server_loop
async def test_a_client_completes_an_operation_and_may_use_its_id_again(world: World) -> None:
    async with open_socket(world) as (_, socket):
        await socket.subscribe()
        await wait_for_subscriptions()
        await socket.send("complete", id="1")
        await wait_for_subscriptions(0)
        await socket.send("complete", id="1")  # crossed with ours: ignored
        await socket.subscribe(UNIT_NAME)
        assert (await socket.receive())["payload"] == {"data": {"unit": {"id": UNIT}}}


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED", "Cannot query field 'nothing'"),
        ("{", "GRAPHQL_PARSE_FAILED", "Syntax Error"),
        (f"{{ {' '.join(f'a{n}: __typename' for n in range(99))} }}", "LIMIT_EXCEEDED", "aliases"),
    ],
)
@on_server_loop
async def test_an_operation_that_is_not_valid_has_an_error(
    world: World, query: str, code: str, message: str
) -> None:
    async with open_socket(world) as (_, socket):
        await socket.subscribe(query)
        answer = await socket.receive()
        assert (answer["id"], answer["type"]) == ("1", "error")
        assert answer["payload"][0]["extensions"]["code"] == code
        assert message in answer["payload"][0]["message"]
        await socket.subscribe(UNIT_NAME)  # the others go on
        assert (await socket.receive())["type"] == "next"


def test_an_error_names_the_operation_in_the_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    named: list[str] = []

    async def scenario() -> None:
        async with open_socket(world) as (_, socket):
            await socket.subscribe("{ nothing }")
            [error] = (await socket.receive())["payload"]
            named.append(error["extensions"]["requestId"])
            await socket.subscribe("{ units(perPage: 0) { data { id } } }")
            [error] = (await socket.receive())["payload"]["errors"]
            named.append(error["extensions"]["requestId"])
            await socket.receive()

    with caplog.at_level(logging.INFO):
        run(scenario())
    lines = [getattr(record, "fields", {}) for record in caplog.records]
    logged = [line["request_id"] for line in lines if line.get("method") == OPERATION_METHOD]
    assert named == logged


@on_server_loop
async def test_pings_are_answered(world: World) -> None:
    async with serve(world) as service, service.open_socket() as connection:
        socket = Socket(connection)
        await socket.send("ping", payload={"sent": 1})  # before connection_init, too
        assert await socket.receive() == {"type": "pong"}
        await socket.send("pong")
        assert await (await connection.ping()) >= 0  # those of RFC 6455 as well


INIT = '{"type": "connection_init", "payload": {"apiKey": "%s"}}'
SUBSCRIBE = orjson.dumps({"id": "1", "type": "subscribe", "payload": {"query": TICKS}}).decode()


FAULTS: list[tuple[list[str | bytes], int, str]] = [
    ([SUBSCRIBE], 4401, "Unauthorized: send connection_init first"),
    ([INIT, INIT], 4429, "Too many initialisation requests"),
    ([INIT, SUBSCRIBE, SUBSCRIBE], 4409, "Subscriber for 1 already exists"),
    (
        ['{"type": "connection_init", "payload": {"headers": {"API-Key": "fgk_1"}}}'],
        4403,
        "No API key found in request: send it as apiKey in the payload of connection_init",
    ),
    ([INIT.replace("%s", "fgk_wrong")], 4403, "Invalid authentication credentials"),
    ([INIT.replace('"%s"', "7")], 4400, "apiKey must be a string"),
    (
        [INIT.replace("}}", ', "experimentalFlags": {}}}')],
        4400,
        "experimentalFlags must be a list of strings",
    ),
    ([b"\x00\x01"], 4400, "Messages must be text, not binary"),
    (["["], 4400, "The message is not JSON"),
    (["[]"], 4400, "A message must be a JSON object"),
    (['{"type": "start"}'], 4400, "The type of a message must be one of"),
    (['{"type": ["ping"]}'], 4400, "The type of a message must be one of"),
    (['{"type": "complete"}'], 4400, "An id must be a string of 1 to 100 characters"),
    (['{"type": "ping", "payload": 1}'], 4400, "The payload of a message must be an object"),
    ([INIT, '{"type": "subscribe", "id": "1"}'], 4400, "query must be a GraphQL document"),
    (['{"type": "ping"}'] * (MAX_FRAMES_WITHOUT_KEY + 50), 1008, "At most 50 frames per second"),
    (["x" * (MAX_MESSAGE_BYTES + 1)], 1009, ""),
]
"""What no client may send, and how the server closes its WebSocket then."""


@on_server_loop
async def test_what_no_client_may_send_closes_the_socket(world: World) -> None:
    async def provoke(service: Service, messages: list[str | bytes]) -> tuple[int, str]:
        async with service.open_socket() as connection:
            for message in messages:
                is_init = isinstance(message, str) and message == INIT
                await connection.send(INIT % world.keys.full if is_init else message)
            code, reason = await Socket(connection).wait_for_close()
            return code or 0, reason or ""

    async with serve(world) as service:
        for messages, code, expected in FAULTS:
            closed, reason = await provoke(service, messages)
            assert closed == code, messages
            assert expected in reason, messages
        await wait_until(lambda: count_subscriptions() == 0)
        assert len(service.gateway.streams.sockets) == 0
        assert not service.gateway.streams.new_sockets


@on_server_loop
async def test_a_socket_needs_the_subprotocol(world: World) -> None:
    async with serve(world) as service:
        async with service.open_socket(subprotocols=["graphql-ws"]) as connection:
            assert connection.subprotocol is None
            assert (await Socket(connection).wait_for_close())[0] == 4406
        async with service.open_socket(subprotocols=["other", PROTOCOL]) as connection:
            assert connection.subprotocol == PROTOCOL


@on_server_loop
async def test_a_client_that_does_not_initialise_is_closed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "INIT_SECONDS", 0.01)

    async with serve(world) as service, service.open_socket() as connection:
        assert (await Socket(connection).wait_for_close())[0] == 4408


@on_server_loop
async def test_programs_may_send_headers_in_place_of_the_payload(world: World) -> None:
    headers = {"API-Key": world.keys.full}
    async with (
        serve(world) as service,
        service.open_socket(additional_headers=headers) as connection,
    ):
        await Socket(connection).send("connection_init")
        assert await Socket(connection).receive() == {"type": "connection_ack"}


@on_server_loop
async def test_flags_in_the_payload_count_as_the_header_does(world: World) -> None:
    query = "{ attributeGroups { data { id: groupId } } }"

    async with serve(world) as service:
        async with service.socket() as socket:
            await socket.subscribe(query)
            [error] = (await socket.receive())["payload"]["errors"]
            assert error["extensions"]["code"] == "FLAG_REQUIRED"
            place = "experimentalFlags in the payload of connection_init"
            assert error["message"] == f"{place} must include unit-attributes-resource"
        for flags in (["unit-attributes-resource"], "unit-attributes-resource, distances"):
            async with service.socket(experimentalFlags=flags) as socket:
                await socket.subscribe(query)
                assert "errors" not in (await socket.receive())["payload"]


OTHER_ORIGINS = ("https://evil.example", "null", "", "http://[", "http://a:port", "same:99999")


@on_server_loop
async def test_only_pages_of_allowed_origins_connect(world: World) -> None:
    async with serve(world, cors_origins="https://shop.example") as service:
        own = f"http://127.0.0.1:{service.port}"
        for origin in ("https://shop.example", own):
            async with service.open_socket(origin=origin):
                pass
        for origin in OTHER_ORIGINS:
            with pytest.raises(InvalidStatus) as refused:
                headers = {"Origin": origin.replace("same", "http://127.0.0.1")}
                await service.open_socket(additional_headers=headers)
            assert refused.value.response.status_code == 403
            body = orjson.loads(refused.value.response.body or b"")
            assert body["code"] == "ORIGIN_NOT_ALLOWED"
            assert body["message"] == (
                f"Web pages of {headers['Origin']!r} are not allowed: the operator of the service"
                " can add that origin to the API key"
            )


@on_server_loop
async def test_a_socket_has_the_origins_of_its_key(own_world: World) -> None:
    shop, other = "https://shop.example", "https://other.example"
    async with open_database(own_world) as database:
        key_id, key = await make_key(database, "website", origins=[shop])
        await make_key(database, "another", origins=[other])
        async with serve(own_world) as service:
            for origin in (other, None, f"http://127.0.0.1:{service.port}", shop):
                async with service.open_socket(origin=origin) as connection:
                    socket = Socket(connection)
                    await socket.send("connection_init", payload={"apiKey": key})
                    if origin == other:
                        code, reason = await socket.wait_for_close()
                        assert code == 4403
                        assert reason and reason.startswith(
                            f"Web pages of {other!r} are not allowed"
                        )
                        continue
                    assert (await socket.receive())["type"] == "connection_ack"
                    await socket.subscribe(UNIT_NAME)
                    assert "errors" not in (await socket.receive())["payload"]
            async with service.socket(key) as socket:
                await api_keys.update_api_key(
                    database, key_id, lambda record: replace(record, origins=[other])
                )
                assert (await socket.wait_for_close())[0] == 4403


@on_server_loop
async def test_behind_a_proxy_a_socket_must_have_come_by_https(world: World) -> None:
    async with serve(world, behind_proxy=True) as service:
        with pytest.raises(InvalidStatus) as refused:
            await service.open_socket()
        assert refused.value.response.status_code == 403
        headers = {"X-Forwarded-Proto": "https"}
        async with service.open_socket(additional_headers=headers):
            pass


@on_server_loop
async def test_other_paths_ignore_the_upgrade(world: World) -> None:
    async with serve(world) as service, service.client() as client:
        headers = {"Connection": "Upgrade", "Upgrade": "websocket"}
        response = await client.get("/v1/assets", headers=headers)
        assert response.status_code == 200


@on_server_loop
async def test_a_revoked_key_closes_its_sockets(own_world: World) -> None:
    async with serve(own_world) as service, open_database(own_world) as database:
        key_id, key = await make_key(database, "passing")
        async with service.socket(key) as silent, service.socket(key) as busy:
            await busy.subscribe()
            await wait_for_subscriptions()
            await api_keys.revoke_api_key(database, key_id)
            publish(1)
            for socket in (busy, silent):
                assert await socket.wait_for_close() == (4403, "The API key has ended")


@on_server_loop
async def test_a_key_with_other_rights_has_to_connect_again(own_world: World) -> None:
    async with serve(own_world) as service, open_database(own_world) as database:
        key_id, key = await make_key(database, "changing")
        async with service.socket(key) as socket:
            await api_keys.update_api_key(
                database, key_id, lambda record: replace(record, asset_ids=[SEEN])
            )
            reason = "The API key has other rights now: connect again"
            assert await socket.wait_for_close() == (4403, reason)


@on_server_loop
async def test_a_stop_closes_all_sockets_so_that_clients_connect_again(world: World) -> None:
    async with open_socket(world) as (service, socket), service.open_socket() as new:
        await socket.subscribe()
        await wait_for_subscriptions()
        service.gateway.streams.end_all()
        assert await socket.wait_for_close() == (1012, "Service restart")
        assert await Socket(new).wait_for_close() == (1012, "Service restart")
        with pytest.raises(InvalidStatus) as refused:
            await service.open_socket()
        assert refused.value.response.status_code == 503


@on_server_loop
async def test_more_sockets_than_allowed_are_to_try_again_later(world: World) -> None:
    async with (
        open_socket(world, streams_per_key=1) as (service, _),
        service.open_socket() as connection,
    ):
        await connection.send(INIT % world.keys.full)
        code, reason = await Socket(connection).wait_for_close()
        assert code == 1013
        assert reason == "API key: at most 1 WebSockets may be open at a time"


@on_server_loop
async def test_a_socket_has_a_limit_of_operations(world: World) -> None:
    async with open_socket(world) as (_, socket):
        for number in range(MAX_OPERATIONS + 1):
            await socket.subscribe(id=str(number))
        answer = await socket.receive()
        assert (answer["id"], answer["type"]) == (str(MAX_OPERATIONS), "error")
        assert answer["payload"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"


@on_server_loop
async def test_each_operation_counts_for_the_rate_limit(world: World) -> None:
    async with serve(world, rate_limit=1, rate_burst=2) as service:
        freeze_limiter(service.gateway)
        async with service.socket() as socket:  # the first request
            await socket.subscribe(id="1")
            await wait_for_subscriptions()  # operations of a socket begin in any order
            await socket.subscribe(id="2")
            answer = await socket.receive()
    assert (answer["id"], answer["type"]) == ("2", "error")
    assert answer["payload"][0]["extensions"]["code"] == "RATE_LIMITED"


@on_server_loop
async def test_a_client_that_vanishes_ends_its_subscriptions(world: World) -> None:
    async with serve(world) as service, service.socket() as socket:
        await socket.subscribe()
        await wait_for_subscriptions()
        socket.connection.transport.abort()
        await wait_for_subscriptions(0)
        await wait_until(lambda: len(service.gateway.streams.sockets) == 0)


def test_reasons_fit_into_a_frame() -> None:
    assert CloseError(4400, "\u00e9" * 100).reason == "\u00e9" * 61


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
        publish(UnavailableError("the database is away", UnavailableCause.DATABASE_UNREACHABLE))
        events = [event async for event in read_events(response)]
    [(_, body), end] = events
    assert body["errors"][0]["extensions"] == {
        "code": "DATABASE_UNREACHABLE",
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
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.01)

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


MAX_KB = 100.0


@pytest.mark.slow
def test_an_idle_stream_takes_less_than_100_kilobytes(tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    program = [sys.executable, "-m", "bench", "followers", "--output", str(output)]
    subprocess.run([*program, "--followers", "200", "--writes", "1"], cwd=ROOT, check=True)
    [table] = read_records(output)["followers"].tables
    assert [row[0] for row in table.rows] == ["websocket", "sse"]
    assert all(float(row[table.header.index("KB each, idle")]) < MAX_KB for row in table.rows)
