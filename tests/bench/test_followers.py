"""Followers are counted for each unit, and a write has arrived when all of them know of it."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from bench.followers import Followers
from bench.streams import Receive


async def open_canned(stack: AsyncExitStack, url: str, key: str, query: str) -> Receive:
    """A stream of the events that `url` names, and of nothing after them."""
    events = iter(url.split())

    async def receive() -> bytes:
        if (event := next(events, None)) is None:
            await asyncio.Event().wait()
        return str(event).encode()

    return receive


def test_a_write_has_arrived_when_every_follower_knows_of_it() -> None:
    async def scenario() -> None:
        followers = Followers(3)
        async with followers.open(open_canned, 'ping "finishes/unit-7/oak" pong', ["key"]):
            await followers.wait_for("unit-7")
        assert followers.told == {"unit-7": 3}

    asyncio.run(scenario())


def test_a_write_that_one_follower_misses_has_not_arrived() -> None:
    async def scenario() -> None:
        followers, keys = Followers(2), ["one", "two"]

        async def open_stream(stack: AsyncExitStack, url: str, key: str, query: str) -> Receive:
            return await open_canned(stack, "unit-8" if key == "one" else "unit-7", key, query)

        async with followers.open(open_stream, "", keys):
            await asyncio.sleep(0)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(followers.wait_for("unit-8"), 0.05)
        assert followers.told == {"unit-7": 1, "unit-8": 1}

    asyncio.run(scenario())
