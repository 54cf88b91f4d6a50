"""Parse and validate GraphQL operations, within limits where a client wrote them."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import graphql

from resolvers.request.caller import Caller
from resolvers.request.errors import LimitExceededError
from schema.compiler.compiled_query import CompiledQuery
from schema.definitions import Requirement, definition_of, requirement_of
from schema.errors import say_null
from schema.query_limits import QueryLimits
from schema.query_size import OperationMeasure
from schema.validation import validate

MAX_NUMBER_DIGITS = 1_000
"""Digits of one number in a document; Python refuses to parse integers of more than 4,300."""
TOO_DEEP_MESSAGE = "The document is nested too deeply"
GRAPHQL_RECURSION_MESSAGE = "Validation aborted."
"""The only error that graphql-core reports when validation exceeds Python's recursion limit."""
_TOKENS_MESSAGE = "Syntax Error: Document contains more than {} tokens. Parsing aborted."
"""graphql-core reports too many tokens by this message."""
_NESTING_MESSAGE = "Syntax Error: Document is nested too deeply. Parsing aborted."
DOCUMENT_BYTES_PER_CHARACTER = 150
PLAN_BYTES_PER_FIELD = 5_000
_NO_REQUIREMENT = Requirement()
_LONG_NUMBER = re.compile(rf"\d{{{MAX_NUMBER_DIGITS + 1}}}")


class InvalidOperationError(Exception):
    """A document that cannot be run; `errors` are GraphQL errors that carry the code."""

    def __init__(self, code: str, errors: list[graphql.GraphQLError]) -> None:
        super().__init__("; ".join(error.message for error in errors))
        for error in errors:
            error.extensions = {**(error.extensions or {}), "code": code}
        self.errors = errors


@dataclass(slots=True, eq=False)
class Operation:
    """One operation of a valid document."""

    text: str
    """The document. Together with the operation's name, it identifies the operation."""
    document: graphql.DocumentNode
    node: graphql.OperationDefinitionNode
    requirements: tuple[Requirement, ...]
    """The distinct requirements of its fields, in document order."""
    measure: OperationMeasure | None = None
    """Measures it for each request; None for our own operations."""
    first_cost: int = 0
    """Its cost with the variables of the first request."""
    compiled: CompiledQuery | None = None
    name: str | None = field(init=False)
    """The operation's name, or None if it is anonymous."""
    is_query: bool = field(init=False)
    """True if the operation only reads, once."""
    is_mutation: bool = field(init=False)
    """True if the operation writes."""
    is_subscription: bool = field(init=False)
    """True if the operation has a result for each event of a stream."""
    kind: str = field(init=False)
    """Its type: `query`, `mutation` or `subscription`."""

    def __post_init__(self) -> None:
        self.name = self.node.name.value if self.node.name else None
        self.kind = self.node.operation.value
        self.is_query = self.node.operation is graphql.OperationType.QUERY
        self.is_mutation = self.node.operation is graphql.OperationType.MUTATION
        self.is_subscription = self.node.operation is graphql.OperationType.SUBSCRIPTION

    @property
    def is_introspection(self) -> bool:
        """True if it reads nothing but the schema."""
        return all(
            isinstance(node, graphql.FieldNode) and node.name.value.startswith("__")
            for node in self.node.selection_set.selections
        )

    @property
    def size_bytes(self) -> int:
        """Estimated memory: of the parsed document, and of the plans and code made from it."""
        fields = self.compiled.planned_fields if self.compiled else 0
        return DOCUMENT_BYTES_PER_CHARACTER * len(self.text) + PLAN_BYTES_PER_FIELD * fields

    def compile(self, schema: graphql.GraphQLSchema) -> CompiledQuery:
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


def parse_operation(schema: graphql.GraphQLSchema, text: str, name: str | None) -> Operation:
    """Parse and validate an operation of REST. Raises InvalidOperationError.

    It requires what its fields do, and the arguments that it gives in any request.
    """
    document = _parse_document(text, max_tokens=None)
    operation = _validate_operation(schema, text, document, name)
    variables = operation.node.variable_definitions or ()
    given = {each.variable.name.value: each.default_value for each in variables}
    located = locate_requirements(schema, operation, given)
    operation.requirements = (*dict.fromkeys(located.values()),)
    return operation


