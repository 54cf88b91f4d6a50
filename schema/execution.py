"""Running operations: prepared once, answered with data or with errors that have codes.

Both doors come through here: REST with operations prepared at start-up, `/graphql` with whatever a
client sends, which is kept parsed and validated in a bounded cache. Queries run compiled
(`schema.compiler.compiled_query`): those of REST always, a client's from the second time on.
"""

import logging
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

import graphql
from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    visit,
)
from graphql.validation import specified_rules

from resolvers.request.caller import Caller
from resolvers.request.context import Context
from resolvers.request.errors import RequestError, UnavailableError
from schema import query_size
from schema.compiler.compiled_query import CompiledQuery
from schema.permissions import Requirement, requirement_of
from schema.query_limits import QueryLimits
from schema.query_size import LimitExceededError

__all__ = [
    "Caller",
    "Context",
    "Executor",
    "InvalidOperationError",
    "Operation",
    "OperationResult",
    "RequestError",
]

MAX_VALIDATION_ERRORS = 5
MAX_CACHED_OPERATIONS = 1_000
TOO_DEEP_MESSAGE = "The document is nested too deeply"
GRAPHQL_RECURSION_MESSAGE = "Validation aborted."
"""All that graphql-core says when Python's stack ends during validation."""
MAX_DIGITS = 1_000
"""Of a number in a document: Python refuses to read one of over 4,300."""
MAX_ITEMS_WHEN_REFUSED = 1_000
"""Items of variables that are coerced for a caller whom some field refuses: 4 ms of work."""
_LONG_NUMBER = re.compile(rf"\d{{{MAX_DIGITS + 1}}}")

_logger = logging.getLogger("floorgate.graphql")


class InvalidOperationError(Exception):
    """A document that cannot be run; `errors` tell why, as GraphQL wants them."""

    def __init__(self, code: str, errors: list[GraphQLError]) -> None:
        super().__init__("; ".join(error.message for error in errors))
        for error in errors:
            error.extensions = {**(error.extensions or {}), "code": code}
        self.errors = errors


@dataclass(slots=True, eq=False)
class Operation:
    """One operation of a valid document."""

    text: str
    """The document; with the operation's name, it tells one operation from another."""
    document: DocumentNode
    node: OperationDefinitionNode
    requirements: tuple[Requirement, ...]
    """What its fields ask of the caller, each once, in their order."""
    has_fixed_size: bool
    """Whether variables cannot make it ask for more."""
    needs_error_paths: bool = True
    """Whether errors must tell the field that failed, and spare the others."""
    compiled: CompiledQuery | None = None

    @property
    def name(self) -> str | None:
        """The operation's name, if it has one."""
        return self.node.name.value if self.node.name else None

    @property
    def is_query(self) -> bool:
        """Whether it only reads."""
        return self.node.operation is OperationType.QUERY

    def check(self, caller: Caller) -> None:
        """Raises FlagRequired for any field before PermissionRequired for any."""
        for demand in self.requirements:
            Requirement(flag=demand.flag).check(caller)
        for demand in self.requirements:
            demand.check(caller)

    def is_allowed(self, caller: Caller) -> bool:
        """Whether `check` would raise nothing."""
        return all(demand.is_met(caller) for demand in self.requirements)


@dataclass(frozen=True, slots=True)
class OperationResult:
    """What an operation came to. `data` None with errors: nothing could be answered."""

    data: dict[str, Any] | None
    errors: list[GraphQLError]


