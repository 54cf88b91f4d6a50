"""Web pages of other origins: which may call, and what lets their browsers read the responses.

See docs/decisions/server/origins.md.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

from gateway.exchange import HeaderList, fields_of
from rest.errors import HttpError
from storage.administration.api_keys import normalize_origin
from storage.cache.api_key_cache import ApiKeyCache

ALLOWED_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
ALLOWED_HEADERS = (
    "API-Key",
    "Experimental-Flags",
    "Floorgate-Explain",
    "Content-Type",
    "If-Match",
    "If-None-Match",
    "Traceparent",
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
    "Traceresponse",
    "X-Request-Id",
)
PREFLIGHT_MAX_AGE_SECONDS = 3600
_EXPOSE = (b"access-control-expose-headers", ", ".join(EXPOSED_HEADERS).encode())
ALLOW_ALL = (b"access-control-allow-origin", b"*")
"""A response that has this by itself gets no headers of the policy."""


class CorsPolicy(CORSMiddleware):
    """Allow the origins of the setting, and those of all keys that are valid now.

    A preflight request has no key, so it is answered for all keys. Authentication then holds the
    request itself to the origins of its own.
    """

    def __init__(
        self,
        origins: Sequence[str] = (),
        get_key_cache: Callable[[], ApiKeyCache | None] = lambda: None,
        base_url: str | None = None,
    ) -> None:
        super().__init__(
            Response(),  # never runs
            allow_origins=origins,
            allow_methods=ALLOWED_METHODS,
            allow_headers=ALLOWED_HEADERS,
            max_age=PREFLIGHT_MAX_AGE_SECONDS,
        )
        self._get_key_cache = get_key_cache
        self._base_url = base_url

    async def refresh(self) -> None:
        """Have what follows know the keys of this moment."""
        if (key_cache := self._get_key_cache()) is not None:
            await key_cache.refresh_origins()

    def is_allowed_origin(self, origin: str) -> bool:
        if self.allow_all_origins or origin in self.allow_origins:
            return True
        return origin in self._find_origins_of_keys()

    def find_refused_origin(self, scope: Scope, is_allowed: Callable[[str], bool]) -> str | None:
        """Return the origin of the page that sends a request, if it is neither allowed nor our own.

        Programs send none, or several.
        """
        for line in fields_of(scope).list_lines(b"origin"):
            origin = line.decode("latin-1")
            if not is_allowed(origin) and not self._is_own(origin, scope):
                return origin
        return None

    def get_headers(self, origin: bytes) -> HeaderList:
        """Return the headers of a response to a page, which lets its browser read it.

        All responses have `Vary: Origin`, as keys may be bound to origins.
        """
        if self.allow_all_origins:
            return [ALLOW_ALL, _EXPOSE]
        if self.is_allowed_origin(origin.decode("latin-1")):
            return [(b"access-control-allow-origin", origin), _EXPOSE]
        return []

    def answer_preflight(self, scope: Scope) -> ASGIApp | None:
        """Return the answer to a preflight request; None for any other, or without any origin.

        It is Starlette's as a 204, or as our error.
        """
        fields = fields_of(scope)
        if scope.get("method") != "OPTIONS" or b"access-control-request-method" not in fields:
            return None
        if not self.allow_origins and not self._find_origins_of_keys():
            return None
        response = self.preflight_response(Headers(scope=scope))
        headers = {
            name: value
            for name, value in response.headers.items()
            if not name.startswith("content-")
        }
        if response.status_code == 200:
            return Response(status_code=204, headers=headers)
        message = bytes(response.body).decode()
        return HttpError(403, message, "ORIGIN_NOT_ALLOWED", headers=headers)

    def _find_origins_of_keys(self) -> frozenset[str]:
        key_cache = self._get_key_cache()
        return frozenset() if key_cache is None else key_cache.find_origins()

    def _is_own(self, origin: str, scope: Scope) -> bool:
        """Return whether an origin is the service's: as configured, or as the browser calls it."""
        host = fields_of(scope).get(b"host", b"").decode("latin-1")
        scheme = scope["scheme"].replace("ws", "http")
        for url in (f"{scheme}://{host}", self._base_url or ""):
            with suppress(ValueError):
                if origin == normalize_origin(url):
                    return True
        return False
