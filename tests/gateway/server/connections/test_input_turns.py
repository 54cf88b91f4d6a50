"""Input is parsed in turns: what others send delays a client by one turn of the event loop."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.server.connections.input_turns import (
    BYTES_PER_UNIT,
    PIECE_UNITS,
    RESERVED_UNITS,
    UNITS_PER_TURN,
    InputTurns,
    ScheduledInput,
    Standing,
)
from tests.gateway.server.served_application import on_server_loop

REQUEST = b"GET / HTTP/1.1\r\n\r\n"
PIECE_BYTES = 4 * len(REQUEST)


class Client(ScheduledInput):
    """A connection that notes in `parsed` what is parsed of its input."""

    max_piece_bytes = PIECE_BYTES

    def __init__(self, turns: InputTurns, parsed: list[tuple[str, bytes]], name: str) -> None:
        super().__init__()
        self.connection = SimpleNamespace(table=SimpleNamespace(turns=turns), standing=Standing.NEW)
        self.transport: Any = SimpleNamespace(is_closing=self._is_closing)
        self.name = name
        self.is_closing, self.is_busy, self.is_paused = False, False, False
        self._parsed = parsed

    def _is_closing(self) -> bool:
        return self.is_closing

    def parse(self, piece: bytes) -> None:
        self._parsed.append((self.name, piece))

    def _may_parse(self) -> bool:
        return not self.is_busy

    def _pause_input(self) -> None:
        self.is_paused = True

    def _resume_input(self) -> None:
        self.is_paused = False


class Worker:
    """The clients of one event loop, and what is parsed of their input, in that order."""

    def __init__(self) -> None:
        self.turns = InputTurns()
        self.parsed: list[tuple[str, bytes]] = []

    def connect(self, name: str, standing: Standing = Standing.NEW) -> Client:
        client = Client(self.turns, self.parsed, name)
        client.connection.standing = standing
        return client

    async def take_turn(self) -> list[str]:
        """The clients whose input is parsed in the next turn."""
        count = len(self.parsed)
        await asyncio.sleep(0)
        return [name for name, _ in self.parsed[count:]]


@on_server_loop
async def test_a_short_request_is_parsed_as_soon_as_it_arrives() -> None:
    worker = Worker()
    client = worker.connect("a")
    client.data_received(REQUEST)
    client.data_received(b"x" * PIECE_BYTES)
    assert worker.parsed == [("a", REQUEST), ("a", b"x" * PIECE_BYTES)]
    assert worker.turns.left == UNITS_PER_TURN - 2 * PIECE_UNITS


@on_server_loop
async def test_once_the_budget_is_spent_requests_wait_for_the_next_turn() -> None:
    worker = Worker()
    client = worker.connect("a")
    worker.turns.spend(UNITS_PER_TURN)
    client.data_received(REQUEST)
    client.data_received(REQUEST)
    assert worker.parsed == []
    assert await worker.take_turn() == ["a", "a"]
    assert worker.turns.left == UNITS_PER_TURN - 2 * PIECE_UNITS


@on_server_loop
async def test_a_piece_completes_one_request_at_most_and_has_a_maximum() -> None:
    worker = Worker()
    client = worker.connect("a")
    body = b"x" * (PIECE_BYTES + 1)
    client.data_received(2 * REQUEST + REQUEST[:-1])
    assert await worker.take_turn() == ["a", "a"]
    client.data_received(body)
    assert [client.is_paused] == [True]  # until that is parsed
    await worker.take_turn()
    assert [client.is_paused] == [False]
    assert [piece for _, piece in worker.parsed] == [
        REQUEST, REQUEST + REQUEST[:-1], body[:-1], b"x",
    ]  # fmt: skip


@on_server_loop
async def test_large_pieces_take_more_of_the_budget() -> None:
    worker = Worker()
    client = worker.connect("a")
    client.max_piece_bytes = 10 * BYTES_PER_UNIT
    worker.turns.spend(UNITS_PER_TURN)
    client.data_received(bytes(10 * BYTES_PER_UNIT))
    await worker.take_turn()
    assert worker.turns.left == UNITS_PER_TURN - PIECE_UNITS - 10


@on_server_loop
async def test_of_many_clients_none_delays_one_with_a_key() -> None:
    """Clients without a key leave it most of each turn, and do not wait for it either."""
    worker = Worker()
    for number in range(1000):
        standing = Standing.NEW if number % 2 else Standing.REJECTED
        worker.connect(standing.name, standing).data_received(2 * REQUEST)
    first = await worker.take_turn()
    room = UNITS_PER_TURN - RESERVED_UNITS
    assert len(first) == room // PIECE_UNITS + 1  # one of the rejected, however many are new
    assert first.count("REJECTED") == 1
    good = worker.connect("good", Standing.ACCEPTED)
    for _ in range(3):
        good.data_received(2 * REQUEST)
        turn = await worker.take_turn()
        assert turn[:2] == ["good", "good"]
        assert "NEW" in turn
        assert "REJECTED" in turn


@on_server_loop
async def test_one_client_takes_no_more_than_a_turn_at_a_time() -> None:
    worker = Worker()
    worker.connect("a", Standing.ACCEPTED).data_received(1000 * REQUEST)
    turn = await worker.take_turn()
    assert len(turn) == UNITS_PER_TURN // PIECE_UNITS


@pytest.mark.parametrize("state", ["is_busy", "is_closing"])
@on_server_loop
async def test_nothing_is_parsed_while_a_request_is_answered_or_once_it_closes(state: str) -> None:
    worker = Worker()
    client = worker.connect("a")
    client.data_received(2 * REQUEST)
    setattr(client, state, True)
    assert await worker.take_turn() == []
    client.data_received(REQUEST)
    assert await worker.take_turn() == []
    client.is_busy = False
    client.parse_later()
    expected = ["a"] * 3 if state == "is_busy" else []
    assert await worker.take_turn() == expected
