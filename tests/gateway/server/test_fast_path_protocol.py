"""A POST that the fast path may know waits for its body, and otherwise goes the usual way."""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from gateway import response_cache
from gateway.response_cache import BodyLookup, FastResponse
from gateway.server import http_connection
from gateway.server.admission import Admission
from tests.gateway.log_lines import LogLines
from tests.gateway.server.served_application import (
    GET,
    HOST,
    SHORT,
    STEADY,
    Listener,
    Streams,
    echo,
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
    monkeypatch.setattr(http_connection, "MAX_AWAITED_BODIES", 1)
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


KNOWN_REPEATED_REQUESTS = b"GET /known HTTP/1.1\r\n" + HOST + b"\r\n"
POST = b"POST /known HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\n\r\nbody"


class FastPathStub:
    """Knows `/known`; counts the requests that it reads, and those that it looks up again."""

    def __init__(self) -> None:
        self.read = self.repeated = 0
        self.is_cached = True

    def find(self, target: bytes, headers: list[tuple[bytes, bytes]]) -> FastResponse | None:
        if target != b"/known":
            return None
        self.read += 1
        return self._respond()

    def find_by_body(self, target: bytes, headers: list[tuple[bytes, bytes]]) -> BodyLookup | None:
        return (lambda body: self.find(target, headers)) if target == b"/known" else None

    def look_up_again(self) -> FastResponse | None:
        self.repeated += 1
        return self._respond()

    def _respond(self) -> FastResponse | None:
        if not self.is_cached:
            return None
        lines = b"content-length: 4\r\nx-fast: 1\r\n"
        return FastResponse(200, lines, b"fast", "/known", "key", "Op", "Op", self.look_up_again)


@pytest.fixture
def stub() -> FastPathStub:
    return FastPathStub()


async def ask(streams: Streams, raw: bytes, count: int = 1) -> list[bool]:
    """Send bytes; return for each response whether the fast path has made it."""
    streams[1].write(raw)
    return [b"x-fast" in await read_response(streams[0]) for _ in range(count)]


def serve(stub: FastPathStub, **options: Any) -> AbstractAsyncContextManager[Listener]:
    return listen(echo, STEADY, None, stub.find, fast_path_by_body=stub.find_by_body, **options)


@pytest.mark.parametrize("raw", [KNOWN_REPEATED_REQUESTS, POST])
@on_server_loop
async def test_equal_bytes_are_read_once(stub: FastPathStub, raw: bytes, lines: LogLines) -> None:
    responses = []
    async with serve(stub) as connect:
        for _ in range(2):  # also the first request of a connection
            streams = await connect()
            for _ in range(2):
                streams[1].write(raw)
                responses.append(await read_response(streams[0]))
            assert connect.table._idle
            streams[1].close()
    assert (stub.read, stub.repeated) == (1, 3)
    ids = {response.partition(b"x-request-id: ")[2][:32] for response in responses}
    assert len(ids) == 4
    without_ids = {
        response.replace(next(id for id in ids if id in response), b"") for response in responses
    }
    assert len(without_ids) == 1
    assert {each.split('"request_id":"')[1][:32].encode() for each in lines.texts} == ids
    logged = lines.last()
    assert (logged["method"], logged["route"]) == (raw.split()[0].decode(), "/known")
    assert (logged["status"], logged["bytes"], logged["key_id"]) == (200, 4, "key")
    assert (logged["operation"], logged["client"]) == ("Op", "127.0.0.1")


@on_server_loop
async def test_a_response_that_is_no_longer_cached_is_for_the_application(
    stub: FastPathStub,
) -> None:
    async with serve(stub) as connect:
        streams = await connect()
        assert await ask(streams, KNOWN_REPEATED_REQUESTS) == [True]
        stub.is_cached = False
        assert await ask(streams, KNOWN_REPEATED_REQUESTS) == [False]
        stub.is_cached = True
        assert await ask(streams, KNOWN_REPEATED_REQUESTS) == [True]
        assert (stub.read, stub.repeated) == (2, 2)
        streams[1].close()


@on_server_loop
async def test_the_bytes_of_a_request_in_a_body_are_a_body(stub: FastPathStub) -> None:
    async with serve(stub) as connect:
        streams = await connect()
        assert await ask(streams, KNOWN_REPEATED_REQUESTS) == [True]
        length = b"Content-Length: %d\r\n\r\n" % len(KNOWN_REPEATED_REQUESTS)
        streams[1].write(b"POST /other HTTP/1.1\r\n" + HOST + length)
        [protocol] = connect.protocols
        await wait_until(lambda: protocol.exchange is not None)
        streams[1].write(KNOWN_REPEATED_REQUESTS)
        response = await read_response(streams[0])
        assert response.endswith(b"/other " + KNOWN_REPEATED_REQUESTS)
        streams[1].write(b"GET /half HTTP/1.1\r\nX-Half: ")
        await wait_until(lambda: protocol._buffered_bytes > 0)
        assert await ask(streams, KNOWN_REPEATED_REQUESTS) == [False]
        assert stub.repeated == 0
        streams[1].close()


@on_server_loop
async def test_only_whole_requests_are_remembered(stub: FastPathStub) -> None:
    async with serve(stub) as connect:
        streams = await connect()
        for _ in range(2):
            assert await ask(streams, KNOWN_REPEATED_REQUESTS * 2, 2) == [True, True]
            assert await ask(streams, KNOWN_REPEATED_REQUESTS + GET, 2) == [True, False]
            assert await ask(streams, GET + KNOWN_REPEATED_REQUESTS, 2) == [False, True]
            assert await ask(streams, KNOWN_REPEATED_REQUESTS + POST[:-2], 1) == [True]
            assert await ask(streams, POST[-2:]) == [True]
        assert (stub.read, stub.repeated) == (3, 9)  # of POST, what arrived in two parts is read
        streams[1].close()


@on_server_loop
async def test_a_request_behind_a_rejected_one_is_known_by_its_own_bytes(
    stub: FastPathStub,
) -> None:
    async with serve(stub, admission=Admission(0, 0)) as connect:
        streams = await connect()
        for _ in range(2):
            assert await ask(streams, GET + KNOWN_REPEATED_REQUESTS, 2) == [False, True]
        assert (stub.read, stub.repeated) == (1, 1)
        streams[1].close()


@on_server_loop
async def test_a_request_waits_for_the_response_before_it(stub: FastPathStub) -> None:
    async with serve(stub) as connect:
        streams = await connect()
        assert await ask(streams, KNOWN_REPEATED_REQUESTS) == [True]
        streams[1].write(b"POST /other HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\n\r\nbo")
        [protocol] = connect.protocols
        await wait_until(lambda: protocol.exchange is not None)
        assert await ask(streams, b"dy" + KNOWN_REPEATED_REQUESTS, 2) == [False, False]
        assert await ask(streams, KNOWN_REPEATED_REQUESTS) == [True]
        assert stub.repeated == 1
        streams[1].close()


@on_server_loop
async def test_the_id_of_a_client_is_not_repeated(stub: FastPathStub) -> None:
    raw = KNOWN_REPEATED_REQUESTS[:-2] + b"X-Request-Id: %b\r\n\r\n"
    async with serve(stub) as connect:
        streams = await connect()
        for number in (b"1", b"1", b"2", b"?"):
            streams[1].write(raw % number)
            is_own = b"x-request-id: %b\r\n" % number in await read_response(streams[0])
            assert is_own == (number != b"?")
        assert (stub.read, stub.repeated) == (4, 0)
        streams[1].close()


@on_server_loop
async def test_a_request_of_a_trace_is_not_repeated(stub: FastPathStub) -> None:
    raw = KNOWN_REPEATED_REQUESTS[:-2] + b"Traceparent: 00-1-1-01\r\n\r\n"
    async with serve(stub) as connect:
        streams = await connect()
        for _ in range(2):
            streams[1].write(raw)
            await read_response(streams[0])
        assert (stub.read, stub.repeated) == (2, 0)
        streams[1].close()


@pytest.mark.parametrize(
    ("forwarded", "clients"),
    [
        (b"", ["127.0.0.2", "127.0.0.2", "127.0.0.3"]),
        (b"X-Forwarded-For: 203.0.113.9\r\n", ["203.0.113.9"] * 3),
    ],
)
@on_server_loop
async def test_the_client_is_the_one_of_this_request(
    stub: FastPathStub, forwarded: bytes, clients: list[str], lines: LogLines
) -> None:
    async with serve(stub, proxy_hops=1) as connect:
        for address in ("127.0.0.2", "127.0.0.2", "127.0.0.3"):
            streams = await connect(address)
            assert await ask(streams, KNOWN_REPEATED_REQUESTS[:-2] + forwarded + b"\r\n") == [True]
            streams[1].close()
    assert stub.repeated == 2
    assert [each.split('"client":"')[1].split('"')[0] for each in lines.texts] == clients


@on_server_loop
async def test_a_worker_that_drains_says_that_the_response_is_the_last_one(
    stub: FastPathStub,
) -> None:
    async with serve(stub) as connect:
        streams = await connect()
        assert await ask(streams, KNOWN_REPEATED_REQUESTS) == [True]
        connect.table.is_draining = True
        streams[1].write(KNOWN_REPEATED_REQUESTS)
        assert b"connection: close" in (await read_response(streams[0])).lower()
        assert await streams[0].read() == b""
        streams[1].close()


@on_server_loop
async def test_a_connection_stays_open_while_it_is_used(stub: FastPathStub) -> None:
    async with serve(stub) as connect:
        streams = await connect()
        assert await ask(streams, KNOWN_REPEATED_REQUESTS) == [True]
        assert await ask(streams, KNOWN_REPEATED_REQUESTS) == [
            True
        ]  # as the timer of the last one still runs
        assert await ask(streams, KNOWN_REPEATED_REQUESTS) == [True]
        assert stub.repeated == 2
        [protocol] = connect.protocols
        protocol.on_idle_timeout()
        assert await ask(streams, KNOWN_REPEATED_REQUESTS) == [True]
        protocol._idle_since -= STEADY.keep_alive_seconds
        protocol.on_idle_timeout()
        assert await streams[0].read() == b""
        streams[1].close()


@on_server_loop
async def test_the_least_recently_used_are_forgotten(
    stub: FastPathStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_cache, "MAX_REQUESTS", 2)
    async with serve(stub) as connect:
        streams = await connect()
        for number in b"1223211":
            await ask(streams, KNOWN_REPEATED_REQUESTS[:-2] + b"X-Number: %c\r\n\r\n" % number)
        assert (stub.read, stub.repeated) == (4, 3)
        streams[1].close()
