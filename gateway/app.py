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
from gateway.authentication import Authenticator
from gateway.cache.fast_path import FastPath, FastResponse, RawHeaders
from gateway.cache.response_cache import ResponseCache
from gateway.errors import StartError
from gateway.graphql import GraphQLEndpoint
from gateway.middleware.access_log import AccessLogMiddleware
from gateway.middleware.conditional import ConditionalMiddleware
from gateway.middleware.cors import VARY_ORIGIN_LINE, CorsMiddleware
from gateway.middleware.load_shedding import LoadSheddingMiddleware
from gateway.middleware.proxy import ProxyMiddleware
from gateway.rate_limit import RateLimiter
from gateway.server.worker import WRITE_COUNTER_VARIABLE
from gateway.settings import Settings, settings_from_environment
from resolvers.networks.router_cache import RouterCache
from resolvers.request.caller import Caller
from resolvers.request.context import Context
from rest import endpoints
from rest.endpoints import CacheKey, RestService
from rest.errors import not_found_error, service_unavailable_error
from rest.openapi import description
from rest.path_routing import PathRoute, PathRouter
from schema.execution import Executor, Operation, OperationResult
from schema.root import GRAPHQL_SCHEMA
from storage import files
from storage.bundles.recovery import finish_interrupted_import
from storage.cache.bookmarks import PageBookmarks
from storage.cache.change_feed import ChangeFeed
from storage.cache.key_cache import KeyCache
from storage.cache.record_cache import RecordCache
from storage.cache.write_counter import Slot, WriteCounter
from storage.errors import StorageError, UnavailableError
from storage.mongo import driver
from storage.mongo.connection import ConnectionSettings
from storage.mongo.tasks import cancel_and_wait
from storage.setup.database import open_database
from storage.store import Store

JSON_MEDIA_TYPE = "application/json"
BYTES_PER_MB = 1_000_000
READINESS_TIMEOUT_SECONDS = 1.0
IMPORT_RETRY_SECONDS = 2.0


@dataclass(slots=True)
class GatewayState:
    """What lives as long as the application runs; set when it starts."""

    store: Store
    key_cache: KeyCache
    routers: RouterCache
    change_feed: ChangeFeed
    response_cache: ResponseCache
    fast_path: FastPath
    record_cache: RecordCache | None


