"""Running operations: prepared once, answered with data or with errors that have codes.

Both doors come through here: REST with operations prepared at start-up, `/graphql` with whatever a
client sends, which is kept parsed and validated in a bounded cache. Queries run compiled
(`schema.compiling`): those of REST always, a client's from the second time on.
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

from resolvers.caller import Caller
from resolvers.context import Context
from resolvers.errors import RequestError, Unavailable
from schema import limits
from schema.bounds import Limits
from schema.compiling import Compiled
from schema.limits import TooLarge
from schema.permissions import Demand, demand_of_definition

__all__ = [
    "Caller",
    "Context",
    "Executor",
    "InvalidOperation",
    "Operation",
    "RequestError",
    "Result",
]

MOST_VALIDATION_ERRORS = 5
MOST_OPERATIONS = 1_000
TOO_DEEP = "The document is nested too deeply"
RECURSED = "Validation aborted."
"""All that graphql-core says when Python's stack ends during validation."""
MOST_DIGITS = 1_000
"""Of a number in a document: Python refuses to read one of over 4,300."""
MAX_ITEMS_WHEN_REFUSED = 1_000
"""Items of variables that are coerced for a caller whom some field refuses: 4 ms of work."""
_LONG_NUMBER = re.compile(rf"\d{{{MOST_DIGITS + 1}}}")

logger = logging.getLogger("floorgate.graphql")


class InvalidOperation(Exception):
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
    demands: tuple[Demand, ...]
    """What its fields ask of the caller, each once, in their order."""
    has_fixed_size: bool
    """Whether variables cannot make it ask for more."""
    needs_places: bool = True
    """Whether errors must tell the field that failed, and spare the others."""
    compiled: Compiled | None = None

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
        for demand in self.demands:
            Demand(flag=demand.flag).check(caller)
        for demand in self.demands:
            demand.check(caller)

    def admits(self, caller: Caller) -> bool:
        """Whether `check` would raise nothing."""
        return all(demand.is_met(caller) for demand in self.demands)


@dataclass(frozen=True, slots=True)
class Result:
    """What an operation came to. `data` None with errors: nothing could be answered."""

    data: dict[str, Any] | None
    errors: list[GraphQLError]


