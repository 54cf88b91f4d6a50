"""Requests of the benchmark, independent of the server that gets them."""

import msgspec


class LoadRequest(msgspec.Struct, frozen=True):
    """One HTTP request."""

    path: str
    method: str = "GET"
    body: bytes = b""
    headers: dict[str, str] = {}
