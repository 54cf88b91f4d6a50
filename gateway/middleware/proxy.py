"""Behind a proxy that ends TLS: only requests that came to it over HTTPS are served."""

from collections.abc import Collection

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.middleware.access_log import build_error_messages
from gateway.middleware.load_shedding import HEALTH_PATHS

_HTTPS_REQUIRED_MESSAGES = build_error_messages(
    403, "HTTPS is required: the proxy must send X-Forwarded-Proto: https with each request"
)


class ProxyMiddleware:
    """Answers 403 unless every `X-Forwarded-Proto` says `https`; probes need none.

    No other header of the proxy is trusted for anything: addresses in responses come from the
    configured base address.
    """

    def __init__(self, app: ASGIApp, exempt_paths: Collection[str] = HEALTH_PATHS) -> None:
        self.app = app
        self.exempt_paths = exempt_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self.exempt_paths:
            await self.app(scope, receive, send)
        elif _is_forwarded_https(scope):
            scope["scheme"] = "https"
            await self.app(scope, receive, send)
        else:
            for message in _HTTPS_REQUIRED_MESSAGES:
                await send(message)


def _is_forwarded_https(scope: Scope) -> bool:
    """Whether each proxy on the way, and at least one, says so."""
    schemes = [
        scheme.strip().lower()
        for name, value in scope["headers"]
        if name == b"x-forwarded-proto"
        for scheme in value.split(b",")
    ]
    return bool(schemes) and all(scheme == b"https" for scheme in schemes)
