"""Routes made from the operations: one handler serves every endpoint."""

import re
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from copy import copy
from functools import cached_property, partial
from typing import Any, Protocol, TypeAlias

import orjson
from graphql import get_named_type
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

from rest import parameters
from rest.bodies import BodyShapeError, JsonBody, RequestBody, read_request_body
from rest.dispatch import Handler, PathRoute, run_while_connected
from rest.endpoint_files import Endpoint, built_in_endpoints
from rest.errors import HttpError, from_graphql_error, invalid_input_error, not_found_error
from rest.parameters import FIELDS, EndpointInputs, QueryParameter
from rest.responses import (
    DATA,
    ENCODED_RESPONSE_HEADERS,
    RESPONSE_HEADERS,
    CompleteResponse,
    Precondition,
    RequestUrl,
    compute_etag,
    encode_headers,
    select_fields,
    write_json,
)
from rest.scope_members import SCOPE_COUNTED_AS, SCOPE_DEPRECATION, SCOPE_OPERATION
from schema.compiler.coercion import has_more_items
from schema.errors import UnavailableCause, UnavailableError
from schema.execution import (
    Budget,
    Caller,
    Context,
    Executor,
    Operation,
    OperationResult,
    RequestError,
    run_in_thread,
)
from schema.operation_inputs import ID, MAX_REPORTED_ERRORS

MAX_BYTES_IN_EVENT_LOOP = 256_000
"""A larger body is parsed in a thread: this takes up to 2 ms."""
MAX_ITEMS_IN_EVENT_LOOP = 1_000
"""More items of variables are checked in a thread, and more of a list are written in parts: these
take up to 3 ms."""
SORT_KEYS = orjson.OPT_SORT_KEYS

CacheKey: TypeAlias = tuple[Hashable, ...]
"""What a response depends on, in addition to the data."""


class RequestServices(Protocol):
    """What the endpoints need from the gateway.

    It is `Gateway` in gateway/app.py, or `ExplainedRequest` in gateway/explain.py around that.
    """

    executor: Executor

    async def authenticate(self, request: Request) -> Caller:
        """Return the caller. Raises HttpError."""

    def create_context(
        self,
        caller: Caller,
        request: Request,
        *,
        has_checked_inputs: bool = False,
        reads_networks: bool = False,
    ) -> Context:
        """Return the context of one request. Raises HttpError."""

    async def load_client_operation(
        self, text: str, name: str | None, variables: Mapping[str, Any]
    ) -> Operation:
        """Return an operation that a client has written. Raises InvalidOperationError."""

    async def run_operation(
        self, operation: Operation, variables: dict[str, Any], context: Context
    ) -> OperationResult:
        """Run an operation."""

    def depend_on(self, endpoint: Endpoint, context: Context) -> None:
        """Note that a response, which is being created, is that of a saved endpoint."""

    async def get_or_create_response(
        self,
        key: CacheKey,
        context: Context,
        create: Callable[[], Awaitable[Response]],
        is_read: bool,
    ) -> ASGIApp:
        """Return the cached response, or create and cache it; the context knows what was read.

        `is_read` tells whether creating it does nothing but read.
        """