class Gateway:
    """One application with its settings; started by its lifespan."""

    def __init__(self, settings: Settings, write_counter: WriteCounter | None = None) -> None:
        self.settings = settings
        self.write_counter = write_counter or WriteCounter.for_single_process()
        self.state: GatewayState | None = None
        self._openapi_documents: dict[str, bytes] = {}
        self.rate_limiter = RateLimiter(settings.rate_limit, settings.rate_burst)
        self.service = RestService(
            executor=Executor(
                GRAPHQL_SCHEMA,
                settings.query_limits,
                compile_queries=not settings.interpret_queries,
            ),
            authenticate=self.authenticate,
            create_context=self.create_context,
            base_url=self.base_url,
            run_operation=self.run_operation,
            get_or_create_response=self.get_or_create_response,
        )

    @asynccontextmanager
    async def lifespan(self, _: Router) -> AsyncIterator[None]:
        """Opens the database, follows the keys, and closes both."""
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(_open_database(self.settings.connection))
            store = Store(client, self.settings.database)
            changes = ChangeFeed(store.database, self.write_counter)
            await stack.enter_async_context(changes.run())
            ring = await stack.enter_async_context(KeyCache(store.database, changes).run())
            routers = RouterCache(functools.partial(files.read_file, store.database))
            answers = ResponseCache(changes, self.settings.cache_mb * BYTES_PER_MB)
            await stack.enter_async_context(answers.run_reporting())
            lookups = RecordCache(changes) if self.settings.cache_mb else None
            store.bookmarks = PageBookmarks(changes) if self.settings.cache_mb else None
            besides = VARY_ORIGIN_LINE if self.settings.allowed_origins else b""
            shortcut = FastPath(answers, ring, self.rate_limiter, besides)
            self.state = GatewayState(store, ring, routers, changes, answers, shortcut, lookups)
            finishing = asyncio.create_task(_finish_interrupted_imports(store))
            try:
                yield
            finally:
                self.state = None
                await cancel_and_wait(finishing)

    async def authenticate(self, request: Request) -> Caller:
        """The caller of a request. Raises HttpError."""
        if self.state is None:
            raise service_unavailable_error()
        return await Authenticator(self.state.key_cache, self.rate_limiter)(request)

    def create_context(self, caller: Caller, request: Request) -> Context:
        """A fresh context for one request."""
        if self.state is None:
            raise service_unavailable_error()
        state = self.state
        base_url = self.base_url(request)
        return Context(caller, state.store, base_url, state.routers, state.record_cache)

    async def run_operation(
        self, operation: Operation, variables: dict[str, Any], context: Context
    ) -> OperationResult:
        """Runs an operation; what it may have written counts before it is answered."""
        if not operation.is_query:
            context = context.for_mutation()
        try:
            return await self.service.executor.run(operation, variables, context)
        finally:
            if not operation.is_query and self.state is not None:
                self.state.change_feed.count_write()

    async def get_or_create_response(
        self, key: CacheKey, context: Context, create: Callable[[], Awaitable[Response]]
    ) -> ASGIApp:
        """The answer kept under a key, else the one made now."""
        if self.state is None:
            raise service_unavailable_error()
        return await self.state.response_cache.get_or_create(key, context, create)

    def base_url(self, request: Request) -> str:
        """The address that clients use: the configured one, else what the request was sent to."""
        if self.settings.base_url:
            return self.settings.base_url.rstrip("/")
        return f"{request.scope['scheme']}://{request.headers.get('host', 'localhost')}"

    async def liveness(self, _: Request) -> Response:
        """Whether the process answers."""
        return Response(orjson.dumps({"status": "live"}), media_type=JSON_MEDIA_TYPE)

    async def readiness(self, _: Request) -> Response:
        """Whether requests can be served: MongoDB is reachable."""
        try:
            async with asyncio.timeout(READINESS_TIMEOUT_SECONDS):
                if self.state is None:
                    raise TimeoutError
                await driver.ping(self.state.store.client, READINESS_TIMEOUT_SECONDS)
        except (TimeoutError, StorageError):
            return service_unavailable_error().to_response()
        return Response(orjson.dumps({"status": "ready"}), media_type=JSON_MEDIA_TYPE)

    async def openapi_json(self, _: Request) -> Response:
        """The OpenAPI description as JSON."""
        return Response(self._render_openapi("json"), media_type=JSON_MEDIA_TYPE)

    async def openapi_yaml(self, _: Request) -> Response:
        """The OpenAPI description as YAML."""
        return Response(self._render_openapi("yaml"), media_type="application/yaml")

    async def api_reference(self, _: Request) -> Response:
        """The interactive API reference."""
        return pages.reference_response()

    def _render_openapi(self, form: str) -> bytes:
        # Made once: whoever asks has no key, and writing YAML takes long.
        if form not in self._openapi_documents:
            described = description.build_description(
                self.service.executor.schema, self.settings.base_url
            )
            self._openapi_documents = {
                "json": orjson.dumps(described),
                "yaml": description.to_yaml(described).encode(),
            }
        return self._openapi_documents[form]

    def build_app(self) -> ASGIApp:
        """The routes with everything around them, innermost first."""
        routes: list[BaseRoute] = [PathRouter(self.build_routes()), *pages.asset_routes()]
        app: ASGIApp = Router(
            routes, redirect_slashes=False, default=_send_not_found, lifespan=self.lifespan
        )
        app = LoadSheddingMiddleware(ConditionalMiddleware(app), self.settings.requests_in_flight)
        if self.settings.allowed_origins:
            app = CorsMiddleware(app, self.settings.allowed_origins)
        if self.settings.behind_proxy:
            app = ProxyMiddleware(app)
        if not self.settings.cache_mb:
            return AccessLogMiddleware(app)
        return AccessLogMiddleware(
            app, on_response=self.remember_request, fast_path=self.find_fast_response
        )

    def find_fast_response(self, target: bytes, headers: RawHeaders) -> FastResponse | None:
        """The kept answer to a GET, where no more than that is needed."""
        return None if self.state is None else self.state.fast_path.find(target, headers)

    def remember_request(self, scope: Scope) -> None:
        """Notes where a request was led, for the next one like it."""
        if self.state is not None:
            self.state.fast_path.remember(scope)

    def build_routes(self) -> list[PathRoute]:
        """Everything that is served beside the files of the pages."""
        graphql = GraphQLEndpoint(self.service)
        return [
            PathRoute("/health/live", {"GET": self.liveness}),
            PathRoute("/health/ready", {"GET": self.readiness}),
            PathRoute("/v1/openapi.json", {"GET": self.openapi_json}),
            PathRoute("/v1/openapi.yaml", {"GET": self.openapi_yaml}),
            PathRoute("/v1/openapi", {"GET": self.api_reference}),
            PathRoute("/graphql", {"GET": graphql, "POST": graphql}),
            *endpoints.build_routes(self.service),
        ]


def create_app_from_environment() -> ASGIApp:
    """The application of a serving process, whose settings are in its environment."""
    place = os.environ.get(WRITE_COUNTER_VARIABLE)
    tally = WriteCounter.attach(Slot(*map(int, place.split()))) if place else None
    return Gateway(settings_from_environment(), tally).build_app()


@asynccontextmanager
async def _open_database(connection: ConnectionSettings) -> AsyncIterator[driver.Client]:
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(open_database(connection))
        except UnavailableError as error:
            raise StartError(f"{error}: is it running, and is --mongo-url right?") from error
        except StorageError as error:
            raise StartError(str(error)) from error
        yield client


async def _finish_interrupted_imports(store: Store) -> None:
    # An import that was killed holds its lease for a while: it may only be slow.
    finished = False
    while not finished:
        with contextlib.suppress(StorageError):
            finished = await finish_interrupted_import(store.database)
        if not finished:
            await asyncio.sleep(IMPORT_RETRY_SECONDS)


async def _send_not_found(scope: Scope, receive: Receive, send: Send) -> None:
    response = not_found_error().to_response()
    await response(scope, receive, send)
