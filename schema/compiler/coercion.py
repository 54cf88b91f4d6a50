"""Coerce variables and build resolver arguments: by generated functions, else by graphql-core.

    def f2(value):  # WaypointInput
        if value is None:
            return None
        if type(value) is not dict or not n2.issuperset(value):
            fallback()
        return n4(id=(v if type(v := value.get('id', n3)) is str else None if v is None else …), …)

This is graphql-core's step and strawberry's in one: from JSON to the values that the schema
declares, and to the input objects that resolvers take. Values that are not obviously of their type,
such as 7 for an ID, raise FallbackNeededError, and graphql-core coerces them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, TypeAlias

import graphql
from graphql.execution.values import VariableValues
from graphql.utilities import coerce_input_literal
from graphql.utilities.coerce_input_value import coerce_default_value
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.base import StrawberryObjectDefinition

from schema.compiler.selection import SelectedField, UnsupportedQueryError

CoerceVariables: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Coerces the variables of a request."""

MAX_EXACT_INTEGER = 2**53
"""Integers up to this are exact as a double; graphql-core coerces larger ones for Float."""
FAST_TESTS = {
    "ID": "type(v := {}) is str",
    "String": "type(v := {}) is str",
    "Int": "type(v := {}) is int and -2147483648 <= v <= 2147483647",
    # True of what is finite, in half the time that comparing with both infinities takes. Python
    # compares a float with 0 more slowly than with 0.0.
    "Float": "type(v := {}) is float and v - v == 0.0",
    "Boolean": "type(v := {}) is bool",
    "DateTime": "type(v := {}) is str",
}
"""Test by scalar, with `{}` for an expression; the test names its value `v`.

True if graphql-core would serialize `v` unchanged: Int has 32 bits and Float is finite (section 3.5
of the GraphQL specification). `type(v) is` and not `isinstance`: bool is a subclass of int.
"""
IMMUTABLE_TYPES = (str, int, float, bool, type(None))
"""Types of the defaults that all requests may share."""


class FallbackNeededError(Exception):
    """A value that graphql-core must coerce; it may be valid all the same."""


def raise_fallback_needed(*_: Any) -> NoReturn:
    """Raise FallbackNeededError; an expression for a value that fails its fast test."""
    raise FallbackNeededError


