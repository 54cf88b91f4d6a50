"""Derive opaque ids that stay the same when the samples are generated again."""

from __future__ import annotations

import base64
import hashlib


def opaque_id(prefix: str, *parts: object) -> str:
    """Return `prefix` and ten letters or digits derived from `parts`."""
    name = "/".join(str(part) for part in parts)
    digest = hashlib.sha256(name.encode()).digest()
    return prefix + base64.b32encode(digest)[:10].decode().lower()


def number_from(*parts: object) -> int:
    """Return a five-digit number derived from `parts`."""
    name = "/".join(str(part) for part in parts)
    return 10_000 + int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % 90_000


def unit_id(asset_id: str, number: str) -> str:
    return opaque_id("u", asset_id, "unit", number)
