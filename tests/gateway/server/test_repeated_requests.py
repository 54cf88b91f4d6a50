"""A request in the bytes of one that was answered is answered as that one was, without parsing."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from gateway.cache.fast_path import BodyLookup, FastResponse
from gateway.server import repeated_requests
from gateway.server.admission import Admission
from tests.gateway.log_lines import LogLines
from tests.gateway.server.exchanges import STEADY, echo
from tests.gateway.server.served_application import (
    GET,
    HOST,
    Listener,
    Streams,
    listen,
    on_server_loop,
    read_response,
    wait_until,
)

KNOWN = b"GET /known HTTP/1.1\r\n" + HOST + b"\r\n"
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
        return FastResponse(200, lines, b"fast", "/known", "key", "Op", self.look_up_again)


@pytest.fixture
def stub() -> FastPathStub:
    return FastPathStub()


async def ask(streams: Streams, raw: bytes, count: int = 1) -> list[bool]:
    """Send bytes; return for each response whether the fast path has made it."""
    streams[1].write(raw)
    return [b"x-fast" in await read_response(streams[0]) for _ in range(count)]


def serve(stub: FastPathStub, **options: Any) -> AbstractAsyncContextManager[Listener]:
    return listen(echo, STEADY, None, stub.find, fast_path_by_body=stub.find_by_body, **options)


@pytest.mark.parametrize("raw", [KNOWN, POST])
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
        assert await ask(streams, KNOWN) == [True]
        stub.is_cached = False
        assert await ask(streams, KNOWN) == [False]
        stub.is_cached = True
        assert await ask(streams, KNOWN) == [True]
        assert (stub.read, stub.repeated) == (2, 2)
        streams[1].close()


@on_server_loop
async def test_the_bytes_of_a_request_in_a_body_are_a_body(stub: FastPathStub) -> None:
    async with serve(stub) as connect:
        streams = await connect()
        assert await ask(streams, KNOWN) == [True]
        length = b"Content-Length: %d\r\n\r\n" % len(KNOWN)
        streams[1].write(b"POST /other HTTP/1.1\r\n" + HOST + length)
        [protocol] = connect.protocols
        await wait_until(lambda: protocol.cycle is not None)
        streams[1].write(KNOWN)
        response = await read_response(streams[0])
        assert response.endswith(b"/other " + KNOWN)
        streams[1].write(b"GET /half HTTP/1.1\r\nX-Half: ")
        await wait_until(lambda: protocol._buffered_bytes > 0)
        assert await ask(streams, KNOWN) == [False]
        assert stub.repeated == 0
        streams[1].close()


@on_server_loop
async def test_only_whole_requests_are_remembered(stub: FastPathStub) -> None:
    async with serve(stub) as connect:
        streams = await connect()
        for _ in range(2):
            assert await ask(streams, KNOWN * 2, 2) == [True, True]
            assert await ask(streams, KNOWN + GET, 2) == [True, False]
            assert await ask(streams, GET + KNOWN, 2) == [False, True]
            assert await ask(streams, KNOWN + POST[:-2], 1) == [True]
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
            assert await ask(streams, GET + KNOWN, 2) == [False, True]
        assert (stub.read, stub.repeated) == (1, 1)
        streams[1].close()


@on_server_loop
async def test_a_request_waits_for_the_response_before_it(stub: FastPathStub) -> None:
    async with serve(stub) as connect:
        streams = await connect()
        assert await ask(streams, KNOWN) == [True]
        streams[1].write(b"POST /other HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\n\r\nbo")
        [protocol] = connect.protocols
        await wait_until(lambda: protocol.cycle is not None)
        assert await ask(streams, b"dy" + KNOWN, 2) == [False, False]
        assert await ask(streams, KNOWN) == [True]
        assert stub.repeated == 1
        streams[1].close()


@on_server_loop
async def test_the_id_of_a_client_is_not_repeated(stub: FastPathStub) -> None:
    raw = KNOWN[:-2] + b"X-Request-Id: %b\r\n\r\n"
    async with serve(stub) as connect:
        streams = await connect()
        for number in (b"1", b"1", b"2", b"?"):
            streams[1].write(raw % number)
            is_own = b"x-request-id: %b\r\n" % number in await read_response(streams[0])
            assert is_own == (number != b"?")
        assert (stub.read, stub.repeated) == (4, 0)
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
            assert await ask(streams, KNOWN[:-2] + forwarded + b"\r\n") == [True]
            streams[1].close()
    assert stub.repeated == 2
    assert [each.split('"client":"')[1].split('"')[0] for each in lines.texts] == clients


@on_server_loop
async def test_a_worker_that_drains_says_that_the_response_is_the_last_one(
    stub: FastPathStub,
) -> None:
    async with serve(stub) as connect:
        streams = await connect()
        assert await ask(streams, KNOWN) == [True]
        connect.table.is_draining = True
        streams[1].write(KNOWN)
        assert b"connection: close" in (await read_response(streams[0])).lower()
        assert await streams[0].read() == b""
        streams[1].close()


@on_server_loop
async def test_a_connection_stays_open_while_it_is_used(stub: FastPathStub) -> None:
    async with serve(stub) as connect:
        streams = await connect()
        assert await ask(streams, KNOWN) == [True]
        assert await ask(streams, KNOWN) == [True]  # as the timer of the last one still runs
        assert await ask(streams, KNOWN) == [True]
        assert stub.repeated == 2
        [protocol] = connect.protocols
        protocol.timeout_keep_alive_handler()
        assert await ask(streams, KNOWN) == [True]
        protocol._idle_since -= STEADY.keep_alive_seconds
        protocol.timeout_keep_alive_handler()
        assert await streams[0].read() == b""
        streams[1].close()


@on_server_loop
async def test_the_least_recently_used_are_forgotten(
    stub: FastPathStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_requests, "MAX_REPEATED_REQUESTS", 2)
    async with serve(stub) as connect:
        streams = await connect()
        for number in b"1223211":
            await ask(streams, KNOWN[:-2] + b"X-Number: %c\r\n\r\n" % number)
        assert (stub.read, stub.repeated) == (4, 3)
        streams[1].close()
