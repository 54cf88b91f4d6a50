"""The handler in front of an endpoint: with `Floorgate-Explain: true`, it explains the request.

Any value but `false` asks for that: a mutation must not run because of a misspelt one.

See docs/decisions/server/explain.md.
"""

from collections.abc import Callable

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

from gateway.exchange import EXPLAIN_HEADER
from gateway.explain.description import ExplainedResponse, describe
from gateway.explain.run import ExplainedRun, NotRunError
from gateway.header_fields import fields_of
from gateway.state import GatewayState
from gateway.subscriptions.event_stream import EVENT_STREAM_MEDIA_TYPE
from rest.endpoints import RequestServices
from rest.errors import JSON_MEDIA_TYPE, ErrorSource, HttpError
from rest.path_routing import Handler
from rest.responses import VARY
from rest.scope_members import SCOPE_CAUSE, SCOPE_ERROR_CODES
from schema.execution import Operation
from storage.mongo.plans import explain_commands
from storage.mongo.protocols import CommandLog

EXPLAIN_SECONDS = 5.0
"""How long MongoDB is asked for plans, after the response has been made."""
HEADERS = {"Cache-Control": "no-store", "Vary": f"{VARY}, Floorgate-Explain"}
MAX_ERRORS = 10


class ExplainingHandler:
    """An endpoint that answers as always, or explains how it would."""

    def __init__(
        self,
        handler: Handler,
        with_service: Callable[[RequestServices], Handler],
        services: RequestServices,
        get_state: Callable[[], GatewayState],
        operation: Operation | None = None,
    ) -> None:
        """Stand in front of `handler`; `with_service` returns it with other services.

        `operation` is what it always runs, if it does; `get_state` raises HttpError.
        """
        self._handler = handler
        self._with_service = with_service
        self._services = services
        self._get_state = get_state
        self._operation = operation

    async def __call__(self, request: Request) -> ASGIApp:
        """Respond to a request. Raises HttpError, also for a key without the permission."""
        if not _wants_explanation(request.scope):
            return await self._handler(request)
        state = self._get_state()
        run = ExplainedRun(self._services, state.response_cache, CommandLog(), self._operation)
        headers = request.scope["headers"]
        _refuse_streams(request.scope)
        response = None
        try:
            made = await run.time(self._with_service(run.services)(request))
        except NotRunError:
            pass
        except HttpError as error:
            if run.caller is None:
                raise
            source = ErrorSource.from_scope(request.scope)
            body = error.build_body(source)
            response = ExplainedResponse(error.status, error.describe(source), len(body))
        else:
            if run.caller is None or not isinstance(made, Response):
                return made
            response = _describe_response(made)
        for name in (SCOPE_ERROR_CODES, SCOPE_CAUSE):
            request.scope.pop(name, None)  # of the response that is not sent
        fast_path = state.fast_path.can_answer({**request.scope, "headers": headers})
        plans = await explain_commands(state.store.database, run.log, EXPLAIN_SECONDS)
        explanation = describe(request.scope, run, response, plans, is_fast=fast_path)
        return Response(orjson.dumps(explanation), 200, HEADERS, JSON_MEDIA_TYPE)


def _wants_explanation(scope: Scope) -> bool:
    fields = fields_of(scope)
    return EXPLAIN_HEADER in fields and any(
        value.strip().lower() not in (b"", b"false") for value in fields.list_lines(EXPLAIN_HEADER)
    )


def _refuse_streams(scope: Scope) -> None:
    """Ask for JSON in the place of a stream of events, which would not end by itself."""
    scope["headers"] = [
        (name, JSON_MEDIA_TYPE.encode())
        if name == b"accept" and EVENT_STREAM_MEDIA_TYPE.encode() in value.lower()
        else (name, value)
        for name, value in scope["headers"]
    ]


def _describe_response(response: Response) -> ExplainedResponse:
    body = bytes(response.body)
    error = None
    if body.startswith(b'{"errors":'):  # of /graphql, where a response may have data as well
        error = {"errors": orjson.loads(body)["errors"][:MAX_ERRORS]}
    return ExplainedResponse(response.status_code, error, len(body))