def parse_client_operation(
    schema: graphql.GraphQLSchema,
    text: str,
    name: str | None,
    variables: Mapping[str, Any],
    limits: QueryLimits,
) -> Operation:
    """Parse and validate an operation within limits. Raises InvalidOperationError.

    Size is checked before validation, because the cost of validation grows with it.
    """
    with limits_as_invalid_operation():
        document = parse_within_limits(text, limits)
        measures = {
            id(node): OperationMeasure(schema, document, node)
            for node in _iter_operation_nodes(document, name)
        }
        costs = {key: measure.check(variables, limits).cost for key, measure in measures.items()}
        operation = _validate_operation(schema, text, document, name)
    operation.measure = measures[id(operation.node)]
    operation.first_cost = costs[id(operation.node)]
    return operation


def measure_operation(
    schema: graphql.GraphQLSchema, text: str, limits: QueryLimits
) -> OperationMeasure:
    """Return the measure of the only operation of a document within limits, if it can be within
    them.

    The cheapest request asks for pages of one record, and gives nothing else. The document need not
    be valid. Raises InvalidOperationError.
    """
    with limits_as_invalid_operation():
        document = parse_within_limits(text, limits)
        node = _get_operation_node(document, None)
        measure = OperationMeasure(schema, document, node)
        types = {
            each.variable.name.value: graphql.print_ast(each.type).rstrip("!")
            for each in node.variable_definitions or ()
        }
        variables = {name: 1 if type == "Int" else None for name, type in types.items()}
        measure.check(variables, limits)
        return measure


@contextmanager
def limits_as_invalid_operation() -> Iterator[None]:
    """Raise InvalidOperationError where a limit is exceeded."""
    try:
        yield
    except RecursionError as error:
        raise limit_exceeded_error(LimitExceededError(TOO_DEEP_MESSAGE, limit="nesting")) from error
    except LimitExceededError as error:
        raise limit_exceeded_error(error) from error


def limit_exceeded_error(error: LimitExceededError) -> InvalidOperationError:
    return InvalidOperationError(
        error.code, [graphql.GraphQLError(str(error), extensions=error.extensions)]
    )


def parse_within_limits(source: str | graphql.Source, limits: QueryLimits) -> graphql.DocumentNode:
    """Parse a document. Raises LimitExceededError, and InvalidOperationError."""
    text = source if isinstance(source, str) else source.body
    if len(text) > limits.characters:
        raise LimitExceededError(
            f"The document has {len(text)} characters, over the limit of {limits.characters}",
            limit="characters",
            maximum=limits.characters,
            requested=len(text),
        )
    if len(text) > MAX_NUMBER_DIGITS and _LONG_NUMBER.search(text):
        raise LimitExceededError(
            f"The document has a number of over {MAX_NUMBER_DIGITS} digits",
            limit="digits",
            maximum=MAX_NUMBER_DIGITS,
        )
    return _parse_document(source, limits.tokens)


def _parse_document(source: str | graphql.Source, max_tokens: int | None) -> graphql.DocumentNode:
    try:
        document = graphql.parse(source, max_tokens=max_tokens)
    except graphql.GraphQLError as error:
        if max_tokens is not None and error.message == _TOKENS_MESSAGE.format(max_tokens):
            raise LimitExceededError(
                f"The document has more than {max_tokens} tokens",
                limit="tokens",
                maximum=max_tokens,
            ) from error
        if error.message == _NESTING_MESSAGE:
            raise LimitExceededError(TOO_DEEP_MESSAGE, limit="nesting") from error
        raise InvalidOperationError("GRAPHQL_PARSE_FAILED", [error]) from error
    _unlink_tokens(document)
    return document


def _unlink_tokens(document: graphql.DocumentNode) -> None:
    """Cut the chain of tokens, which only the garbage collector would free with the document."""
    token = document.loc.start_token if document.loc else None
    while token is not None:
        following = token.next
        token.prev = token.next = None
        token = following


