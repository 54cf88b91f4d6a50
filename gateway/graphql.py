"""`/graphql`, as the working draft "GraphQL over HTTP" of the GraphQL Foundation specifies it."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from graphql import GraphQLError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from gateway.browser_pages import graphiql_response
from gateway.negotiation import parse_weights
from resolvers.request.errors import LimitExceededError
from resolvers.request.limits.budget import Budget
from rest.bodies import has_more_tokens, parse_json, read_request_body
from rest.disconnection import run_while_connected
from rest.endpoints import JSON_MEDIA_TYPE, RESPONSE_HEADERS, RequestServices
from rest.errors import RETRY_AFTER_HEADERS, HttpError, method_not_allowed_error
from rest.json_writing import BYTES_IN_PART, write_json
from rest.path_routing import SCOPE_ERROR_CODES, SCOPE_OPERATION
from schema.costs.response_size import estimate_bytes
from schema.execution import InvalidOperationError, OperationResult, limit_exceeded_error

GRAPHQL_RESPONSE_MEDIA_TYPE = "application/graphql-response+json"
MAX_BODY_BYTES = 1_000_000
MAX_JSON_TOKENS = 100_000
"""Commas, colons and opening brackets of a body, outside strings: 10,000 assignments have 90,000.

orjson makes the values of as many in up to 10 ms, and nothing else runs meanwhile."""


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """The members of a GraphQL request."""

    query: str
    operation_name: str | None
    variables: dict[str, Any]

    def cache_key(self) -> tuple[Hashable, ...]:
        """Return a key that equal requests share. Raises HttpError 400."""
        try:
            variables = orjson.dumps(self.variables, option=orjson.OPT_SORT_KEYS)
        except TypeError as error:  # orjson reads deeper nesting than it writes
            raise _bad_request_error("variables are nested too deeply") from error
        return self.query, self.operation_name, variables


@dataclass(frozen=True, slots=True)
class GraphQLEndpoint:
    """Run the operation that a client sends, or send GraphiQL to a browser."""

    service: RequestServices

    async def __call__(self, request: Request) -> ASGIApp:
        """Answer a request. Every error is a GraphQL response with `extensions.code`."""
        if request.method != "POST" and _accepts_html(request):
            return graphiql_response()
        media_type = JSON_MEDIA_TYPE
        try:
            caller = await self.service.authenticate(request)
            media_type = negotiate_media_type(", ".join(request.headers.getlist("accept")))
            graphql_request = await _read_request(request)
            request.scope[SCOPE_OPERATION] = self.service.executor.find_name(
                graphql_request.query, graphql_request.operation_name
            )
            context = self.service.create_context(caller, request)
            context.budget.max_bytes = self.service.executor.limits.response_bytes

            async def create_response() -> Response:
                operation = await self.service.executor.load_client_operation(
                    graphql_request.query,
                    graphql_request.operation_name,
                    graphql_request.variables,
                )
                request.scope[SCOPE_OPERATION] = operation.name
                if not operation.is_query and request.method != "POST":
                    raise method_not_allowed_error(["OPTIONS", "POST"])
                work = self.service.run_operation(operation, graphql_request.variables, context)
                if operation.is_query:
                    work = run_while_connected(work, request.receive)
                result = await work
                request.scope[SCOPE_ERROR_CODES] = _list_codes(result.errors)
                if result.errors:
                    context.reads.mark_incomplete()  # an error may be gone the next time
                return await _write_result(result, media_type, context.budget)

            key = (*graphql_request.cache_key(), context.base_url, media_type, *caller.rights)
            return await self.service.get_or_create_response(key, context, create_response)
        except HttpError as error:
            request.scope[SCOPE_ERROR_CODES] = [error.code]
            return _error_response(error, media_type)
        except InvalidOperationError as error:
            request.scope[SCOPE_ERROR_CODES] = _list_codes(error.errors)
            errors = [each.formatted for each in error.errors]
            # GraphQL over HTTP, "Status Codes": application/json means 200 even for these.
            status = 400 if media_type == GRAPHQL_RESPONSE_MEDIA_TYPE else 200
            return _json_response(status, {"errors": errors}, media_type)


def negotiate_media_type(accept: str) -> str:
    """Choose the media type of the response. Raises HttpError 406.

    Without `Accept`, or with a wildcard, it is `application/json`, which every client reads.

    >>> negotiate_media_type("application/graphql-response+json, application/json;q=0.9")
    'application/graphql-response+json'
    """
    if not accept.strip():
        return JSON_MEDIA_TYPE
    weights = parse_weights(accept)
    wildcard = max(weights.get("*/*", 0.0), weights.get("application/*", 0.0))
    offered = {
        GRAPHQL_RESPONSE_MEDIA_TYPE: weights.get(GRAPHQL_RESPONSE_MEDIA_TYPE, 0.0),
        JSON_MEDIA_TYPE: weights.get(JSON_MEDIA_TYPE, wildcard),
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
        body = await read_request_body(request, JSON_MEDIA_TYPE, MAX_BODY_BYTES)
        if has_more_tokens(body, MAX_JSON_TOKENS):
            message = f"The body has over {MAX_JSON_TOKENS} commas, colons and opening brackets"
            raise limit_exceeded_error(
                LimitExceededError(message, limit="variables", maximum=MAX_JSON_TOKENS)
            )
        return _parse_request(parse_json(body))
    members: dict[str, Any] = dict(request.query_params)
    for name in ("variables", "extensions"):
        if name in members:
            members[name] = parse_json(members[name].encode(errors="replace"), name)
    return _parse_request(members)


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
    for member, value in (("variables", variables), ("extensions", extensions)):
        if value is not None and not isinstance(value, dict):
            raise _bad_request_error(f"{member} must be an object")
    return GraphQLRequest(query, name or None, variables or {})


def _list_codes(errors: list[GraphQLError]) -> list[str]:
    return [(error.extensions or {}).get("code", "") for error in errors]


def _bad_request_error(message: str) -> HttpError:
    return HttpError(400, message, "BAD_REQUEST")


def _error_response(error: HttpError, media_type: str) -> Response:
    extensions: dict[str, Any] = {"code": error.code}
    if error.fields:
        extensions["fields"] = error.fields
    body = {"errors": [{"message": error.message, "extensions": extensions}]}
    return _json_response(error.status, body, media_type, error.headers)


async def _write_result(result: OperationResult, media_type: str, budget: Budget) -> Response:
    """Write a result within the budget; an error if it is too large, before it takes memory."""
    try:
        size = 0
        if result.data is not None:
            size = estimate_bytes(result.data)
            budget.check_estimate(size)
        status, body, headers = _describe_result(result, media_type)
        if size > BYTES_IN_PART:
            content = await write_json(body, budget.check_least)
        else:
            content = orjson.dumps(body)
        budget.check_response(len(content))
    except LimitExceededError as error:
        refusal = GraphQLError(str(error), extensions=error.extensions)
        status, body, headers = _describe_result(OperationResult(None, [refusal]), media_type)
        content = orjson.dumps(body)
    return _content_response(status, content, media_type, headers)


def _describe_result(
    result: OperationResult, media_type: str
) -> tuple[int, dict[str, Any], Mapping[str, str]]:
    """Return the status, the body and the further headers of a result's response."""
    body: dict[str, Any] = {}
    if result.errors:
        body["errors"] = [error.formatted for error in result.errors]
    was_executed = result.data is not None or any(error.path for error in result.errors)
    if was_executed:
        body["data"] = result.data
    codes = _list_codes(result.errors)
    # With a path, the error is of one field of a mutation, and those before it were carried out.
    is_late = "DEADLINE_EXCEEDED" in codes and not was_executed
    if "SERVICE_UNAVAILABLE" in codes or is_late:
        return 503, body, RETRY_AFTER_HEADERS
    status = 400 if not was_executed and media_type == GRAPHQL_RESPONSE_MEDIA_TYPE else 200
    return status, body, {}


def _json_response(
    status: int, body: Any, media_type: str, headers: Mapping[str, str] | None = None
) -> Response:
    return _content_response(status, orjson.dumps(body), media_type, headers or {})


def _content_response(
    status: int, content: bytes, media_type: str, headers: Mapping[str, str]
) -> Response:
    return Response(
        content,
        status,
        {**RESPONSE_HEADERS, "Vary": f"{RESPONSE_HEADERS['Vary']}, Accept", **headers},
        f"{media_type}; charset=utf-8",
    )
