"""Health probes for load balancers and orchestrators. They need no API key."""

import asyncio
import time
from collections.abc import Callable

import orjson
from starlette.requests import Request
from starlette.responses import Response

from rest.errors import JSON_MEDIA_TYPE, service_unavailable_error
from rest.path_routing import PathRoute
from storage.errors import Cause, UnavailableError
from storage.mongo import driver

READINESS_TIMEOUT_SECONDS = 1.0
READINESS_TTL_SECONDS = 0.5
"""How long a result of the check is used: probes of anyone cost two pings a second at most."""


class HealthEndpoints:
    """`/health/live` and `/health/ready`."""

    def __init__(self, get_database: Callable[[], driver.Database | None]) -> None:
        self._get_database = get_database
        """Returns None while no more requests should be sent."""
        self._ping: asyncio.Task[Cause | None] | None = None
        self._ping_expires = 0.0

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
        """Answer 200 if MongoDB can be reached and the gateway does not stop, else 503."""
        database = self._get_database()
        cause = Cause.RESTART if database is None else await self._find_cause(database)
        if cause is not None:
            return service_unavailable_error(cause).to_response()
        return Response(orjson.dumps({"status": "ready"}), media_type=JSON_MEDIA_TYPE)

    async def _find_cause(self, database: driver.Database) -> Cause | None:
        """Return the result of the ping in progress, of a recent one, or else of a new one."""
        now = time.monotonic()
        if self._ping is None or (self._ping.done() and now >= self._ping_expires):
            self._ping = asyncio.create_task(_ping(database))
            self._ping_expires = now + READINESS_TTL_SECONDS
        return await asyncio.shield(self._ping)


async def _ping(database: driver.Database) -> Cause | None:
    """Return why MongoDB cannot be read, or None if it can."""
    try:
        async with asyncio.timeout(READINESS_TIMEOUT_SECONDS):
            await driver.ping(database.client, READINESS_TIMEOUT_SECONDS)
    except UnavailableError as error:
        return error.cause
    except TimeoutError:
        return Cause.UNREACHABLE
    return None
