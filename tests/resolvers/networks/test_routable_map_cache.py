"""Routers are read once, and the least recently used make room for others."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest

from resolvers.networks import routable_maps
from resolvers.networks.archive_files import ArchiveFiles
from resolvers.networks.routable_map_cache import RoutableMapCache
from routing.errors import ArchiveError
from storage.mongo import driver

pytestmark = pytest.mark.anyio


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


A, B, C = map(digest, (b"aaaa", b"bbbb", b"cccc"))


class Files:
    """Archives by digest, and the digests that were read."""

    def __init__(self, directory: Path, *contents: bytes) -> None:
        self.contents = {digest(content): content for content in contents}
        self.reads: list[str] = []
        self.mapped = ArchiveFiles(directory)

    async def read(self, digest: str) -> bytes | None:
        self.reads.append(digest)
        assert driver.remaining_seconds() is None  # whichever request is the first
        await asyncio.sleep(0)
        return self.contents.get(digest)

    def cache(self, max_bytes: int = 1_000) -> RoutableMapCache:
        return RoutableMapCache(self.read, max_bytes, self.mapped)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An archive is a map of its own name, listed when it is loaded; an empty one is unusable."""
    loaded: list[str] = []

    def deserialize(content: Any) -> str:
        if not content:
            raise ArchiveError("empty")
        loaded.append(bytes(content).decode())
        return loaded[-1]

    monkeypatch.setattr(routable_maps, "deserialize_routable_map", deserialize)
    return loaded


async def test_concurrent_requests_share_one_read_that_is_within_the_deadline_of_none(
    loads: list[str], tmp_path: Path
) -> None:
    files = Files(tmp_path, b"aaaa")
    routers = files.cache()
    with driver.limit_time(60):
        maps: list[object] = await asyncio.gather(
            *(routers.get_or_load(A, "hall") for _ in range(3))
        )
    assert [*maps, await routers.get_or_load(A, "hall")] == ["aaaa"] * 4
    assert (files.reads, loads) == ([A], ["aaaa"])


async def test_the_least_recently_used_router_is_evicted_and_loaded_again_from_its_file(
    loads: list[str], tmp_path: Path
) -> None:
    files = Files(tmp_path, b"aaaa", b"bbbb", b"cccc")
    routers = files.cache(max_bytes=8)
    for key in (A, B, A, C, A, B):
        await routers.get_or_load(key, "map")
    assert loads == ["aaaa", "bbbb", "cccc", "bbbb"]
    assert files.reads == [A, B, C]


async def test_an_unusable_archive_is_read_once_and_a_missing_one_each_time(
    loads: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = Files(tmp_path, b"")
    routers = files.cache()
    for key in (digest(b""), digest(b""), "none", "none"):
        assert await routers.get_or_load(key, "hall") is None
    assert files.reads == [digest(b""), "none", "none"]
    messages = [each.message for each in caplog.records if each.name == "floorgate.routable_maps"]
    assert messages == ["the map 'hall' has no usable network: empty"]