def build_coercion(
    types: Mapping[str, graphql.GraphQLInputType],
    required: Collection[str] = (),
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> CoerceVariables:
    """Return a function that coerces variables of some types to what resolvers take.

    It raises FallbackNeededError, also if a required variable is absent; others have their defaults
    then. Raises UnsupportedQueryError for a type that it cannot coerce.

    >>> from graphql import GraphQLInt, GraphQLList
    >>> coerce = build_coercion({"numbers": GraphQLList(GraphQLInt)})
    >>> coerce({"numbers": [1, None, 3]})
    {'numbers': [1, None, 3]}
    >>> coerce({"numbers": ["one"]})
    Traceback (most recent call last):
    schema.compiler.coercion.FallbackNeededError
    """
    if not types:  # of most documents that a client sends once
        return lambda _: {}
    return _CoercionGenerator().generate(types, required, defaults)


def convert(value: Any, input_type: graphql.GraphQLInputType) -> Any:
    """Return what resolvers take for a value that graphql-core has coerced.

    Variables inside it are converted already.
    """
    nullable = graphql.get_nullable_type(input_type)
    if isinstance(nullable, graphql.GraphQLList) and isinstance(value, list):
        return [convert(item, nullable.of_type) for item in value]
    if isinstance(nullable, graphql.GraphQLInputObjectType) and isinstance(value, dict):
        make, names = _find_class(nullable)
        members = nullable.fields.items()
        return make(
            **{
                names[name]: convert(value[name], member.type)
                for name, member in members
                if name in value
            }
        )
    return value


def _find_class(object_type: graphql.GraphQLInputObjectType) -> tuple[Any, dict[str, str]]:
    """Return the strawberry class of an input type, and its Python names by GraphQL name."""
    definition = object_type.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    if not isinstance(definition, StrawberryObjectDefinition) or definition.from_input:
        raise UnsupportedQueryError(f"values of {object_type}")
    names = [field.python_name for field in definition.fields]
    return definition.origin, dict(zip(object_type.fields, names, strict=True))


class _CoercionGenerator:
    """Generates functions, one for each type that is nested in the first, in one namespace."""

    def __init__(self) -> None:
        self._namespace: dict[str, Any] = {
            "EXACT": MAX_EXACT_INTEGER,
            "fallback": raise_fallback_needed,
        }
        self._counter = count(1)
        self._open_types: list[graphql.GraphQLInputObjectType] = []

    def generate(
        self,
        types: Mapping[str, graphql.GraphQLInputType],
        required: Collection[str],
        defaults: Mapping[str, Any],
    ) -> CoerceVariables:
        lines = ["def coerce(inputs):", f"coerced = {self._bind(dict(defaults))}.copy()"]
        for name, declared in types.items():
            value = self._value_expression(declared, f"inputs[{name!r}]")
            lines.append(f"if {name!r} in inputs: coerced[{name!r}] = {value}")
            lines += ["else: fallback()"] if name in required else []
        self._define([*lines, "return coerced"])
        function: CoerceVariables = self._namespace["coerce"]
        return function

    def _write_function(self, type: graphql.GraphQLInputType) -> str:
        name = f"f{next(self._counter)}"
        self._define([f"def {name}(value):  # {type}", *self._function_body(type)])
        return name

    def _define(self, lines: Sequence[str]) -> None:
        # Safe: the code consists of templates here, of names from our own schema, and of `repr`s of
        # the names of variables, which match [_A-Za-z][_0-9A-Za-z]*.
        code = compile("\n    ".join(lines), "<input values>", "exec")
        exec(code, self._namespace)  # noqa: S102

    def _function_body(self, input_type: graphql.GraphQLInputType) -> list[str]:
        nullable = graphql.get_nullable_type(input_type)
        null = [] if nullable is not input_type else ["if value is None: return None"]
        if graphql.is_leaf_type(nullable):
            return [f"return {self._value_expression(input_type, 'value')}"]
        if isinstance(nullable, graphql.GraphQLList):
            return [*null, *self._list_body(nullable.of_type)]
        # An input type that contains itself would be generated without end.
        if not isinstance(nullable, graphql.GraphQLInputObjectType) or nullable in self._open_types:
            raise UnsupportedQueryError(f"values of {input_type}")
        self._open_types.append(nullable)
        lines = self._object_body(nullable)
        self._open_types.pop()
        return [*null, *lines]

    def _value_expression(self, input_type: graphql.GraphQLInputType, source: str) -> str:
        nullable = graphql.get_nullable_type(input_type)
        if graphql.is_leaf_type(nullable):
            return self._leaf_expression(nullable, nullable is input_type, source)
        return f"{self._write_function(input_type)}({source})"

    def _bind(self, value: Any) -> str:
        name = f"n{next(self._counter)}"
        self._namespace[name] = value
        return name

    def _list_body(self, item: graphql.GraphQLInputType) -> list[str]:
        return [
            "if type(value) is not list: fallback()",
            f"return [{self._value_expression(item, 'item')} for item in value]",
        ]

    def _object_body(self, object_type: graphql.GraphQLInputObjectType) -> list[str]:
        is_plain = (
            object_type.out_type is graphql.GraphQLInputObjectType.out_type
            and not object_type.is_one_of
        )
        if not is_plain or any(field.out_name for field in object_type.fields.values()):
            raise UnsupportedQueryError(f"values of {object_type}")
        make, python_names = _find_class(object_type)
        names = self._bind(frozenset(object_type.fields))
        members = [
            f"{python_names[name]}="
            f"{self._value_expression(field.type, self._input_expression(name, field))}"
            for name, field in object_type.fields.items()
        ]
        return [
            f"if type(value) is not dict or not {names}.issuperset(value): fallback()",
            f"return {self._bind(make)}({', '.join(members)})",
        ]

    def _input_expression(self, name: str, field: graphql.GraphQLInputField) -> str:
        default = coerce_default_value(field)
        if default is graphql.Undefined and isinstance(field.type, graphql.GraphQLNonNull):
            # An absent member becomes None, which fails its test: graphql-core reports what is
            # missing.
            return f"value.get({name!r})"
        # A list or object would be shared by all requests, and one of them might change it.
        if not isinstance(default, IMMUTABLE_TYPES):
            raise UnsupportedQueryError(f"the default of {name}")
        enum_type = graphql.get_nullable_type(field.type)
        if isinstance(enum_type, graphql.GraphQLEnumType) and default is not None:
            default = enum_type.coerce_output_value(default)  # it is coerced as a sent one is
        return f"value.get({name!r}, {self._bind(default)})"

    def _leaf_expression(
        self, leaf_type: graphql.GraphQLLeafType, is_nullable: bool, source: str
    ) -> str:
        otherwise = "fallback()"
        if isinstance(leaf_type, graphql.GraphQLEnumType):
            if is_nullable:
                otherwise = f"None if v is None else {otherwise}"
            members = self._bind(
                {name: leaf_type.coerce_input_value(name) for name in leaf_type.values}
            )
            test = f"type(v := {source}) is str and v in {members}"
            return f"({members}[v] if {test} else {otherwise})"
        if leaf_type.name not in FAST_TESTS:
            raise UnsupportedQueryError(f"values of {leaf_type}")
        test = FAST_TESTS[leaf_type.name].format(source)
        if leaf_type.name == "Float":
            otherwise = "float(v) if type(v) is int and -EXACT <= v <= EXACT else fallback()"
        if is_nullable:
            otherwise = f"None if v is None else {otherwise}"
        return f"(v if {test} else {otherwise})"


# Build input objects that an operation writes out, with variables as some of their members.
#
#     assignUnitAttributes(input: { groupId: "view", assignments: $assignments })


Build = Callable[[Mapping[str, Any]], Any]
"""Builds a value from a request's coerced variables. Raises FallbackNeededError."""


def build_object(node: graphql.ObjectValueNode, input_type: graphql.GraphQLInputType) -> Build:
    """Return a function that builds an object of its strawberry class.

    Raises UnsupportedQueryError.
    """
    object_type = graphql.get_nullable_type(input_type)
    if not isinstance(object_type, graphql.GraphQLInputObjectType) or object_type.is_one_of:
        raise UnsupportedQueryError(f"an object as {input_type}")
    make, names = _find_class(object_type)
    nodes = {member.name.value: member.value for member in node.fields}
    members = [
        (names[name], _build_member(nodes.get(name), member))
        for name, member in object_type.fields.items()
    ]
    return lambda variables: make(**{name: build(variables) for name, build in members})


def _build_member(node: graphql.ValueNode | None, member: graphql.GraphQLInputField) -> Build:
    if isinstance(node, graphql.VariableNode):
        return _build_variable(node.name.value, member)
    if isinstance(node, graphql.ObjectValueNode):
        return build_object(node, member.type)
    if node is None:
        value = _default_of(member)
    elif find_variables(node):
        raise UnsupportedQueryError("a list with variables inside")
    else:
        value = coerce_input_literal(node, member.type)
    if value is graphql.Undefined:
        raise UnsupportedQueryError(f"a value of {member.type} that graphql-core rejects")
    # Converted for each request: a list must not be shared.
    return lambda _: convert(value, member.type)


def _build_variable(name: str, member: graphql.GraphQLInputField) -> Build:
    default = convert(_default_of(member), member.type)
    is_non_null = isinstance(member.type, graphql.GraphQLNonNull)

    def build(variables: Mapping[str, Any]) -> Any:
        value = variables.get(name, default)
        # A variable that may be null or absent is allowed here if the member has a default.
        if value is graphql.Undefined or (value is None and is_non_null):
            raise FallbackNeededError
        return value

    return build


def _default_of(member: graphql.GraphQLInputField) -> Any:
    default = coerce_default_value(member)
    if default is graphql.Undefined and not isinstance(member.type, graphql.GraphQLNonNull):
        # strawberry gives all such members a default.
        raise UnsupportedQueryError("a member that may be absent")
    return default


class _VariableFinder(graphql.Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def enter_variable(self, node: graphql.VariableNode, *_: Any) -> None:
        self.names.add(node.name.value)


def find_variables(node: graphql.Node) -> set[str]:
    """Return the names of the variables in a part of a document."""
    finder = _VariableFinder()
    graphql.visit(node, finder)
    return finder.names


ArgumentBuilder: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Builds a resolver's keyword arguments from a request's coerced variables."""


MAX_VARIABLE_ERRORS = 5
"""Errors of variables in one response."""
MAX_ITEMS_IN_EVENT_LOOP = 200
"""More objects and list items are coerced and converted in a thread: these take up to 10 ms."""
_CONTAINERS = frozenset((list, dict))
TEXT_TYPES = {str, type(None)}


class ValueSize(NamedTuple):
    """Size of a JSON value."""

    items: int
    """Objects and list items."""
    characters: int
    """Characters of all texts; names of members do not count."""


def measure_value(value: Any, max_items: int) -> ValueSize:
    """Count a JSON value, up to just over `max_items`.

    >>> measure_value([{"x": "one"}, {"x": [2, 3]}], max_items=100)
    ValueSize(items=4, characters=3)
    """
    if isinstance(value, str):
        return ValueSize(0, len(value))
    if not isinstance(value, (list, dict)):
        return ValueSize(0, 0)
    # A stack and no recursion: JSON may be nested more deeply than Python's recursion limit.
    items, characters = 0, 0
    stack: list[Any] = [value]
    if isinstance(value, dict):
        items = 1
    while stack and items <= max_items:
        container = stack.pop()
        members = container
        if isinstance(container, dict):
            members = container.values()
        else:
            items += len(container)
            if items > max_items:
                break
            texts = container
            if {*map(type, container)} == {dict}:  # at once, and not each from the stack
                texts = [*chain.from_iterable(map(dict.values, container))]
            if {*map(type, texts)} <= TEXT_TYPES:
                characters += sum(map(len, filter(None, texts)))
                continue
        for member in members:
            if member is None:
                continue
            if isinstance(member, str):
                characters += len(member)
            elif isinstance(member, list):
                stack.append(member)
            elif isinstance(member, dict):
                items += members is not container  # as a list item it is counted already
                stack.append(member)
    return ValueSize(items, characters)


def has_more_items(value: Any, limit: int) -> bool:
    """Return whether a JSON value has more objects and list items."""
    return measure_value(value, limit).items > limit


def is_large(inputs: Mapping[str, Any]) -> bool:
    """Return whether to coerce and convert variables in a thread."""
    if _CONTAINERS.isdisjoint(map(type, inputs.values())):
        return False
    return has_more_items(inputs, MAX_ITEMS_IN_EVENT_LOOP)


class InvalidVariablesError(Exception):
    """Variables that do not fit their types."""

    def __init__(self, errors: list[graphql.GraphQLError]) -> None:
        super().__init__()
        self.errors = errors


class VariableCoercer:
    """Coerces the variables that an operation declares."""

    def __init__(
        self, schema: graphql.GraphQLSchema, operation: graphql.OperationDefinitionNode
    ) -> None:
        self._schema = schema
        self._nodes = operation.variable_definitions or ()
        self._types = {node.variable.name.value: _type_of(schema, node) for node in self._nodes}
        required = {
            node.variable.name.value
            for node in self._nodes
            if isinstance(node.type, graphql.NonNullTypeNode) and node.default_value is None
        }
        self._coerce_fast: CoerceVariables = raise_fallback_needed
        with suppress(UnsupportedQueryError):
            defaults = _find_defaults(schema, self._nodes)
            self._coerce_fast = build_coercion(self._types, required, defaults)

    def coerce(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the coerced variables. Raises InvalidVariablesError."""
        try:
            return self._coerce_fast(inputs)
        except FallbackNeededError:
            values = graphql.get_variable_values(
                self._schema,
                self._nodes,
                dict(inputs),
                max_errors=MAX_VARIABLE_ERRORS,
                hide_suggestions=True,
            )
        if isinstance(values, list):
            raise InvalidVariablesError(values)
        return {name: convert(value, self._types[name]) for name, value in values.coerced.items()}


def _type_of(
    schema: graphql.GraphQLSchema, node: graphql.VariableDefinitionNode
) -> graphql.GraphQLInputType:
    declared = graphql.type_from_ast(schema, node.type)
    assert graphql.is_input_type(declared)
    return declared


def _find_defaults(
    schema: graphql.GraphQLSchema, nodes: Sequence[graphql.VariableDefinitionNode]
) -> dict[str, Any]:
    """Return the values of the variables that have one if they are absent."""
    with_default = [node for node in nodes if node.default_value is not None]
    if not all(
        graphql.is_leaf_type(graphql.get_nullable_type(_type_of(schema, node)))
        for node in with_default
    ):
        raise UnsupportedQueryError("a default that is not a scalar")
    defaults = graphql.get_variable_values(schema, with_default, {})
    if isinstance(defaults, list):
        raise UnsupportedQueryError("a default that does not fit")
    return defaults.coerced


def build_arguments(selected_field: SelectedField) -> ArgumentBuilder | None:
    """Return a builder of the arguments of a field's resolver, or None if it takes none.

    Two strategies: for scalars, whole variables and objects of these, a dictionary of constants
    that is completed from the variables; for anything else, graphql-core's function.
    """
    if not selected_field.definition.args:
        return None
    nodes = {node.name.value: node for node in selected_field.node.arguments or ()}
    arguments = selected_field.definition.args
    if all(_is_simple_argument(nodes.get(name), argument) for name, argument in arguments.items()):
        with suppress(UnsupportedQueryError):
            return _build_simple_arguments(selected_field, nodes)
    return _build_converted_arguments(selected_field)


def _is_simple_argument(
    node: graphql.ArgumentNode | None, argument: graphql.GraphQLArgument
) -> bool:
    if node is not None and isinstance(node.value, graphql.ObjectValueNode):
        return True
    is_leaf = graphql.is_leaf_type(graphql.get_nullable_type(argument.type))
    if node is None or isinstance(node.value, graphql.VariableNode):
        return is_leaf or _has_no_default(argument)
    return is_leaf and not find_variables(node.value)


def _has_no_default(argument: graphql.GraphQLArgument) -> bool:
    return argument.default_value in (None, graphql.Undefined) and argument.default is None


def _build_simple_arguments(
    selected_field: SelectedField, nodes: Mapping[str, graphql.ArgumentNode]
) -> ArgumentBuilder:
    python_names = _python_names(selected_field)
    arguments = selected_field.definition.args
    by_variable = {
        name: node.value.name.value
        for name, node in nodes.items()
        if isinstance(node.value, graphql.VariableNode)
    }
    objects = {
        name: build_object(node.value, arguments[name].type)
        for name, node in nodes.items()
        if isinstance(node.value, graphql.ObjectValueNode)
    }
    others = arguments.keys() - by_variable.keys() - objects.keys()
    constant = _constant_values(selected_field, others)
    optional = {name for name in by_variable if not graphql.is_required_argument(arguments[name])}
    # Where an optional variable is absent, its argument has the schema's default.
    defaults = constant | _constant_values(selected_field, optional, ())
    required = {python_names[name] for name in by_variable.keys() - optional}
    non_null = {
        python_names[name]
        for name in by_variable
        if isinstance(arguments[name].type, graphql.GraphQLNonNull)
    }
    variables_by_name = [(python_names[name], each) for name, each in by_variable.items()]

    def reject(variables: Mapping[str, Any]) -> NoReturn:
        _coerce_arguments(selected_field, variables)
        raise AssertionError("graphql-core takes the arguments")

    def build(variables: Mapping[str, Any]) -> dict[str, Any]:
        # A copy: all requests share `defaults`.
        built = defaults.copy()
        for name, variable in variables_by_name:
            if variable in variables:
                built[name] = variables[variable]
            elif name in required:
                reject(variables)
        # A nullable variable may stand in a non-null position that has a default; null is an error
        # there only at run time (section 5.8.5).
        if None in map(built.get, non_null):
            reject(variables)
        for name, build_value in objects.items():
            try:
                built[python_names[name]] = build_value(variables)
            except FallbackNeededError:
                reject(variables)
        return built

    return build


def _constant_values(
    selected_field: SelectedField,
    names: Collection[str],
    nodes: Collection[graphql.ArgumentNode] | None = None,
) -> dict[str, Any]:
    """Return the values that these arguments have without variables, by Python name.

    graphql-core computes them, for a field that has only these arguments.
    """
    python_names = _python_names(selected_field)
    arguments = {
        name: argument for name, argument in selected_field.definition.args.items() if name in names
    }
    argument_nodes = selected_field.node.arguments or () if nodes is None else nodes
    field = graphql.GraphQLField(selected_field.definition.type, args=arguments)
    node = graphql.FieldNode(name=selected_field.node.name, arguments=tuple(argument_nodes))
    return {
        python_names[name]: value
        for name, value in graphql.get_argument_values(field, node).items()
    }


def _build_converted_arguments(selected_field: SelectedField) -> ArgumentBuilder:
    python_names = _python_names(selected_field)
    arguments = selected_field.definition.args

    def build(variables: Mapping[str, Any]) -> dict[str, Any]:
        values = _coerce_arguments(selected_field, variables)
        return {
            python_names[name]: convert(value, arguments[name].type)
            for name, value in values.items()
        }

    return build


def _coerce_arguments(
    selected_field: SelectedField, variables: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a field as graphql-core coerces them. Raises GraphQLError."""
    values = VariableValues({}, dict(variables))
    return graphql.get_argument_values(
        selected_field.definition, selected_field.node, values, hide_suggestions=True
    )


def _python_names(selected_field: SelectedField) -> dict[str, str]:
    # Both are in the order of the resolver's parameters.
    names = [argument.python_name for argument in selected_field.field.arguments]
    return dict(zip(selected_field.definition.args, names, strict=True))
