"""The GraphQL door: GraphQL over HTTP (the working group's specification) at `/graphql`."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from graphql import GraphQLError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from gateway.pages import graphiql_response
from rest.bodies import parse_json, read_request_body
from rest.endpoints import RESPONSE_HEADERS, RestService
from rest.errors import RETRY_AFTER_HEADERS, HttpError, method_not_allowed_error
from schema.execution import InvalidOperationError, Operation, OperationResult

GRAPHQL_RESPONSE_MEDIA_TYPE = "application/graphql-response+json"
JSON_MEDIA_TYPE = "application/json"
MAX_BODY_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """What a client asks to run."""

    query: str
    operation_name: str | None
    variables: dict[str, Any]

    def cache_key(self) -> tuple[Hashable, ...]:
        """The same for parameters that ask the same. Raises HttpError 400."""
        try:
            variables = orjson.dumps(self.variables, option=orjson.OPT_SORT_KEYS)
        except TypeError as error:  # what was read from JSON can be written, but for its depth
            raise _bad_request_error("variables are nested too deeply") from error
        return self.query, self.operation_name, variables


@dataclass(frozen=True, slots=True)
class GraphQLEndpoint:
    """Runs what clients send; browsers that ask for a page get GraphiQL."""

    service: RestService

    async def __call__(self, request: Request) -> ASGIApp:
        """Answers a request; every failure is a GraphQL response with a code."""
        if request.method != "POST" and _accepts_html(request):
            return graphiql_response()
        media_type = JSON_MEDIA_TYPE
        try:
            caller = await self.service.authenticate(request)
            media_type = negotiate_media_type(", ".join(request.headers.getlist("accept")))
            parameters = await _read_request(request)
            context = self.service.create_context(caller, request)

            async def make() -> Response:
                operation = self._select_operation(parameters, media_type)
                if not operation.is_query and request.method != "POST":
                    raise method_not_allowed_error(["OPTIONS", "POST"])
                result = await self.service.run_operation(operation, parameters.variables, context)
                if result.errors:
                    context.reads.mark_incomplete()  # an error may be gone the next time
                return _result_response(result, media_type)

            key = (*parameters.cache_key(), context.base_url, media_type, *caller.rights)
            return await self.service.get_or_create_response(key, context, make)
        except HttpError as error:
            return _error_response(error, media_type)
        except _RejectedOperationError as error:
            return _json_response(error.status, {"errors": error.errors}, media_type)

    def _select_operation(self, parameters: GraphQLRequest, media_type: str) -> Operation:
        try:
            return self.service.executor.select(
                parameters.query, parameters.operation_name, parameters.variables
            )
        except InvalidOperationError as error:
            # A client that knows only JSON reads the errors in the body of a 200.
            status = 400 if media_type == GRAPHQL_RESPONSE_MEDIA_TYPE else 200
            raise _RejectedOperationError(status, error.errors) from error


class _RejectedOperationError(Exception):
    def __init__(self, status: int, errors: list[GraphQLError]) -> None:
        super().__init__()
        self.status = status
        self.errors = [error.formatted for error in errors]


def negotiate_media_type(accept: str) -> str:
    """The media type of the response. Raises HttpError 406.

    A client that names none, or anything, gets `application/json`, which it surely reads.
    """
    if not accept.strip():
        return JSON_MEDIA_TYPE
    weights: dict[str, float] = {}
    for member in accept.lower().split(","):
        name, *parameters = (part.strip() for part in member.split(";"))
        weight = next((text[2:] for text in parameters if text.startswith("q=")), "1")
        weights[name] = float(weight) if weight.replace(".", "", 1).isdigit() else 0.0
    anything = max(weights.get("*/*", 0.0), weights.get("application/*", 0.0))
    offered = {
        GRAPHQL_RESPONSE_MEDIA_TYPE: weights.get(GRAPHQL_RESPONSE_MEDIA_TYPE, 0.0),
        JSON_MEDIA_TYPE: weights.get(JSON_MEDIA_TYPE, anything),
    }
    best = max(offered, key=lambda media_type: offered[media_type])
    if offered[best] <= 0:
        raise HttpError(
            406,
            f"Accept must name {GRAPHQL_RESPONSE_MEDIA_TYPE} or {JSON_MEDIA_TYPE}",
            "NOT_ACCEPTABLE",
        )
    return best


def _accepts_html(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "").lower()


async def _read_request(request: Request) -> GraphQLRequest:
    if request.method == "POST":
        return _parse_request(
            parse_json(await read_request_body(request, JSON_MEDIA_TYPE, MAX_BODY_BYTES))
        )
    given: dict[str, Any] = dict(request.query_params)
    for name in ("variables", "extensions"):
        if name in given:
            given[name] = parse_json(given[name].encode(errors="replace"), name)
    return _parse_request(given)


def _parse_request(members: Any) -> GraphQLRequest:
    if isinstance(members, list):
        raise _bad_request_error("Batches are not supported: send one operation per request")
    if not isinstance(members, dict):
        raise _bad_request_error("The body must be a JSON object with the member query")
    query, name = members.get("query"), members.get("operationName")
    variables, extensions = members.get("variables"), members.get("extensions")
    if not isinstance(query, str) or not query:
        raise _bad_request_error("query must be a GraphQL document")
    if name is not None and not isinstance(name, str):
        raise _bad_request_error("operationName must be a string")
    for what, value in (("variables", variables), ("extensions", extensions)):
        if value is not None and not isinstance(value, dict):
            raise _bad_request_error(f"{what} must be an object")
    return GraphQLRequest(query, name or None, variables or {})


def _bad_request_error(message: str) -> HttpError:
    return HttpError(400, message, "BAD_REQUEST")


def _error_response(error: HttpError, media_type: str) -> Response:
    extensions: dict[str, Any] = {"code": error.code}
    if error.fields:
        extensions["fields"] = error.fields
    body = {"errors": [{"message": error.message, "extensions": extensions}]}
    return _json_response(error.status, body, media_type, error.headers)


def _result_response(result: OperationResult, media_type: str) -> Response:
    body: dict[str, Any] = {}
    if result.errors:
        body["errors"] = [error.formatted for error in result.errors]
    ran = result.data is not None or any(error.path for error in result.errors)
    if ran:
        body["data"] = result.data
    codes = {(error.extensions or {}).get("code") for error in result.errors}
    if "SERVICE_UNAVAILABLE" in codes:
        return _json_response(503, body, media_type, RETRY_AFTER_HEADERS)
    return _json_response(
        400 if not ran and media_type == GRAPHQL_RESPONSE_MEDIA_TYPE else 200, body, media_type
    )


def _json_response(
    status: int, body: Any, media_type: str, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(
        orjson.dumps(body),
        status,
        {**RESPONSE_HEADERS, "Vary": f"{RESPONSE_HEADERS['Vary']}, Accept", **(headers or {})},
        f"{media_type}; charset=utf-8",
    )
