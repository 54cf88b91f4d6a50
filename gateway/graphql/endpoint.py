"""`/graphql`, as the working draft "GraphQL over HTTP" of the GraphQL Foundation specifies it."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson
from graphql import GraphQLError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from gateway.exchange import accepts_html, fields_of, parse_weights
from gateway.graphql.request import (
    DocumentSource,
    GraphQLRequest,
    RequestedDocument,
    dump_variables,
    format_errors,
    note_operation,
    read_graphql_request,
)
from gateway.graphql.streams import (
    EVENT_STREAM_MEDIA_TYPE,
    SingleEventResponse,
    StreamServices,
    accepts_event_stream,
)
from gateway.metrics import OTHER
from gateway.public_endpoints import page_response
from resolvers.request.caller import Caller
from resolvers.request.context import Context
from resolvers.request.errors import LateFieldError, LimitExceededError
from rest.dispatch import run_while_connected
from rest.endpoints import CacheKey, RequestServices
from rest.errors import (
    JSON_MEDIA_TYPE,
    RETRY_AFTER_HEADERS,
    STATUS_BY_CODE,
    HttpError,
    method_not_allowed_error,
    note_errors,
)
from rest.responses import (
    BYTES_IN_PART,
    RESPONSE_HEADERS,
    VARY,
    CompleteResponse,
    encode_headers,
    write_json,
)
from rest.scope_members import SCOPE_COUNTED_AS, SCOPE_KEEPS_DOCUMENT, SCOPE_OPERATION
from schema.execution import InvalidOperationError, OperationResult
from schema.query_size import estimate_bytes
from storage.administration.trusted_documents import DOCUMENTS_COLLECTION

GRAPHQL_RESPONSE_MEDIA_TYPE = "application/graphql-response+json"
NOT_ACCEPTABLE = (
    f"Accept must name {GRAPHQL_RESPONSE_MEDIA_TYPE} or {JSON_MEDIA_TYPE}, or"
    f" {EVENT_STREAM_MEDIA_TYPE} for a stream"
)
COST_HEADER = b"floorgate-cost"
"""The header of what an operation may cost, before it runs: the limit `cost` is about the same."""
PERSISTED_QUERY_CODES = frozenset(("PERSISTED_QUERY_NOT_FOUND", "PERSISTED_QUERY_NOT_SUPPORTED"))
"""Codes of errors after which a client sends the document. Apollo's server sends them with 200."""

_INTROSPECTION_FIELD = re.compile(r"__(schema|type)\b")
_HEADERS = encode_headers({**RESPONSE_HEADERS, "Vary": f"{VARY}, Accept"})


@dataclass(frozen=True, slots=True)
class GraphQLEndpoint:
    """Run the operation that a client sends, or send GraphiQL to a browser."""

    service: RequestServices
    documents: DocumentSource
    streams: StreamServices

    def with_service(self, service: RequestServices) -> "GraphQLEndpoint":
        return replace(self, service=service)

    async def __call__(self, request: Request) -> ASGIApp:
        """Answer a request. Every error is a GraphQL response with `extensions.code`."""
        if request.method != "POST" and accepts_html(request.headers.get("accept", "")):
            return page_response("graphiql")
        request.scope[SCOPE_COUNTED_AS] = OTHER
        accept = fields_of(request.scope).get(b"accept", b"").decode("latin-1")
        accepted = negotiate_media_type(accept)
        media_type = accepted or JSON_MEDIA_TYPE
        request_id: str = request.scope["state"]["request_id"]
        try:
            caller = await self.service.authenticate(request)
            if accepted is None:
                raise HttpError(406, NOT_ACCEPTABLE, "NOT_ACCEPTABLE")
            graphql_request = await read_graphql_request(request)
            document = await self.documents.find(graphql_request, caller.key_id)
            if document.is_new:
                request.scope[SCOPE_KEEPS_DOCUMENT] = True
            response = await self._respond(
                request, caller, graphql_request, document, accept, media_type
            )
            self.documents.keep(document, caller.key_id)
            return response
        except HttpError as error:
            return self.answer_error(request, error)
        except InvalidOperationError as error:
            note_errors(request.scope, error.errors)
            errors = format_errors(error.errors, request_id)
            if media_type == EVENT_STREAM_MEDIA_TYPE:
                return SingleEventResponse(orjson.dumps({"errors": errors}))
            # GraphQL over HTTP, "Status Codes": application/json means 200 even for these.
            status = 400 if media_type == GRAPHQL_RESPONSE_MEDIA_TYPE else 200
            return _json_response(status, {"errors": errors}, media_type)

    def answer_error(self, request: Request, error: HttpError) -> ASGIApp:
        """Return an error in GraphQL's form."""
        note_errors(request.scope, [error])
        accept = fields_of(request.scope).get(b"accept", b"").decode("latin-1")
        media_type = negotiate_media_type(accept) or JSON_MEDIA_TYPE
        return _error_response(error, media_type, request.scope["state"]["request_id"])

    async def _respond(
        self,
        request: Request,
        caller: Caller,
        graphql_request: GraphQLRequest,
        document: RequestedDocument,
        accept: str,
        media_type: str,
    ) -> ASGIApp:
        """Return the cached response or a stream, or run the operation. Raises HttpError, and
        InvalidOperationError.
        """
        name, variables = graphql_request.operation_name, graphql_request.variables
        if accepts_event_stream(accept):
            operation = await self.service.load_client_operation(document.text, name, variables)
            note_operation(request.scope, operation, document)
            # Clients that prefer JSON get it for queries.
            if media_type == EVENT_STREAM_MEDIA_TYPE or operation.is_subscription:
                return await self.streams.respond(operation, variables, caller, request)
        executor = self.service.executor
        context = self.service.create_context(caller, request)
        context.budget.max_bytes = executor.limits.response_bytes
        varies_by: CacheKey = (context.base_url, *caller.rights)
        if _INTROSPECTION_FIELD.search(document.text):
            operation = await self.service.load_client_operation(document.text, name, variables)
            if operation.is_introspection:
                # The schema is the same for every key, at every address.
                context.reads.is_constant, varies_by = True, ()
        request.scope[SCOPE_OPERATION] = executor.find_name(document.text, name)
        if document.is_registered:
            context.reads.add(DOCUMENTS_COLLECTION)

        async def create_response() -> Response:
            if document.is_registered:
                # Again, as the response may be cached from here on.
                await self.documents.check_unchanged(document, graphql_request, caller.key_id)
            operation = await self.service.load_client_operation(document.text, name, variables)
            note_operation(request.scope, operation, document)
            if operation.is_subscription:
                message = f"A subscription needs Accept: {EVENT_STREAM_MEDIA_TYPE}, or a WebSocket"
                raise HttpError(406, message, "NOT_ACCEPTABLE")
            if not operation.is_query and request.method != "POST":
                raise method_not_allowed_error(["OPTIONS", "POST"])
            work = self.service.run_operation(operation, variables, context)
            if operation.is_query:
                work = run_while_connected(work, request.receive)
            result = await work
            note_errors(request.scope, result.errors)
            response = await write_result(
                result, media_type, context, request.scope["state"]["request_id"]
            )
            if operation.measure:
                cost = executor.check_size(operation, variables)
                response.raw_headers.append((COST_HEADER, str(cost).encode()))
            return response

        key = (
            _hash_operation(document, name, variables),
            # Responses to documents that run because they are registered are read from these too.
            document.is_registered,
            media_type,
            *varies_by,
        )
        # Each operation has its keyword, so nothing that writes waits for an equal one.
        is_read = "mutation" not in document.text
        response = await self.service.get_or_create_response(key, context, create_response, is_read)
        if document.is_registered and (known := request.scope[SCOPE_OPERATION]):
            request.scope[SCOPE_COUNTED_AS] = known  # it has run: it is in the document
        return response


