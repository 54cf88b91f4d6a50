"""Clients that take what they can get: they lose it, others are served, and the log says so."""

import asyncio
import errno
import socket
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from gateway.cache.fast_path import FastResponse
from gateway.server import tls
from gateway.server.config import ConnectionLimits
from gateway.server.connections.connection_table import ConnectionTable
from gateway.server.connections.listener import Listener as ServerListener
from gateway.server.server import open_listeners
from rest.request_body import receive_body
from tests.gateway.log_lines import LogLines
from tests.gateway.server.served_application import (
    GET,
    HOST,
    LAST_GET,
    Streams,
    fetch,
    listen,
    on_server_loop,
    open_slow_reader,
    statuses,
    wait_until,
)

BIG = bytes(16_000_000)
"""More than the kernel takes for a client that does not read."""
LAST_SMALL = LAST_GET.replace(b" / ", b" /small ")
PATIENT = ConnectionLimits(grace_seconds=600, body_idle_seconds=600)
"""Never closes a client for its pace within a test."""


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def context(request: pytest.FixtureRequest, tmp_path: Path) -> ssl.SSLContext | None:
    if not request.param:
        return None
    return tls.create_ssl_context(*tls.ensure_certificate(tmp_path))


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the body, then answers with many bytes, or with few at `/small`."""
    await receive_body(receive, 1_000_000)
    body = b"small" if scope["raw_path"] == b"/small" else BIG
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


# Slow readers


@on_server_loop
async def test_slow_readers_over_their_budget_are_closed_and_others_served(
    context: ssl.SSLContext | None, lines: LogLines
) -> None:
    limits = replace(PATIENT, max_unread_bytes_per_address=3 * len(BIG))

    async with listen(app, limits, context) as connect:
        writers = [(await open_slow_reader(connect))[1] for _ in range(6)]
        assert len(await fetch(connect, LAST_GET)) > len(BIG)
        await wait_until(lambda: len(connect.protocols) <= 3)
        assert connect.table.unread.total_bytes <= limits.max_unread_bytes_per_address
        for writer in writers:
            writer.transport.abort()
        await wait_until(lambda: not connect.protocols)
        assert connect.table.unread.total_bytes == len(connect.table) == 0
    assert lines.last()["limit"] == "max_unread_bytes_per_address"
    assert lines.last()["client"] == "127.0.0.1"


@on_server_loop
async def test_behind_a_proxy_the_clients_have_budgets_and_not_the_proxy() -> None:
    limits = replace(PATIENT, max_unread_bytes_per_address=len(BIG) * 3 // 2)
    request = GET[:-2] + b"X-Forwarded-For: 192.0.2.%d\r\n\r\n"

    async with listen(app, limits, proxy_hops=1) as connect:
        writers = [(await open_slow_reader(connect, request % n))[1] for n in range(3)]
        assert len(connect.protocols) == 3
        writers.append((await open_slow_reader(connect, request % 0))[1])
        await wait_until(lambda: len(connect.protocols) == 3)
        for writer in writers:
            writer.transport.abort()


@on_server_loop
async def test_a_client_that_hardly_reads_is_closed_and_one_that_reads_is_not(
    context: ssl.SSLContext | None, lines: LogLines
) -> None:
    limits = replace(PATIENT, grace_seconds=0.1)

    async with listen(app, limits, context) as connect:
        _, writer = await open_slow_reader(connect)
        _, closing = await open_slow_reader(connect, LAST_GET)
        assert len(await fetch(connect, LAST_GET)) > len(BIG)
        await wait_until(lambda: not connect.protocols)
        for each in (writer, closing):
            each.transport.abort()
    assert {line.split('"limit":"')[1].split('"')[0] for line in lines.texts} == {
        "min_bytes_per_second"
    }


@on_server_loop
async def test_what_is_left_of_a_response_does_not_outlive_its_connection_for_long(
    lines: LogLines,
) -> None:
    """The application is done with a response, and its keep-alive ends before it is read."""
    found = FastResponse(200, b"content-length: 16000000\r\n", BIG, "/", "key")
    limits = replace(PATIENT, grace_seconds=0.1, keep_alive_seconds=1)

    async with listen(app, limits, fast_path=lambda *_: found) as connect:
        _, writer = await open_slow_reader(connect)
        await wait_until(lambda: not connect.protocols)
        writer.transport.abort()
    assert lines.last()["limit"] == "min_bytes_per_second"


# Dripped bodies


@on_server_loop
async def test_dripped_bodies_are_given_up_and_others_served(
    context: ssl.SSLContext | None,
) -> None:
    limits = ConnectionLimits(grace_seconds=0.3, linger_seconds=0.1)
    head = GET[:-2] + b"Content-Length: 5000\r\n\r\n"

    async with listen(app, limits, context) as connect:
        dripping = [await connect() for _ in range(20)]
        for _, writer in dripping:
            writer.write(head + b"x")
        answers = asyncio.gather(*(reader.read() for reader, _ in dripping))
        while not answers.done():
            assert statuses(await fetch(connect, LAST_SMALL)) == [200]
            for _, writer in dripping:
                if not writer.is_closing():
                    writer.write(b"x")
            await asyncio.wait([answers], timeout=0.1)
        assert [statuses(answer) for answer in answers.result()] == [[408]] * len(dripping)
        await wait_until(lambda: not connect.protocols)
        for _, writer in dripping:
            writer.close()


@on_server_loop
async def test_a_body_over_a_bad_connection_arrives() -> None:
    limits = ConnectionLimits(grace_seconds=0.2, body_idle_seconds=30)
    head = GET[:-2] + b"Content-Length: 5000\r\nConnection: close\r\n\r\n"

    async with listen(app, limits) as connect:
        reader, writer = await connect()
        writer.write(head.replace(b" / ", b" /small "))
        for _ in range(10):  # for longer than the grace
            writer.write(bytes(500))
            await asyncio.sleep(0.05)
        assert statuses(await reader.read()) == [200]
        writer.close()


@on_server_loop
async def test_a_client_that_waits_to_be_asked_for_its_body_is_not_late() -> None:
    limits = ConnectionLimits(grace_seconds=0.1, body_idle_seconds=30)
    head = GET[:-2] + b"Content-Length: 3\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"

    async def busy(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.3)  # as long as it takes to look up its key
        await app({**scope, "raw_path": b"/small"}, receive, send)

    async with listen(busy, limits) as connect:
        reader, writer = await connect()
        writer.write(head)
        assert b"100 Continue" in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"abc")
        assert statuses(await reader.read()) == [200]
        writer.close()


# Too many connections


@on_server_loop
async def test_beyond_its_share_an_address_is_refused_and_others_served(
    context: ssl.SSLContext | None, lines: LogLines
) -> None:
    limits = ConnectionLimits(max_connections_per_address=5)

    async with listen(app, limits, context) as connect:
        held = [await connect() for _ in range(5)]
        reader, writer = await asyncio.open_connection("127.0.0.1", connect.port)
        refusal = await reader.read()  # TLS is not even begun
        writer.close()
        if context is None:
            assert statuses(refusal) == [503]
            assert b"retry-after: 1\r\n" in refusal
            assert b"connection: close\r\n" in refusal
        else:
            assert refusal == b""
        assert statuses(await fetch(connect, LAST_SMALL)) == [200]
        for _, writer in held:
            writer.transport.abort()
        await wait_until(lambda: not len(connect.table))
        assert statuses(await fetch(connect, LAST_SMALL, "127.0.0.1")) == [200]
    assert lines.last()["limit"] == "max_connections_per_address"


@pytest.mark.parametrize("sent", [b"", b"GET /slow HTTP/1.1\r\nHo"], ids=["idle", "slow headers"])
@on_server_loop
async def test_idle_connections_make_room_for_good_clients(
    sent: bytes, context: ssl.SSLContext | None, lines: LogLines
) -> None:
    limits = ConnectionLimits(max_connections=8)

    async with listen(app, limits, context) as connect:
        held = list[Streams]()
        for _ in range(30):  # over TLS, they do not even begin the handshake
            held.append(await asyncio.open_connection("127.0.0.1", connect.port))
            held[-1][1].write(sent if context is None else b"")
        for _ in range(3):
            assert statuses(await fetch(connect, LAST_SMALL)) == [200]
        assert len(connect.table) <= 8
        for _, writer in held:
            writer.close()
    assert lines.last()["limit"] == "idle_connections"


@on_server_loop
async def test_connections_wait_while_there_are_no_descriptors(lines: LogLines) -> None:
    full = [True]

    class FullSocket(socket.socket):
        def accept(self) -> tuple[socket.socket, object]:
            if full[0]:
                raise OSError(errno.EMFILE, "Too many open files")
            return super().accept()

    class Plain(asyncio.Protocol):
        """One that the listener can give its connection."""

    [listener] = open_listeners("127.0.0.1", 0)
    table = ConnectionTable(ConnectionLimits())
    with FullSocket(fileno=listener.detach()) as sock:
        server = ServerListener(Plain, sock, table)
        idle = table.admit(socket.socket(), "127.0.0.1")
        assert idle is not None
        _, writer = await asyncio.open_connection(*sock.getsockname())
        await wait_until(lambda: bool(lines.texts) and not len(table))
        full[0] = False
        await wait_until(lambda: len(table) == 1)
        server.close()
        writer.close()
    limits = [line.split('"limit":"')[1].split('"')[0] for line in lines.texts]
    assert limits == ["open_files", "idle_connections"]


@on_server_loop
async def test_a_handshake_that_fails_is_not_counted_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = tls.create_ssl_context(*tls.ensure_certificate(tmp_path))
    admitted = list[object]()

    async with listen(app, ConnectionLimits(), context) as connect:
        admit = connect.table.admit

        def note_and_admit(*given: Any) -> Any:
            admitted.append(given)
            return admit(*given)

        monkeypatch.setattr(connect.table, "admit", note_and_admit)
        for sent in (b"GET / HTTP/1.1\r\n" + HOST + b"\r\n", b"\x16\x03\x01\x00"):
            admitted.clear()
            _, writer = await asyncio.open_connection("127.0.0.1", connect.port)
            writer.write(sent)
            await wait_until(lambda: bool(admitted))
            writer.close()
            await wait_until(lambda: not len(connect.table))
