"""A worker that is about to stop: each connection ends with a response that says so."""

import asyncio
import errno
import select
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.response_cache import FastResponse
from gateway.server.admission import Admission
from gateway.server.config import ConnectionLimits
from gateway.server.supervisor import stop_handshakes
from tests.gateway.server.processes import Start, clients, get, keeping_client
from tests.gateway.server.served_application import (
    GET,
    HOST,
    FastPathLookup,
    Listener,
    echo,
    listen,
    on_server_loop,
    read_response,
    statuses,
    wait_until,
)
from tests.waiting import TIMEOUT_SECONDS
from tests.waiting import wait_until as wait_for_process

LIMITS = ConnectionLimits(linger_seconds=0.1)
CLOSE = b"connection: close\r\n"


class Gate:
    """An application that answers once it is told to."""

    def __init__(self) -> None:
        self.waiting = 0
        self.opened = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.waiting += 1
        await self.opened.wait()
        await echo(scope, receive, send)


@asynccontextmanager
async def drained(app: ASGIApp = echo) -> AsyncGenerator[Listener]:
    """A worker that drains from the start."""
    async with listen(app, LIMITS) as connect:
        connect.table.is_draining = True
        yield connect


def close_if_idle(connect: Listener) -> None:
    for protocol in connect.protocols:
        protocol.close_if_idle()


@on_server_loop
async def test_a_response_says_that_the_connection_closes_once_the_worker_drains() -> None:
    async with listen(echo, LIMITS) as connect:
        reader, writer = await connect()
        writer.write(GET)
        assert CLOSE not in await read_response(reader)
        connect.table.is_draining = True
        writer.write(GET)
        assert CLOSE in await read_response(reader)
        assert await reader.read() == b""
        writer.close()


@on_server_loop
async def test_of_pipelined_requests_all_are_answered_and_the_last_response_says_close() -> None:
    async with drained() as connect:
        reader, writer = await connect()
        writer.write(GET * 200)  # more than are parsed at once
        received = await reader.read()
        assert statuses(received) == [200] * 200
        assert received.count(CLOSE) == 1
        assert CLOSE in received.rpartition(b"HTTP/1.1 ")[2]
        writer.close()


@on_server_loop
async def test_requests_in_progress_and_queued_when_draining_begins_are_answered() -> None:
    gate = Gate()
    async with listen(gate, LIMITS) as connect:
        reader, writer = await connect()
        writer.write(GET * 3)
        await wait_until(lambda: gate.waiting == 1)
        connect.table.is_draining = True
        close_if_idle(connect)
        gate.opened.set()
        received = await reader.read()
        assert statuses(received) == [200] * 3
        assert received.count(CLOSE) == 1
        writer.close()


@pytest.mark.parametrize("begun", [b"G", GET[:-2], b"POST / HTTP/1.1\r\n" + HOST])
@on_server_loop
async def test_a_request_that_has_begun_to_arrive_is_answered(begun: bytes) -> None:
    async with drained() as connect:
        reader, writer = await connect()
        writer.write(begun)
        await wait_until(lambda: any(each.has_more_requests() for each in connect.protocols))
        close_if_idle(connect)
        rest = b"Content-Length: 0\r\n\r\n" if begun.startswith(b"POST") else GET[len(begun) :]
        writer.write(rest)
        assert CLOSE in await read_response(reader)
        assert await reader.read() == b""
        writer.close()


@on_server_loop
async def test_a_request_that_the_kernel_holds_is_answered() -> None:
    async with drained() as connect:
        reader, writer = await connect()
        await wait_until(lambda: len(connect.protocols) == 1)
        [protocol] = connect.protocols
        protocol.flow.pause_reading()
        writer.write(GET)
        await wait_until(protocol.connection.has_input)
        protocol.close_if_idle()
        protocol.flow.resume_reading()
        assert CLOSE in await read_response(reader)
        writer.close()


