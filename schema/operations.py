"""Parse and validate GraphQL operations, within limits where a client wrote them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import graphql
from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    visit,
)
from graphql.validation import OverlappingFieldsCanBeMergedRule, specified_rules

from resolvers.request.caller import Caller
from schema import query_size
from schema.compiler.compiled_query import CompiledQuery
from schema.overlapping_fields import OverlappingFieldsRule
from schema.permissions import Requirement, requirement_of
from schema.query_limits import QueryLimits
from schema.query_size import LimitExceededError

MAX_VALIDATION_ERRORS = 5
MAX_NUMBER_DIGITS = 1_000
"""Digits of one number in a document; Python refuses to parse integers of more than 4,300."""
RULES = [
    OverlappingFieldsRule if rule is OverlappingFieldsCanBeMergedRule else rule
    for rule in specified_rules
]
TOO_DEEP_MESSAGE = "The document is nested too deeply"
GRAPHQL_RECURSION_MESSAGE = "Validation aborted."
"""The only error that graphql-core reports when validation exceeds Python's recursion limit."""
LONG_FIELDS = frozenset({"parsedUnitMap", "importCatalog", "processMap"})
"""Fields whose work has bounds of its own, and may take longer than other operations."""
_LONG_NUMBER = re.compile(rf"\d{{{MAX_NUMBER_DIGITS + 1}}}")


class InvalidOperationError(Exception):
    """A document that cannot be run; `errors` are GraphQL errors that carry the code."""

    def __init__(self, code: str, errors: list[GraphQLError]) -> None:
        super().__init__("; ".join(error.message for error in errors))
        for error in errors:
            error.extensions = {**(error.extensions or {}), "code": code}
        self.errors = errors


@dataclass(slots=True, eq=False)
class Operation:
    """One operation of a valid document."""

    text: str
    """The document. Together with the operation's name, it identifies the operation."""
    document: DocumentNode
    node: OperationDefinitionNode
    requirements: tuple[Requirement, ...]
    """The distinct requirements of its fields, in document order."""
    has_fixed_size: bool
    """Whether its size is the same for all variables."""
    is_long: bool = False
    """Whether it selects one of `LONG_FIELDS`."""
    compiled: CompiledQuery | None = None

    @property
    def name(self) -> str | None:
        """The operation's name, or None if it is anonymous."""
        return self.node.name.value if self.node.name else None

    @property
    def is_introspection(self) -> bool:
        """Whether it reads nothing but the schema."""
        return all(
            isinstance(node, FieldNode) and node.name.value.startswith("__")
            for node in self.node.selection_set.selections
        )

    @property
    def is_query(self) -> bool:
        """Whether the operation only reads."""
        return self.node.operation is OperationType.QUERY

    def compile(self, schema: GraphQLSchema) -> CompiledQuery:
        """Prepare it to be run without graphql-core's executor."""
        self.compiled = CompiledQuery(schema, self.document, self.node)
        return self.compiled

    def check_requirements(self, caller: Caller) -> None:
        """Raise FlagRequiredError for any field before PermissionRequiredError for any."""
        for requirement in self.requirements:
            Requirement(flag=requirement.flag).check(caller)
        for requirement in self.requirements:
            requirement.check(caller)

    def is_allowed(self, caller: Caller) -> bool:
        """Return whether `check_requirements` would pass."""
        return all(requirement.is_met(caller) for requirement in self.requirements)


def parse_operation(schema: GraphQLSchema, text: str, name: str | None) -> Operation:
    """Parse and validate an operation of our own. Raises InvalidOperationError."""
    document = _parse_document(text, max_tokens=None)
    return _validate_operation(schema, text, document, name)


def parse_client_operation(
    schema: GraphQLSchema,
    text: str,
    name: str | None,
    variables: Mapping[str, Any],
    limits: QueryLimits,
) -> Operation:
    """Parse and validate an operation within limits. Raises InvalidOperationError.

    Size is checked before validation, because the cost of validation grows with it.
    """
    if len(text) > limits.characters:
        raise limit_exceeded_error(
            f"The document has {len(text)} characters, over the limit of {limits.characters}"
        )
    if _LONG_NUMBER.search(text):
        raise limit_exceeded_error(f"The document has a number of over {MAX_NUMBER_DIGITS} digits")
    document = _parse_document(text, limits.tokens)
    check_size(schema, document, name, variables, limits)
    return _validate_operation(schema, text, document, name)