def _validate_operation(
    schema: graphql.GraphQLSchema, text: str, document: graphql.DocumentNode, name: str | None
) -> Operation:
    errors = validate(schema, document)
    if [error.message for error in errors] == [GRAPHQL_RECURSION_MESSAGE]:
        raise LimitExceededError(TOO_DEEP_MESSAGE, limit="nesting")
    if errors:
        for error in errors:
            error.message = say_null(error.message)
        raise InvalidOperationError("GRAPHQL_VALIDATION_FAILED", errors)
    node = _get_operation_node(document, name)
    return Operation(text, document, node, (*_collect(schema, document, node, {}).requirements,))


def _get_operation_node(
    document: graphql.DocumentNode, name: str | None
) -> graphql.OperationDefinitionNode:
    nodes = [*_iter_operation_nodes(document, name)]
    if len(nodes) != 1:
        rule = "Name one of the document's operations in operationName"
        message = rule if name is None else f"{rule}: there is none named {name!r}"
        raise InvalidOperationError("OPERATION_RESOLUTION_FAILURE", [graphql.GraphQLError(message)])
    return nodes[0]


def _iter_operation_nodes(
    document: graphql.DocumentNode, name: str | None
) -> Iterator[graphql.OperationDefinitionNode]:
    for node in document.definitions:
        if isinstance(node, graphql.OperationDefinitionNode) and (
            name is None or (node.name and node.name.value == name)
        ):
            yield node


def _collect(
    schema: graphql.GraphQLSchema,
    document: graphql.DocumentNode,
    node: graphql.OperationDefinitionNode,
    variables: Mapping[str, Any],
) -> "_RequirementCollector":
    """Collect what the fields of an operation and of all fragments require.

    Validation has made sure that no fragment is unused; one that only another operation of the
    document uses counts, too.
    """
    collector = _RequirementCollector(schema, variables)
    for definition in document.definitions:
        if isinstance(definition, graphql.FragmentDefinitionNode):
            condition = definition.type_condition.name.value
            collector.collect(definition.selection_set, schema.get_type(condition))
        elif definition is node:
            collector.collect(node.selection_set, schema.get_root_type(node.operation))
    return collector


def locate_requirements(
    schema: graphql.GraphQLSchema, operation: Operation, variables: Mapping[str, Any]
) -> dict[str, Requirement]:
    """Return the requirements of an operation's fields and of the arguments that it gives.

    The keys say where they are, as in `Query.units(attributes:)`. An argument that is a variable
    without a value is not given.
    """
    return _collect(schema, operation.document, operation.node, variables).located


class _RequirementCollector:
    """Collects the requirements of a valid document.

    graphql-core's visitor would take ten times as long: it visits each name and value.
    """

    def __init__(self, schema: graphql.GraphQLSchema, variables: Mapping[str, Any]) -> None:
        self.schema = schema
        self.variables = variables
        self.requirements: dict[Requirement, None] = {}
        self.located: dict[str, Requirement] = {}

    def collect(
        self, selection_set: graphql.SelectionSetNode, parent: graphql.GraphQLNamedType | None
    ) -> None:
        for node in selection_set.selections:
            if isinstance(node, graphql.FieldNode):
                self.collect_field(node, parent)
            elif isinstance(node, graphql.InlineFragmentNode):
                condition = node.type_condition
                inner = self.schema.get_type(condition.name.value) if condition else parent
                self.collect(node.selection_set, inner)

    def collect_field(
        self, node: graphql.FieldNode, parent: graphql.GraphQLNamedType | None
    ) -> None:
        # Introspection's own fields have no definition here, and no requirement.
        fields: Mapping[str, graphql.GraphQLField] = getattr(parent, "fields", {})
        definition = fields.get(node.name.value)
        if definition is None:
            return
        requirement = requirement_of(definition)
        if requirement != _NO_REQUIREMENT:
            self.requirements[requirement] = None
            self.located[f"{parent}.{node.name.value}"] = requirement
        for argument in node.arguments or ():
            self.locate_argument(argument, definition, f"{parent}.{node.name.value}")
        if node.selection_set:
            self.collect(node.selection_set, graphql.get_named_type(definition.type))

    def locate_argument(
        self, node: graphql.ArgumentNode, definition: graphql.GraphQLField, place: str
    ) -> None:
        value = node.value
        if isinstance(value, graphql.VariableNode) and self.variables.get(value.name.value) is None:
            return
        if requirement := definition_of(definition.args[node.name.value]).requirement:
            self.located[f"{place}({node.name.value}:)"] = requirement
