"""The ASGI application: its routes, the middleware around them, and the services they use."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import cached_property, partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Router, WebSocketRoute
from starlette.types import ASGIApp, Scope

from gateway import metrics, public_endpoints
from gateway.authentication import Authenticator, BadKeyThrottle, PresentedKey
from gateway.client_packages import ClientPackages
from gateway.cors import CorsPolicy
from gateway.endpoint_editor import EndpointEditor
from gateway.exchange import (
    SCOPE_AUTHENTICATED_KEY,
    SCOPE_WAITED_SECONDS,
    get_client_address,
)
from gateway.explain import build_explained_route
from gateway.graphql.endpoint import GraphQLEndpoint, serialize_result
from gateway.graphql.request import DocumentSource
from gateway.graphql.streams import StreamKeys, Streams, StreamServices
from gateway.graphql.websocket import WebSocketEndpoint
from gateway.middleware import RequestMiddleware
from gateway.public_endpoints import HealthEndpoints, OpenApiEndpoints
from gateway.rate_limits import RateLimiter
from gateway.request_spans import RequestSpans
from gateway.response_cache import FastPath
from gateway.saved_endpoints import SavedEndpoints
from gateway.server.admission import Admission
from gateway.server.config import Application, SharedMemory
from gateway.settings import Settings
from gateway.state import GatewayState, by_label, open_state
from resolvers.administration.endpoints import MAX_SAVED_TOGETHER
from resolvers.request import threads
from resolvers.request.caller import Caller
from resolvers.request.context import (
    Context,
    count_without_deadline,
    ended_without_deadline,
    get_tasks_without_deadline,
)
from rest import endpoints
from rest.dispatch import PathRoute, PathRouter
from rest.endpoint_files import Endpoint
from rest.endpoints import CacheKey, DeferredHandler
from rest.errors import not_found_error, service_unavailable_error
from rest.scope_members import SCOPE_ROUTE
from schema.execution import Executor, Operation, OperationResult
from schema.root import GRAPHQL_SCHEMA
from storage.administration.audit import Actor, Origin
from storage.errors import UnavailableCause
from storage.mongo import driver
from storage.mongo.tasks import run_in_background

# What a worker prepares right after it is ready, because no gateway needs it to begin to serve.
#
# A request that needs some of it sooner prepares it itself. See docs/decisions/server/restarts.md.


_PAUSE_SECONDS = 0.002
"""The pause between two steps, for requests: a step holds the event loop, and no more."""


_SWITCH_SECONDS = 0.0005
"""How soon the event loop may run while a thread imports; Python's default is 5 ms."""


async def warm_up(routes: Iterable[PathRoute]) -> None:
    """Prepare the handlers of all routes, and import what some requests need."""
    for route in routes:
        for handler in route.handlers.values():
            if isinstance(handler, DeferredHandler):
                _ = handler.prepared
                await asyncio.sleep(_PAUSE_SECONDS)
    switch_seconds = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        for modules in threads.ALL:
            await modules.load()
    finally:
        sys.setswitchinterval(switch_seconds)


GRAPHQL_PATH = "/graphql"


def create_application(settings: Settings, shared: SharedMemory) -> Application:
    return Gateway(settings, shared)


