"""A POST that the fast path may know waits for its body, and otherwise goes the usual way."""

import asyncio
from dataclasses import replace

import pytest
from starlette.types import Receive, Scope, Send

from gateway.cache.fast_path import BodyLookup, FastResponse
from gateway.server import fast_path_protocol
from gateway.server.admission import Admission
from tests.gateway.log_lines import LogLines
from tests.gateway.server.exchanges import SHORT, STEADY, echo
from tests.gateway.server.served_application import (
    GET,
    HOST,
    Listener,
    listen,
    on_server_loop,
    read_response,
    statuses,
    wait_until,
)

KNOWN, BODY = b"/known", b"known body"
FOUND = FastResponse(200, b"content-length: 4\r\nx-fast: 1\r\n", b"fast", "/known", "key", "Op")
PATIENT = replace(STEADY, linger_seconds=5)


def head(target: bytes = KNOWN, length: int = len(BODY)) -> bytes:
    return b"POST %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n" % (target, HOST, length)


def look_up(target: bytes, headers: list[tuple[bytes, bytes]]) -> BodyLookup | None:
    return (lambda body: FOUND if body == BODY else None) if target == KNOWN else None


async def wait_until_waiting(connect: Listener, count: int = 1) -> None:
    await wait_until(lambda: connect.table.awaited_bodies == count)


@on_server_loop
async def test_a_known_body_is_answered_however_it_is_cut(lines: LogLines) -> None:
    raw = head() + BODY

    async with listen(echo, PATIENT, fast_path_by_body=look_up) as connect:
        streams = await connect()
        for cut in (0, len(raw) - len(BODY), len(raw) - 3):
            streams[1].write(raw[:cut])
            if cut:
                await wait_until_waiting(connect)
            streams[1].write(raw[cut:])
            assert (await read_response(streams[0])).endswith(b"\r\n\r\nfast")
            assert connect.table.awaited_bodies == 0
        streams[1].close()
    assert len(lines.texts) == 3
    logged = lines.last()
    assert (logged["method"], logged["route"], logged["operation"]) == ("POST", "/known", "Op")
    assert (logged["status"], logged["bytes"], logged["client"]) == (200, 4, "127.0.0.1")


@pytest.mark.parametrize(("target", "body"), [(KNOWN, b"other body"), (b"/", BODY)])
@on_server_loop
async def test_all_else_is_for_the_application(target: bytes, body: bytes) -> None:
    async with listen(echo, PATIENT, fast_path_by_body=look_up) as connect:
        streams = await connect()
        for _ in range(2):
            streams[1].write(head(target) + body + head() + BODY + GET)
            responses = [await read_response(streams[0]) for _ in range(3)]
            # What is behind a request is parsed once that is answered.
            assert [b"x-fast" in each for each in responses] == [False, True, False]
            assert body in responses[0]
        streams[1].close()


@on_server_loop
async def test_a_body_that_does_not_arrive_is_given_up_by_the_application(lines: LogLines) -> None:
    async with listen(echo, SHORT, fast_path_by_body=look_up) as connect:
        reader, writer = await connect()
        writer.write(head() + BODY[:3])
        assert statuses(await reader.read()) == [408]
        assert connect.table.awaited_bodies == 0
        writer.close()
    assert [line.count('"status":408') for line in lines.texts] == [1]
    assert lines.last()["method"] == "POST"


@on_server_loop
async def test_a_client_that_leaves_is_logged_by_the_application(lines: LogLines) -> None:
    async with listen(echo, PATIENT, fast_path_by_body=look_up) as connect:
        _, writer = await connect()
        writer.write(head() + BODY[:3])
        await wait_until_waiting(connect)
        writer.close()
        await wait_until(lambda: bool(lines.texts))
        assert connect.table.awaited_bodies == 0
    assert (lines.last()["status"], lines.last()["method"]) == (499, "POST")


@on_server_loop
async def test_only_so_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_path_protocol, "MAX_AWAITED_BODIES", 1)
    started = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        started.set()
        await echo(scope, receive, send)

    async with listen(app, PATIENT, fast_path_by_body=look_up) as connect:
        first, second = await connect(), await connect()
        first[1].write(head())
        await wait_until_waiting(connect)
        assert not started.is_set()
        second[1].write(head())
        await started.wait()
        second[1].write(BODY)
        assert b"x-fast" not in await read_response(second[0])
        first[1].write(BODY)
        assert b"x-fast" in await read_response(first[0])
        first[1].close()
        second[1].close()


@on_server_loop
async def test_a_request_that_waits_while_the_worker_drains_is_the_last_one() -> None:
    async with listen(echo, PATIENT, fast_path_by_body=look_up) as connect:
        streams = await connect()
        streams[1].write(head())
        await wait_until_waiting(connect)
        connect.table.is_draining = True
        connect.protocols[0].close_if_idle()
        assert connect.table.awaited_bodies == 0
        streams[1].write(BODY)
        response = await read_response(streams[0])
        assert b"connection: close" in response.lower()
        assert BODY in response
        assert await streams[0].read() == b""
        streams[1].close()


@on_server_loop
async def test_a_request_that_is_not_known_is_rejected_by_an_overloaded_worker() -> None:
    admission = Admission(0, 0)
    async with listen(echo, PATIENT, admission=admission, fast_path_by_body=look_up) as connect:
        streams = await connect()
        streams[1].write(head() + BODY)
        assert b"x-fast" in await read_response(streams[0])
        streams[1].write(head() + b"other body")
        assert statuses(await read_response(streams[0])) == [503]
        streams[1].write(head() + BODY)
        assert b"x-fast" in await read_response(streams[0])
        streams[1].close()
