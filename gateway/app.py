"""The ASGI application: what is served where, and what surrounds it."""

import asyncio
import contextlib
import functools
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway import pages
from gateway.access import Access
from gateway.admission import Admission, RateLimiter
from gateway.answers import Answers
from gateway.cross_origin import UNASKED, CrossOrigin
from gateway.delivery import Delivery
from gateway.errors import StartError
from gateway.graphql import GraphQLEndpoint
from gateway.keys import Authenticator, unavailable
from gateway.proxy import BehindProxy
from gateway.settings import Settings, from_environment
from gateway.shortcut import Found, Headers, Shortcut
from gateway.worker import TALLY
from resolvers.caller import Caller
from resolvers.context import Context
from resolvers.routers import Routers
from rest import endpoints, openapi
from rest.endpoints import Key, Service
from rest.errors import not_found
from rest.routing import PathRoute, PathRoutes
from schema.execution import Executor, Operation, Result
from schema.root import GRAPHQL
from storage import driver, files
from storage.changes import Changes
from storage.connection import Connection
from storage.database import opened
from storage.errors import StorageError, Unavailable
from storage.importing import finish_interrupted
from storage.keyring import KeyRing
from storage.landmarks import Landmarks
from storage.lookups import Lookups
from storage.store import Store
from storage.tally import Place, Tally
from storage.tasks import end

JSON = "application/json"
MB = 1_000_000
READY_SECONDS = 1.0
RETRY_SECONDS = 2.0


@dataclass(slots=True)
class State:
    """What lives as long as the application runs; set when it starts."""

    store: Store
    ring: KeyRing
    routers: Routers
    changes: Changes
    answers: Answers
    shortcut: Shortcut
    lookups: Lookups | None


