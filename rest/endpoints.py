"""From the table to routes: one handler serves every row."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson
from starlette.requests import Request
from starlette.responses import Response

from rest import parameters
from rest.bodies import read
from rest.errors import not_found, of_graphql
from rest.routing import Handler, PathRoute
from rest.shapes import Address
from rest.table import ROWS, Row
from schema.execution import Caller, Context, Executor, Operation, RequestError

JSON = "application/json"
VARY = "API-Key, Experimental-Flags, Accept-Encoding"
HEADERS = {"Cache-Control": "private, no-cache", "Vary": VARY}


@dataclass(frozen=True, slots=True)
class Service:
    """What the endpoints need of the gateway around them."""

    executor: Executor
    authenticate: Callable[[Request], Awaitable[Caller]]
    """Raises HttpError."""
    context: Callable[[Caller, Request], Context]
    base_url: Callable[[Request], str]


class Endpoint:
    """One row, its operation prepared once."""

    def __init__(self, row: Row, service: Service) -> None:
        self.row = row
        self.service = service
        self.operation: Operation = service.executor.prepare(row.document)
        self.names = {parameter.variable: parameter.name for parameter in row.query}

    async def __call__(self, request: Request) -> Response:
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
        data = await self._run(variables, self.service.context(caller, request))
        url = self.service.base_url(request) + self._path(request)
        shaped = row.shape.apply(data, Address(url, filters))
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
        result = await self.service.executor.run(self.operation, variables, context)
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
    """A route for each path, literal ones before those with parameters.

    Raises InvalidOperation at start-up where a row's document does not fit the schema.
    """
    handlers: dict[str, dict[str, Handler]] = {}
    for row in rows:
        handlers.setdefault(row.path, {})[row.method] = Endpoint(row, service)
    made = [PathRoute(path, by_method) for path, by_method in handlers.items()]
    return sorted(made, key=lambda route: not route.is_literal)
