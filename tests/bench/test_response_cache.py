"""Reads are stale if they do not show what was written, and answered, before they were sent."""

import asyncio
import math
from contextlib import AsyncExitStack
from itertools import chain, repeat

import pytest

from bench import response_cache
from bench.load.servers import GatewayClient, PeerError
from bench.response_cache import Write, WriteHistory, compute_delay, seconds_until_visible
from bench.streams import Followers, Receive

UNIT = "unit-1"
WRITES: list[Write] = [("oak", -math.inf), ("stone", 1.0), ("tile", 2.0), ("cork", math.inf)]


@pytest.mark.parametrize(
    ("shown", "sent_at", "delay"),
    [
        ("oak", 0.5, 0.0),  # sent before the first answer
        ("oak", 1.5, 0.5),
        ("oak", 9.0, 8.0),  # since the first that it does not show, not since the newest
        ("stone", 1.5, 0.0),
        ("stone", 2.5, 0.5),
        ("tile", 2.5, 0.0),
        ("cork", 2.5, 0.0),  # has been sent, and may show before it is answered
        ("glass", 2.5, math.inf),  # never written
    ],
)
def test_a_read_has_to_show_what_was_answered_before_it_was_sent(
    shown: str, sent_at: float, delay: float
) -> None:
    assert compute_delay(WRITES, shown, sent_at) == delay


def test_an_attribute_that_was_written_again_is_the_newer_one() -> None:
    assert compute_delay([("oak", 0.0), ("stone", 1.0), ("oak", 2.0)], "oak", 9.0) == 0.0


def test_the_oldest_assignment_of_a_response_counts_and_none_may_lack() -> None:
    history = WriteHistory()
    written = history.begin("u")
    assert history.judge({"u": written}, "uv", math.inf) == 0.0  # has been sent
    assert history.judge({}, "uv", math.inf) == 0.0  # is not answered
    history.end("u")
    assert history.begin("u") != written
    history.end("u")
    assert history.judge({}, "uv", math.inf) == math.inf
    assert history.judge({"u": "other"}, "uv", 0.0) == math.inf


class CannedReader(GatewayClient):
    """Shows these attributes in turn, the last one for ever."""

    def __init__(self, *shown: str) -> None:
        self.shown = chain(shown, repeat(shown[-1]))
        self.reads = 0

    def list_assigned(self, query: str = "") -> dict[str, str]:
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
    async def open_canned(stack: AsyncExitStack, url: str, key: str, query: str) -> Receive:
        events = iter(url.split())

        async def receive() -> bytes:
            if (event := next(events, None)) is None:
                await asyncio.Event().wait()
            return str(event).encode()

        return receive

    followers = Followers(3)
    async with followers.open(open_canned, 'ping "finishes/unit-7/oak" pong', ["key"]):
        await followers.wait_for("unit-7")
    assert followers.told == {"unit-7": 3}
