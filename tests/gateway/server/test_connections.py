"""Limits of connections: how many there are, and what hostile clients do with them."""

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.types import Receive, Scope, Send

from gateway.response_cache import FastResponse
from gateway.server import tls
from gateway.server.config import ConnectionLimits
from gateway.server.connections import Connection, ConnectionTable, ReadingPace, UnreadResponses
from gateway.server.connections import Listener as ServerListener
from gateway.server.server import open_listeners
from rest.bodies import receive_body
from tests.gateway.log_lines import LogLines, capture_log_lines
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


@pytest.fixture
def lines() -> Iterator[LogLines]:
    """What the log says of limits of connections."""
    with capture_log_lines(logging.getLogger("floorgate.connections"), logging.INFO) as lines:
        yield lines


LIMITS = ConnectionLimits(max_connections=4, max_connections_per_address=3)
ATTACKER, GOOD = "192.0.2.1", "198.51.100.7"


class Sockets:
    """Admits connections, and notes which of them were closed."""

    def __init__(self, limits: ConnectionLimits = LIMITS) -> None:
        self.table = ConnectionTable(limits)
        self.closed: list[Connection] = []

    def admit(self, address: str) -> Connection:
        connection = self.table.admit(socket.socket(), address)
        assert connection is not None
        connection.abort = lambda: self.closed.append(connection)  # type: ignore[method-assign]
        return connection

    def refuses(self, address: str) -> bool:
        return self.table.admit(socket.socket(), address) is None


@on_server_loop
async def test_an_address_has_a_share_of_the_connections(lines: LogLines) -> None:
    sockets = Sockets()
    connections = [sockets.admit(ATTACKER) for _ in range(3)]
    assert all(sockets.refuses(ATTACKER) for _ in range(5))
    sockets.admit(GOOD)
    assert not sockets.closed
    sockets.table.remove(connections[0])
    sockets.admit(ATTACKER)
    assert len(lines.texts) == 1
    assert lines.last()["limit"] == "max_connections_per_address"
    assert (lines.last()["client"], lines.last()["count"]) == (ATTACKER, 1)


@on_server_loop
async def test_all_addresses_of_an_ipv6_network_have_one_share() -> None:
    sockets = Sockets()
    for number in range(3):
        sockets.admit(f"2001:db8::{number}")
    assert sockets.refuses("2001:db8::9")
    sockets.admit("2001:db8:0:1::9")


@on_server_loop
async def test_behind_a_proxy_its_address_may_have_all_connections() -> None:
    sockets = Sockets(replace(LIMITS, max_connections_per_address=0))
    for _ in range(4):
        sockets.table.mark_busy(sockets.admit(ATTACKER))
    assert sockets.refuses(ATTACKER)


@on_server_loop
async def test_an_idle_connection_of_the_largest_client_makes_room(lines: LogLines) -> None:
    sockets = Sockets()
    good = sockets.admit(GOOD)
    first, second, third = (sockets.admit(ATTACKER) for _ in range(3))
    sockets.table.mark_busy(first)
    sockets.admit("203.0.113.1")
    assert sockets.closed == [second]
    assert len(sockets.table) == 4
    sockets.table.mark_idle(first)  # now the last to have become idle
    sockets.admit("203.0.113.2")
    assert sockets.closed == [second, third]
    assert good not in sockets.closed
    assert lines.last()["limit"] == "idle_connections"


@on_server_loop
async def test_a_connection_is_refused_if_none_is_idle(lines: LogLines) -> None:
    sockets = Sockets(replace(LIMITS, max_connections_per_address=0))
    connections = [sockets.admit(ATTACKER) for _ in range(4)]
    for connection in connections:
        sockets.table.mark_busy(connection)
    assert sockets.refuses(GOOD)
    sockets.table.remove(connections[0])
    sockets.table.remove(connections[0])  # closed, and forgotten before
    sockets.table.mark_idle(connections[0])
    sockets.admit(GOOD)
    assert not sockets.closed
    assert lines.last()["limit"] == "max_connections"
    assert lines.last()["client"] == GOOD


