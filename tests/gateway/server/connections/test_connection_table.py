"""Which connections a worker admits, which it closes for others, and who reads too slowly."""

import socket
from dataclasses import replace

import orjson
import pytest

from gateway.server.config import ConnectionLimits
from gateway.server.connections.connection_table import Connection, ConnectionTable
from gateway.server.connections.unread import ReadingPace, UnreadResponses
from tests.gateway.log_lines import LogLines
from tests.gateway.server.served_application import on_server_loop, wait_until

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
    monkeypatch.setattr("gateway.server.limit_log.QUIET_SECONDS", 0.0)

    log = Sockets().table.log
    for _ in range(1000):
        log.note("a", "Too many", ATTACKER)
    log.note("b", "Too large", GOOD)
    await wait_until(lambda: not log._unlogged)  # the time of quiet has ended, for both
    found = [(line["limit"], line["count"]) for line in map(orjson.loads, lines.texts)]
    assert found == [("a", 1), ("b", 1), ("a", 999)]


# Unread responses


class Reader:
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
