"""A gateway that also returns constants: what everything around an answer costs by itself.

`python -m bench.constant` serves on a free port, with the settings of its environment.
"""

from __future__ import annotations

import sys

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from gateway import server
from gateway.app import Gateway
from gateway.settings import from_environment
from gateway.worker import Service
from rest.bodies import DISTANCES, read
from rest.endpoints import HEADERS
from rest.routing import PathRoute

PATH = "/constant"
SIZE = "size"
"""The request's header that says how many bytes to return."""


class ConstantGateway(Gateway):
    """The key is checked and the body read, and that is all."""

    def routes(self) -> list[PathRoute]:
        """The gateway's own, and the constant."""
        return [PathRoute(PATH, {"POST": self.constant}), *super().routes()]

    async def constant(self, request: Request) -> Response:
        """As many spaces as are wanted."""
        await self.authenticate(request)
        await read(request, DISTANCES.media_type, DISTANCES.limit_bytes)
        content = b" " * int(request.headers[SIZE])
        return Response(content, 200, HEADERS, DISTANCES.media_type)


def application() -> ASGIApp:
    """What is served."""
    return ConstantGateway(from_environment()).application()


if __name__ == "__main__":
    sys.exit(server.serve(Service("bench.constant:application"), port=0))
