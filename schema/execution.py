"""Run GraphQL operations, and turn failures into errors that clients may see.

REST prepares its operations at start-up; `/graphql` selects those that clients send, from an LRU
cache of parsed and validated ones. Queries run compiled (`schema.compiler.compiled_query`): those
of REST always, a client's from the second time on. graphql-core runs everything else, and queries
that fail when compiled or run: see docs/decisions/graphql/compiled-queries.md.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

import graphql
from graphql import GraphQLError, GraphQLSchema

from resolvers.request.caching import Cache
from resolvers.request.caller import Caller
from resolvers.request.context import Context
from resolvers.request.errors import LimitExceededError, RequestError, UnavailableError
from schema.argument_size import measure_value
from schema.compiler.compiled_query import CompiledQuery
from schema.compiler.leaves import InvalidResultError
from schema.counting import CountingExecutor
from schema.errors import SERVER_ERROR_MESSAGE, UNAVAILABLE_MESSAGE
from schema.operations import (
    MAX_VALIDATION_ERRORS,
    InvalidOperationError,
    Operation,
    check_size,
    parse_client_operation,
    parse_operation,
)
from schema.query_limits import QueryLimits

__all__ = [
    "Caller",
    "Context",
    "Executor",
    "InvalidOperationError",
    "Operation",
    "OperationResult",
    "RequestError",
]

MAX_CACHED_OPERATIONS = 1_000
MIN_COST_TO_COMPILE = 500
"""Cost from which an operation is compiled at once: interpreting it takes longer than compiling."""
MAX_ITEMS_WHEN_DENIED = 1_000
"""Items of variables that are coerced for a caller who lacks a permission: 4 ms of work."""

_logger = logging.getLogger("floorgate.graphql")


@dataclass(frozen=True, slots=True)
class OperationResult:
    """Result of an operation. `data` is None if execution failed entirely."""

    data: dict[str, Any] | None
    errors: list[GraphQLError]


class Executor:
    """Runs operations on one schema; with `compile_queries=False`, all of them by graphql-core.

    >>> import asyncio
    >>> from graphql import build_schema
    >>> executor = Executor(build_schema("type Query { unit: String }"), compile_queries=False)
    >>> operation = executor.get_client_operation("{ unit }", None, variables={})
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
    ) -> None:
        self.schema = schema
        self.limits = query_limits or QueryLimits()
        self.compile_queries = compile_queries
        self._operation_cache: Cache[tuple[str, str | None], Operation] = Cache(
            max_entries=MAX_CACHED_OPERATIONS
        )

    def prepare(
        self, text: str, name: str | None = None, *, needs_error_paths: bool = True
    ) -> Operation:
        """Parse and compile an operation of our own, without limits.

        Raises InvalidOperationError.
        """
        operation = parse_operation(self.schema, text, name)
        operation.needs_error_paths = needs_error_paths
        self._compile(operation)
        return operation

    def get_client_operation(
        self, text: str, name: str | None, variables: Mapping[str, Any]
    ) -> Operation:
        """Return a client's operation, from the cache or parsed, if it is within the limits.

        It is compiled when it is selected again: compiling one that runs once does not pay, unless
        it may return many records.
        Raises InvalidOperationError.
        """
        operation = self._operation_cache.get((text, name))
        if operation is None:
            return self._parse_and_cache(text, name, variables)
        check_size(operation, variables, self.limits)
        self._compile(operation)
        return operation

    def find_name(self, text: str, name: str | None) -> str | None:
        """Return the name of a client's operation, if it is cached: parsing it would cost more."""
        operation = self._operation_cache.peek((text, name), None)
        return name if operation is None else operation.name

    async def run(
        self, operation: Operation, variables: Mapping[str, Any], context: Context
    ) -> OperationResult:
        """Run an operation. Unexpected exceptions are logged and masked."""
        if not operation.is_allowed(context.caller):
            # A small request is interpreted, for an error with its path; see
            # docs/decisions/graphql/query-limits.md.
            if measure_value(variables, MAX_ITEMS_WHEN_DENIED).items > MAX_ITEMS_WHEN_DENIED:
                return _denied_result(operation, context.caller)
        elif self.compile_queries and operation.compiled is not None:
            result = await self._run_compiled(operation, operation.compiled, variables, context)
            if result is not None:
                return result
        return await self._interpret(operation, variables, context)

    async def _run_compiled(
        self,
        operation: Operation,
        compiled: CompiledQuery,
        variables: Mapping[str, Any],
        context: Context,
    ) -> OperationResult | None:
        """Return the compiled query's result, or None if graphql-core must run the operation."""
        try:
            data = await compiled.run(variables, context)
        # A second run would wait for MongoDB again, or exceed the same limit again.
        except (UnavailableError, LimitExceededError) as error:
            return _error_result(error)
        except RequestError as error:
            if not operation.needs_error_paths:
                return _error_result(error)
        except (InvalidResultError, GraphQLError) as error:
            _logger.debug("operation %s is interpreted: %r", operation.name, error)
        except Exception:
            # If this is a resolver's fault, interpreting meets it again and masks it. If not, the
            # compiled code is wrong, and only this line tells.
            _logger.warning("compiled operation %s failed", operation.name, exc_info=True)
        else:
            return None if data is None else OperationResult(data, [])
        context.restart()
        return None

    async def _interpret(
        self, operation: Operation, variables: Mapping[str, Any], context: Context
    ) -> OperationResult:
        """Run an operation by graphql-core."""
        try:
            outcome = graphql.execute(
                self.schema,
                operation.document,
                context_value=context,
                variable_values=dict(variables),
                operation_name=operation.name,
                hide_suggestions=True,
                max_coercion_errors=MAX_VALIDATION_ERRORS,
                executor_class=CountingExecutor,
            )
            result = await outcome if isawaitable(outcome) else outcome
        except Exception as error:
            return _error_result(error)
        return OperationResult(
            result.data, [_to_public_error(error) for error in result.errors or []]
        )

    def _parse_and_cache(
        self, text: str, name: str | None, variables: Mapping[str, Any]
    ) -> Operation:
        operation = parse_client_operation(self.schema, text, name, variables, self.limits)
        self._operation_cache.put((text, name), operation)
        if operation.first_cost >= MIN_COST_TO_COMPILE:
            self._compile(operation)
        return operation

    def _compile(self, operation: Operation) -> None:
        if self.compile_queries and operation.compiled is None and operation.is_query:
            operation.compiled = CompiledQuery(self.schema, operation.document, operation.node)


def _denied_result(operation: Operation, caller: Caller) -> OperationResult:
    """Return the first unmet requirement as an error of the whole operation."""
    try:
        operation.check_requirements(caller)
    except RequestError as error:
        return _error_result(error)
    raise AssertionError("every requirement is met")


def _error_result(error: Exception) -> OperationResult:
    return OperationResult(None, [_to_public_error(GraphQLError(str(error), original_error=error))])


def _to_public_error(error: GraphQLError) -> GraphQLError:
    """Return the error as clients may see it; log and mask unexpected ones."""
    cause = error.original_error
    # Its message is written for clients, and its extensions have the code.
    if isinstance(cause, RequestError):
        return error
    if isinstance(cause, UnavailableError):
        message, code = UNAVAILABLE_MESSAGE, "SERVICE_UNAVAILABLE"
    elif cause is None or isinstance(cause, GraphQLError):
        message, code = error.message, "INVALID_INPUT"
    else:
        _logger.error("an operation failed", exc_info=cause)
        message, code = SERVER_ERROR_MESSAGE, "SERVER_ERROR"
    return GraphQLError(
        message,
        nodes=error.nodes,
        path=error.path,
        extensions={**(error.extensions or {}), "code": code},
    )
