"""One request that is explained: it goes the way of every other, past the caches."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from gateway.cache.response_cache import ResponseCache, is_cacheable
from resolvers.request.caller import EXPLAIN
from rest.endpoints import CacheKey, RequestServices
from rest.errors import from_graphql_error
from schema.errors import RequestError
from schema.execution import (
    Caller,
    Context,
    Executor,
    InvalidOperationError,
    Operation,
    OperationResult,
)
from storage.cache.record_cache import BypassedRecordCache
from storage.mongo.protocols import CommandLog

NOT_CACHEABLE = "not cacheable"


class NotRunError(Exception):
    """The operation does more than read: it is explained, and not run."""


@dataclass(slots=True)
class ExplainedRun:
    """What is learnt of a request while its response is made."""

    original: RequestServices
    response_cache: ResponseCache
    log: CommandLog
    operation: Operation | None = None
    variables: Mapping[str, Any] | None = None
    """None if the request failed before they were known."""
    refused_cost: int | None = None
    """Of a document that was refused for it."""
    was_run: bool = False
    caller: Caller | None = None
    """None until the key is known to be valid, and to have the permission."""
    context: Context | None = None
    records: BypassedRecordCache | None = None
    cache_status: str = NOT_CACHEABLE
    milliseconds: float = 0.0

    @property
    def services(self) -> RequestServices:
        """The services of the gateway, with an eye on each."""
        return replace(
            self.original,
            executor=_ObservedExecutor(self.original.executor, self),
            authenticate=self.authenticate,
            create_context=self.create_context,
            run_operation=self.run_operation,
            get_or_create_response=self.get_or_create_response,
        )

    async def authenticate(self, request: Request) -> Caller:
        """Return the caller. Raises HttpError, also if the key may not have explanations."""
        caller = await self.original.authenticate(request)
        try:
            EXPLAIN.check(caller)
        except RequestError as error:
            raise from_graphql_error(error) from error
        self.caller = caller
        return caller

    def create_context(self, caller: Caller, request: Request) -> Context:
        """Return a context that notes its commands, and asks the record cache for nothing."""
        context = self.original.create_context(caller, request)
        if context.record_cache is not None:
            self.records = BypassedRecordCache(context.record_cache)
        self.context = context.recording(self.log, self.records)
        return self.context

    def note_operation(self, operation: Operation, variables: Mapping[str, Any]) -> None:
        """Note what the request asks for. Raises NotRunError if it is more than to read."""
        self.operation, self.variables = operation, variables
        if not operation.is_query:
            raise NotRunError

    def note_refusal(self, refusal: InvalidOperationError) -> None:
        """Note the cost of a document, if it was refused for it."""
        details = refusal.errors[0].extensions or {}
        if details.get("limit") == "cost":
            self.refused_cost = details.get("requested")

    async def run_operation(
        self, operation: Operation, variables: dict[str, Any], context: Context
    ) -> OperationResult:
        """Run a query. Raises NotRunError for all else."""
        self.note_operation(operation, variables)
        self.was_run = True
        return await self.original.run_operation(operation, variables, context)

    async def get_or_create_response(
        self,
        key: CacheKey,
        context: Context,
        create: Callable[[], Awaitable[Response]],
        is_read: bool,
    ) -> ASGIApp:
        """Create the response, and neither take it from the cache nor keep it there."""
        is_hit = self.response_cache.contains(key)
        response = await create()
        if self.response_cache.is_off:
            self.cache_status = "off"
        elif is_hit:
            self.cache_status = "hit"
        elif is_cacheable(response, context):
            self.cache_status = "miss"
        return response

    async def time(self, work: Awaitable[ASGIApp]) -> ASGIApp:
        """Await the response, and note how long it took."""
        started = time.perf_counter()
        try:
            return await work
        finally:
            self.milliseconds = (time.perf_counter() - started) * 1000


class _ObservedExecutor(Executor):
    """An executor that shares everything with another and tells which operations are loaded."""

    def __init__(self, executor: Executor, run: ExplainedRun) -> None:
        self.__dict__.update(vars(executor))
        self._run = run

    async def load_client_operation(
        self, text: str, name: str | None, variables: Mapping[str, Any]
    ) -> Operation:
        try:
            operation = await super().load_client_operation(text, name, variables)
        except InvalidOperationError as refusal:
            self._run.note_refusal(refusal)
            raise
        self._run.note_operation(operation, variables)
        return operation
