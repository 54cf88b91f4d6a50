"""The key check of the peers on starlette: look for a request's key among the few."""

import os
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from bench.peers.peer import KEY_VARIABLE, SCOPED_KEYS_VARIABLE

Handler = Callable[[Request], Awaitable[Response]]


def read_keys() -> frozenset[str]:
    """Return all keys, from the environment."""
    return frozenset([os.environ[KEY_VARIABLE], *os.environ[SCOPED_KEYS_VARIABLE].split(",")])


def require_key(handler: Handler) -> Handler:
    """Return a handler that answers 403 to requests without a key."""
    keys = read_keys()

    async def guarded(request: Request) -> Response:
        if request.headers.get("api-key") not in keys:
            return Response(status_code=403)
        return await handler(request)

    return guarded
