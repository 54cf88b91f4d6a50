"""WebSockets with graphql-transport-ws: messages, limits, and the codes that close them."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from msgspec.structs import replace
from websockets.exceptions import InvalidStatus

from gateway.graphql import websocket
from gateway.graphql.websocket import MAX_OPERATIONS, OPERATION_METHOD, CloseError
from gateway.server.websocket_connection import MAX_FRAMES_WITHOUT_KEY, MAX_MESSAGE_BYTES
from storage.administration import api_keys
from tests.fixtures import SEEN, UNIT, World, freeze_limiter, make_key, open_database
from tests.gateway.server.served_application import on_server_loop, run, wait_until
from tests.gateway.subscriptions.service import (
    PROTOCOL,
    TICKS,
    Service,
    Socket,
    count_subscriptions,
    publish,
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
    (['{"type": "connection_init"}'], 4403, "No API key found in request"),
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
            assert refused.value.response.status_code == 400
            body = orjson.loads(refused.value.response.body or b"")
            assert body["code"] == "ORIGIN_NOT_ALLOWED"
            assert body["message"] == "Web pages of this origin may not connect"


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
