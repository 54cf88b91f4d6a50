"""Operations in which variables stand for the literals, for all texts of one shape.

Clients that write ids and sizes into their queries send each text once. Its tokens are known all
the same, apart from its literals: see docs/decisions/graphql/parameterised-queries.md.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphql import (
    GRAPHQL_MAX_INT,
    GRAPHQL_MIN_INT,
    DocumentNode,
    FloatValueNode,
    GraphQLSchema,
    IntValueNode,
    NamedTypeNode,
    NameNode,
    NonNullTypeNode,
    OperationDefinitionNode,
    StringValueNode,
    TypeInfo,
    TypeInfoVisitor,
    VariableDefinitionNode,
    VariableNode,
    Visitor,
    get_nullable_type,
    is_scalar_type,
    visit,
)

from schema.costs.query_size import OperationMeasure
from schema.operations import Operation
from schema.parameterised.text_shapes import FLOAT, INTEGER, STRING, SplitText, kind_of
from schema.validation import validate

Literal = StringValueNode | IntValueNode | FloatValueNode
VARIABLE_PREFIX = "_literal"


class UnusualLiteralError(Exception):
    """A literal that validation has to judge."""


def _read_int(literal: str) -> int:
    value = int(literal)
    if not GRAPHQL_MIN_INT <= value <= GRAPHQL_MAX_INT:
        raise UnusualLiteralError
    return value


def _read_float(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value):
        raise UnusualLiteralError
    return value


def _read_string(literal: str) -> str:
    return literal[1:-1]


READERS: dict[tuple[str, str], Callable[[str], Any]] = {
    ("String", STRING): _read_string,
    ("ID", STRING): _read_string,
    ("ID", INTEGER): str,
    ("DateTime", STRING): _read_string,
    ("Int", INTEGER): _read_int,
    ("Float", INTEGER): _read_float,
    ("Float", FLOAT): _read_float,
}
"""How to read a literal in a place of a type: to the value that graphql-core gives it there. Other
literals stay as they are."""


class Parameter(NamedTuple):
    """A variable that stands for a literal."""

    position: int
    """Of the literal, among all of the text."""
    variable: str
    read: Callable[[str], Any]


@dataclass(slots=True, eq=False)
class BoundOperation(Operation):
    """The operation of a template, with the values of the literals of one text."""

    shape: str = ""
    own_name: str | None = None
    requested_name: str | None = None
    """The name that the request gives."""
    literals: Mapping[str, Any] = field(default_factory=dict)
    """By the names of the variables that stand for them."""

    @property
    def name(self) -> str | None:
        """The operation's name in the text."""
        return self.own_name

    def complete(self, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the variables of a request together with the literals."""
        return {**variables, **self.literals}


@dataclass(slots=True, eq=False)
class Template:
    """An operation for all texts of one shape that agree in the literals that stay."""

    operation: Operation
    parameters: list[Parameter]
    fixed_literals: list[tuple[int, str]]
    """Literals for which there is no variable, with their positions."""

    def bind(self, text: str, split: SplitText, name: str | None) -> BoundOperation | None:
        """Return the operation of a text, or None if it has to be parsed to know."""
        own_name = split.name or self.operation.name
        if name not in (None, own_name):
            return None
        if any(split.literals[index] != literal for index, literal in self.fixed_literals):
            return None
        try:
            values = {
                variable: read(split.literals[index]) for index, variable, read in self.parameters
            }
        except UnusualLiteralError:
            return None
        operation = self.operation
        return BoundOperation(
            text,
            operation.document,
            operation.node,
            operation.requirements,
            operation.measure,
            operation.first_cost,
            operation.compiled,
            split.shape,
            own_name,
            name,
            values,
        )


def make_template(schema: GraphQLSchema, operation: Operation, split: SplitText) -> Template | None:
    """Return a template of a valid operation and the parts of its text, if there can be one."""
    definitions = operation.document.definitions
    if sum(isinstance(node, OperationDefinitionNode) for node in definitions) > 1:
        return None
    lifter = _LiteralLifter(TypeInfo(schema))
    document = visit(operation.document, TypeInfoVisitor(lifter.types, lifter))
    if lifter.texts != split.literals:
        return None
    fixed = [
        (index, literal)
        for index, literal in enumerate(split.literals)
        if index not in lifter.parameters
    ]
    parameterised = operation
    if lifter.parameters:
        document, node = _declare(document, lifter.variables)
        if validate(schema, document):
            return None
        parameterised = Operation(
            operation.text,
            document,
            node,
            operation.requirements,
            OperationMeasure(schema, document, node),
            operation.first_cost,
        )
        parameterised.compile(schema)
    return Template(parameterised, [*lifter.parameters.values()], fixed)


def _declare(
    document: DocumentNode, variables: list[VariableDefinitionNode]
) -> tuple[DocumentNode, OperationDefinitionNode]:
    """Return a document in which its operation has further variables, and that operation."""
    [node] = (each for each in document.definitions if isinstance(each, OperationDefinitionNode))
    declaring = OperationDefinitionNode(
        **{
            **{key: getattr(node, key) for key in node.keys},
            "variable_definitions": (*(node.variable_definitions or ()), *variables),
        }
    )
    definitions = tuple(declaring if each is node else each for each in document.definitions)
    return DocumentNode(definitions=definitions, loc=document.loc), declaring


class _LiteralLifter(Visitor):
    """Replaces the literals in arguments of fields by variables, where `READERS` knows the type."""

    def __init__(self, types: TypeInfo) -> None:
        super().__init__()
        self.types = types
        self.texts: list[str] = []
        self.parameters: dict[int, Parameter] = {}
        """By the positions of the literals."""
        self.variables: list[VariableDefinitionNode] = []
        self._constants = 0
        """How many directives and definitions of variables the visit is inside."""

    def enter_variable_definition(self, *_: Any) -> None:
        self._constants += 1

    def leave_variable_definition(self, *_: Any) -> None:
        self._constants -= 1

    enter_directive = enter_variable_definition
    leave_directive = leave_variable_definition

    def enter_string_value(self, node: Literal, *_: Any) -> VariableNode | None:
        assert node.loc is not None
        text = node.loc.source.body[node.loc.start : node.loc.end]
        index = len(self.texts)
        self.texts.append(text)
        position = self.types.get_input_type()
        type = position and get_nullable_type(position)
        if self._constants or not is_scalar_type(type):
            return None
        read = READERS.get((type.name, kind_of(text)))
        if read is None:
            return None
        name = f"{VARIABLE_PREFIX}{index}"
        variable = VariableNode(name=NameNode(value=name), loc=node.loc)
        declared = NonNullTypeNode(type=NamedTypeNode(name=NameNode(value=type.name)))
        self.variables.append(VariableDefinitionNode(variable=variable, type=declared))
        self.parameters[index] = Parameter(index, name, read)
        return variable

    enter_int_value = enter_string_value
    enter_float_value = enter_string_value
