"""Requests of the benchmark, independent of the server that gets them."""

import msgspec

UNIQUE_TOKEN = "0000unique"
"""Stands in a path or a body for a number of as many digits that no other request has."""


class LoadRequest(msgspec.Struct, frozen=True):
    """One HTTP request."""

    path: str
    method: str = "GET"
    body: bytes = b""
    headers: dict[str, str] = {}