class EndpointHandler:
    """The handler of one endpoint; its operation is prepared once, see `DeferredHandler`."""

    def __init__(
        self,
        endpoint: Endpoint,
        service: RequestServices,
        changed: "EndpointHandler | None" = None,
    ) -> None:
        self.endpoint = endpoint
        self.service = service
        self.changed = changed
        """The handler of the resource that conditional requests to this endpoint are about."""
        self.is_saved = bool(endpoint.source)
        self.operation: Operation = service.executor.prepare(
            endpoint.document, limited_text=endpoint.source
        )
        self.inputs = EndpointInputs.read(service.executor.schema, endpoint, self.operation)
        self.guarded_parameters = [
            (parameter, requirement)
            for parameter in self.inputs.query
            if (requirement := parameter.input.definition.requirement)
        ]
        """Parameters that need a flag or a permission."""
        self.parameter_names = {
            parameter.input.variable: parameter.name for parameter in self.inputs.query
        }
        self.parameter_names |= {
            variable: name for name, variable in endpoint.path_parameters.items()
        }
        self.known_parameters = [
            name for parameter in self.inputs.all_query for name in parameter.names
        ]
        self.requires_query = any(parameter.is_required for parameter in self.inputs.query)
        body = endpoint.body
        self.parse_body = body.build_parser(self.inputs.body) if body is not None else None
        # The cache key holds the variables: caching a parsed drawing would keep the drawing too.
        is_document = body is not None and not isinstance(body, JsonBody)
        self.is_cacheable = self.operation.is_query and not is_document
        self.path_numbers = {
            name: QueryParameter(source, name)
            for name, source in self.inputs.path.items()
            if get_named_type(source.type).name == "Int"
        }
        are_ids = all(source.definition.rules == (ID,) for source in self.inputs.path.values())
        are_checked = are_ids and self.inputs.operation.are_checked_alone
        # What a body has is checked by make_response, and all else where it is read; what operators
        # write out beside it is checked by its field.
        self.has_checked_inputs = are_checked or (body is not None and not self.is_saved)

    def with_service(self, service: RequestServices) -> "EndpointHandler":
        handler = copy(self)
        handler.service = service
        return handler

    async def __call__(self, request: Request) -> ASGIApp:
        """Respond to a request. Check key, flag, permission, input, existence, in this order."""
        self.mark(request.scope)
        return await self.respond(request, await self.service.authenticate(request))

    def mark(self, scope: Scope) -> None:
        """Note what the log, metrics and the headers of all responses say of the endpoint."""
        scope[SCOPE_OPERATION] = scope[SCOPE_COUNTED_AS] = self.operation.name
        if self.endpoint.deprecation is not None:
            scope[SCOPE_DEPRECATION] = self.endpoint.deprecation

    async def respond(self, request: Request, caller: Caller) -> ASGIApp:
        endpoint, scope = self.endpoint, request.scope
        if self.operation.requirements:
            self._check_requirements(caller)
        if self.guarded_parameters and scope["query_string"]:
            self._check_guarded_parameters(caller, request)
        precondition = None
        if self.changed is not None:
            precondition = Precondition.from_headers(request.headers)
            if precondition is not None:
                # Whether it holds tells of the list, so the key must be able to read that.
                self.changed._check_requirements(caller)
                if self.changed.guarded_parameters:
                    self.changed._check_guarded_parameters(caller, request)
        variables, filters, fields = self._parse_url(request, read_too=precondition is not None)
        body = endpoint.body
        if body is not None:
            variables |= await self._read_body(request, body)
        context = self.service.create_context(
            caller,
            request,
            has_checked_inputs=self.has_checked_inputs,
            reads_networks=endpoint.form.reads_networks,
        )
        if self.changed is not None and precondition is not None:
            context = context.with_precondition(self.changed.build_check(precondition, request))
        make_response = partial(self._make_response, request, variables, context, filters, fields)
        if not self.is_cacheable:
            return await make_response()
        key = (
            endpoint,
            orjson.dumps(variables, option=SORT_KEYS),
            # Flags and permissions were checked above, but for those of members of bodies; of the
            # caller, only the scope changes what is read.
            caller.rights if self.is_saved else caller.scope,
            # The body has URLs of other pages, which begin with it.
            context.base_url,
            fields,
        )
        return await self.service.get_or_create_response(key, context, make_response, True)

    async def _make_response(
        self,
        request: Request,
        variables: dict[str, Any],
        context: Context,
        filters: list[tuple[str, str]],
        fields: tuple[str, ...] | None,
    ) -> Response:
        cost = 0
        if self.is_saved:
            self.service.depend_on(self.endpoint, context)
            context.budget.max_bytes = self.service.executor.limits.response_bytes
            cost = self._check_size(variables)
        elif self.endpoint.body is not None:
            await self._check_inputs(variables, self.endpoint.body)
        work = self._run_operation(variables, context)
        if self.operation.is_query:
            work = run_while_connected(work, request.receive)
        path, path_params = self.endpoint.path, request.scope["path_params"]
        url = RequestUrl(context.base_url, filters, fields, path, path_params)
        return await self._build_response(await work, url, context.budget, cost)

    def _check_size(self, variables: dict[str, Any]) -> int:
        try:
            return self.service.executor.check_size(self.operation, variables)
        except RequestError as error:
            raise from_graphql_error(error) from error

    def build_check(
        self, precondition: Precondition, request: Request
    ) -> Callable[[Context], Awaitable[None]]:
        """Return the check of a precondition against this endpoint's response to a GET.

        The GET has the path parameters and the query of `request`. The storage calls the check in
        the transaction of the write: docs/decisions/rest/requests-and-responses.md. Raises
        HttpError 422.
        """
        variables, filters, fields = self._parse_url(request)
        path, path_params = self.endpoint.path, request.scope["path_params"]
        if self.is_saved:
            self._check_size(variables)

        async def check(context: Context) -> None:
            url = RequestUrl(context.base_url, filters, fields, path, path_params)
            try:
                data = await self._run_operation(variables, context)
                response = await self._build_response(data, url, context.budget)
            except HttpError as error:
                if error.status == 404:
                    precondition.check(None)
                    return
                # The write has found the resource, so that only another write can be in the way.
                conflict = UnavailableCause.WRITE_CONFLICT
                cause = UnavailableCause.__members__.get(error.code, conflict)
                raise UnavailableError(error.message, cause) from error
            precondition.check(compute_etag(bytes(response.body), response.raw_headers))

        return check

    def _parse_url(
        self, request: Request, *, read_too: bool = False
    ) -> tuple[dict[str, Any], list[tuple[str, str]], tuple[str, ...] | None]:
        """Return the variables in the query and the path, the filters, and the fields to respond.

        With `read_too` the query is that of the resource which is changed, too. Raises HttpError.
        """
        variables: dict[str, Any] = {}
        filters: list[tuple[str, str]] = []
        fields = None
        query_string, path_params = request.scope["query_string"], request.scope["path_params"]
        if query_string or self.requires_query:
            pairs = parameters.split_query_string(query_string)
            known = self.known_parameters
            if read_too and self.changed:
                known = known + self.changed.known_parameters
            parameters.report_ignored(request.scope, pairs, known)
            variables, filters = parameters.parse_query(self.inputs.all_query, pairs)
            fields = variables.pop(FIELDS, None)
        for name, variable in self.endpoint.path_parameters.items():
            value = path_params[name]
            if not value:  # no record has an empty id, as in `/v1/assets/`
                raise not_found_error()
            if (number := self.path_numbers.get(name)) is not None:
                try:
                    value = number.parse(value)
                except ValueError as error:
                    raise invalid_input_error({name: [str(error)]}) from error
            variables[variable] = value
        return variables, filters, fields and tuple(fields)

    async def _read_body(self, request: Request, body: RequestBody) -> dict[str, Any]:
        content = await read_request_body(request, body.media_type, body.max_bytes)
        assert self.parse_body is not None
        try:
            if len(content) > MAX_BYTES_IN_EVENT_LOOP:
                return await run_in_thread(self.parse_body, content)
            return self.parse_body(content)
        except BodyShapeError as error:
            others = await self._find_errors(error.inputs, body)
            errors = error.errors | others | error.errors  # in this order, with the first's texts
            raise invalid_input_error(dict([*errors.items()][:MAX_REPORTED_ERRORS])) from error

    async def _check_inputs(self, variables: dict[str, Any], body: RequestBody) -> None:
        # Fields check their inputs too, but only after looking for what the path names. A cached
        # response needs no check: the same variables passed it when the response was made.
        if errors := await self._find_errors(variables, body):
            raise invalid_input_error(errors)

    async def _find_errors(
        self, variables: dict[str, Any], body: RequestBody
    ) -> dict[str, list[str]]:
        """Return which rules inputs break, by path in the body."""
        find_errors = partial(self.inputs.operation.find_errors, variables)
        is_large = has_more_items(variables, MAX_ITEMS_IN_EVENT_LOOP)
        errors = await run_in_thread(find_errors) if is_large else find_errors()
        return {body.to_path(error.path): [error.message] for error in errors}

    async def _build_response(
        self, result: dict[str, Any], request_url: RequestUrl, budget: Budget, cost: int = 0
    ) -> Response:
        form = self.endpoint.form
        formed = form.wrap(result, request_url)
        body = formed.body
        if body is None:
            # No content, and so no media type either (RFC 9110, 15.3.5).
            return Response(b"", form.status, RESPONSE_HEADERS)
        if request_url.fields is not None:
            body = select_fields(body, request_url.fields, is_in_data=form.is_in_data)
        if not isinstance(body, bytes) and self.is_saved:
            body = await _write_within(body, budget, cost)
        elif not isinstance(body, bytes):
            data = body.get(DATA) if isinstance(body, dict) else None
            is_long = isinstance(data, list) and len(data) > MAX_ITEMS_IN_EVENT_LOOP
            body = await write_json(body) if is_long else orjson.dumps(body)
        media_type = formed.media_type or form.media_type
        headers = ENCODED_RESPONSE_HEADERS
        if formed.headers:
            headers = [*headers, *encode_headers(formed.headers)]
        return CompleteResponse(body, form.status, media_type, headers)

    def _check_requirements(self, caller: Caller) -> None:
        try:
            self.operation.check_requirements(caller)
        except RequestError as error:
            raise from_graphql_error(error, self._rename_argument) from error

    def _check_guarded_parameters(self, caller: Caller, request: Request) -> None:
        """Raise HttpError if the query has a parameter that the caller may not use.

        Their fields check it too, but a response that is cached runs no operation.
        """
        given = dict(parameters.split_query_string(request.scope["query_string"]))
        try:
            for parameter, requirement in self.guarded_parameters:
                if not given.keys().isdisjoint(parameter.names):
                    requirement.check(caller)
        except RequestError as error:
            raise from_graphql_error(error, self._rename_argument) from error

    async def _run_operation(self, variables: dict[str, Any], context: Context) -> dict[str, Any]:
        result = await self.service.run_operation(self.operation, variables, context)
        if result.errors or result.data is None:
            error = result.errors[0]
            names = [each for each in error.path or () if isinstance(each, str)]
            rename = partial(self._rename_argument, field=names[-1] if names else None)
            raise from_graphql_error(error, rename) from error
        return result.data

    def _rename_argument(self, argument: str, field: str | None = None) -> str:
        """Return where a request has an argument of a field, or a part of one."""
        argument = self.inputs.operation.to_variable(argument, field)
        name = re.split(r"[.\[]", argument, maxsplit=1)[0]
        is_in_body = any(name == source.variable for source in self.inputs.body)
        if self.endpoint.body is not None and is_in_body:
            return self.endpoint.body.to_path(argument)
        return self.parameter_names.get(name, argument)


