"""Health probes for load balancers and orchestrators. They need no API key."""

import asyncio
from collections.abc import Callable

import orjson
from starlette.requests import Request
from starlette.responses import Response

from rest.endpoints import JSON_MEDIA_TYPE
from rest.errors import service_unavailable_error
from rest.path_routing import PathRoute
from storage.errors import StorageError
from storage.mongo import driver

READINESS_TIMEOUT_SECONDS = 1.0


class HealthEndpoints:
    """`/health/live` and `/health/ready`."""

    def __init__(self, get_database: Callable[[], driver.Database | None]) -> None:
        self._get_database = get_database
        """Returns None while the application is not running."""

    def build_routes(self) -> list[PathRoute]:
        """Return the routes of both probes."""
        return [
            PathRoute("/health/live", {"GET": self.liveness}),
            PathRoute("/health/ready", {"GET": self.readiness}),
        ]

    async def liveness(self, _: Request) -> Response:
        """Answer 200: the process runs and its event loop is responsive."""
        return Response(orjson.dumps({"status": "live"}), media_type=JSON_MEDIA_TYPE)

    async def readiness(self, _: Request) -> Response:
        """Answer 200 if MongoDB can be reached, else 503."""
        database = self._get_database()
        if database is None:
            return service_unavailable_error().to_response()
        try:
            async with asyncio.timeout(READINESS_TIMEOUT_SECONDS):
                await driver.ping(database.client, READINESS_TIMEOUT_SECONDS)
        except (TimeoutError, StorageError):
            return service_unavailable_error().to_response()
        return Response(orjson.dumps({"status": "ready"}), media_type=JSON_MEDIA_TYPE)
