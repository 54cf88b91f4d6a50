"""Cross-origin requests from browsers (the Fetch standard, CORS protocol)."""

from collections.abc import Sequence
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from gateway.cache.cached_response import serialize_headers
from rest.errors import HttpError

ALLOWED_METHODS = ("GET", "HEAD", "POST", "PUT")
ALLOWED_HEADERS = (
    "API-Key",
    "Experimental-Flags",
    "Floorgate-Explain",
    "Content-Type",
    "If-Match",
    "If-None-Match",
    "X-Request-Id",
)
EXPOSED_HEADERS = (
    "Deprecation",
    "ETag",
    "Floorgate-Cost",
    "Floorgate-Ignored-Parameters",
    "Floorgate-Total-Count",
    "Floorgate-Warnings",
    "Link",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "Sunset",
    "X-Request-Id",
)
PREFLIGHT_MAX_AGE_SECONDS = 3600


class CorsMiddleware(CORSMiddleware):
    """Starlette's CORS middleware with this service's methods and headers and its error shape."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=ALLOWED_METHODS,
            allow_headers=ALLOWED_HEADERS,
            expose_headers=EXPOSED_HEADERS,
            max_age=PREFLIGHT_MAX_AGE_SECONDS,
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        """Return Starlette's response as 204, or its rejection as `{"message": ...}`."""
        response = super().preflight_response(request_headers)
        headers = {
            name: value
            for name, value in response.headers.items()
            if not name.startswith("content-")
        }
        if response.status_code == 200:
            return Response(status_code=204, headers=headers)
        message = bytes(response.body).decode()
        error = HttpError(response.status_code, message, "ORIGIN_NOT_ALLOWED", headers=headers)
        return error.to_response()


class CorsHeaderLines:
    """The header lines that the middleware adds to responses, for those that do not pass it."""

    def __init__(self, origins: Sequence[str]) -> None:
        """Without origins, there is no middleware."""
        vary = b"vary: Origin\r\n" if origins else b""
        simple_headers = CorsMiddleware(_no_app, origins).simple_headers if origins else {}
        lines = serialize_headers(
            [(name.lower().encode(), value.encode()) for name, value in simple_headers.items()]
        )
        self._of_others = lines + vary
        self._of_allowed: dict[bytes | None, bytes] = {None: vary}
        for origin in origins if "*" not in origins else ():
            with suppress(UnicodeEncodeError):  # Starlette reads no header as such an origin
                sent = origin.encode("latin-1")
                allow = b"access-control-allow-origin: %b\r\n" % sent
                self._of_allowed[sent] = lines + vary + allow

    def get(self, origin: bytes | None) -> bytes:
        """Return the lines of a response to a request with this `Origin`."""
        return self._of_allowed.get(origin, self._of_others)


async def _no_app(*_: object) -> None:
    """Send nothing."""
