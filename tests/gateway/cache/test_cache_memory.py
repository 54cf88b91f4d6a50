"""The response cache takes no more memory than it counts."""

import gc
import tracemalloc

import pytest

from tests.gateway.cache.test_response_cache import (
    RunningGateway,
    running_gateway,
)

__all__ = ["running_gateway"]

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

RESPONSES = 400


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
@pytest.mark.parametrize("path", ["/v1/assets", "/v1/units"])
async def test_the_cache_takes_no_more_memory_than_it_counts(
    running_gateway: RunningGateway, path: str, encoding: str
) -> None:
    async def request(first: int, last: int) -> None:
        for page in range(first, last):
            headers = {"Accept-Encoding": encoding}
            response = await running_gateway.full.get(f"{path}?per-page={page}", headers=headers)
            assert response.status_code == 200

    await request(1, 51)  # what all responses share
    gc.collect()
    counted = running_gateway.cache.counters
    tracemalloc.start()
    try:
        await request(51, 51 + RESPONSES)
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    counters = running_gateway.cache.counters
    assert counters.entries - counted.entries == RESPONSES
    assert grown < 1.1 * (counters.size_bytes - counted.size_bytes)