@on_server_loop
async def test_lines_about_a_limit_are_few_and_have_counts(
    lines: LogLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.server.admission.QUIET_SECONDS", 0.0)

    log = Sockets().table.log
    for _ in range(1000):
        log.note("a", "Too many", ATTACKER)
    log.note("b", "Too large", GOOD)
    await wait_until(lambda: not log._unlogged)  # the time of quiet has ended, for both
    found = [(line["limit"], line["count"]) for line in map(orjson.loads, lines.texts)]
    assert found == [("a", 1), ("b", 1), ("a", 999)]


# Unread responses


class Reader(Connection):
    def __init__(self, address: str) -> None:
        self.address = address
        self.is_closed = False

    def abort(self) -> None:
        self.is_closed = True


def unread_responses(per_address: int = 100, total: int = 150) -> UnreadResponses:
    limits = ConnectionLimits(max_unread_bytes_per_address=per_address, max_unread_bytes=total)
    return UnreadResponses(limits, ConnectionTable(limits).log)


@on_server_loop
async def test_an_address_over_its_budget_loses_the_connection_that_waits_longest(
    lines: LogLines,
) -> None:
    unread = unread_responses()
    slow, fast, last, good = Reader(ATTACKER), Reader(ATTACKER), Reader(ATTACKER), Reader(GOOD)
    unread.add(good, GOOD, 40)
    unread.add(slow, ATTACKER, 40)
    unread.add(fast, ATTACKER, 40)
    unread.remove(fast)  # it reads on
    unread.add(fast, ATTACKER, 40)
    unread.add(last, ATTACKER, 40)
    closed = [reader.is_closed for reader in (slow, fast, last, good)]
    assert closed == [True, False, False, False]
    assert unread.total_bytes == 120
    assert lines.last()["limit"] == "max_unread_bytes_per_address"
    assert lines.last()["client"] == ATTACKER


@on_server_loop
async def test_beyond_the_total_the_address_with_the_most_bytes_loses_a_connection(
    lines: LogLines,
) -> None:
    unread = unread_responses()
    small, large, larger = Reader(GOOD), Reader(ATTACKER), Reader(ATTACKER)
    unread.add(small, GOOD, 60)
    unread.add(large, ATTACKER, 45)
    unread.add(larger, ATTACKER, 46)
    assert [reader.is_closed for reader in (small, large, larger)] == [False, True, False]
    assert lines.last()["limit"] == "max_unread_bytes"


def test_one_response_larger_than_the_share_of_an_address_is_sent() -> None:
    unread = unread_responses()
    reader = Reader(GOOD)
    unread.add(reader, GOOD, 140)
    assert not reader.is_closed
    unread.remove(reader)
    assert unread.total_bytes == 0


PACE = ConnectionLimits(grace_seconds=5, min_bytes_per_second=240, body_idle_seconds=30)


def last_second(bytes_per_second: int, seconds: int = 200) -> int:
    """How long a client may read at this rate, looked at once a second."""
    pace = ReadingPace(PACE)
    return next(
        (second for second in range(seconds) if not pace.check(second, second * bytes_per_second)),
        seconds,
    )


def test_a_client_that_reads_at_the_minimum_rate_has_all_the_time() -> None:
    assert last_second(2_000) == 200  # a bad mobile connection
    assert last_second(240) == 200


def test_a_client_that_reads_more_slowly_has_little_more_than_the_grace() -> None:
    assert last_second(0) == 6
    assert last_second(24) == 6
    assert last_second(200) < 40


def test_a_client_that_has_read_much_may_pause_but_not_for_long() -> None:
    pace = ReadingPace(PACE)
    assert pace.check(0, 0)
    assert pace.check(1, 50_000_000)
    assert pace.check(31, 50_000_000)
    assert not pace.check(32, 50_000_000)


def test_time_in_which_nothing_is_unread_does_not_count() -> None:
    pace = ReadingPace(PACE)
    assert pace.check(0, 0)
    pace.stop()
    assert pace.check(1000, 10)
    assert pace.check(1004, 10)
    assert not pace.check(1006, 10)


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