class Executor:
    """Runs operations on one schema; `compiles` False leaves all to graphql-core."""

    def __init__(
        self, schema: GraphQLSchema, bounds: Limits | None = None, *, compiles: bool = True
    ) -> None:
        self.schema = schema
        self.limits = bounds or Limits()
        self.compiles = compiles
        self._operations: OrderedDict[tuple[str, str | None], Operation] = OrderedDict()

    def prepare(
        self, text: str, name: str | None = None, *, needs_places: bool = True
    ) -> Operation:
        """An operation of ours, with no limit, compiled at once. Raises InvalidOperation."""
        operation = self._operation(
            text, self._validated(self._parsed(text, max_tokens=None)), name
        )
        operation.needs_places = needs_places
        self._compile(operation)
        return operation

    def select(self, text: str, name: str | None, variables: Mapping[str, Any]) -> Operation:
        """The operation that a client asks for, within the limits. Raises InvalidOperation."""
        operation = self._operations.get((text, name))
        try:
            if operation is None:
                return self._first_seen(text, name, variables)
            self._operations.move_to_end((text, name))
            if not operation.has_fixed_size:
                self._check_size(operation.document, name, variables)
            self._compile(operation)
        except RecursionError as error:
            raise _refusal(TOO_DEEP) from error
        return operation

    async def run(
        self, operation: Operation, variables: Mapping[str, Any], context: Context
    ) -> Result:
        """Runs an operation. Faults of ours are logged, and told as no more than that."""
        if not operation.admits(context.caller):
            if limits.count_items([*variables.values()]) > MAX_ITEMS_WHEN_REFUSED:
                return _refused(operation, context.caller)
        elif self.compiles and operation.compiled is not None:
            try:
                data = await operation.compiled.run(variables, context)
            except Unavailable as error:  # asking twice would take twice as long
                return _failed(error)
            except RequestError as error:
                if not operation.needs_places:
                    return _failed(error)
                context.forget()
            except Exception:
                context.forget()
            else:
                if data is not None:
                    return Result(data, [])
        return await self._interpret(operation, variables, context)

    async def _interpret(
        self, operation: Operation, variables: Mapping[str, Any], context: Context
    ) -> Result:
        try:
            outcome = graphql.execute(
                self.schema,
                operation.document,
                context_value=context,
                variable_values=dict(variables),
                operation_name=operation.name,
                hide_suggestions=True,
                max_coercion_errors=MOST_VALIDATION_ERRORS,
            )
            result = await outcome if isawaitable(outcome) else outcome
        except Exception as error:
            return _failed(error)
        return Result(result.data, [_told(error) for error in result.errors or []])

    def _first_seen(self, text: str, name: str | None, variables: Mapping[str, Any]) -> Operation:
        if len(text) > self.limits.characters:
            most = self.limits.characters
            raise _refusal(f"The document has {len(text)} characters, over the limit of {most}")
        if _LONG_NUMBER.search(text):
            raise _refusal(f"The document has a number of over {MOST_DIGITS} digits")
        document = self._parsed(text, self.limits.tokens)
        self._check_size(document, name, variables)
        operation = self._operation(text, self._validated(document), name)
        self._operations[text, name] = operation
        if len(self._operations) > MOST_OPERATIONS:
            self._operations.popitem(last=False)
        return operation

    def _operation(self, text: str, document: DocumentNode, name: str | None) -> Operation:
        node = _chosen(document, name)
        has_fixed_size = not limits.depends_on_variables(self.schema, document)
        return Operation(text, document, node, self._demands(document, node), has_fixed_size)

    def _compile(self, operation: Operation) -> None:
        if self.compiles and operation.compiled is None and operation.is_query:
            operation.compiled = Compiled(self.schema, operation.document, operation.node)

    def _parsed(self, text: str, max_tokens: int | None) -> DocumentNode:
        try:
            return graphql.parse(text, max_tokens=max_tokens)
        except GraphQLError as error:
            raise InvalidOperation("GRAPHQL_PARSE_FAILED", [error]) from error

    def _validated(self, document: DocumentNode) -> DocumentNode:
        errors = graphql.validate(
            self.schema,
            document,
            specified_rules,
            max_errors=MOST_VALIDATION_ERRORS,
            hide_suggestions=True,
        )
        if [error.message for error in errors] == [RECURSED]:
            raise _refusal(TOO_DEEP)
        if errors:
            raise InvalidOperation("GRAPHQL_VALIDATION_FAILED", errors)
        return document

    def _check_size(
        self, document: DocumentNode, name: str | None, variables: Mapping[str, Any]
    ) -> None:
        for node in _operations(document):
            if name is None or (node.name and node.name.value == name):
                size = limits.measure(self.schema, document, node, variables)
                try:
                    limits.check(size, self.limits)
                except TooLarge as error:
                    raise _refusal(str(error)) from error

    def _demands(self, document: DocumentNode, node: OperationDefinitionNode) -> tuple[Demand, ...]:
        collector = _DemandCollector(TypeInfo(self.schema))
        for definition in document.definitions:
            if definition is node or not isinstance(definition, OperationDefinitionNode):
                visit(definition, TypeInfoVisitor(collector.types, collector))
        return tuple(collector.demands)


class _DemandCollector(Visitor):
    def __init__(self, types: TypeInfo) -> None:
        super().__init__()
        self.types = types
        self.demands: dict[Demand, None] = {}

    def enter_field(self, *_: Any) -> None:
        demand = demand_of_definition(self.types.get_field_def())
        if demand != Demand():
            self.demands[demand] = None


def _chosen(document: DocumentNode, name: str | None) -> OperationDefinitionNode:
    found = [
        node
        for node in _operations(document)
        if name is None or (node.name and node.name.value == name)
    ]
    if len(found) != 1:
        which = "Name one of the document's operations in operationName"
        message = which if name is None else f"{which}: there is none named {name!r}"
        raise InvalidOperation("OPERATION_RESOLUTION_FAILURE", [GraphQLError(message)])
    return found[0]


def _operations(document: DocumentNode) -> Iterator[OperationDefinitionNode]:
    for node in document.definitions:
        if isinstance(node, OperationDefinitionNode):
            yield node


def _refusal(message: str) -> InvalidOperation:
    return InvalidOperation("LIMIT_EXCEEDED", [GraphQLError(message)])


def _refused(operation: Operation, caller: Caller) -> Result:
    """What the operation's first unmet demand comes to, for the operation as a whole."""
    try:
        operation.check(caller)
    except RequestError as error:
        return _failed(error)
    raise AssertionError("every demand is met")


def _failed(error: Exception) -> Result:
    return Result(None, [_told(GraphQLError(str(error), original_error=error))])


def _told(error: GraphQLError) -> GraphQLError:
    """The error as a client may see it."""
    cause = error.original_error
    if isinstance(cause, RequestError):
        return error
    if isinstance(cause, Unavailable):
        message, code = "Service unavailable", "SERVICE_UNAVAILABLE"
    elif cause is None or isinstance(cause, GraphQLError):
        message, code = error.message, "INVALID_INPUT"
    else:
        logger.error("an operation failed", exc_info=cause)
        message, code = "Server error", "SERVER_ERROR"
    return GraphQLError(
        message,
        nodes=error.nodes,
        path=error.path,
        extensions={**(error.extensions or {}), "code": code},
    )
