"""Letting pages of other origins call the API (the Fetch standard, CORS protocol)."""

from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from rest.errors import HttpError

ALLOWED_METHODS = ("GET", "HEAD", "POST", "PUT")
ALLOWED_HEADERS = ("API-Key", "Experimental-Flags", "Content-Type", "If-None-Match", "X-Request-Id")
EXPOSED_HEADERS = ("ETag", "Link", "Retry-After", "X-Request-Id")
PREFLIGHT_MAX_AGE_SECONDS = 3600
VARY_ORIGIN_LINE = b"vary: Origin\r\n"
"""The header line that answers to requests without `Origin` carry besides."""


class CorsMiddleware(CORSMiddleware):
    """Answers preflights, and tells browsers whose pages may read the rest."""

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
        """Starlette's answer; a refusal has the shape of every other error."""
        answer = super().preflight_response(request_headers)
        kept = {
            name: value for name, value in answer.headers.items() if not name.startswith("content-")
        }
        if answer.status_code == 200:
            return Response(status_code=204, headers=kept)
        message = bytes(answer.body).decode()
        return HttpError(answer.status_code, message, "FORBIDDEN", headers=kept).to_response()
