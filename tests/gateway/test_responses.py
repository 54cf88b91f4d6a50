"""Entity tags, conditional requests and content codings of responses."""

import asyncio
import gc
import gzip
import threading
from typing import Any

import httpx
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gateway import responses
from gateway.app import Gateway
from gateway.responses import ENTRY_OVERHEAD_BYTES, CachedResponse
from rest.responses import ENCODINGS, Encoding
from tests.fixtures import World, open_client

ADDRESSES = [
    "/v1/units",
    "/v1/units/unit-1",
    "/v1/maps/plan-two/levels/tags",
    "/v1",
    "/v1/openapi.json",
    "/v1/bundle.schema.json",
    "/v1/openapi.yaml",
    "/v1/postman.json",
    "/graphql?query={units{data{id name}}}",
    "/health/live",
]


@pytest.mark.parametrize("address", ADDRESSES)
async def test_every_get_has_a_strong_etag_and_is_cacheable_only_by_its_client(
    client: httpx.AsyncClient, address: str
) -> None:
    first = await client.get(address)
    assert first.status_code == 200
    assert first.headers["etag"].startswith('"')
    assert first.headers["cache-control"] == "private, no-cache"
    for name in ("API-Key", "Experimental-Flags", "Accept-Encoding"):
        assert name in first.headers["vary"]
    again = await client.get(address, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for name in ("etag", "cache-control", "vary"):
        assert again.headers[name] == first.headers[name]


@pytest.mark.parametrize("coding", ["identity", "gzip", "zstd"])
async def test_head_has_the_headers_of_get_and_no_body(
    client: httpx.AsyncClient, coding: str
) -> None:
    for address in ADDRESSES:
        wanted = {"Accept-Encoding": coding}
        got = await client.get(address, headers=wanted)
        headed = await client.head(address, headers=wanted)
        for each in (got, headed):
            for name in ("x-request-id", "ratelimit"):
                each.headers.pop(name, None)
        assert headed.headers == got.headers
        assert (headed.status_code, headed.content) == (200, b"")


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("coding", ["identity", "gzip"])
async def test_any_tag_is_met_by_that_of_the_response(
    client: httpx.AsyncClient, address: str, coding: str
) -> None:
    client.headers["Accept-Encoding"] = coding
    for _ in range(2):  # from the cache, too
        first = await client.get(address)
        again = await client.get(address, headers={"If-None-Match": "*"})
        assert (again.status_code, again.headers["etag"]) == (304, first.headers["etag"])


@pytest.mark.parametrize("address", ADDRESSES)
async def test_a_read_may_depend_on_what_the_client_has(
    client: httpx.AsyncClient, address: str
) -> None:
    async def read(tag: str, method: str = "GET", **headers: str) -> int:
        headers["If-Match"] = tag
        return (await client.request(method, address, headers=headers)).status_code

    tag = (await client.get(address)).headers["etag"]
    for _ in range(2):
        assert [await read(tag), await read("*"), await read(f'"old", {tag}')] == [200] * 3
        for method in ("GET", "HEAD"):
            assert await read('"old"', method, **{"If-None-Match": tag}) == 412
    refused = await client.get(address, headers={"If-Match": f"W/{tag}"})
    assert refused.status_code == 412
    assert "etag" not in refused.headers
    body = refused.json()
    error = body["errors"][0]["extensions"] if address.startswith("/graphql") else body
    assert error["code"] == "PRECONDITION_FAILED"


async def test_an_error_is_never_answered_304(client: httpx.AsyncClient) -> None:
    for address, status in (("/v1/units/none", 404), ("/v1/units?page=0", 422)):
        response = await client.get(address, headers={"If-None-Match": "*"})
        assert response.status_code == status
        assert "etag" not in response.headers


async def test_an_error_says_that_no_shared_cache_may_keep_it(client: httpx.AsyncClient) -> None:
    for address in ("/v1/units/none", "/v1/nothing", "/v1/units?page=0"):
        response = await client.get(address)
        assert response.headers["cache-control"] == "private, no-cache"
        assert "API-Key" in response.headers["vary"]


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
async def test_a_response_travels_in_the_coding_that_was_asked_for(
    gateway: Gateway, world: World, coding: str
) -> None:
    async with open_client(gateway, world.keys.full) as client:
        plain = await client.get("/v1/units")
        async with client.stream(
            "GET", "/v1/units", headers={"Accept-Encoding": coding}
        ) as response:
            sent = b"".join([part async for part in response.aiter_raw()])
    assert response.headers["content-encoding"] == coding
    assert response.headers["content-length"] == str(len(sent))
    decoded = gzip.decompress(sent) if coding == "gzip" else zstandard.decompress(sent)
    assert decoded == plain.content


async def test_a_304_repeats_the_link_to_the_next_page(client: httpx.AsyncClient) -> None:
    first = await client.get("/v1/units?per-page=2")
    again = await client.get("/v1/units?per-page=2", headers={"If-None-Match": "*"})
    assert again.status_code == 304
    assert again.headers["link"] == first.headers["link"]


async def test_a_post_is_compressed_but_has_no_tag(client: httpx.AsyncClient) -> None:
    response = await client.post(
        "/graphql",
        json={"query": "{units{data{id name createdAt}}}"},
        headers={"Accept-Encoding": "gzip", "If-None-Match": "*"},
    )
    assert response.status_code == 200
    assert response.headers["content-encoding"] == "gzip"
    assert "etag" not in response.headers


BODY = b"floor " * 200
HEADERS = [(b"content-type", b"text/plain"), (b"content-length", b"1200"), (b"vary", b"Accept")]


def select(
    response: CachedResponse, method: str = "GET", **headers: str
) -> tuple[int, dict[bytes, bytes], bytes]:
    """The status, headers and body that a request gets."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    start, body = asyncio.run(response.prepare_messages({"method": method, "headers": raw}))
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
    start, _ = asyncio.run(response.prepare_messages({"method": "GET", "headers": repeated}))
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
        self._compress = responses.compress
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
    monkeypatch.setattr(responses, "compress", compressor.compress)
    monkeypatch.setattr(responses, "MAX_BYTES_IN_EVENT_LOOP", 1_000)
    monkeypatch.setattr(responses, "GZIP_BYTES_IN_EVENT_LOOP", 1_000)
    return compressor


def get(response: CachedResponse, **headers: str) -> asyncio.Task[Any]:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return asyncio.create_task(response.prepare_messages({"method": "GET", "headers": raw}))


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


async def test_a_304_compresses_nothing(compressor: Compressor) -> None:
    compressor.release()
    response = CachedResponse(HEADERS, BODY)
    etag = dict((await get(response))[0]["headers"])[b"etag"].decode()
    compressor.encodings.clear()
    for tag in (etag, f'{etag[:-1]}-gzip"', "*"):
        start, _ = await get(response, accept_encoding="gzip", if_none_match=tag)
        assert start["status"] == 304
    assert compressor.encodings == []


@pytest.mark.parametrize(
    ("header", "encoding"),
    [
        (None, "identity"),
        (b"", "identity"),
        (b"gzip", "gzip"),
        (b"x-gzip", "gzip"),
        (b"gzip, deflate, br, zstd", "gzip"),  # Chromium
        (b"zstd, br, gzip, deflate", "zstd"),
        (b"br, *, gzip", "gzip"),
        (b"gzip;q=1.0, zstd;q=0.5", "gzip"),
        (b"gzip ; q=0.8 , zstd ; q=0.9", "zstd"),
        (b"identity, gzip;q=0.5", "identity"),
        (b"gzip, identity", "gzip"),
        (b"identity, gzip", "identity"),
        (b"gzip;q=0", "identity"),
        (b"*", "gzip"),
        (b"*;q=0", "identity"),
        (b"gzip;q=0, *", "identity"),
        (b"identity;q=0", "identity"),
        (b"gzip;q=2", "identity"),  # no weight is above 1
        (b"gzip;q=high, zstd;q=0.1", "zstd"),
        (b"gzip;level=9", "gzip"),  # only q is a weight
        (b",,gzip,", "gzip"),
        (b"\xff\xfe", "identity"),
    ],
)
def test_the_coding_a_client_prefers_is_chosen(header: bytes | None, encoding: Encoding) -> None:
    assert responses.negotiate_encoding(header) == encoding


@given(st.binary(max_size=200))
def test_any_header_leads_to_a_coding(header: bytes) -> None:
    assert responses.negotiate_encoding(header) in ENCODINGS


def test_small_bodies_travel_as_they_are() -> None:
    limit = responses.MIN_COMPRESSED_BYTES
    assert responses.choose_encoding(b"gzip", limit - 1) == "identity"
    assert responses.choose_encoding(b"gzip", limit) == "gzip"


@given(st.binary())
def test_compressed_bodies_decompress_to_the_original(body: bytes) -> None:
    assert gzip.decompress(responses.compress(body, "gzip")) == body
    assert zstandard.ZstdDecompressor().decompress(responses.compress(body, "zstd")) == body
    assert responses.compress(body, "identity") is body


def test_gzip_holds_no_time_of_writing() -> None:
    assert responses.compress(b"plan", "gzip")[4:8] == bytes(4)


@pytest.mark.parametrize(
    ("size_bytes", "encoding", "is_slow"),
    [
        (64_000, "gzip", False),
        (64_001, "gzip", True),
        (64_001, "zstd", False),
        (256_001, "zstd", True),
        (256_001, "identity", True),  # for its digest
    ],
)
def test_large_bodies_are_encoded_in_threads(
    size_bytes: int, encoding: Encoding, is_slow: bool
) -> None:
    assert responses.is_slow(size_bytes, encoding) is is_slow
