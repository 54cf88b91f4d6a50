"""Generate Python functions that coerce and convert input values of plain types.

    def f2(value):  # WaypointInput
        if value is None:
            return None
        if type(value) is not dict or not n2.issuperset(value):
            fallback()
        return {'id': (v if type(v := value.get('id', n3)) is str else None if v is None else …), …}

    def f4(value):  # WaypointInput
        return None if value is None else n4(id=value['id'], …)

Coercion is graphql-core's step, from JSON to the values that the schema declares; conversion is
strawberry's, from those to the input objects that resolvers take. Values that are not obviously of
their type, such as 7 for an ID, raise FallbackNeededError, and graphql-core coerces them.
"""

from collections.abc import Callable
from itertools import count
from typing import Any, NoReturn

from graphql import (
    GraphQLEnumType,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLLeafType,
    GraphQLList,
    GraphQLNonNull,
    Undefined,
    get_nullable_type,
    is_leaf_type,
)
from graphql.utilities.coerce_input_value import coerce_default_value
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.base import StrawberryObjectDefinition

from schema.compiler.leaves import FAST_TESTS
from schema.compiler.selection import UnsupportedQueryError

Converter = Callable[[Any], Any]

MAX_EXACT_INTEGER = 2**53
"""Integers up to this are exact as a double; graphql-core coerces larger ones for Float."""
IMMUTABLE_TYPES = (str, int, float, bool, type(None))
"""Types of the defaults that all requests may share."""


class FallbackNeededError(Exception):
    """A value that graphql-core must coerce; it may be valid all the same."""


def raise_fallback_needed() -> NoReturn:
    """Raise FallbackNeededError; an expression for a value that fails its fast test."""
    raise FallbackNeededError


def build_coercion(input_type: GraphQLInputType) -> Converter:
    """Return a function that coerces values as graphql-core does, or raises FallbackNeededError.

    Raises UnsupportedQueryError for a type that it cannot coerce.

    >>> from graphql import GraphQLInt, GraphQLList
    >>> coerce = build_coercion(GraphQLList(GraphQLInt))
    >>> coerce([1, None, 3])
    [1, None, 3]
    >>> coerce(["one"])
    Traceback (most recent call last):
    schema.compiler.coercion.FallbackNeededError
    """
    return _CoercionGenerator().generate(input_type)


def build_conversion(input_type: GraphQLInputType) -> Converter:
    """Return a function that converts coerced values as strawberry does.

    Raises UnsupportedQueryError.
    """
    return _ConversionGenerator().generate(input_type)


class _FunctionGenerator:
    """Generates functions, one for each type that is nested in the first, in one namespace."""

    def __init__(self) -> None:
        self._namespace: dict[str, Any] = {
            "EXACT": MAX_EXACT_INTEGER,
            "fallback": raise_fallback_needed,
        }
        self._counter = count(1)
        self._open_types: list[GraphQLInputObjectType] = []

    def generate(self, input_type: GraphQLInputType) -> Converter:
        """Return a function of one value of a type."""
        function: Converter = self._namespace[self._write_function(input_type)]
        return function

    def _write_function(self, type: GraphQLInputType) -> str:
        """Define a function in the namespace and return its name."""
        name = f"f{next(self._counter)}"
        lines = [f"def {name}(value):  # {type}", *self._function_body(type)]
        # Safe: the code consists of templates here and of names from our own schema. No part of a
        # request is in it.
        code = compile("\n    ".join(lines), "<input values>", "exec")
        exec(code, self._namespace)  # noqa: S102
        return name

    def _function_body(self, input_type: GraphQLInputType) -> list[str]:
        nullable = get_nullable_type(input_type)
        null = [] if nullable is not input_type else ["if value is None: return None"]
        if is_leaf_type(nullable):
            return [f"return {self._value_expression(input_type, 'value')}"]
        if isinstance(nullable, GraphQLList):
            return [*null, *self._list_body(nullable.of_type)]
        # An input type that contains itself would be generated without end.
        if not isinstance(nullable, GraphQLInputObjectType) or nullable in self._open_types:
            raise UnsupportedQueryError(f"values of {input_type}")
        self._open_types.append(nullable)
        lines = self._object_body(nullable)
        self._open_types.pop()
        return [*null, *lines]

    def _value_expression(self, input_type: GraphQLInputType, source: str) -> str:
        """Return the expression that coerces or converts the value of `source`."""
        nullable = get_nullable_type(input_type)
        if is_leaf_type(nullable):
            return self._leaf_expression(nullable, nullable is input_type, source)
        return f"{self._write_function(input_type)}({source})"

    def _bind(self, value: Any) -> str:
        name = f"n{next(self._counter)}"
        self._namespace[name] = value
        return name

    def _list_body(self, item: GraphQLInputType) -> list[str]:
        return [f"return [{self._value_expression(item, 'item')} for item in value]"]

    def _object_body(self, object_type: GraphQLInputObjectType) -> list[str]:
        raise NotImplementedError

    def _leaf_expression(self, leaf_type: GraphQLLeafType, is_nullable: bool, source: str) -> str:
        raise NotImplementedError


