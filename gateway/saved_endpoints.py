"""The endpoints that operators have saved: their routes, as of the newest change of any.

Each is compiled when it is first called, as a thousand of them would take half a minute at the
start. A request in flight ends with the handler that it began with.
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Final, NamedTuple

from graphql import GraphQLSchema, Source
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.state import GatewayState
from resolvers.request.context import Cache, Context
from resolvers.request.threads import run_in_thread
from rest.dispatch import PathRoute, RouteTree, split_path
from rest.endpoint_files import Endpoint, InvalidEndpointsError
from rest.endpoint_rules import load_own_endpoints
from rest.endpoints import DeferredHandler, EndpointHandler, RequestServices
from rest.errors import HttpError, service_unavailable_error
from rest.scope_members import SCOPE_COUNTED_AS, SCOPE_OPERATION
from schema.query_limits import QueryLimits
from schema.root import GRAPHQL_SCHEMA
from storage.administration.saved_endpoints import (
    ENDPOINTS_COLLECTION,
    SavedEndpoint,
    find_endpoint,
    list_endpoints,
)
from storage.cache.read_set import key_tag
from storage.errors import UnavailableError
from storage.mongo import driver

SAVED_PATH: Final = "/v1/x/"
"""The paths of all saved endpoints begin with it, and those of no others."""
MAX_HANDLER_BYTES: Final = 64 << 20
"""Memory of the handlers of a worker: some 400 of endpoints with ten fields."""

_logger = logging.getLogger("floorgate.endpoints")


class UnusableEndpointError(Exception):
    """A saved endpoint that this release cannot run, or that would break its callers."""


def load_endpoint(
    record: SavedEndpoint, contract: str, schema: GraphQLSchema, limits: QueryLimits
) -> Endpoint:
    """Return an endpoint from what was saved. Raises UnusableEndpointError, which says why."""
    from rest.openapi.contracts import build_contract, find_breaking_changes  # takes long

    try:
        [endpoint] = load_own_endpoints([Source(record.text, record.name)], schema, limits)
    except InvalidEndpointsError as error:
        raise UnusableEndpointError(str(error)) from error
    if contract and (broken := find_breaking_changes(contract, build_contract(endpoint, schema))):
        raise UnusableEndpointError("; ".join(broken))
    return endpoint


async def find_unusable(database: driver.Database, limits: QueryLimits) -> dict[str, str]:
    """Return why this release cannot run saved endpoints, by name. Raises UnavailableError."""
    wrong: dict[str, str] = {}
    for record in await list_endpoints(database, with_contracts=True):
        try:
            load_endpoint(record, record.contract, GRAPHQL_SCHEMA, limits)
        except UnusableEndpointError as error:
            wrong[record.name] = str(error)
    return wrong


class SavedHandler:
    """The handler of a saved endpoint, which `SavedEndpoints` prepares for it."""

    def __init__(
        self,
        record: SavedEndpoint,
        changed: "SavedHandler | None",
        service: RequestServices,
        prepare: Callable[["SavedHandler"], Awaitable[EndpointHandler]],
    ) -> None:
        self.record = record
        self.changed = changed
        """The handler of the saved endpoint that it changes; None if there is none."""
        self.service = service
        self.original = self
        """This handler, or the one that it is a copy of."""
        self.lock = asyncio.Lock()
        self._prepare = prepare

    def with_service(self, service: RequestServices) -> "SavedHandler":
        handler = copy(self)
        handler.service = service
        return handler

    async def prepare(self) -> EndpointHandler:
        """Return the handler that responds. Raises HttpError 503."""
        prepared = await self._prepare(self.original)
        return prepared if prepared.service is self.service else prepared.with_service(self.service)

    async def __call__(self, request: Request) -> ASGIApp:
        """Respond to a request. Nothing is compiled for one without a valid key."""
        request.scope[SCOPE_OPERATION] = request.scope[SCOPE_COUNTED_AS] = self.record.name
        caller = await self.service.authenticate(request)
        handler = await self.prepare()
        handler.mark(request.scope)
        return await handler.respond(request, caller)


class _Routes(NamedTuple):
    """The routes of all saved endpoints at one moment."""

    records: tuple[SavedEndpoint, ...]
    handlers: Mapping[str, SavedHandler]
    tree: RouteTree


class SavedEndpoints:
    def __init__(
        self,
        service: RequestServices,
        built_in: Callable[[], Mapping[str, DeferredHandler]],
        get_state: Callable[[], GatewayState],
    ) -> None:
        self._service = service
        self._built_in = built_in
        self._get_state = get_state
        self._routes = _Routes((), {}, RouteTree(()))
        self._contracts: tuple[tuple[SavedEndpoint, ...], Sequence[str]] = ((), ())
        self._prepared: Cache[SavedHandler, EndpointHandler | str] = Cache(
            max_bytes=MAX_HANDLER_BYTES, weigh=_weigh, name="endpoints"
        )
        """The handlers of endpoints, or why they cannot be run."""

    async def respond(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        others: ASGIApp,
        adapt: Callable[[PathRoute], PathRoute] = lambda route: route,
    ) -> None:
        """Respond to a request for a saved endpoint; `others` answers all other requests."""
        found: PathRoute | None = None
        segments: Sequence[str | None] = ()
        if scope["type"] == "http" and scope["path"].startswith(SAVED_PATH):
            try:
                records = self._get_state().saved_endpoints.get()
                if records is None:
                    records = await self._load_records()
                if records is not self._routes.records:
                    self._routes = self._build_routes(records)
                found = self._routes.tree.find(segments := split_path(scope))
            except HttpError as error:
                await error(scope, receive, send)
                return
        if found is None:
            await others(scope, receive, send)
        else:
            await adapt(found).handle(segments, scope, receive, send)

    async def _load_records(self) -> tuple[SavedEndpoint, ...]:
        with _as_http_error():
            return await self._get_state().saved_endpoints.load()

    async def load_contracts(self) -> tuple[tuple[SavedEndpoint, ...], Sequence[str]]:
        """Return the endpoints as they are known, and their contracts. Raises HttpError 503."""
        records = await self._load_records()
        if records is not self._contracts[0]:
            with _as_http_error():
                database = self._get_state().store.database
                found = await list_endpoints(database, with_contracts=True)
            self._contracts = records, [each.contract for each in found]
        return self._contracts

    def depend_on(self, endpoint: Endpoint, context: Context) -> None:
        """Note that a response, which is being created, is that of this endpoint.

        It may be kept unless the endpoint has changed since the request found it.
        """
        state = self._get_state()
        if state.response_cache.is_off:
            return
        context.reads.add(ENDPOINTS_COLLECTION, [key_tag(endpoint.name)])
        handler = self._routes.handlers.get(endpoint.name)
        prepared = handler and self._prepared.peek(handler, None)
        is_same = isinstance(prepared, EndpointHandler) and prepared.endpoint is endpoint
        if not (is_same and self._routes.records is state.saved_endpoints.get()):
            context.reads.mark_incomplete()

    def _build_routes(self, records: tuple[SavedEndpoint, ...]) -> _Routes:
        known = self._routes.handlers
        handlers: dict[str, SavedHandler] = {}
        by_path: dict[str, dict[str, SavedHandler]] = {}
        for record in sorted(records, key=lambda each: bool(each.changes)):
            # What an endpoint changes is before it.
            handler, changed = known.get(record.name), handlers.get(record.changes)
            if handler is None or (handler.record, handler.changed) != (record, changed):
                handler = SavedHandler(record, changed, self._service, self._prepare)
            handlers[record.name] = handler
            by_path.setdefault(record.path, {})[record.method] = handler
        tree = RouteTree(PathRoute(path, by_method) for path, by_method in by_path.items())
        return _Routes(records, handlers, tree)

    async def _prepare(self, handler: SavedHandler) -> EndpointHandler:
        prepared = self._prepared.get(handler)
        if prepared is None:
            async with handler.lock:  # so that many first requests compile it once
                prepared = self._prepared.get(handler)
                if prepared is None:
                    prepared = await self._compile(handler)
                    self._prepared.put(handler, prepared)
        if isinstance(prepared, str):
            raise endpoint_invalid_error(handler.record.name)
        return prepared

    async def _compile(self, handler: SavedHandler) -> EndpointHandler | str:
        """Return what responds, or why the endpoint cannot be run. Raises HttpError 503."""
        record = handler.record
        with _as_http_error():
            stored = await find_endpoint(self._get_state().store.database, record.name)
        # One that was saved again in this moment has another contract.
        contract = stored.contract if stored is not None and stored.text == record.text else ""
        executor, changed = self._service.executor, None
        if handler.changed is not None:
            changed = await handler.changed.prepare()
        elif (built_in := self._built_in().get(record.changes)) is not None:
            changed = built_in.prepared

        def build() -> EndpointHandler:
            endpoint = load_endpoint(record, contract, executor.schema, executor.limits)
            return EndpointHandler(endpoint, self._service, changed)

        try:
            return await run_in_thread(build)
        except UnusableEndpointError as error:
            fields = {"endpoint": record.name, "reason": str(error)}
            _logger.warning("a saved endpoint cannot be run", extra={"fields": fields})
            return str(error)


@contextmanager
def _as_http_error() -> Iterator[None]:
    """Raise an HttpError 503 if the database cannot be read."""
    try:
        yield
    except UnavailableError as error:
        raise service_unavailable_error(error.cause) from error


def endpoint_invalid_error(name: str) -> HttpError:
    """Return the 503 of a saved endpoint that this release cannot run."""
    message = f"This release cannot run the endpoint {name}: its operator has to save it again"
    return HttpError(503, message, "ENDPOINT_INVALID")


def _weigh(handler: SavedHandler, prepared: EndpointHandler | str) -> int:
    if isinstance(prepared, str):
        return sys.getsizeof(prepared)
    return prepared.operation.size_bytes + sys.getsizeof(handler.record.text)
