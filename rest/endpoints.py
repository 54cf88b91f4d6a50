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
from rest.bodies import UNIT_MAP, read
from rest.errors import not_found, of_graphql
from rest.routing import Handler, PathRoute
from rest.shapes import Address
from rest.table import ROWS, Row
from schema.execution import Caller, Context, Executor, Operation, RequestError, Result

JSON = "application/json"
VARY = "API-Key, Experimental-Flags, Accept-Encoding"
SORTED = orjson.OPT_SORT_KEYS
HEADERS = {"Cache-Control": "private, no-cache", "Vary": VARY}

Key: TypeAlias = tuple[Hashable, ...]
"""What an answer depends on, beside the data."""


@dataclass(frozen=True, slots=True)
class Service:
    """What the endpoints need of the gateway around them."""

    executor: Executor
    authenticate: Callable[[Request], Awaitable[Caller]]
    """Raises HttpError."""
    context: Callable[[Caller, Request], Context]
    base_url: Callable[[Request], str]
    run: Callable[[Operation, dict[str, Any], Context], Awaitable[Result]]
    """Runs an operation."""
    answer: Callable[[Key, Context, Callable[[], Awaitable[Response]]], Awaitable[ASGIApp]]
    """The answer kept under a key, else the one that a function makes with the context."""


class Endpoint:
    """One row, its operation prepared once."""

    def __init__(self, row: Row, service: Service) -> None:
        self.row = row
        self.service = service
        self.operation: Operation = service.executor.prepare(row.document, needs_places=False)
        self.names = {parameter.variable: parameter.name for parameter in row.query}
        # A drawing is its own key: keeping what it was parsed to would keep the drawing.
        self.is_kept = self.operation.is_query and row.body is not UNIT_MAP

    async def __call__(self, request: Request) -> ASGIApp:
        """Answers a request: key, flag, permission, input, existence, in this order."""
        caller = await self.service.authenticate(request)
        self._check_demands(caller)
        row = self.row
        variables, filters = parameters.read(
            row.query, parameters.split(request.scope["query_string"])
        )
        if row.body is not None:
            variables |= row.body.read(
                await read(request, row.body.media_type, row.body.limit_bytes)
            )
        variables |= self._path_variables(request)
        address = Address(self.service.base_url(request) + self._path(request), filters)
        context = self.service.context(caller, request)

        async def make() -> Response:
            return self._response(await self._run(variables, context), address)

        if not self.is_kept:
            return await make()
        key = (row.path, orjson.dumps(variables, option=SORTED), caller.scope, address.url)
        return await self.service.answer(key, context, make)

    def _response(self, data: dict[str, Any], address: Address) -> Response:
        row = self.row
        shaped = row.shape.apply(data, address)
        headers = HEADERS if shaped.link is None else {**HEADERS, "Link": shaped.link}
        content = b"" if row.status == 204 else orjson.dumps(shaped.body)
        media_type = None if row.status == 204 else row.media_type
        return Response(content, row.status, headers, media_type)

    def _check_demands(self, caller: Caller) -> None:
        try:
            self.operation.check(caller)
        except RequestError as error:
            raise of_graphql(error, self._rename) from error

    def _path_variables(self, request: Request) -> dict[str, str]:
        if not all(request.path_params.values()):
            raise not_found()
        return {
            parameters.PATH_VARIABLES.get(name, name): value
            for name, value in request.path_params.items()
        }

    async def _run(self, variables: dict[str, Any], context: Context) -> dict[str, Any]:
        result = await self.service.run(self.operation, variables, context)
        if result.errors or result.data is None:
            raise of_graphql(result.errors[0], self._rename)
        return result.data

    def _rename(self, argument: str) -> str:
        """What a request calls an argument, or the part of it that is at fault."""
        if self.row.body is not None:
            return self.row.body.rename(argument)
        name = argument.partition(".")[0]
        return self.names.get(name, argument)

    def _path(self, request: Request) -> str:
        quoted = {name: quote(value, safe="") for name, value in request.path_params.items()}
        return self.row.path.format_map(quoted)


def routes(service: Service, rows: Iterable[Row] = ROWS) -> list[PathRoute]:
    """A route for each path.

    Raises InvalidOperation at start-up where a row's document does not fit the schema.
    """
    handlers: dict[str, dict[str, Handler]] = {}
    for row in rows:
        handlers.setdefault(row.path, {})[row.method] = Endpoint(row, service)
    return [PathRoute(path, by_method) for path, by_method in handlers.items()]
