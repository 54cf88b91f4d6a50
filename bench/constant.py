"""A gateway with an endpoint that returns a constant: the cost of everything around an endpoint.

`python -m bench.constant` serves on a free port, with the settings of its environment.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import click
from starlette.requests import Request
from starlette.responses import Response

from gateway.app import Gateway
from gateway.server import server
from gateway.server.config import AppWithFastPath, ServerConfig, SharedMemory
from gateway.settings import ALL_OPTIONS, Settings, settings_from_parameters, with_options
from rest.bodies import MAX_BODY_BYTES, read_request_body
from rest.errors import JSON_MEDIA_TYPE
from rest.path_routing import PathRoute
from rest.responses import RESPONSE_HEADERS

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
        await read_request_body(request, JSON_MEDIA_TYPE, MAX_BODY_BYTES)
        content = b" " * int(request.headers[SIZE_HEADER])
        return Response(content, 200, RESPONSE_HEADERS, JSON_MEDIA_TYPE)


def create_application(settings: Settings, shared: SharedMemory) -> AppWithFastPath:
    """Create the application that is served."""
    return ConstantGateway(settings, shared).build_app_with_fast_path()


@click.command()
@with_options(*ALL_OPTIONS)
def main(**values: Any) -> None:
    """Serve until SIGTERM, with the settings of the environment."""
    create = functools.partial(create_application, settings_from_parameters(values))
    sys.exit(server.serve(ServerConfig(create), port=0))


if __name__ == "__main__":
    main()