@on_server_loop
async def test_an_idle_connection_is_closed_when_its_time_is_over() -> None:
    async with drained() as connect:
        reader, writer = await connect()
        await wait_until(lambda: len(connect.protocols) == 1)
        close_if_idle(connect)
        assert await reader.read() == b""
        writer.close()


@on_server_loop
async def test_what_arrives_behind_the_last_response_does_not_destroy_it() -> None:
    """An early close would make the kernel reset the connection, and the client lose bytes."""

    gate = Gate()
    async with drained(gate) as connect:
        reader, writer = await connect()
        writer.write(GET)
        await wait_until(lambda: gate.waiting == 1)
        gate.opened.set()
        head = await read_response(reader)
        writer.write(GET * 1000)
        await writer.drain()
        assert CLOSE in head
        assert await reader.read() == b""
        assert gate.waiting == 1
        writer.close()


def answer_fast(target: bytes, headers: list[tuple[bytes, bytes]]) -> FastResponse | None:
    return FastResponse(
        status=200, header_lines=b"content-length: 0\r\nx-fast: 1\r\n", body=b"",
        route="/", key_id="k", operation="o",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fast_path", "admission"),
    [
        (answer_fast, lambda: None),
        (None, lambda: Admission(max_in_flight=0)),
    ],
    ids=["cached", "rejected"],
)
@on_server_loop
async def test_responses_that_the_protocol_makes_itself_say_close_too(
    fast_path: FastPathLookup | None,
    admission: Callable[[], Admission | None],
) -> None:
    async with listen(echo, LIMITS, None, fast_path, admission()) as connect:
        reader, writer = await connect()
        writer.write(GET)
        assert CLOSE not in await read_response(reader)
        connect.table.is_draining = True
        writer.write(GET)
        assert CLOSE in await read_response(reader)
        assert await reader.read() == b""
        writer.close()


def test_during_the_notice_everything_is_served_and_says_close(start: Start) -> None:
    """Load balancers learn meanwhile from the readiness probe to go elsewhere."""
    running = start(service={"drain_notice_seconds": 3600})
    address = running.address
    with keeping_client() as client:
        assert client.get(f"{address}/health/ready").status_code == 200
        running.process.send_signal(signal.SIGTERM)
        wait_for_process(lambda: get(f"{address}/health/ready").status_code == 503)
        for response in (client.get(f"{address}/pid"), get(f"{address}/pid")):
            assert (response.status_code, response.headers["connection"]) == (200, "close")
    for _ in range(2):
        running.process.send_signal(signal.SIGINT)
    assert running.process.wait(TIMEOUT_SECONDS) == 130  # also during the notice


@pytest.mark.skipif(sys.platform != "linux", reason="filters of sockets are those of Linux")
def test_who_connects_when_the_service_stops_is_accepted_or_refused() -> None:
    """Not reset, after which a client cannot know whether its request was processed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        with socket.create_connection(address) as early:
            early.sendall(b"a")
            stop_handshakes(listener)
            late = socket.socket()
            late.setblocking(False)
            assert late.connect_ex(address) == errno.EINPROGRESS  # its first packet is dropped
            accepted, _ = listener.accept()
            assert accepted.recv(1) == b"a"
            accepted.close()
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
        listener.close()
        assert select.select([], [late], [], TIMEOUT_SECONDS)[1]  # when it has tried again
        assert late.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED
        late.close()


def test_of_requests_on_new_connections_none_is_lost_when_the_service_stops(start: Start) -> None:
    running = start(workers=2)
    with clients(running.port, keeping=0, fresh=8) as load:
        wait_for_process(lambda: load.answers > 50)
        assert running.stop()[0] == 0
        wait_for_process(lambda: len(load.failures) > 20)
    assert [each for each in load.failures if "Refused" not in each] == []


def test_what_a_terminal_stops_gives_no_notice(start: Start) -> None:
    running = start(service={"drain_notice_seconds": 3600})
    assert get(f"{running.address}/health/ready").status_code == 200
    assert running.stop(signal.SIGINT)[0] == 0