class Executor:
    """Runs operations on one schema; `compiles` False leaves all to graphql-core."""

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
        self._operation_cache: OrderedDict[tuple[str, str | None], Operation] = OrderedDict()

    def prepare(
        self, text: str, name: str | None = None, *, needs_error_paths: bool = True
    ) -> Operation:
        """An operation of ours, with no limit, compiled at once. Raises InvalidOperation."""
        operation = self._build_operation(
            text, self._validate(self._parse(text, max_tokens=None)), name
        )
        operation.needs_error_paths = needs_error_paths
        self._compile(operation)
        return operation

    def select(self, text: str, name: str | None, variables: Mapping[str, Any]) -> Operation:
        """The operation that a client asks for, within the limits. Raises InvalidOperation."""
        operation = self._operation_cache.get((text, name))
        try:
            if operation is None:
                return self._parse_client_operation(text, name, variables)
            self._operation_cache.move_to_end((text, name))
            if not operation.has_fixed_size:
                self._check_size(operation.document, name, variables)
            self._compile(operation)
        except RecursionError as error:
            raise _limit_exceeded_error(TOO_DEEP_MESSAGE) from error
        return operation

    async def run(
        self, operation: Operation, variables: Mapping[str, Any], context: Context
    ) -> OperationResult:
        """Runs an operation. Faults of ours are logged, and told as no more than that."""
        if not operation.is_allowed(context.caller):
            if query_size.count_items([*variables.values()]) > MAX_ITEMS_WHEN_REFUSED:
                return _denied_result(operation, context.caller)
        elif self.compile_queries and operation.compiled is not None:
            try:
                data = await operation.compiled.run(variables, context)
            except UnavailableError as error:  # asking twice would take twice as long
                return _error_result(error)
            except RequestError as error:
                if not operation.needs_error_paths:
                    return _error_result(error)
                context.reset_reads()
            except Exception:
                context.reset_reads()
            else:
                if data is not None:
                    return OperationResult(data, [])
        return await self._interpret(operation, variables, context)

    async def _interpret(
        self, operation: Operation, variables: Mapping[str, Any], context: Context
    ) -> OperationResult:
        try:
            outcome = graphql.execute(
                self.schema,
                operation.document,
                context_value=context,
                variable_values=dict(variables),
                operation_name=operation.name,
                hide_suggestions=True,
                max_coercion_errors=MAX_VALIDATION_ERRORS,
            )
            result = await outcome if isawaitable(outcome) else outcome
        except Exception as error:
            return _error_result(error)
        return OperationResult(
            result.data, [_to_public_error(error) for error in result.errors or []]
        )

    def _parse_client_operation(
        self, text: str, name: str | None, variables: Mapping[str, Any]
    ) -> Operation:
        if len(text) > self.limits.characters:
            most = self.limits.characters
            raise _limit_exceeded_error(
                f"The document has {len(text)} characters, over the limit of {most}"
            )
        if _LONG_NUMBER.search(text):
            raise _limit_exceeded_error(f"The document has a number of over {MAX_DIGITS} digits")
        document = self._parse(text, self.limits.tokens)
        self._check_size(document, name, variables)
        operation = self._build_operation(text, self._validate(document), name)
        self._operation_cache[text, name] = operation
        if len(self._operation_cache) > MAX_CACHED_OPERATIONS:
            self._operation_cache.popitem(last=False)
        return operation

    def _build_operation(self, text: str, document: DocumentNode, name: str | None) -> Operation:
        node = _get_operation_node(document, name)
        has_fixed_size = not query_size.size_depends_on_variables(self.schema, document)
        return Operation(
            text, document, node, self._collect_requirements(document, node), has_fixed_size
        )

    def _compile(self, operation: Operation) -> None:
        if self.compile_queries and operation.compiled is None and operation.is_query:
            operation.compiled = CompiledQuery(self.schema, operation.document, operation.node)

    def _parse(self, text: str, max_tokens: int | None) -> DocumentNode:
        try:
            return graphql.parse(text, max_tokens=max_tokens)
        except GraphQLError as error:
            raise InvalidOperationError("GRAPHQL_PARSE_FAILED", [error]) from error

    def _validate(self, document: DocumentNode) -> DocumentNode:
        errors = graphql.validate(
            self.schema,
            document,
            specified_rules,
            max_errors=MAX_VALIDATION_ERRORS,
            hide_suggestions=True,
        )
        if [error.message for error in errors] == [GRAPHQL_RECURSION_MESSAGE]:
            raise _limit_exceeded_error(TOO_DEEP_MESSAGE)
        if errors:
            raise InvalidOperationError("GRAPHQL_VALIDATION_FAILED", errors)
        return document

    def _check_size(
        self, document: DocumentNode, name: str | None, variables: Mapping[str, Any]
    ) -> None:
        for node in _iter_operation_nodes(document):
            if name is None or (node.name and node.name.value == name):
                size = query_size.measure_operation(self.schema, document, node, variables)
                try:
                    query_size.check_limits(size, self.limits)
                except LimitExceededError as error:
                    raise _limit_exceeded_error(str(error)) from error

    def _collect_requirements(
        self, document: DocumentNode, node: OperationDefinitionNode
    ) -> tuple[Requirement, ...]:
        collector = _RequirementCollector(TypeInfo(self.schema))
        for definition in document.definitions:
            if definition is node or not isinstance(definition, OperationDefinitionNode):
                visit(definition, TypeInfoVisitor(collector.types, collector))
        return tuple(collector.requirements)


class _RequirementCollector(Visitor):
    def __init__(self, types: TypeInfo) -> None:
        super().__init__()
        self.types = types
        self.requirements: dict[Requirement, None] = {}

    def enter_field(self, *_: Any) -> None:
        demand = requirement_of(self.types.get_field_def())
        if demand != Requirement():
            self.requirements[demand] = None


def _get_operation_node(document: DocumentNode, name: str | None) -> OperationDefinitionNode:
    found = [
        node
        for node in _iter_operation_nodes(document)
        if name is None or (node.name and node.name.value == name)
    ]
    if len(found) != 1:
        which = "Name one of the document's operations in operationName"
        message = which if name is None else f"{which}: there is none named {name!r}"
        raise InvalidOperationError("OPERATION_RESOLUTION_FAILURE", [GraphQLError(message)])
    return found[0]


def _iter_operation_nodes(document: DocumentNode) -> Iterator[OperationDefinitionNode]:
    for node in document.definitions:
        if isinstance(node, OperationDefinitionNode):
            yield node


def _limit_exceeded_error(message: str) -> InvalidOperationError:
    return InvalidOperationError("LIMIT_EXCEEDED", [GraphQLError(message)])


def _denied_result(operation: Operation, caller: Caller) -> OperationResult:
    """What the operation's first unmet demand comes to, for the operation as a whole."""
    try:
        operation.check(caller)
    except RequestError as error:
        return _error_result(error)
    raise AssertionError("every demand is met")


def _error_result(error: Exception) -> OperationResult:
    return OperationResult(None, [_to_public_error(GraphQLError(str(error), original_error=error))])


def _to_public_error(error: GraphQLError) -> GraphQLError:
    """The error as a client may see it."""
    cause = error.original_error
    if isinstance(cause, RequestError):
        return error
    if isinstance(cause, UnavailableError):
        message, code = "Service unavailable", "SERVICE_UNAVAILABLE"
    elif cause is None or isinstance(cause, GraphQLError):
        message, code = error.message, "INVALID_INPUT"
    else:
        _logger.error("an operation failed", exc_info=cause)
        message, code = "Server error", "SERVER_ERROR"
    return GraphQLError(
        message,
        nodes=error.nodes,
        path=error.path,
        extensions={**(error.extensions or {}), "code": code},
    )
