"""Coerce variables and build resolver arguments: fast for plain types, else by graphql-core."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, NoReturn, TypeAlias

from graphql import (
    ArgumentNode,
    FieldNode,
    GraphQLArgument,
    GraphQLError,
    GraphQLField,
    GraphQLNonNull,
    GraphQLSchema,
    ObjectValueNode,
    OperationDefinitionNode,
    Undefined,
    VariableDefinitionNode,
    VariableNode,
    get_argument_values,
    get_nullable_type,
    get_variable_values,
    is_input_type,
    is_leaf_type,
    is_required_argument,
    type_from_ast,
)
from graphql.execution.values import VariableValues
from strawberry.types.arguments import convert_arguments

from schema.compiler.coercion import (
    Converter,
    FallbackNeededError,
    build_coercion,
    build_conversion,
)
from schema.compiler.object_literals import build_object, mentions_variables
from schema.compiler.selection import SelectedField, UnsupportedQueryError
from schema.costs.argument_size import measure_value

ArgumentBuilder: TypeAlias = Callable[[VariableValues], dict[str, Any]]
"""From a request's coerced variables to a resolver's keyword arguments."""

UNDEFINED_VALUE: Any = object()
"""Distinguishes a variable that is absent from one that is null (GraphQL, section 6.1.2)."""
REQUIRED_VALUE: Any = object()
"""Stands for the default of a variable that must be given."""


MAX_VARIABLE_ERRORS = 5
"""Errors of variables in one response."""
MAX_ITEMS_IN_EVENT_LOOP = 200
"""More objects and list items are coerced and converted in a thread: these take up to 10 ms."""
_CONTAINERS = frozenset((list, dict))


def is_large(inputs: Mapping[str, Any]) -> bool:
    """Return whether to coerce and convert variables in a thread."""
    if _CONTAINERS.isdisjoint(map(type, inputs.values())):
        return False
    return measure_value(inputs, MAX_ITEMS_IN_EVENT_LOOP).items > MAX_ITEMS_IN_EVENT_LOOP


class InvalidVariablesError(Exception):
    """Variables that do not fit their types."""

    def __init__(self, errors: list[GraphQLError]) -> None:
        super().__init__()
        self.errors = errors


class VariableCoercer:
    """Coerces the variables that an operation declares."""

    def __init__(self, schema: GraphQLSchema, operation: OperationDefinitionNode) -> None:
        self._schema = schema
        self._nodes = operation.variable_definitions or ()
        self._fast_coercers: list[tuple[str, Converter, Any]] | None = None
        with suppress(UnsupportedQueryError):
            self._fast_coercers = [_build_fast_coercer(schema, node) for node in self._nodes]

    def coerce(self, inputs: Mapping[str, Any]) -> VariableValues:
        """Return the coerced variables. Raises InvalidVariablesError."""
        values = self._coerce(inputs)
        if isinstance(values, list):
            raise InvalidVariablesError(values)
        return values

    def _coerce(self, inputs: Mapping[str, Any]) -> VariableValues | list[GraphQLError]:
        try:
            return self._coerce_fast(inputs)
        except FallbackNeededError:
            return self._coerce_by_graphql_core(inputs)

    def _coerce_by_graphql_core(
        self, inputs: Mapping[str, Any]
    ) -> VariableValues | list[GraphQLError]:
        return get_variable_values(
            self._schema,
            self._nodes,
            dict(inputs),
            max_errors=MAX_VARIABLE_ERRORS,
            hide_suggestions=True,
        )

    def _coerce_fast(self, inputs: Mapping[str, Any]) -> VariableValues:
        if self._fast_coercers is None:
            raise FallbackNeededError
        coerced = {}
        for name, coerce, default in self._fast_coercers:
            value = inputs.get(name, UNDEFINED_VALUE)
            if value is not UNDEFINED_VALUE:
                coerced[name] = coerce(value)
            # Left to graphql-core, which words the error.
            elif default is REQUIRED_VALUE:
                raise FallbackNeededError
            elif default is not UNDEFINED_VALUE:
                coerced[name] = default
        return VariableValues({}, coerced)


def _build_fast_coercer(
    schema: GraphQLSchema, node: VariableDefinitionNode
) -> tuple[str, Converter, Any]:
    """Return a variable's name, how to coerce its value, and the value that it has if absent."""
    name, declared = node.variable.name.value, type_from_ast(schema, node.type)
    assert is_input_type(declared)
    default = REQUIRED_VALUE if isinstance(declared, GraphQLNonNull) else UNDEFINED_VALUE
    if node.default_value is not None:
        if not is_leaf_type(get_nullable_type(declared)):
            raise UnsupportedQueryError("a default that is not a scalar")
        defaults = get_variable_values(schema, [node], {})
        if isinstance(defaults, list):
            raise UnsupportedQueryError("a default that does not fit")
        default = defaults.coerced[name]
    return name, build_coercion(declared), default