def check_size(
    schema: GraphQLSchema,
    document: DocumentNode,
    name: str | None,
    variables: Mapping[str, Any],
    limits: QueryLimits,
) -> None:
    """Raise InvalidOperationError if the named operation exceeds a limit with these variables."""
    for node in _iter_operation_nodes(document, name):
        size = query_size.measure_operation(schema, document, node, variables)
        try:
            query_size.check_limits(size, limits)
        except LimitExceededError as error:
            raise limit_exceeded_error(str(error)) from error


def limit_exceeded_error(message: str) -> InvalidOperationError:
    """Return the error for an operation over a limit."""
    return InvalidOperationError("LIMIT_EXCEEDED", [GraphQLError(message)])


def _parse_document(text: str, max_tokens: int | None) -> DocumentNode:
    try:
        return graphql.parse(text, max_tokens=max_tokens)
    except GraphQLError as error:
        raise InvalidOperationError("GRAPHQL_PARSE_FAILED", [error]) from error


def _validate_operation(
    schema: GraphQLSchema, text: str, document: DocumentNode, name: str | None
) -> Operation:
    errors = graphql.validate(
        schema,
        document,
        RULES,
        max_errors=MAX_VALIDATION_ERRORS,
        hide_suggestions=True,
    )
    if [error.message for error in errors] == [GRAPHQL_RECURSION_MESSAGE]:
        raise limit_exceeded_error(TOO_DEEP_MESSAGE)
    if errors:
        raise InvalidOperationError("GRAPHQL_VALIDATION_FAILED", errors)
    node = _get_operation_node(document, name)
    has_fixed_size = not query_size.size_depends_on_variables(schema, document)
    requirements, names = _collect_requirements(schema, document, node)
    is_long = not LONG_FIELDS.isdisjoint(names)
    return Operation(text, document, node, requirements, has_fixed_size, is_long)


def _get_operation_node(document: DocumentNode, name: str | None) -> OperationDefinitionNode:
    nodes = [*_iter_operation_nodes(document, name)]
    if len(nodes) != 1:
        rule = "Name one of the document's operations in operationName"
        message = rule if name is None else f"{rule}: there is none named {name!r}"
        raise InvalidOperationError("OPERATION_RESOLUTION_FAILURE", [GraphQLError(message)])
    return nodes[0]


def _iter_operation_nodes(
    document: DocumentNode, name: str | None
) -> Iterator[OperationDefinitionNode]:
    """Yield the operations of that name; all of them for None."""
    for node in document.definitions:
        if isinstance(node, OperationDefinitionNode) and (
            name is None or (node.name and node.name.value == name)
        ):
            yield node


def _collect_requirements(
    schema: GraphQLSchema, document: DocumentNode, node: OperationDefinitionNode
) -> tuple[tuple[Requirement, ...], set[str]]:
    """Return what the operation's fields require, and their names, in all fragments.

    Validation has made sure that no fragment is unused; one that only another operation of the
    document uses counts, too.
    """
    collector = _RequirementCollector(TypeInfo(schema))
    for definition in document.definitions:
        if definition is node or not isinstance(definition, OperationDefinitionNode):
            visit(definition, TypeInfoVisitor(collector.types, collector))
    return tuple(collector.requirements), collector.names


class _RequirementCollector(Visitor):
    def __init__(self, types: TypeInfo) -> None:
        super().__init__()
        self.types = types
        self.requirements: dict[Requirement, None] = {}
        self.names: set[str] = set()

    def enter_field(self, node: FieldNode, *_: Any) -> None:
        self.names.add(node.name.value)
        requirement = requirement_of(self.types.get_field_def())
        if requirement != Requirement():
            self.requirements[requirement] = None
