"""Run operations for streams: their results as JSON, one by one."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.requests import Request

from gateway.documents.graphql_request import dump_variables
from gateway.exchange import SCOPE_AUTHENTICATED_KEY
from gateway.server.admission import Admission
from gateway.subscriptions.shared_results import ResultKey, SharedResults
from gateway.subscriptions.streams import StreamKeys, Streams
from resolvers.request.caller import Caller
from resolvers.request.context import Context
from rest.endpoints import RequestServices
from rest.errors import note_errors
from schema.execution import Event, Operation, OperationResult
from schema.interpretation import list_event_variables

MAX_EVENTS_AT_A_TIME = 10
"""Events that a worker executes at a time. One change is an event of every stream: without a bound
these would take all connections to MongoDB and the time of requests."""


@dataclass(frozen=True, slots=True)
class StreamServices:
    """What streams need from the gateway."""

    service: RequestServices
    streams: Streams
    admission: Admission
    get_keys: Callable[[], StreamKeys]
    """Raises HttpError while the application starts or stops."""
    serialize: Callable[[OperationResult, Context, str], Awaitable[bytes]]
    """Returns a result as JSON, within the budget of the context, for the request with this id."""
    turns: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(MAX_EVENTS_AT_A_TIME)
    )
    results: SharedResults = field(default_factory=SharedResults)

    async def run_once(
        self, operation: Operation, variables: dict[str, Any], caller: Caller, request: Request
    ) -> bytes:
        """Return the result of a query or mutation. Raises HttpError."""
        context = self._create_context(caller, request)
        result = await self.service.run_operation(operation, variables, context)
        return await self._write(result, context, request)

    async def follow(
        self, operation: Operation, variables: dict[str, Any], caller: Caller, request: Request
    ) -> AsyncGenerator[bytes]:
        """Yield the result of each event of a subscription.

        The stream ends after an event that has nothing but errors: a client that goes on from its
        last event misses none. Raises HttpError, and StreamEndedError when its key has ended.
        """
        executor, keys = self.service.executor, self.get_keys()
        key = request.scope[SCOPE_AUTHENTICATED_KEY]
        context = self._create_context(caller, request)
        names = list_event_variables(operation)
        used = dump_variables({name: variables[name] for name in names if name in variables})
        shared = ResultKey(operation, used, context.base_url, caller.rights)
        source = await executor.open_events(operation, variables, context)
        if isinstance(source, OperationResult):
            yield await self._write(source, context, request)
            return
        is_last = False
        async with aclosing(source):
            while True:
                try:
                    value = await anext(source)
                except StopAsyncIteration:
                    return
                except Exception as error:
                    yield await self._write(executor.to_result(error), context, request)
                    return
                result_key = shared._replace(value=value)
                async with self.turns:
                    # In its turn: the others then find the key that the first ones have read.
                    await keys.check(key)
                    content = self.results.get(result_key)
                    if content is None:
                        # The record cache may hear of a change later than the follower.
                        event = self._create_context(caller, request).without_record_cache()
                        result = await executor.run(operation, variables, event, Event(value))
                        content = await self._write(result, event, request)
                        self.results.keep(result_key, content, event)
                        is_last = bool(result.errors) and not any((result.data or {}).values())
                yield content
                if is_last:
                    return

    def _create_context(self, caller: Caller, request: Request) -> Context:
        context = self.service.create_context(caller, request)
        context.budget.max_bytes = self.service.executor.limits.response_bytes
        return msgspec.structs.replace(context, waited_seconds=0.0)

    async def _write(self, result: OperationResult, context: Context, request: Request) -> bytes:
        note_errors(request.scope, result.errors)
        return await self.serialize(result, context, request.scope["state"]["request_id"])
