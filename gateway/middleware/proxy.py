"""Behind a proxy that terminates TLS: serve only requests that reached the proxy over HTTPS."""

from collections.abc import Collection

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.server.admission import HEALTH_PATHS
from rest.errors import HttpError

_HTTPS_REQUIRED = HttpError(
    403,
    "HTTPS is required: the proxy must send X-Forwarded-Proto: https with each request",
    "HTTPS_REQUIRED",
)


class ForwardedHttpsMiddleware:
    """Answer 403 unless every `X-Forwarded-Proto` value is `https`. Health probes are exempt.

    No other header of the proxy is trusted here: links in responses use the configured base URL.
    The server takes the client's address from `X-Forwarded-For`.
    """

    def __init__(self, app: ASGIApp, exempt_paths: Collection[str] = HEALTH_PATHS) -> None:
        self.app = app
        self.exempt_paths = exempt_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope["path"] in self.exempt_paths:
            await self.app(scope, receive, send)
        elif _is_forwarded_https(scope):
            scope["scheme"] = "wss" if scope["type"] == "websocket" else "https"
            await self.app(scope, receive, send)
        else:
            await _HTTPS_REQUIRED.to_response()(scope, receive, send)


def _is_forwarded_https(scope: Scope) -> bool:
    """Return whether at least one proxy, and every proxy that adds a value, received HTTPS."""
    schemes = [
        scheme.strip().lower()
        for name, value in scope["headers"]
        if name == b"x-forwarded-proto"
        for scheme in value.split(b",")
    ]
    return bool(schemes) and all(scheme == b"https" for scheme in schemes)
