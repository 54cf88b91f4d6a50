"""No follower misses an acknowledged write when a primary and workers are killed.

`python -m tests.following` does it many times.
"""

import asyncio
from pathlib import Path

import pytest

from tests.following.failover import follow_through, run_service

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("faults")]

TIMEOUT_SECONDS = 180


def test_every_acknowledged_write_is_received_in_order_by_each_transport(tmp_path: Path) -> None:
    with run_service(tmp_path) as service:
        kills = [service.kill_primary, service.kill_workers]
        acknowledged, followers = asyncio.run(
            asyncio.wait_for(follow_through(service, kills), TIMEOUT_SECONDS)
        )
    assert {write.operation for write in acknowledged} == {"created", "removed"}
    for follower in followers:
        assert follower.find_problems(acknowledged) == [], type(follower).__name__
        assert follower.connections >= 2, "it was not cut off"
