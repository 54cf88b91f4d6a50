"""Routers are read once, and the least recently used make room for others."""

import asyncio

import pytest

from resolvers.networks import routable_map_cache
from resolvers.networks.routable_map_cache import RoutableMapCache
from routing.errors import ArchiveError
from storage.mongo import driver

pytestmark = pytest.mark.anyio


class Files:
    """Archives by digest, and the digests that were read."""

    def __init__(self, **contents: bytes) -> None:
        self.contents = contents
        self.reads: list[str] = []

    async def read(self, digest: str) -> bytes | None:
        self.reads.append(digest)
        assert driver.remaining_seconds() is None  # whichever request is the first
        await asyncio.sleep(0)
        return self.contents.get(digest)


@pytest.fixture(autouse=True)
def archives(monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive is a map of its own name; an empty one is unusable."""

    def map_archive(content: bytes) -> str:
        if not content:
            raise ArchiveError("empty")
        return content.decode()

    monkeypatch.setattr(routable_map_cache, "_map_archive", map_archive)


async def test_concurrent_requests_share_one_read_that_is_within_the_deadline_of_none() -> None:
    files = Files(a=b"hall")
    routers = RoutableMapCache(files.read)
    with driver.limit_time(60):
        maps: list[object] = await asyncio.gather(
            *(routers.get_or_load("a", "hall") for _ in range(3))
        )
    assert [*maps, await routers.get_or_load("a", "hall")] == ["hall"] * 4
    assert files.reads == ["a"]


async def test_the_least_recently_used_router_is_evicted() -> None:
    files = Files(a=b"aaaa", b=b"bbbb", c=b"cccc")
    routers = RoutableMapCache(files.read, max_bytes=8)
    for digest in "abacab":
        await routers.get_or_load(digest, "map")
    assert files.reads == ["a", "b", "c", "b"]


async def test_a_router_over_the_budget_is_cached_alone() -> None:
    files = Files(a=b"aaaa", huge=b"h" * 100)
    routers = RoutableMapCache(files.read, max_bytes=8)
    for digest in ("a", "huge", "huge", "a"):
        await routers.get_or_load(digest, "map")
    assert files.reads == ["a", "huge", "a"]


async def test_an_unusable_archive_is_read_once_and_a_missing_one_each_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = Files(empty=b"")
    routers = RoutableMapCache(files.read)
    for digest in ("empty", "empty", "none", "none"):
        assert await routers.get_or_load(digest, "hall") is None
    assert files.reads == ["empty", "none", "none"]
    assert [record.message for record in caplog.records] == [
        "the map 'hall' has no usable network: empty"
    ]
