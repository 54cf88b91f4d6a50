"""Writing the Python code that coerces and converts input values of plain types.

    def coerce_2(value):  # WaypointInput
        if value is None:
            return None
        if type(value) is not dict or not names_2.issuperset(value):
            odd()
        return {'id': v if type(v := value.get('id', default_3)) is str or v is None else odd(), …}

    def convert_4(value):  # WaypointInput
        return None if value is None else class_4(id=value['id'], …)

Coercing is graphql-core's part, from JSON to what the schema declares; converting is strawberry's,
from there to the inputs that resolvers take.
"""

from collections.abc import Callable
from itertools import count
from math import inf
from typing import Any, NoReturn

from graphql import (
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLScalarType,
    Undefined,
    get_nullable_type,
)
from graphql.utilities.coerce_input_value import coerce_default_value
from strawberry.types.base import StrawberryObjectDefinition

from schema.compiler.leaves import FAST_TESTS
from schema.compiler.selection import UnsupportedQueryError

Converter = Callable[[Any], Any]

MAX_EXACT_INTEGER = 2**53
"""Integers up to this are numbers of the type Float too."""
IMMUTABLE_TYPES = (str, int, float, bool, type(None))
STRAWBERRY_DEFINITION = "strawberry-definition"


class FallbackNeededError(Exception):
    """A value that graphql-core is to coerce: it may fit all the same, as 7 does for an ID."""


def raise_fallback_needed() -> NoReturn:
    """Stands where a value is not plainly of its type. Raises Odd."""
    raise FallbackNeededError


def build_coercion(input_type: GraphQLInputType) -> Converter:
    """Coerces values as graphql-core does, or raises Odd. Raises NotCovered."""
    return _CoercionGenerator().generate(input_type)


def build_conversion(input_type: GraphQLInputType) -> Converter:
    """Converts coerced values as strawberry does. Raises NotCovered."""
    return _ConversionGenerator().generate(input_type)


class _FunctionGenerator:
    """Functions that are written, and the values that they name."""

    def __init__(self) -> None:
        self._namespace: dict[str, Any] = {
            "INFINITY": inf,
            "EXACT": MAX_EXACT_INTEGER,
            "odd": raise_fallback_needed,
        }
        self._counter = count(1)
        self._open_types: list[GraphQLInputObjectType] = []

    def generate(self, input_type: GraphQLInputType) -> Converter:
        """A function of one value of a type."""
        made: Converter = self._namespace[self._write_function(input_type)]
        return made

    def _write_function(self, type: GraphQLInputType) -> str:
        """Writes a function; returns its name."""
        name = f"f{next(self._counter)}"
        lines = [f"def {name}(value):  # {type}", *self._function_body(type)]
        exec(compile("\n    ".join(lines), "<input values>", "exec"), self._namespace)
        return name

    def _function_body(self, input_type: GraphQLInputType) -> list[str]:
        nullable = get_nullable_type(input_type)
        null = [] if nullable is not input_type else ["if value is None: return None"]
        if isinstance(nullable, GraphQLScalarType):
            return [f"return {self._value_expression(input_type, 'value')}"]
        if isinstance(nullable, GraphQLList):
            return [*null, *self._list_body(nullable.of_type)]
        if not isinstance(nullable, GraphQLInputObjectType) or nullable in self._open_types:
            raise UnsupportedQueryError(f"values of {input_type}")
        self._open_types.append(nullable)
        lines = self._object_body(nullable)
        self._open_types.pop()
        return [*null, *lines]

    def _value_expression(self, input_type: GraphQLInputType, source: str) -> str:
        """The expression of the value that comes of a source."""
        nullable = get_nullable_type(input_type)
        if isinstance(nullable, GraphQLScalarType):
            return self._scalar_expression(nullable, nullable is input_type, source)
        return f"{self._write_function(input_type)}({source})"

    def _bind(self, value: Any) -> str:
        name = f"n{next(self._counter)}"
        self._namespace[name] = value
        return name

    def _list_body(self, item: GraphQLInputType) -> list[str]:
        return [f"return [{self._value_expression(item, 'item')} for item in value]"]

    def _object_body(self, object_type: GraphQLInputObjectType) -> list[str]:
        raise NotImplementedError

    def _scalar_expression(
        self, scalar_type: GraphQLScalarType, is_nullable: bool, source: str
    ) -> str:
        raise NotImplementedError


class _CoercionGenerator(_FunctionGenerator):
    def _list_body(self, item: GraphQLInputType) -> list[str]:
        return ["if type(value) is not list: odd()", *super()._list_body(item)]

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
            f"if type(value) is not dict or not {names}.issuperset(value): odd()",
            f"return {{{', '.join(members)}}}",
        ]

    def _input_expression(self, name: str, field: GraphQLInputField) -> str:
        """The expression of what is given for a field, else of its default."""
        default = coerce_default_value(field)
        if default is Undefined and isinstance(field.type, GraphQLNonNull):
            return f"value.get({name!r})"
        if not isinstance(default, IMMUTABLE_TYPES):
            raise UnsupportedQueryError(f"the default of {name}")
        return f"value.get({name!r}, {self._bind(default)})"

    def _scalar_expression(
        self, scalar_type: GraphQLScalarType, is_nullable: bool, source: str
    ) -> str:
        if scalar_type.name not in FAST_TESTS:
            raise UnsupportedQueryError(f"values of {scalar_type}")
        test = FAST_TESTS[scalar_type.name].format(source)
        instead = "odd()"
        if scalar_type.name == "Float":
            instead = "float(v) if type(v) is int and -EXACT <= v <= EXACT else odd()"
        if is_nullable:
            instead = f"None if v is None else {instead}"
        return f"(v if {test} else {instead})"


class _ConversionGenerator(_FunctionGenerator):
    def _object_body(self, object_type: GraphQLInputObjectType) -> list[str]:
        definition = object_type.extensions.get(STRAWBERRY_DEFINITION)
        if not isinstance(definition, StrawberryObjectDefinition) or definition.from_input:
            raise UnsupportedQueryError(f"values of {object_type}")
        names = [field.python_name for field in definition.fields]
        made = [
            f"{name}={self._value_expression(field.type, f'value[{key!r}]')}"
            for name, (key, field) in zip(names, object_type.fields.items(), strict=True)
        ]
        return [f"return {self._bind(definition.origin)}({', '.join(made)})"]

    def _scalar_expression(
        self, scalar_type: GraphQLScalarType, is_nullable: bool, source: str
    ) -> str:
        return source
