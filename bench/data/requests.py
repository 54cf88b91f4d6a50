"""A request to send, apart from the server that gets it."""

import msgspec


class LoadRequest(msgspec.Struct, frozen=True):
    """One HTTP request."""

    path: str
    method: str = "GET"
    body: bytes = b""
    headers: dict[str, str] = {}