def build_arguments(selected_field: SelectedField, schema: GraphQLSchema) -> ArgumentBuilder | None:
    """Return a builder of the arguments of a field's resolver, or None if it takes none.

    Two strategies: for scalars, whole variables and objects of these, a dictionary of constants
    that is completed from the variables; for anything else, graphql-core's and strawberry's own
    functions.
    """
    if not selected_field.definition.args:
        return None
    nodes = {node.name.value: node for node in selected_field.node.arguments or ()}
    arguments = selected_field.definition.args
    if all(_is_simple_argument(nodes.get(name), argument) for name, argument in arguments.items()):
        with suppress(UnsupportedQueryError):
            return _build_simple_arguments(selected_field, nodes)
    return _build_converted_arguments(selected_field, schema)


def _is_simple_argument(node: ArgumentNode | None, argument: GraphQLArgument) -> bool:
    if node is not None and isinstance(node.value, (VariableNode, ObjectValueNode)):
        return True
    if node is None and _has_no_default(argument):
        return True
    if not is_leaf_type(get_nullable_type(argument.type)):
        return False
    return node is None or not mentions_variables(node.value)


def _has_no_default(argument: GraphQLArgument) -> bool:
    return argument.default_value in (None, Undefined) and argument.default is None


def _build_simple_arguments(
    selected_field: SelectedField, nodes: Mapping[str, ArgumentNode]
) -> ArgumentBuilder:
    python_names = _python_names(selected_field)
    arguments = selected_field.definition.args
    by_variable = {
        name: node.value.name.value
        for name, node in nodes.items()
        if isinstance(node.value, VariableNode)
    }
    objects = {
        name: build_object(node.value, arguments[name].type)
        for name, node in nodes.items()
        if isinstance(node.value, ObjectValueNode)
    }
    others = arguments.keys() - by_variable.keys() - objects.keys()
    constant = _constant_values(selected_field, others)
    optional = {name for name in by_variable if not is_required_argument(arguments[name])}
    # Where an optional variable is absent, its argument has the schema's default.
    defaults = constant | _constant_values(selected_field, optional, ())
    required = {python_names[name] for name in by_variable.keys() - optional}
    non_null = {
        python_names[name]
        for name in by_variable
        if isinstance(arguments[name].type, GraphQLNonNull)
    }
    conversions = [
        (python_names[name], variable, _argument_conversion(arguments[name]))
        for name, variable in by_variable.items()
    ]

    def reject(variables: VariableValues) -> NoReturn:
        get_argument_values(
            selected_field.definition, selected_field.node, variables, hide_suggestions=True
        )
        raise AssertionError("graphql-core takes the arguments")

    def build(variables: VariableValues) -> dict[str, Any]:
        # A copy: all requests share `defaults`.
        built = dict(defaults)
        coerced = variables.coerced
        for name, variable, convert in conversions:
            if variable in coerced:
                value = coerced[variable]
                built[name] = value if convert is None else convert(value)
            elif name in required:
                reject(variables)
        # A nullable variable may stand in a non-null position that has a default; null is an error
        # there only at run time (section 5.8.5).
        for name in non_null:
            if built.get(name) is None:
                reject(variables)
        for name, build_value in objects.items():
            try:
                built[python_names[name]] = build_value(coerced)
            except FallbackNeededError:
                reject(variables)
        return built

    return build


def _argument_conversion(argument: GraphQLArgument) -> Converter | None:
    """Return the conversion of a variable's value for the resolver, or None for leaves."""
    if is_leaf_type(get_nullable_type(argument.type)):
        return None
    if not _has_no_default(argument):
        raise UnsupportedQueryError("a default that is not a scalar")
    return build_conversion(argument.type)


def _constant_values(
    selected_field: SelectedField,
    names: Collection[str],
    nodes: Collection[ArgumentNode] | None = None,
) -> dict[str, Any]:
    """Return the values that these arguments have without variables, by Python name.

    graphql-core computes them, for a field that has only these arguments.
    """
    python_names = _python_names(selected_field)
    arguments = {
        name: argument for name, argument in selected_field.definition.args.items() if name in names
    }
    argument_nodes = selected_field.node.arguments or () if nodes is None else nodes
    field = GraphQLField(selected_field.definition.type, args=arguments)
    node = FieldNode(name=selected_field.node.name, arguments=tuple(argument_nodes))
    return {python_names[name]: value for name, value in get_argument_values(field, node).items()}


def _build_converted_arguments(
    selected_field: SelectedField, schema: GraphQLSchema
) -> ArgumentBuilder:
    strawberry_schema = getattr(schema, "_strawberry_schema", None)
    if strawberry_schema is None:
        raise UnsupportedQueryError("input objects of a schema that strawberry did not make")
    converter = strawberry_schema.schema_converter

    def build(variables: VariableValues) -> dict[str, Any]:
        values = get_argument_values(
            selected_field.definition, selected_field.node, variables, hide_suggestions=True
        )
        return convert_arguments(
            values, selected_field.field.arguments, converter.scalar_registry, converter.config
        )

    return build


def _python_names(selected_field: SelectedField) -> dict[str, str]:
    """Return Python argument names by GraphQL name."""
    # Both are in the order of the resolver's parameters.
    names = [argument.python_name for argument in selected_field.field.arguments]
    return dict(zip(selected_field.definition.args, names, strict=True))
