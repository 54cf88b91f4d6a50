"""The key check of the peers on starlette: compare a request's key with the only one."""

import hmac
import os
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from bench.peers.peer import KEY_VARIABLE

Handler = Callable[[Request], Awaitable[Response]]


def require_key(handler: Handler) -> Handler:
    """Return a handler that answers 403 to requests without the key."""
    key = os.environ[KEY_VARIABLE]

    async def guarded(request: Request) -> Response:
        if not hmac.compare_digest(request.headers.get("api-key", ""), key):
            return Response(status_code=403)
        return await handler(request)

    return guarded
