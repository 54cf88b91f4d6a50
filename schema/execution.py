"""Run GraphQL operations, and turn failures into errors that clients may see.

REST prepares each of its operations once; `/graphql` selects those that clients send, from an LRU
cache of parsed and validated ones. Operations are planned (`schema.compiler.compiled_query`), and
code is generated for the rows of queries: for those of REST at once, for a client's from the second
time on. graphql-core runs what cannot be planned: docs/decisions/graphql/compiled-queries.md.
"""

import logging
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from graphql import ExecutionResult, GraphQLError, GraphQLSchema

from resolvers.request.caller import Caller as Caller
from resolvers.request.context import Budget as Budget
from resolvers.request.context import Cache, Span, limit_read, limit_write
from resolvers.request.context import Context as Context
from resolvers.request.errors import LimitExceededError
from resolvers.request.errors import RequestError as RequestError
from resolvers.request.threads import pause_if_due as pause_if_due
from resolvers.request.threads import run_in_thread as run_in_thread
from schema.compiler.coercion import InvalidVariablesError, has_more_items
from schema.compiler.compiled_query import Event as Event
from schema.compiler.selection import UnsupportedQueryError
from schema.errors import OperationResult as OperationResult
from schema.errors import error_result, to_operation_result
from schema.interpretation import interpret, open_source
from schema.operations import InvalidOperationError as InvalidOperationError
from schema.operations import Operation as Operation
from schema.operations import limit_exceeded_error as limit_exceeded_error
from schema.operations import (
    limits_as_invalid_operation,
    measure_operation,
    parse_client_operation,
    parse_operation,
)
from schema.query_limits import QueryLimits as QueryLimits

MAX_LOGGED_REASONS = 100
"""Operations and reasons that are remembered, so that each is logged once in a while."""
MAX_LINES_PER_INTERVAL = 10
LOG_INTERVAL_SECONDS = 60.0

_logger = logging.getLogger("floorgate.graphql")


class ExecutionCounters:
    """Counts of operations. One that is interpreted is logged, at a bounded rate."""

    def __init__(self) -> None:
        self.compiled = 0
        self.interpreted = 0
        """Operations that graphql-core ran, because the compiler does not support them."""
        self._logged: Cache[tuple[str | None, str], float] = Cache(max_entries=MAX_LOGGED_REASONS)
        self._interval_end = 0.0
        self._lines = 0

    def count_interpreted(self, operation: str | None, reason: str) -> None:
        """Count an operation that graphql-core runs; log it once a minute for each reason."""
        self.interpreted += 1
        now = time.monotonic()
        if now >= self._interval_end:
            self._interval_end, self._lines = now + LOG_INTERVAL_SECONDS, 0
        logged_at = self._logged.get((operation, reason))
        is_recent = logged_at is not None and now - logged_at < LOG_INTERVAL_SECONDS
        if is_recent or self._lines >= MAX_LINES_PER_INTERVAL:
            return
        self._lines += 1
        self._logged.put((operation, reason), now)
        _logger.info(
            "operation interpreted", extra={"fields": {"operation": operation, "reason": reason}}
        )


DEFAULT_DEADLINE_SECONDS = 5.0
MAX_CACHED_OPERATIONS = 1_000
MAX_OPERATION_BYTES = 16 << 20
"""Memory of all cached operations, with the code that was generated for them.

The garbage collector looks through it, up to 135 ms for the longest documents."""
MAX_INTERPRETED_COST = 1_000
"""Cost of an operation that only graphql-core can run: it holds the event loop all the time."""
MIN_COST_FOR_CODE = 500
"""Cost from which code is generated at once: running without it takes longer than generating."""
MAX_CHARACTERS_IN_EVENT_LOOP = 1_000
"""A longer document is parsed and validated in a thread: this takes up to 20 ms."""
MAX_ITEMS_WHEN_DENIED = 1_000
"""Items of variables that are coerced for a caller who lacks a permission: 4 ms of work."""