def _hash_operation(
    document: RequestedDocument, name: str | None, variables: dict[str, Any]
) -> bytes:
    """Return a key that equal operations with equal variables share, of 32 bytes for any of them.

    The digest of the document has 64 characters, and no JSON has a NUL: the parts cannot run into
    one another. Raises HttpError 400.
    """
    named = (name or "").encode(errors="surrogatepass")
    parts = document.sha256.encode() + dump_variables(variables) + b"\0" + named
    return hashlib.sha256(parts).digest()


def negotiate_media_type(accept: str) -> str | None:
    """Choose the media type of the response; None if the client accepts none.

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
        EVENT_STREAM_MEDIA_TYPE: weights.get(EVENT_STREAM_MEDIA_TYPE, 0.0),
    }
    best = max(offered, key=lambda media_type: offered[media_type])
    return best if offered[best] > 0 else None


def _error_response(error: HttpError, media_type: str, request_id: str) -> Response:
    body = {"errors": format_errors([error], request_id)}
    if media_type == EVENT_STREAM_MEDIA_TYPE:  # a stream that never began
        return _json_response(error.status, body, JSON_MEDIA_TYPE, error.headers)
    is_retried = error.code in PERSISTED_QUERY_CODES and media_type == JSON_MEDIA_TYPE
    return _json_response(200 if is_retried else error.status, body, media_type, error.headers)


async def write_result(
    result: OperationResult, media_type: str, context: Context, request_id: str
) -> Response:
    """Write a result within the budget; an error if it is too large, before it takes memory.

    A response with errors is not cached: they have the id of this request, and may be gone the next
    time.
    """
    budget = context.budget
    if result.errors:
        context.reads.mark_incomplete()
    try:
        budget.check_least(budget.drawing_bytes)
        status, body, headers = _describe_result(result, media_type, request_id)
        if result.data is not None and estimate_bytes(result.data) > BYTES_IN_PART:
            content = await write_json(body, budget.check_least)
        else:
            content = orjson.dumps(body)
        budget.check_response(len(content))
    except LimitExceededError as error:
        context.reads.mark_incomplete()
        refused = OperationResult(None, [GraphQLError(str(error), extensions=error.extensions)])
        status, body, headers = _describe_result(refused, media_type, request_id)
        content = orjson.dumps(body)
    return _json_response(status, content, media_type, headers)


async def serialize_result(result: OperationResult, context: Context, request_id: str) -> bytes:
    return bytes((await write_result(result, JSON_MEDIA_TYPE, context, request_id)).body)


def _describe_result(
    result: OperationResult, media_type: str, request_id: str
) -> tuple[int, dict[str, Any], Mapping[str, str]]:
    """Return the status, the body and the further headers of a result's response."""
    body: dict[str, Any] = {}
    if result.errors:
        body["errors"] = format_errors(result.errors, request_id)
    was_executed = result.data is not None or any(error.path for error in result.errors)
    if was_executed:
        body["data"] = result.data
    for error in result.errors:
        code = (error.extensions or {}).get("code", "")
        # The fields of a mutation before a late one were carried out.
        if STATUS_BY_CODE.get(code) == 503 and not isinstance(error.original_error, LateFieldError):
            return 503, body, RETRY_AFTER_HEADERS
    status = 400 if not was_executed and media_type == GRAPHQL_RESPONSE_MEDIA_TYPE else 200
    return status, body, {}


def _json_response(
    status: int, body: Any, media_type: str, headers: Mapping[str, str] | None = None
) -> Response:
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    raw_headers = [*_HEADERS, *encode_headers(headers or {})]
    return CompleteResponse(content, status, f"{media_type}; charset=utf-8", raw_headers)