class Gateway:
    """One application with its settings; started by its lifespan."""

    def __init__(self, settings: Settings, tally: Tally | None = None) -> None:
        self.settings = settings
        self.tally = tally or Tally.alone()
        self.state: State | None = None
        self._descriptions: dict[str, bytes] = {}
        self.limiter = RateLimiter(settings.rate_limit, settings.rate_burst)
        self.service = Service(
            executor=Executor(GRAPHQL, settings.limits, compiles=not settings.interpret_queries),
            authenticate=self.authenticate,
            context=self.context,
            base_url=self.base_url,
            run=self.run,
            answer=self.answer,
        )

    @asynccontextmanager
    async def lifespan(self, _: Router) -> AsyncIterator[None]:
        """Opens the database, follows the keys, and closes both."""
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(_connected(self.settings.connection))
            store = Store(client, self.settings.database)
            changes = Changes(store.database, self.tally)
            await stack.enter_async_context(changes.running())
            ring = await stack.enter_async_context(KeyRing(store.database, changes).running())
            routers = Routers(functools.partial(files.read, store.database))
            answers = Answers(changes, self.settings.cache_mb * MB)
            await stack.enter_async_context(answers.reported())
            lookups = Lookups(changes) if self.settings.cache_mb else None
            store.landmarks = Landmarks(changes) if self.settings.cache_mb else None
            besides = UNASKED if self.settings.origins else b""
            shortcut = Shortcut(answers, ring, self.limiter, besides)
            self.state = State(store, ring, routers, changes, answers, shortcut, lookups)
            finishing = asyncio.create_task(_finish_imports(store))
            try:
                yield
            finally:
                self.state = None
                await end(finishing)

    async def authenticate(self, request: Request) -> Caller:
        """The caller of a request. Raises HttpError."""
        if self.state is None:
            raise unavailable()
        return await Authenticator(self.state.ring, self.limiter)(request)

    def context(self, caller: Caller, request: Request) -> Context:
        """A fresh context for one request."""
        if self.state is None:
            raise unavailable()
        state = self.state
        base_url = self.base_url(request)
        return Context(caller, state.store, base_url, state.routers, state.lookups)

    async def run(
        self, operation: Operation, variables: dict[str, Any], context: Context
    ) -> Result:
        """Runs an operation; what it may have written counts before it is answered."""
        if not operation.is_query:
            context.lookups = None  # it is to see what it has just written
        try:
            return await self.service.executor.run(operation, variables, context)
        finally:
            if not operation.is_query and self.state is not None:
                self.state.changes.wrote()

    async def answer(
        self, key: Key, context: Context, make: Callable[[], Awaitable[Response]]
    ) -> ASGIApp:
        """The answer kept under a key, else the one made now."""
        if self.state is None:
            raise unavailable()
        return await self.state.answers.of(key, context, make)

    def base_url(self, request: Request) -> str:
        """The address that clients use: the configured one, else what the request was sent to."""
        if self.settings.base_url:
            return self.settings.base_url.rstrip("/")
        return f"{request.scope['scheme']}://{request.headers.get('host', 'localhost')}"

    async def live(self, _: Request) -> Response:
        """Whether the process answers."""
        return Response(orjson.dumps({"status": "live"}), media_type=JSON)

    async def ready(self, _: Request) -> Response:
        """Whether requests can be served: MongoDB is reachable."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                with driver.translating():
                    if self.state is None:
                        raise TimeoutError
                    await self.state.store.database.command("ping")
        except (TimeoutError, StorageError):
            return unavailable().response()
        return Response(orjson.dumps({"status": "ready"}), media_type=JSON)

    async def describe_json(self, _: Request) -> Response:
        """The OpenAPI description as JSON."""
        return Response(self._described("json"), media_type=JSON)

    async def describe_yaml(self, _: Request) -> Response:
        """The OpenAPI description as YAML."""
        return Response(self._described("yaml"), media_type="application/yaml")

    async def reference(self, _: Request) -> Response:
        """The interactive API reference."""
        return pages.reference_response()

    def _described(self, form: str) -> bytes:
        # Made once: whoever asks has no key, and writing YAML takes long.
        if form not in self._descriptions:
            described = openapi.describe(self.service.executor.schema, self.settings.base_url)
            self._descriptions = {
                "json": orjson.dumps(described),
                "yaml": openapi.to_yaml(described).encode(),
            }
        return self._descriptions[form]

    def application(self) -> ASGIApp:
        """The routes with everything around them, innermost first."""
        routes: list[BaseRoute] = [PathRoutes(self.routes()), *pages.routes()]
        app: ASGIApp = Router(
            routes, redirect_slashes=False, default=_unknown, lifespan=self.lifespan
        )
        app = Admission(Delivery(app), self.settings.requests_in_flight)
        if self.settings.origins:
            app = CrossOrigin(app, self.settings.origins)
        if self.settings.behind_proxy:
            app = BehindProxy(app)
        if not self.settings.cache_mb:
            return Access(app)
        return Access(app, answered=self.answered, shortcut=self.shortcut)

    def shortcut(self, target: bytes, headers: Headers) -> Found | None:
        """The kept answer to a GET, where no more than that is needed."""
        return None if self.state is None else self.state.shortcut.find(target, headers)

    def answered(self, scope: Scope) -> None:
        """Notes where a request was led, for the next one like it."""
        if self.state is not None:
            self.state.shortcut.remember(scope)

    def routes(self) -> list[PathRoute]:
        """Everything that is served beside the files of the pages."""
        graphql = GraphQLEndpoint(self.service)
        return [
            PathRoute("/health/live", {"GET": self.live}),
            PathRoute("/health/ready", {"GET": self.ready}),
            PathRoute("/v1/openapi.json", {"GET": self.describe_json}),
            PathRoute("/v1/openapi.yaml", {"GET": self.describe_yaml}),
            PathRoute("/v1/openapi", {"GET": self.reference}),
            PathRoute("/graphql", {"GET": graphql, "POST": graphql}),
            *endpoints.routes(self.service),
        ]


def from_variables() -> ASGIApp:
    """The application of a serving process, whose settings are in its environment."""
    place = os.environ.get(TALLY)
    tally = Tally.joined(Place(*map(int, place.split()))) if place else None
    return Gateway(from_environment(), tally).application()


@asynccontextmanager
async def _connected(connection: Connection) -> AsyncIterator[driver.Client]:
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(opened(connection))
        except Unavailable as error:
            raise StartError(f"{error}: is it running, and is --mongo-url right?") from error
        except StorageError as error:
            raise StartError(str(error)) from error
        yield client


async def _finish_imports(store: Store) -> None:
    # An import that was killed holds its lease for a while: it may only be slow.
    finished = False
    while not finished:
        with contextlib.suppress(StorageError):
            finished = await finish_interrupted(store.database)
        if not finished:
            await asyncio.sleep(RETRY_SECONDS)


async def _unknown(scope: Scope, receive: Receive, send: Send) -> None:
    response = not_found().response()
    await response(scope, receive, send)
