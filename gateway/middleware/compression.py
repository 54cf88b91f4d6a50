"""Content codings and entity tags of ready response bodies (RFC 9110: 8.8.3, 12.5.3, 13.1.2).

Everything here is a pure function of bytes, so that a cache can keep the results.
"""

import base64
import functools
import gzip
import hashlib
import re
from typing import Literal

import zstandard

Encoding = Literal["zstd", "gzip", "identity"]

MIN_COMPRESSED_BYTES = 500
"""Below this a coding saves less than its own header costs."""

_ENCODING_PREFERENCE: tuple[Encoding, ...] = ("zstd", "gzip", "identity")
_ENCODING_ALIASES = {"x-gzip": "gzip"}
_WEIGHT = re.compile(r"(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\Z")
_ENTITY_TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_GZIP_LEVEL = 4  # level 6 takes half as long again for 3 % on a list of units
_ZSTD_LEVEL = 3  # its window stays below the 8 MB that RFC 9659 allows


@functools.lru_cache(maxsize=256)
def negotiate_encoding(header: bytes | None) -> Encoding:
    """The coding for an `Accept-Encoding` header; several header lines arrive joined by commas.

    The highest weight wins, then zstd before gzip before identity. `*` stands for gzip: what a
    client that can name nothing can surely read. When all is refused, identity is served all
    the same, which RFC 9110 permits.
    """
    if header is None:
        return "identity"
    weights = _parse_weights(header.decode("latin-1").lower())
    wildcard = weights.get("*")
    offered = {
        "zstd": weights.get("zstd", 0.0),
        "gzip": weights.get("gzip", wildcard or 0.0),
        "identity": weights.get("identity", 0.0),
    }
    best = max(_ENCODING_PREFERENCE, key=lambda encoding: offered[encoding])
    return best if offered[best] > 0 else "identity"


def _parse_weights(header: str) -> dict[str, float]:
    members = (member.partition(";") for member in header.split(","))
    return {
        _ENCODING_ALIASES.get(coding.strip(), coding.strip()): _parse_weight(parameter)
        for coding, _, parameter in members
    }


def _parse_weight(parameter: str) -> float:
    """The weight a member carries: 1 without one, 0 for one that is malformed."""
    if not parameter.strip():
        return 1.0
    name, _, value = parameter.partition("=")
    value = value.strip()
    return float(value) if name.strip() == "q" and _WEIGHT.match(value) else 0.0


def choose_encoding(header: bytes | None, size_bytes: int) -> Encoding:
    """The coding for a body of this size: small bodies travel as they are."""
    return negotiate_encoding(header) if size_bytes >= MIN_COMPRESSED_BYTES else "identity"


def compress(body: bytes, encoding: Encoding) -> bytes:
    """The body in the coding; equal bodies give equal bytes."""
    if encoding == "zstd":
        return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(body)
    if encoding == "gzip":
        return gzip.compress(body, _GZIP_LEVEL, mtime=0)
    return body


def compute_etag(body: bytes) -> str:
    """A strong entity tag: 128 bits of SHA-256 over the body before any coding."""
    digest = hashlib.sha256(body).digest()[:16]
    return f'"{base64.urlsafe_b64encode(digest).decode().rstrip("=")}"'


def etag_for_encoding(tag: str, encoding: Encoding) -> str:
    """The tag of the coded body: strong tags differ where bytes differ (RFC 9110, 8.8.3.3)."""
    return tag if encoding == "identity" else f'{tag[:-1]}-{encoding}"'


def etag_matches(if_none_match: bytes | None, tag: str) -> bool:
    """Whether `If-None-Match` names the tag, by weak comparison (RFC 9110, 13.1.2).

    Several header lines arrive joined by commas; a malformed header names nothing.
    """
    if if_none_match is None:
        return False
    header = if_none_match.decode("latin-1").strip()
    return header in (tag, "*") or tag.removeprefix("W/") in _ENTITY_TAG.findall(header)
