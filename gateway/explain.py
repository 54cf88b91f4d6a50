"""Explanations: with `Floorgate-Explain: true`, a request is answered with how it is processed.

Any value but `false` asks for that: a mutation must not run because of a misspelt one.

A key that is limited to some assets sees of the values in filters only the ids of these assets, and
neither the index that MongoDB chose nor how much it looked at: all that may tell of records that
the key may not see. See docs/decisions/server/explain.md.
"""

import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

from gateway.graphql.endpoint import GraphQLEndpoint
from gateway.graphql.streams import EVENT_STREAM_MEDIA_TYPE
from gateway.read_descriptions import describe_read, shorten
from gateway.response_cache import is_cacheable
from gateway.saved_endpoints import SavedHandler
from gateway.state import GatewayState
from resolvers.request.caller import EXPLAIN, Requirement
from resolvers.request.errors import LimitExceededError
from rest.dispatch import PathRoute
from rest.endpoint_files import Endpoint
from rest.endpoints import CacheKey, DeferredHandler, EndpointHandler, RequestServices
from rest.errors import JSON_MEDIA_TYPE, ErrorSource, HttpError, from_graphql_error
from rest.responses import VARY
from rest.scope_members import SCOPE_ERROR_CODES, SCOPE_FAILURE
from schema.errors import RequestError
from schema.execution import Caller, Context, Operation, OperationResult
from schema.operations import locate_requirements
from schema.query_limits import QueryLimits
from schema.query_size import OperationMeasure
from storage.cache.record_cache import BypassedRecordCache
from storage.mongo.plans import CommandPlan, explain_commands
from storage.mongo.spans import Command, Span, begin_root, list_reads


class NotRunError(Exception):
    """The operation does more than read: it is explained, and not run."""


class ExplainedRequest:
    """The services of the gateway for one request, and what they have learnt of it."""

    def __init__(
        self, services: RequestServices, state: GatewayState, operation: Operation | None
    ) -> None:
        """Stand in front of `services`, for an endpoint that always runs `operation`, or any."""
        self._services = services
        self._response_cache = state.response_cache
        self.executor = services.executor
        self.operation = operation
        self.variables: Mapping[str, Any] | None = None
        """None if the request failed before they were known."""
        self.was_run = False
        self.caller: Caller | None = None
        """None until the key is known to be valid, and to have the permission."""
        self.context: Context | None = None
        self.records: BypassedRecordCache | None = None
        self.spans: Iterable[Span] = ()
        """It says what the operation does."""
        self.cache_status = "not cacheable"

    async def authenticate(self, request: Request) -> Caller:
        """Return the caller. Raises HttpError, also if the key may not have explanations."""
        caller = await self._services.authenticate(request)
        try:
            EXPLAIN.check(caller)
        except RequestError as error:
            raise from_graphql_error(error) from error
        self.caller = caller
        return caller

    def create_context(self, caller: Caller, request: Request, **options: bool) -> Context:
        """Return a context that asks the record cache for nothing."""
        context = self._services.create_context(caller, request, **options)
        if context.record_cache is not None:
            self.records = BypassedRecordCache(context.record_cache)
        self.context = context.with_record_cache(self.records)
        return self.context

    async def load_client_operation(
        self, text: str, name: str | None, variables: Mapping[str, Any]
    ) -> Operation:
        """Return a query. Raises NotRunError for all else, and InvalidOperationError."""
        operation = await self._services.load_client_operation(text, name, variables)
        self._note_operation(operation, variables)
        return operation

    async def run_operation(
        self, operation: Operation, variables: dict[str, Any], context: Context
    ) -> OperationResult:
        """Run a query. Raises NotRunError for all else."""
        self._note_operation(operation, variables)
        self.was_run = True
        self.spans = begin_root().spans
        return await self._services.run_operation(operation, variables, context)

    def _note_operation(self, operation: Operation, variables: Mapping[str, Any]) -> None:
        self.operation, self.variables = operation, variables
        if not operation.is_query:
            raise NotRunError

    def depend_on(self, endpoint: Endpoint, context: Context) -> None:
        """Note nothing: the response is not kept."""

    async def get_or_create_response(
        self,
        key: CacheKey,
        context: Context,
        create: Callable[[], Awaitable[Response]],
        is_read: bool,
    ) -> ASGIApp:
        """Create the response, and neither take it from the cache nor keep it there."""
        is_hit = self._response_cache.contains(key)
        response = await create()
        if self._response_cache.is_off:
            self.cache_status = "off"
        elif is_hit:
            self.cache_status = "hit"
        elif is_cacheable(response, context):
            self.cache_status = "miss"
        return response


MAX_COMMANDS = 50
"""Commands that are explained; further ones are counted."""
UNLIMITED = QueryLimits(**{limit.name: sys.maxsize for limit in fields(QueryLimits)})


def describe(
    scope: Scope,
    run: ExplainedRequest,
    response: dict[str, Any] | None,
    reads: Sequence[Command],
    plans: Sequence[CommandPlan | None],
    *,
    is_fast: bool,
) -> dict[str, Any]:
    """Return the explanation of a run; `response` is None if nothing was run.

    `is_fast` tells whether the fast path has the response.
    """
    assert run.caller is not None
    caller, context, operation, records = run.caller, run.context, run.operation, run.records
    requirements: dict[str, Requirement] = {}
    described = None
    if operation is not None:
        requirements = locate_requirements(run.executor.schema, operation, run.variables or {})
        described = {
            "kind": operation.kind,
            "name": operation.name,
            "document": operation.text,
            "variables": shorten(run.variables),
            "was_run": run.was_run,
        }
    return {
        # Without the query: it may have the API key, and the variables say what it says.
        "request": {"method": scope["method"], "path": shorten(scope["path"])},
        "operation": described,
        "requirements": [
            {
                "where": where,
                "flag": requirement.flag,
                "permission": requirement.permission,
                "is_met": requirement.is_met(caller),
            }
            for where, requirement in requirements.items()
        ],
        "cost": {
            **_describe_limit(run, response),
            "actual": context.budget.cost if context else 0,
            "records_read": context.budget.records_read if context else 0,
        },
        "caches": {
            "response": run.cache_status,
            "fast_path": is_fast,
            "records": records and {"hits": records.hits, "misses": records.misses},
        },
        "commands": [
            _describe_command(end, plan, caller.scope.asset_ids)
            for end, plan in zip(reads, plans, strict=False)
        ],
        "omitted_commands": len(reads) - len(plans),
        "response": response,
    }