class Gateway(Application):
    """The application of a worker, and its settings. `state` exists while it runs."""

    websocket_paths = frozenset({GRAPHQL_PATH.encode()})

    def __init__(self, settings: Settings, shared: SharedMemory | None = None) -> None:
        self.settings = settings
        shared = shared or SharedMemory.for_single_process()
        self.write_counter = shared.write_counter
        self.state: GatewayState | None = None
        self._observed: GatewayState | None = None
        """The state also after it has ended, for the last metrics."""
        self.is_stopping = False
        self.configured_base_url = settings.base_url
        self.rate_limiter = RateLimiter(
            settings.rate_limit, settings.rate_burst, shared.arrivals.keys
        )
        self.bad_keys = BadKeyThrottle(
            settings.bad_key_limit, settings.bad_key_burst, shared.arrivals.addresses
        )
        self.cors = CorsPolicy(
            settings.allowed_origins,
            lambda: None if self.state is None else self.state.key_cache,
            settings.base_url,
        )
        self.authenticate = Authenticator(
            lambda: self._require_state().key_cache,
            self.rate_limiter,
            self.bad_keys,
            self.cors,
            settings.request_seconds,
        )
        self.admission = Admission(
            settings.requests_in_flight,
            settings.requests_per_key,
            self._is_known_key,
            RateLimiter(settings.rate_limit, settings.rate_burst, shared.arrivals.addresses),
            lambda key: None if self.state is None else self.state.key_cache.find_key_id(key),
        )
        self.streams = Streams(settings.streams, settings.streams_per_key)
        self.documents = DocumentSource(
            lambda: self._require_state().trusted_documents,
            has_persisted_queries=settings.persisted_queries == "on",
            is_trusted_only=settings.trusted_documents,
        )
        self.executor = Executor(
            GRAPHQL_SCHEMA,
            settings.query_limits,
            compile_queries=not settings.interpret_queries,
            deadline_seconds=settings.request_seconds,
        )
        self.load_client_operation = self.executor.load_client_operation
        self.saved_endpoints = SavedEndpoints(
            self, lambda: self._built_in_handlers, self._require_state
        )
        self.endpoint_editor = EndpointEditor(
            GRAPHQL_SCHEMA, settings.query_limits, MAX_SAVED_TOGETHER
        )
        self.spans = RequestSpans.build(settings.slow_ms, self._get_database)
        self.stream_services = StreamServices(
            self, self.streams, self.admission, self._get_stream_keys, serialize_result, self.spans
        )

    def get_fast_path(self) -> FastPath | None:
        """Return the fast path, unless caching is off."""
        return None if self.state is None or not self.settings.cache_mb else self.state.fast_path

    async def warm_up(self) -> None:
        await warm_up(self._rest_routes)

    def read_metrics(self) -> metrics.Snapshot:
        ran = self.executor.counters
        snapshot: metrics.Snapshot = {
            "requests_in_flight": {(): self.admission.in_flight},
            "requests_admitted_total": {(): self.admission.admitted},
            "requests_rejected_total": by_label(self.admission.rejected),
            "operations_total": {("compiled",): ran.compiled, ("interpreted",): ran.interpreted},
            "imports_running": {(): count_without_deadline("import")},
            "subscriptions": {(): len(self.streams.subscriptions)},
            "imports_total": {},
            "maps_processed_total": {},
        }
        for (kind, outcome), n in {**ended_without_deadline}.items():
            name = "imports_total" if kind == "import" else "maps_processed_total"
            snapshot[name][outcome,] = n
        return snapshot | (self._observed.read_metrics() if self._observed else {})

    def end_streams(self) -> None:
        self.streams.end_all()

    def get_long_tasks(self) -> frozenset[asyncio.Task[Any]]:
        return get_tasks_without_deadline()

    def announce_stop(self) -> None:
        self.is_stopping = True

    def build_app(self) -> ASGIApp:
        endpoint = WebSocketEndpoint(self.stream_services, self.documents, self.cors, GRAPHQL_PATH)
        websockets = WebSocketRoute(GRAPHQL_PATH, endpoint)
        others = Router([websockets], redirect_slashes=False, default=not_found_error())
        assets = public_endpoints.build_asset_routes()
        saved = partial(self.saved_endpoints.respond, others=others)
        routes = PathRouter(lambda: [*self.build_routes(), *assets], saved)
        return RequestMiddleware(
            routes,
            explained_app=PathRouter(
                lambda: [*map(self._explain, [self._graphql_route, *self._rest_routes])],
                partial(self.saved_endpoints.respond, others=routes, adapt=self._explain),
            ),
            cors=self.cors,
            is_behind_proxy=self.settings.behind_proxy,
            on_response=self.remember_request if self.settings.cache_mb else None,
            spans=self.spans,
        )

    def build_routes(self) -> list[PathRoute]:
        """Build all routes but those of the pages' assets."""
        return [
            *HealthEndpoints(lambda: None if self.is_stopping else self.state).build_routes(),
            *OpenApiEndpoints(
                self.settings.base_url, self.authenticate, self.saved_endpoints.load_contracts
            ).build_routes(),
            *ClientPackages(self.get_base_url).build_routes(),
            self._graphql_route,
            *self._rest_routes,
        ]

    @cached_property
    def _built_in_handlers(self) -> dict[str, DeferredHandler]:
        return endpoints.build_handlers(self)

    @cached_property
    def _rest_routes(self) -> list[PathRoute]:
        return endpoints.build_routes(self._built_in_handlers.values())

    @cached_property
    def _graphql_route(self) -> PathRoute:
        endpoint = GraphQLEndpoint(self, self.documents, self.stream_services)
        handlers = {"GET": endpoint, "POST": endpoint}
        return PathRoute(GRAPHQL_PATH, handlers, endpoint.answer_error)

    def _explain(self, route: PathRoute) -> PathRoute:
        return build_explained_route(route, self, self._require_state)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with open_state(
            self.settings, self.write_counter, self.rate_limiter, self.cors
        ) as state:
            self.state = self._observed = state
            try:
                async with run_in_background(self.streams.watch(self._get_stream_keys())):
                    yield
            finally:
                if self.spans is not None:
                    await self.spans.close()
                self.state = None

    def create_context(
        self,
        caller: Caller,
        request: Request,
        *,
        has_checked_inputs: bool = False,
        reads_networks: bool = False,
    ) -> Context:
        state = self._require_state()
        base_url = self.get_base_url(request)
        return Context(
            caller,
            state.store,
            base_url,
            state.routable_map_cache,
            state.record_cache,
            state.drawing_pool,
            state.processing_pool,
            # No GET changes anything, so none asks for its origin.
            None if request.scope["method"] == "GET" else _get_origin(request.scope),
            state.change_hub,
            request.scope[SCOPE_WAITED_SECONDS],
            has_checked_inputs,
            reads_networks,
            endpoint_editor=self.endpoint_editor,
        )

    async def run_operation(
        self, operation: Operation, variables: dict[str, Any], context: Context
    ) -> OperationResult:
        """Run an operation. What a mutation has changed is counted by the caches of all workers."""
        if operation.is_query:
            return await self.executor.run(operation, variables, context)
        context = context.with_record_cache(None)
        feed = None if self.state is None else self.state.change_feed
        try:
            result = await self.executor.run(operation, variables, context)
            if feed is not None:
                await feed.count_own_writes()
        except BaseException:  # the client may have left while a write was under way
            if feed is not None:
                feed.count_write()
            raise
        return result

    async def get_or_create_response(
        self,
        key: CacheKey,
        context: Context,
        create: Callable[[], Awaitable[Response]],
        is_read: bool,
    ) -> ASGIApp:
        cache = self._require_state().response_cache
        return await cache.get_or_create(key, context, create, is_read)

    def depend_on(self, endpoint: Endpoint, context: Context) -> None:
        """Note that a response, which is being created, is that of a saved endpoint."""
        self.saved_endpoints.depend_on(endpoint, context)

    def get_base_url(self, request: Request) -> str:
        """Return the URL under which clients reach the service.

        The configured one, or else the one that the request was sent to.
        """
        if self.configured_base_url is not None:
            return self.configured_base_url
        return f"{request.scope['scheme']}://{request.headers.get('host', 'localhost')}"

    def remember_request(self, scope: Scope) -> None:
        """Let the fast path answer the next request that is identical to this one."""
        if self.state is not None:
            self.state.fast_path.remember(scope)

    def _require_state(self) -> GatewayState:
        if self.state is None:
            raise service_unavailable_error(UnavailableCause.RESTARTING)
        return self.state

    def _get_stream_keys(self) -> StreamKeys:
        return StreamKeys(self._require_state().key_cache, self.settings.request_seconds)

    def _is_known_key(self, key: PresentedKey) -> bool:
        return self.state is not None and self.state.key_cache.is_known(key.digest)

    def _get_database(self) -> driver.Database | None:
        return None if self.state is None else self.state.store.database


def _get_origin(scope: Scope) -> Origin:
    key = scope[SCOPE_AUTHENTICATED_KEY].record
    return Origin(
        Actor("key", key.id, key.name),
        "graphql" if scope.get(SCOPE_ROUTE) == GRAPHQL_PATH else "rest",
        get_client_address(scope),
        scope["state"]["request_id"],
    )