async def _write_within(body: Any, budget: Budget, cost: int) -> bytes:
    """Return a body of this cost as JSON. Raises HttpError if it is too large for one request."""
    try:
        budget.check_least(budget.drawing_bytes)
        is_long = cost > MAX_ITEMS_IN_EVENT_LOOP  # there may be long lists anywhere in it
        content = await write_json(body, budget.check_least) if is_long else orjson.dumps(body)
        budget.check_response(len(content))
    except RequestError as error:
        raise from_graphql_error(error) from error
    return content


class DeferredHandler:
    """A handler that is prepared by the first request, or before: this takes up to 15 ms.

    All of them together would be a fifth of a worker's start.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        service: RequestServices,
        changed: "DeferredHandler | None",
    ) -> None:
        self.endpoint = endpoint
        self._service = service
        self._changed = changed

    @cached_property
    def prepared(self) -> EndpointHandler:
        """The handler itself. Raises InvalidOperationError if its document is invalid."""
        changed = None if self._changed is None else self._changed.prepared
        return EndpointHandler(self.endpoint, self._service, changed)

    def __call__(self, request: Request) -> Awaitable[ASGIApp]:
        return self.prepared(request)


def build_handlers(
    service: RequestServices, endpoints: Iterable[Endpoint] | None = None
) -> dict[str, DeferredHandler]:
    """Return the handlers of some endpoints by name, by default of the built-in ones."""
    handlers: dict[str, DeferredHandler] = {}
    endpoints = built_in_endpoints() if endpoints is None else endpoints
    for endpoint in sorted(endpoints, key=lambda each: bool(each.changes)):
        # What an endpoint changes is before it.
        handlers[endpoint.name] = DeferredHandler(endpoint, service, handlers.get(endpoint.changes))
    return handlers


def build_routes(handlers: Iterable[DeferredHandler]) -> list[PathRoute]:
    by_path: dict[str, dict[str, Handler]] = {}
    for handler in handlers:
        by_path.setdefault(handler.endpoint.path, {})[handler.endpoint.method] = handler
    return [PathRoute(path, by_method) for path, by_method in by_path.items()]
