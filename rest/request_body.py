"""Read a request body with a limit on its size; the limits of what comes before it."""

from typing import Final

from starlette.types import Receive

MAX_URL_BYTES: Final = 24 * 1024
"""A cursor of 16 KB, which a list in the order of long names may have, and 8 KB of filters."""
MAX_HEADER_BYTES: Final = 32 * 1024


class BodyTooLargeError(Exception):
    """The body is over `max_bytes`: status 413. The message names the limit."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"The request body must not be over {max_bytes} bytes")
        self.max_bytes = max_bytes


class ClientDisconnectedError(Exception):
    """The client closed the connection before its body was complete; no response can be sent."""


async def receive_body(
    receive: Receive, max_bytes: int, content_length: bytes | None = None
) -> bytes:
    """Return the whole body.

    Raises BodyTooLargeError for a `Content-Length` over the limit before reading, so a client
    that waits for `100 Continue` never sends the body (RFC 9110, 10.1.1), and for a chunked body
    once it exceeds the limit. Raises ClientDisconnectedError if the client closes early.
    """
    if content_length is not None and _exceeds_limit(content_length, max_bytes):
        raise BodyTooLargeError(max_bytes)
    chunks: list[bytes] = []
    received_bytes = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnectedError
        chunk = message.get("body", b"")
        received_bytes += len(chunk)
        if received_bytes > max_bytes:
            raise BodyTooLargeError(max_bytes)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _exceeds_limit(content_length: bytes, max_bytes: int) -> bool:
    """Return whether Content-Length exceeds the limit.

    If it is not a number, the bytes are counted instead.
    """
    digits = content_length.strip().lstrip(b"0")
    if not digits.isdigit():
        return False
    # More than 18 digits are over any limit; int() raises ValueError for more than 4,300.
    return len(digits) > 18 or int(digits) > max_bytes
