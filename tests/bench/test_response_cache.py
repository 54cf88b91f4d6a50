"""A write is stale until a read shows it, and has arrived when every follower knows of it."""

import asyncio
from contextlib import AsyncExitStack
from itertools import chain, repeat

import pytest

from bench import response_cache
from bench.load.servers import Client, PeerError
from bench.response_cache import seconds_until_visible
from bench.streams import Followers, Receive

UNIT = "unit-1"


class CannedReader(Client):
    """Shows these attributes in turn, the last one for ever."""

    def __init__(self, *shown: str) -> None:
        self.shown = chain(shown, repeat(shown[-1]))
        self.reads = 0

    def list_assigned(self) -> dict[str, str]:
        self.reads += 1
        return {UNIT: next(self.shown)}


def test_a_write_is_stale_until_the_first_read_that_shows_it() -> None:
    assert seconds_until_visible(CannedReader("oak"), UNIT, "oak") == 0.0
    reader = CannedReader("stone", "stone", "oak", "stone")
    assert seconds_until_visible(reader, UNIT, "oak") > 0
    assert reader.reads == 3


def test_a_write_that_never_shows_is_an_error_after_a_last_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a machine that stood still during the first read would pass for a stale gateway."""
    monkeypatch.setattr(response_cache, "MAX_WAIT_SECONDS", 0.0)
    assert seconds_until_visible(CannedReader("stone", "oak"), UNIT, "oak") > 0
    with pytest.raises(PeerError, match=r"'oak' was written .* reads return 'stone'"):
        seconds_until_visible(CannedReader("stone"), UNIT, "oak")


@pytest.mark.anyio
async def test_a_write_has_arrived_when_every_follower_knows_of_it() -> None:
    async def open_canned(stack: AsyncExitStack, url: str, key: str) -> Receive:
        events = iter(url.split())

        async def receive() -> bytes:
            if (event := next(events, None)) is None:
                await asyncio.Event().wait()
            return str(event).encode()

        return receive

    followers = Followers(3)
    async with followers.open(open_canned, 'ping "finishes/unit-7/oak" pong', "key"):
        await followers.wait_for("unit-7")
    assert followers.told == {"unit-7": 3}
