"""A cached response in the encodings and conditional forms that clients request."""

import asyncio
import gc
import gzip
import threading
from typing import Any

import pytest

from gateway import compression
from gateway.cache.cached_response import ENTRY_OVERHEAD_BYTES, CachedResponse

BODY = b"floor " * 200
HEADERS = [(b"content-type", b"text/plain"), (b"content-length", b"1200"), (b"vary", b"Accept")]


def select(
    response: CachedResponse, method: str = "GET", **headers: str
) -> tuple[int, dict[bytes, bytes], bytes]:
    """The status, headers and body that a request gets."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    start, body = response.select_messages({"method": method, "headers": raw})
    return start["status"], dict(start["headers"]), body["body"]


def test_each_encoding_has_its_own_length_and_etag() -> None:
    response = CachedResponse(HEADERS, BODY)
    _, plain, body = select(response)
    _, compressed, gzipped = select(response, accept_encoding="gzip")
    assert (body, gzip.decompress(gzipped)) == (BODY, BODY)
    assert compressed[b"content-encoding"] == b"gzip"
    assert b"content-encoding" not in plain
    assert [int(each[b"content-length"]) for each in (plain, compressed)] == [1200, len(gzipped)]
    assert plain[b"etag"] != compressed[b"etag"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("has", ["identity", "gzip", "zstd"])
@pytest.mark.parametrize("accepts", ["identity", "gzip"])
def test_a_client_with_any_encoding_of_the_body_gets_a_304_with_its_etag(
    method: str, has: str, accepts: str
) -> None:
    response = CachedResponse(HEADERS, BODY)
    etag = select(response, accept_encoding=has)[1][b"etag"]
    status, headers, body = select(
        response, method, accept_encoding=accepts, if_none_match=f'"other", {etag.decode()}'
    )
    assert (status, headers, body) == (304, {b"vary": b"Accept", b"etag": etag}, b"")


def test_the_garbage_collector_has_nothing_to_traverse_below_a_response() -> None:
    response = CachedResponse(HEADERS, BODY, ("/v1/units", b"{}"))
    response.encode_all()
    encoded, _ = response.select_encoding(b"gzip", None)
    assert not gc.is_tracked(encoded)
    assert not gc.is_tracked(response._encoded_responses)


def test_the_lines_of_a_repeated_header_are_one_list() -> None:
    response = CachedResponse(HEADERS, BODY)
    etag = select(response)[1][b"etag"]
    repeated = [(b"if-none-match", b'"other"'), (b"if-none-match", etag)]
    start, _ = response.select_messages({"method": "GET", "headers": repeated})
    assert start["status"] == 304


def test_other_methods_have_no_etag() -> None:
    status, headers, body = select(CachedResponse(HEADERS, BODY), "POST", if_none_match="*")
    assert (status, body) == (200, BODY)
    assert b"etag" not in headers


def test_the_cache_is_notified_once_of_each_encoding_that_takes_memory() -> None:
    grown: list[object] = []
    response = CachedResponse(HEADERS, BODY, "key", grown.append)
    assert response.size_bytes == ENTRY_OVERHEAD_BYTES + len(BODY)
    for encoding in ("identity", "gzip", "gzip"):
        _, _, body = select(response, accept_encoding=encoding)
    assert grown == ["key"]
    assert response.size_bytes == ENTRY_OVERHEAD_BYTES + len(BODY) + len(body)


class Compressor:
    """Counts and times what is compressed: nothing before it is released."""

    def __init__(self) -> None:
        self._compress = compression.compress
        self._released = threading.Event()
        self.encodings: list[str] = []
        self.threads: set[threading.Thread] = set()

    def compress(self, body: bytes, encoding: Any) -> bytes:
        self.encodings.append(encoding)
        self.threads.add(threading.current_thread())
        assert self._released.wait(30)
        return self._compress(body, encoding)

    def release(self) -> None:
        self._released.set()


@pytest.fixture
def compressor(monkeypatch: pytest.MonkeyPatch) -> Compressor:
    compressor = Compressor()
    monkeypatch.setattr(compression, "compress", compressor.compress)
    monkeypatch.setattr(compression, "MAX_BYTES_IN_EVENT_LOOP", 1_000)
    monkeypatch.setattr(compression, "GZIP_BYTES_IN_EVENT_LOOP", 1_000)
    return compressor


def get(response: CachedResponse, **headers: str) -> asyncio.Task[Any]:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return asyncio.create_task(response.prepare_messages({"method": "GET", "headers": raw}))


@pytest.mark.anyio
async def test_a_large_body_is_compressed_once_and_not_by_the_event_loop(
    compressor: Compressor,
) -> None:
    grown: list[object] = []
    response = CachedResponse(HEADERS, BODY, "key", grown.append)
    asked = [get(response, accept_encoding="gzip") for _ in range(5)]
    other = get(response, accept_encoding="zstd")
    await asyncio.sleep(0)
    assert not response.is_ready(b"gzip", None)
    compressor.release()
    bodies = [(await each)[1]["body"] for each in asked]
    assert {gzip.decompress(body) for body in bodies} == {BODY}
    assert dict((await other)[0]["headers"])[b"content-encoding"] == b"zstd"
    assert sorted(compressor.encodings) == ["gzip", "zstd"]
    assert threading.main_thread() not in compressor.threads
    assert grown == ["key", "key"]
    assert response.is_ready(b"gzip", None)


@pytest.mark.anyio
async def test_a_request_that_is_cancelled_leaves_the_compression_to_the_others(
    compressor: Compressor,
) -> None:
    response = CachedResponse(HEADERS, BODY)
    first, second = get(response, accept_encoding="gzip"), get(response, accept_encoding="gzip")
    await asyncio.sleep(0)
    first.cancel()
    compressor.release()
    assert gzip.decompress((await second)[1]["body"]) == BODY
    assert first.cancelled()
    assert compressor.encodings == ["gzip"]


@pytest.mark.anyio
async def test_a_304_compresses_nothing(compressor: Compressor) -> None:
    compressor.release()
    response = CachedResponse(HEADERS, BODY)
    etag = dict((await get(response))[0]["headers"])[b"etag"].decode()
    compressor.encodings.clear()
    for tag in (etag, f'{etag[:-1]}-gzip"', "*"):
        start, _ = await get(response, accept_encoding="gzip", if_none_match=tag)
        assert start["status"] == 304
    assert compressor.encodings == []
