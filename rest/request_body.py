"""Reading a request body without trusting its size."""

from starlette.types import Receive


class BodyTooLargeError(Exception):
    """The body is over `limit_bytes`; the message names the limit. Answered with 413."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"The request body must not be over {max_bytes} bytes")
        self.max_bytes = max_bytes


class ClientDisconnectedError(Exception):
    """The client closed the connection before its body was complete: nobody is left to answer."""


async def receive_body(
    receive: Receive, max_bytes: int, content_length: bytes | None = None
) -> bytes:
    """The whole body, at most `limit_bytes` long.

    A `Content-Length` over the limit raises `BodyTooLarge` before a byte is asked for, so that
    a client waiting for `100 Continue` never sends it; a chunked body raises as soon as the
    bytes counted exceed the limit. `ClientGone` when the client closes early.
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
    """Whether the header promises too much; what is no number is left to the counting."""
    digits = content_length.strip().lstrip(b"0")
    if not digits.isdigit():
        return False
    return len(digits) > 18 or int(digits) > max_bytes
