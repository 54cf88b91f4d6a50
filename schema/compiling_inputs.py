"""Variables and arguments of a request: plain ones quickly, others by graphql-core."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from graphql import (
    ArgumentNode,
    FieldNode,
    GraphQLArgument,
    GraphQLField,
    GraphQLNonNull,
    GraphQLScalarType,
    GraphQLSchema,
    OperationDefinitionNode,
    Undefined,
    VariableDefinitionNode,
    VariableNode,
    Visitor,
    get_argument_values,
    get_nullable_type,
    get_variable_values,
    is_input_type,
    is_required_argument,
    type_from_ast,
    visit,
)
from graphql.execution.values import VariableValues
from strawberry.types.arguments import convert_arguments

from schema.compiling_coercion import Make, Odd, coercion, conversion
from schema.compiling_fields import NotCovered, Selected
from schema.compiling_leaves import Unfit

Given: TypeAlias = Callable[[VariableValues], dict[str, Any]]
"""From the variables of a request to what a resolver is called with."""

MISSING: Any = object()


class Variables:
    """The variables that an operation declares."""

    def __init__(self, schema: GraphQLSchema, operation: OperationDefinitionNode) -> None:
        self._schema = schema
        self._nodes = operation.variable_definitions or ()
        self._quick: list[tuple[str, Make, bool]] | None = None
        with suppress(NotCovered):
            self._quick = [_quick(schema, node) for node in self._nodes]

    def coerce(self, inputs: Mapping[str, Any]) -> VariableValues:
        """Their values. Raises Unfit."""
        try:
            return self._quickly(inputs)
        except Odd:
            values = get_variable_values(self._schema, self._nodes, dict(inputs), max_errors=1)
        if isinstance(values, list):
            raise Unfit
        return values

    def _quickly(self, inputs: Mapping[str, Any]) -> VariableValues:
        if self._quick is None:
            raise Odd
        coerced = {}
        for name, coerce, is_required in self._quick:
            value = inputs.get(name, MISSING)
            if value is not MISSING:
                coerced[name] = coerce(value)
            elif is_required:
                raise Odd
        return VariableValues({}, coerced)


def _quick(schema: GraphQLSchema, node: VariableDefinitionNode) -> tuple[str, Make, bool]:
    if node.default_value is not None:
        raise NotCovered("a variable with a default")
    declared = type_from_ast(schema, node.type)
    assert is_input_type(declared)
    return node.variable.name.value, coercion(declared), isinstance(declared, GraphQLNonNull)


def given_to(selected: Selected, schema: GraphQLSchema) -> Given | None:
    """What the resolver of a field is called with; None: without arguments."""
    if not selected.definition.args:
        return None
    nodes = {node.name.value: node for node in selected.node.arguments or ()}
    arguments = selected.definition.args
    if all(_is_simple(nodes.get(name), argument) for name, argument in arguments.items()):
        with suppress(NotCovered):
            return _simply(selected, nodes)
    return _converted(selected, schema)


def _is_simple(node: ArgumentNode | None, argument: GraphQLArgument) -> bool:
    if node is not None and isinstance(node.value, VariableNode):
        return True
    if not isinstance(get_nullable_type(argument.type), GraphQLScalarType):
        return False
    return node is None or not _mentions_variables(node)


def _simply(selected: Selected, nodes: Mapping[str, ArgumentNode]) -> Given:
    python_names = _python_names(selected)
    arguments = selected.definition.args
    by_variable = {
        name: node.value.name.value
        for name, node in nodes.items()
        if isinstance(node.value, VariableNode)
    }
    constant = _values(selected, arguments.keys() - by_variable.keys())
    optional = {name for name in by_variable if not is_required_argument(arguments[name])}
    given_first = constant | _values(selected, optional, ())
    required = {python_names[name] for name in by_variable.keys() - optional}
    not_null = {
        python_names[name]
        for name in by_variable
        if isinstance(arguments[name].type, GraphQLNonNull)
    }
    variable = [
        (python_names[name], of, _conversion(arguments[name])) for name, of in by_variable.items()
    ]

    def give(variables: VariableValues) -> dict[str, Any]:
        given = dict(given_first)
        coerced = variables.coerced
        for name, of, convert in variable:
            if of in coerced:
                given[name] = coerced[of] if convert is None else convert(coerced[of])
            elif name in required:
                raise Unfit
        if any(given.get(name) is None for name in not_null):
            raise Unfit
        return given

    return give


def _conversion(argument: GraphQLArgument) -> Make | None:
    """What makes the resolver's value of a variable's; None: it is the same."""
    if isinstance(get_nullable_type(argument.type), GraphQLScalarType):
        return None
    if argument.default_value not in (None, Undefined) or argument.default is not None:
        raise NotCovered("a default that is no scalar")
    return conversion(argument.type)


def _values(
    selected: Selected, names: Collection[str], nodes: Collection[ArgumentNode] | None = None
) -> dict[str, Any]:
    """What the arguments of these names are given without variables, by Python's names."""
    python_names = _python_names(selected)
    arguments = {
        name: argument for name, argument in selected.definition.args.items() if name in names
    }
    given = selected.node.arguments or () if nodes is None else nodes
    field = GraphQLField(selected.definition.type, args=arguments)
    node = FieldNode(name=selected.node.name, arguments=tuple(given))
    return {python_names[name]: value for name, value in get_argument_values(field, node).items()}


def _converted(selected: Selected, schema: GraphQLSchema) -> Given:
    strawberry_schema = getattr(schema, "_strawberry_schema", None)
    if strawberry_schema is None:
        raise NotCovered("input objects of a schema that strawberry did not make")
    converter = strawberry_schema.schema_converter

    def give(variables: VariableValues) -> dict[str, Any]:
        values = get_argument_values(selected.definition, selected.node, variables)
        return convert_arguments(
            values, selected.field.arguments, converter.scalar_registry, converter.config
        )

    return give


def _python_names(selected: Selected) -> dict[str, str]:
    """In the schema's order, which is that of the resolver's parameters."""
    names = [argument.python_name for argument in selected.field.arguments]
    return dict(zip(selected.definition.args, names, strict=True))


class _VariableFinder(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def enter_variable(self, *_: Any) -> None:
        self.found = True


def _mentions_variables(node: ArgumentNode) -> bool:
    finder = _VariableFinder()
    visit(node, finder)
    return finder.found
