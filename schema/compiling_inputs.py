"""Variables and arguments, coerced once per request: plain ones at once, others by graphql-core."""

from collections.abc import Callable, Collection, Mapping
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
    VariableNode,
    Visitor,
    get_argument_values,
    get_nullable_type,
    get_variable_values,
    is_required_argument,
    type_from_ast,
    visit,
)
from graphql.execution.values import VariableValues
from strawberry.types.arguments import convert_arguments

from schema.compiling_fields import NotCovered, Selected
from schema.compiling_leaves import Unfit

Given: TypeAlias = Callable[[VariableValues], dict[str, Any]]
"""From the variables of a request to what a resolver is called with."""

MISSING: Any = object()
PLAIN = {"ID": str, "String": str, "Boolean": bool, "Int": int}
"""Scalars whose values of exactly this class are coerced to themselves."""
INT32 = range(-(2**31), 2**31)


class Variables:
    """The variables that an operation declares."""

    def __init__(self, schema: GraphQLSchema, operation: OperationDefinitionNode) -> None:
        self._schema = schema
        self._nodes = operation.variable_definitions or ()
        plain = [_plain(schema, node) for node in self._nodes]
        self._plain = None if None in plain else [each for each in plain if each]

    def coerce(self, inputs: Mapping[str, Any]) -> VariableValues:
        """Their values. Raises Unfit."""
        quickly = self._quickly(inputs)
        if quickly is not None:
            return quickly
        values = get_variable_values(self._schema, self._nodes, dict(inputs), max_errors=1)
        if isinstance(values, list):
            raise Unfit
        return values

    def _quickly(self, inputs: Mapping[str, Any]) -> VariableValues | None:
        if self._plain is None:
            return None
        coerced = {}
        for name, kind, may_be_null in self._plain:
            value = inputs.get(name, MISSING)
            if type(value) is kind and (kind is not int or value in INT32):
                coerced[name] = value
            elif value is None and may_be_null:
                coerced[name] = None
            elif value is not MISSING or not may_be_null:
                return None
        return VariableValues({}, coerced)


def _plain(schema: GraphQLSchema, node: Any) -> tuple[str, type, bool] | None:
    declared = type_from_ast(schema, node.type)
    kind = PLAIN.get(getattr(get_nullable_type(declared), "name", ""))
    if kind is None or node.default_value is not None:
        return None
    return node.variable.name.value, kind, not isinstance(declared, GraphQLNonNull)


def given_to(selected: Selected, schema: GraphQLSchema) -> Given | None:
    """What the resolver of a field is called with; None: without arguments."""
    if not selected.definition.args:
        return None
    nodes = {node.name.value: node for node in selected.node.arguments or ()}
    arguments = selected.definition.args
    if all(_is_simple(nodes.get(name), argument) for name, argument in arguments.items()):
        return _simply(selected, nodes)
    return _converted(selected, schema)


def _is_simple(node: ArgumentNode | None, argument: GraphQLArgument) -> bool:
    if not isinstance(get_nullable_type(argument.type), GraphQLScalarType):
        return False
    return node is None or isinstance(node.value, VariableNode) or not _mentions_variables(node)


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
    variable = [(python_names[name], of) for name, of in by_variable.items()]

    def give(variables: VariableValues) -> dict[str, Any]:
        given = dict(given_first)
        coerced = variables.coerced
        for name, of in variable:
            if of in coerced:
                given[name] = coerced[of]
            elif name in required:
                raise Unfit
        if any(given.get(name) is None for name in not_null):
            raise Unfit
        return given

    return give


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
