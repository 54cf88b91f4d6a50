"""A gateway with an endpoint that returns a constant: the cost of everything around an endpoint.

`python -m bench.constant` serves on a free port, with the settings of its environment.
"""

from __future__ import annotations

import sys

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from gateway.app import Gateway
from gateway.server import server
from gateway.server.worker import GatewayService
from gateway.settings import settings_from_environment
from rest.bodies import DISTANCES_BODY, read_request_body
from rest.endpoints import RESPONSE_HEADERS
from rest.path_routing import PathRoute

CONSTANT_PATH = "/constant"
SIZE_HEADER = "size"
"""Request header with the number of bytes to return."""


class ConstantGateway(Gateway):
    """A gateway with one more endpoint, which only checks the key and reads the body."""

    def build_routes(self) -> list[PathRoute]:
        """Return the gateway's routes and the constant's."""
        return [PathRoute(CONSTANT_PATH, {"POST": self.constant}), *super().build_routes()]

    async def constant(self, request: Request) -> Response:
        """Return as many spaces as the header says."""
        await self.authenticate(request)
        await read_request_body(request, DISTANCES_BODY.media_type, DISTANCES_BODY.max_bytes)
        content = b" " * int(request.headers[SIZE_HEADER])
        return Response(content, 200, RESPONSE_HEADERS, DISTANCES_BODY.media_type)


def application() -> ASGIApp:
    """Return the application, configured from the environment."""
    return ConstantGateway(settings_from_environment()).build_app()


if __name__ == "__main__":
    sys.exit(server.serve(GatewayService("bench.constant:application"), port=0))
