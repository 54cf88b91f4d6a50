"""Which coding a client gets."""

import gzip

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gateway import compression
from rest.entity_tags import ENCODINGS, Encoding


@pytest.mark.parametrize(
    ("header", "encoding"),
    [
        (None, "identity"),
        (b"", "identity"),
        (b"gzip", "gzip"),
        (b"x-gzip", "gzip"),
        (b"gzip, deflate, br, zstd", "zstd"),  # Chromium
        (b"gzip;q=1.0, zstd;q=0.5", "gzip"),
        (b"gzip ; q=0.8 , zstd ; q=0.9", "zstd"),
        (b"identity, gzip;q=0.5", "identity"),
        (b"gzip, identity", "gzip"),
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
    assert compression.negotiate_encoding(header) == encoding


@given(st.binary(max_size=200))
def test_any_header_leads_to_a_coding(header: bytes) -> None:
    assert compression.negotiate_encoding(header) in ENCODINGS


def test_small_bodies_travel_as_they_are() -> None:
    limit = compression.MIN_COMPRESSED_BYTES
    assert compression.choose_encoding(b"gzip", limit - 1) == "identity"
    assert compression.choose_encoding(b"gzip", limit) == "gzip"


@given(st.binary())
def test_compressed_bodies_decompress_to_the_original(body: bytes) -> None:
    assert gzip.decompress(compression.compress(body, "gzip")) == body
    assert zstandard.ZstdDecompressor().decompress(compression.compress(body, "zstd")) == body
    assert compression.compress(body, "identity") is body


def test_gzip_holds_no_time_of_writing() -> None:
    assert compression.compress(b"plan", "gzip")[4:8] == bytes(4)


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
    assert compression.is_slow(size_bytes, encoding) is is_slow