class _CoercionGenerator(_FunctionGenerator):
    def _list_body(self, item: GraphQLInputType) -> list[str]:
        return ["if type(value) is not list: fallback()", *super()._list_body(item)]

    def _object_body(self, object_type: GraphQLInputObjectType) -> list[str]:
        is_plain = (
            object_type.out_type is GraphQLInputObjectType.out_type and not object_type.is_one_of
        )
        if not is_plain or any(field.out_name for field in object_type.fields.values()):
            raise UnsupportedQueryError(f"values of {object_type}")
        names = self._bind(frozenset(object_type.fields))
        members = [
            f"{name!r}: {self._value_expression(field.type, self._input_expression(name, field))}"
            for name, field in object_type.fields.items()
        ]
        return [
            f"if type(value) is not dict or not {names}.issuperset(value): fallback()",
            f"return {{{', '.join(members)}}}",
        ]

    def _input_expression(self, name: str, field: GraphQLInputField) -> str:
        """Return the expression of a field's value, or of its default."""
        default = coerce_default_value(field)
        if default is Undefined and isinstance(field.type, GraphQLNonNull):
            # An absent member becomes None, which fails its test: graphql-core reports what is
            # missing.
            return f"value.get({name!r})"
        # A list or object would be shared by all requests, and one of them might change it.
        if not isinstance(default, IMMUTABLE_TYPES):
            raise UnsupportedQueryError(f"the default of {name}")
        enum_type = get_nullable_type(field.type)
        if isinstance(enum_type, GraphQLEnumType) and default is not None:
            default = enum_type.coerce_output_value(default)  # it is coerced as a sent one is
        return f"value.get({name!r}, {self._bind(default)})"

    def _leaf_expression(self, leaf_type: GraphQLLeafType, is_nullable: bool, source: str) -> str:
        otherwise = "fallback()"
        if isinstance(leaf_type, GraphQLEnumType):
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


class _ConversionGenerator(_FunctionGenerator):
    def _object_body(self, object_type: GraphQLInputObjectType) -> list[str]:
        definition = object_type.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
        if not isinstance(definition, StrawberryObjectDefinition) or definition.from_input:
            raise UnsupportedQueryError(f"values of {object_type}")
        names = [field.python_name for field in definition.fields]
        keywords = [
            f"{name}={self._value_expression(field.type, f'value[{key!r}]')}"
            for name, (key, field) in zip(names, object_type.fields.items(), strict=True)
        ]
        return [f"return {self._bind(definition.origin)}({', '.join(keywords)})"]

    def _leaf_expression(self, leaf_type: GraphQLLeafType, is_nullable: bool, source: str) -> str:
        return source