def _describe_limit(run: ExplainedRequest, response: dict[str, Any] | None) -> dict[str, Any]:
    """Return what an operation may cost, and the limit that it has.

    The limit is of operations that clients write; those of REST were written with it in mind.
    """
    operation, executor, cost = run.operation, run.executor, None
    if operation is None:  # the document may have been refused for its cost
        error = (response and response["error"]) or {}
        details = error.get("errors", [{}])[0].get("extensions", {})
        cost = details.get("requested") if details.get("limit") == "cost" else None
        is_limited = cost is not None
    else:
        is_limited = operation.measure is not None
        measure = operation.measure or OperationMeasure(
            executor.schema, operation.document, operation.node
        )
        if run.variables is not None:
            with suppress(LimitExceededError):  # a list that is too long
                cost = measure.check(run.variables, UNLIMITED).cost
    return {"estimated": cost, "limit": executor.limits.cost if is_limited else None}


def _describe_command(
    end: Command, plan: CommandPlan | None, own_assets: Set[str] | None
) -> dict[str, Any]:
    """Describe a command to a key for all assets, or to one for `own_assets`."""
    is_limited = own_assets is not None
    measured = None if is_limited else plan
    return {
        "command": end.command,
        "collection": end.collection,
        **describe_read(end, own_assets),
        "plan": measured and [scan._asdict() for scan in measured.scans],
        "considered": plan and [scan._asdict() for scan in plan.candidates],
        "keys_examined": measured and measured.keys_examined,
        "documents_examined": measured and measured.documents_examined,
        "returned": None if is_limited else end.returned,
        "milliseconds": round(end.seconds * 1000, 3),
        "milliseconds_in_mongodb": measured and measured.milliseconds,
    }


EXPLAIN_SECONDS = 5.0
"""The time that MongoDB is asked for plans, after the response has been made."""
HEADERS = {"Cache-Control": "no-store", "Vary": f"{VARY}, Floorgate-Explain"}
MAX_ERRORS = 10


async def explain(
    handler: DeferredHandler | GraphQLEndpoint | SavedHandler,
    services: RequestServices,
    get_state: Callable[[], GatewayState],
    request: Request,
) -> ASGIApp:
    """Explain how an endpoint would answer a request.

    Raises HttpError, also for a key without the permission.
    """
    state = get_state()
    own = handler.prepared if isinstance(handler, DeferredHandler) else handler
    operation = own.operation if isinstance(own, EndpointHandler) else None
    run = ExplainedRequest(services, state, operation)
    headers = request.scope["headers"]
    _refuse_streams(request.scope)
    status, body, error = None, b"", None
    started = time.perf_counter()
    try:
        made = await own.with_service(run)(request)
    except NotRunError:
        pass
    except HttpError as failure:
        if run.caller is None:
            raise
        source = ErrorSource.from_scope(request.scope)
        status, body = failure.status, failure.build_body(source)
        error = failure.describe(source)
    else:
        if run.caller is None or not isinstance(made, Response):
            return made
        status, body = made.status_code, bytes(made.body)
        if body.startswith(b'{"errors":'):  # of /graphql, which may have data as well
            error = {"errors": orjson.loads(body)["errors"][:MAX_ERRORS]}
    milliseconds = round((time.perf_counter() - started) * 1000, 3)
    response = None
    if status is not None:  # with the body only if it is an error
        response = {
            "status": status,
            "error": error,
            "bytes": len(body),
            "milliseconds": milliseconds,
        }
    for name in (SCOPE_ERROR_CODES, SCOPE_FAILURE):
        request.scope.pop(name, None)  # of the response that is not sent
    fast_path = state.fast_path.can_answer({**request.scope, "headers": headers})
    reads = list_reads(run.spans)
    commands = [each.read for each in reads[:MAX_COMMANDS]]
    plans = await explain_commands(state.store.database, commands, EXPLAIN_SECONDS, again=True)
    explanation = describe(request.scope, run, response, reads, plans, is_fast=fast_path)
    return Response(orjson.dumps(explanation), 200, HEADERS, JSON_MEDIA_TYPE)


def build_explained_route(
    route: PathRoute, services: RequestServices, get_state: Callable[[], GatewayState]
) -> PathRoute:
    """Return the route of requests with `Floorgate-Explain`, for the route of those without."""
    handlers = {
        method: partial(explain, handler, services, get_state)
        for method, handler in route.handlers.items()
        if isinstance(handler, (DeferredHandler, GraphQLEndpoint, SavedHandler))
    }
    return PathRoute(route.path, handlers, route.answer_error)


def _refuse_streams(scope: Scope) -> None:
    """Ask for JSON in the place of a stream of events, which would not end by itself."""
    scope["headers"] = [
        (name, JSON_MEDIA_TYPE.encode())
        if name == b"accept" and EVENT_STREAM_MEDIA_TYPE.encode() in value.lower()
        else (name, value)
        for name, value in scope["headers"]
    ]