class Executor:
    """Runs operations on one schema; with `compile_queries=False`, all of them by graphql-core.

    >>> import asyncio
    >>> from graphql import build_schema
    >>> executor = Executor(build_schema("type Query { unit: String }"), compile_queries=False)
    >>> operation = asyncio.run(executor.load_client_operation("{ unit }", None, variables={}))
    >>> context = Context(Caller("docs", scope=None), _store=None)
    >>> asyncio.run(executor.run(operation, {}, context)).data
    {'unit': None}
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        query_limits: QueryLimits | None = None,
        *,
        compile_queries: bool = True,
        deadline_seconds: float = DEFAULT_DEADLINE_SECONDS,
    ) -> None:
        self.schema = schema
        self.limits = query_limits or QueryLimits()
        self.compile_queries = compile_queries
        self.deadline_seconds = deadline_seconds
        self.counters = ExecutionCounters()
        self._operation_cache: Cache[tuple[str, str | None], Operation] = Cache(
            max_entries=MAX_CACHED_OPERATIONS,
            max_bytes=MAX_OPERATION_BYTES,
            weigh=lambda _, operation: operation.size_bytes,
            name="operations",
        )

    def prepare(self, text: str, name: str | None = None, *, limited_text: str = "") -> Operation:
        """Parse and compile an operation that is run again and again.

        `check_size` measures its `limited_text`, which has no aliases that are not an author's.
        Raises InvalidOperationError.
        """
        operation = parse_operation(self.schema, text, name)
        if limited_text:
            operation.measure = measure_operation(self.schema, limited_text, self.limits)
        if self.compile_queries:
            operation.compile(self.schema).generate_code()
        return operation

    def check_size(self, operation: Operation, variables: Mapping[str, Any]) -> int:
        """Return the cost of a limited operation with these variables. Raises LimitExceededError.

        It is 0 for an operation without limits.
        """
        measure = operation.measure
        return 0 if measure is None else measure.check(variables, self.limits).cost

    def find_name(self, text: str, name: str | None) -> str | None:
        """Return the name of a client's operation, if it is cached: parsing it would cost more."""
        operation = self._operation_cache.peek((text, name), None)
        return name if operation is None else operation.name

    async def load_client_operation(
        self, text: str, name: str | None, variables: Mapping[str, Any]
    ) -> Operation:
        """Return a client's operation, from the cache or parsed, if it is within the limits.

        Code is generated when it is selected again: for one that runs once, it does not pay,
        unless it may return many records.
        Raises InvalidOperationError.
        """
        operation = self._operation_cache.get((text, name))
        if operation is not None:
            with limits_as_invalid_operation():
                self.check_size(operation, variables)
            if operation.compiled is not None:
                operation.compiled.request_code()
                self._operation_cache.reweigh((text, name))
            return operation
        if len(text) > MAX_CHARACTERS_IN_EVENT_LOOP:
            operation = await run_in_thread(self._parse, text, name, variables)
        else:
            operation = self._parse(text, name, variables)
        self._operation_cache.put((text, name), operation)
        return operation

    async def open_events(
        self, operation: Operation, variables: Mapping[str, Any], context: Context
    ) -> "AsyncGenerator[Any] | OperationResult":
        """Return the events of a subscription, to be run one by one, or why there are none.

        The context lives as long as the stream. Close what is returned. What it raises while it
        runs is for `to_result`.
        """
        source = await open_source(self.schema, operation, variables, context)
        if isinstance(source, ExecutionResult):
            return to_operation_result(None, source.errors or [], variables)
        return source

    def to_result(self, error: Exception) -> OperationResult:
        """Return an error as a client may see it."""
        if isinstance(error, GraphQLError):
            return to_operation_result(None, [error])
        return error_result(error)

    async def run(
        self,
        operation: Operation,
        variables: Mapping[str, Any],
        context: Context,
        event: Event | None = None,
    ) -> OperationResult:
        """Run an operation, or a subscription on one event, with a context for this event alone.

        Unexpected exceptions are logged and masked.
        """
        is_allowed = not operation.requirements or operation.is_allowed(context.caller)
        if not is_allowed and has_more_items(variables, MAX_ITEMS_WHEN_DENIED):
            # A smaller request is run, for an error with its path; see
            # docs/decisions/graphql/query-limits.md.
            try:
                operation.check_requirements(context.caller)
            except RequestError as error:
                return error_result(error)
        try:
            work = self._execute(operation, variables, context, event, is_allowed=is_allowed)
            # Of a mutation, no other field begins after the deadline. A write that has begun is
            # never cancelled: its response tells whether it was made, and MongoDB ends it in time.
            limit = limit_write if operation.is_mutation else limit_read
            with Span(operation.kind):
                data, errors = await limit(work, context, self.deadline_seconds)
        except InvalidVariablesError as error:
            return to_operation_result(None, error.errors, variables)
        except Exception as error:
            return error_result(error)
        return to_operation_result(data, errors, variables) if errors else OperationResult(data, [])

    async def _execute(
        self,
        operation: Operation,
        variables: Mapping[str, Any],
        context: Context,
        event: Event | None,
        *,
        is_allowed: bool,
    ) -> tuple[dict[str, Any] | None, list[GraphQLError]]:
        if operation.compiled is not None:
            try:
                result = await operation.compiled.run(
                    variables, context, check_requirements=not is_allowed, event=event
                )
            except UnsupportedQueryError as error:
                self.counters.count_interpreted(operation.name, str(error))
            else:
                self.counters.compiled += 1
                return result
            self._check_interpreted(operation, variables)
        return await interpret(self.schema, operation, variables, context, event)

    def _check_interpreted(self, operation: Operation, variables: Mapping[str, Any]) -> None:
        """Raise LimitExceededError if graphql-core would take too long with an operation."""
        cost = self.check_size(operation, variables)
        if cost > MAX_INTERPRETED_COST:
            raise LimitExceededError(
                f"The operation may return {cost} records, over the limit of"
                f" {MAX_INTERPRETED_COST} for one with introspection or many conditions; ask for"
                " the data and the schema apart",
                limit="cost",
                maximum=MAX_INTERPRETED_COST,
                requested=cost,
            )

    def _parse(self, text: str, name: str | None, variables: Mapping[str, Any]) -> Operation:
        operation = parse_client_operation(self.schema, text, name, variables, self.limits)
        if self.compile_queries:
            compiled = operation.compile(self.schema)
            if operation.first_cost >= MIN_COST_FOR_CODE:
                compiled.request_code()
        return operation
