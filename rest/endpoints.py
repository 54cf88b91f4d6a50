"""From the table to routes: one handler serves every row."""

from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from rest import parameters
from rest.bodies import UNIT_MAP_BODY, read_request_body
from rest.envelopes import RequestUrl
from rest.errors import from_graphql_error, not_found_error
from rest.path_routing import Handler, PathRoute
from rest.table import ENDPOINTS, Endpoint
from schema.execution import Caller, Context, Executor, Operation, OperationResult, RequestError

JSON_MEDIA_TYPE = "application/json"
VARY = "API-Key, Experimental-Flags, Accept-Encoding"
SORT_KEYS = orjson.OPT_SORT_KEYS
RESPONSE_HEADERS = {"Cache-Control": "private, no-cache", "Vary": VARY}

CacheKey: TypeAlias = tuple[Hashable, ...]
"""What an answer depends on, beside the data."""


@dataclass(frozen=True, slots=True)
class RestService:
    """What the endpoints need of the gateway around them."""

    executor: Executor
    authenticate: Callable[[Request], Awaitable[Caller]]
    """Raises HttpError."""
    create_context: Callable[[Caller, Request], Context]
    base_url: Callable[[Request], str]
    run_operation: Callable[[Operation, dict[str, Any], Context], Awaitable[OperationResult]]
    """Runs an operation."""
    get_or_create_response: Callable[
        [CacheKey, Context, Callable[[], Awaitable[Response]]], Awaitable[ASGIApp]
    ]
    """The answer kept under a key, else the one that a function makes with the context."""


class EndpointHandler:
    """One row, its operation prepared once."""

    def __init__(self, endpoint: Endpoint, service: RestService) -> None:
        self.endpoint = endpoint
        self.service = service
        self.operation: Operation = service.executor.prepare(
            endpoint.document, needs_error_paths=False
        )
        self.argument_names = {
            parameter.variable: parameter.name for parameter in endpoint.query_parameters
        }
        # A drawing is its own key: keeping what it was parsed to would keep the drawing.
        self.is_cacheable = self.operation.is_query and endpoint.body is not UNIT_MAP_BODY

    async def __call__(self, request: Request) -> ASGIApp:
        """Answers a request: key, flag, permission, input, existence, in this order."""
        caller = await self.service.authenticate(request)
        self._check_requirements(caller)
        row = self.endpoint
        variables, filters = parameters.parse_query(
            row.query_parameters, parameters.split_query_string(request.scope["query_string"])
        )
        if row.body is not None:
            variables |= row.body.parse(
                await read_request_body(request, row.body.media_type, row.body.max_bytes)
            )
        variables |= self._path_variables(request)
        address = RequestUrl(self.service.base_url(request) + self._quoted_path(request), filters)
        context = self.service.create_context(caller, request)

        async def make() -> Response:
            return self._build_response(await self._run_operation(variables, context), address)

        if not self.is_cacheable:
            return await make()
        key = (row.path, orjson.dumps(variables, option=SORT_KEYS), caller.scope, address.url)
        return await self.service.get_or_create_response(key, context, make)

    def _build_response(self, data: dict[str, Any], address: RequestUrl) -> Response:
        row = self.endpoint
        shaped = row.envelope.wrap(data, address)
        headers = (
            RESPONSE_HEADERS
            if shaped.link_header is None
            else {**RESPONSE_HEADERS, "Link": shaped.link_header}
        )
        content = b"" if row.success_status == 204 else orjson.dumps(shaped.body)
        media_type = None if row.success_status == 204 else row.media_type
        return Response(content, row.success_status, headers, media_type)

    def _check_requirements(self, caller: Caller) -> None:
        try:
            self.operation.check(caller)
        except RequestError as error:
            raise from_graphql_error(error, self._rename_argument) from error

    def _path_variables(self, request: Request) -> dict[str, str]:
        if not all(request.path_params.values()):
            raise not_found_error()
        return {
            parameters.VARIABLE_BY_PATH_PARAMETER.get(name, name): value
            for name, value in request.path_params.items()
        }

    async def _run_operation(self, variables: dict[str, Any], context: Context) -> dict[str, Any]:
        result = await self.service.run_operation(self.operation, variables, context)
        if result.errors or result.data is None:
            raise from_graphql_error(result.errors[0], self._rename_argument)
        return result.data

    def _rename_argument(self, argument: str) -> str:
        """What a request calls an argument, or the part of it that is at fault."""
        if self.endpoint.body is not None:
            return self.endpoint.body.rename(argument)
        name = argument.partition(".")[0]
        return self.argument_names.get(name, argument)

    def _quoted_path(self, request: Request) -> str:
        quoted = {name: quote(value, safe="") for name, value in request.path_params.items()}
        return self.endpoint.path.format_map(quoted)


def build_routes(
    service: RestService, endpoints: Iterable[Endpoint] = ENDPOINTS
) -> list[PathRoute]:
    """A route for each path.

    Raises InvalidOperation at start-up where a row's document does not fit the schema.
    """
    handlers: dict[str, dict[str, Handler]] = {}
    for row in endpoints:
        handlers.setdefault(row.path, {})[row.method] = EndpointHandler(row, service)
    return [PathRoute(path, by_method) for path, by_method in handlers.items()]
