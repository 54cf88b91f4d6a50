"""Complete responses, with headers that are encoded already."""

from collections.abc import Iterable, Mapping

from starlette.responses import Response

VARY = "API-Key, Experimental-Flags, Accept-Encoding"
# no-cache: a client may keep the response but must revalidate it each time (RFC 9111, 5.2.2.4).
RESPONSE_HEADERS = {"Cache-Control": "private, no-cache", "Vary": VARY}


def encode_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return headers as they are sent.

    >>> encode_headers({"Content-Type": "image/png"})
    [(b'content-type', b'image/png')]
    """
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


ENCODED_RESPONSE_HEADERS = encode_headers(RESPONSE_HEADERS)


class CompleteResponse(Response):
    """A response that takes its headers as they are, which takes a fifth of the time."""

    def __init__(
        self, body: bytes, status: int, media_type: str, headers: Iterable[tuple[bytes, bytes]]
    ) -> None:
        self.body, self.status_code, self.background = body, status, None
        self.raw_headers = [
            *headers,
            (b"content-length", str(len(body)).encode()),
            (b"content-type", media_type.encode()),
        ]
