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

from schema.compiling_fields import NotCovered
from schema.compiling_leaves import QUICK

Make = Callable[[Any], Any]

EXACT = 2**53
"""Integers up to this are numbers of the type Float too."""
IMMUTABLE = (str, int, float, bool, type(None))
DEFINITION = "strawberry-definition"


class Odd(Exception):
    """A value that graphql-core is to coerce: it may fit all the same, as 7 does for an ID."""


def odd() -> NoReturn:
    """Stands where a value is not plainly of its type. Raises Odd."""
    raise Odd


def coercion(type: GraphQLInputType) -> Make:
    """Coerces values as graphql-core does, or raises Odd. Raises NotCovered."""
    return _Coercions().function(type)


def conversion(type: GraphQLInputType) -> Make:
    """Converts coerced values as strawberry does. Raises NotCovered."""
    return _Conversions().function(type)


class _Functions:
    """Functions that are written, and the values that they name."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {"INFINITY": inf, "EXACT": EXACT, "odd": odd}
        self._numbers = count(1)
        self._writing: list[GraphQLInputObjectType] = []

    def function(self, type: GraphQLInputType) -> Make:
        """A function of one value of a type."""
        made: Make = self._names[self._written(type)]
        return made

    def _written(self, type: GraphQLInputType) -> str:
        """Writes a function; returns its name."""
        name = f"f{next(self._numbers)}"
        lines = [f"def {name}(value):  # {type}", *self._body(type)]
        exec(compile("\n    ".join(lines), "<input values>", "exec"), self._names)
        return name

    def _body(self, type: GraphQLInputType) -> list[str]:
        nullable = get_nullable_type(type)
        null = [] if nullable is not type else ["if value is None: return None"]
        if isinstance(nullable, GraphQLScalarType):
            return [f"return {self._value(type, 'value')}"]
        if isinstance(nullable, GraphQLList):
            return [*null, *self._list(nullable.of_type)]
        if not isinstance(nullable, GraphQLInputObjectType) or nullable in self._writing:
            raise NotCovered(f"values of {type}")
        self._writing.append(nullable)
        lines = self._object(nullable)
        self._writing.pop()
        return [*null, *lines]

    def _value(self, type: GraphQLInputType, source: str) -> str:
        """The expression of the value that comes of a source."""
        nullable = get_nullable_type(type)
        if isinstance(nullable, GraphQLScalarType):
            return self._scalar(nullable, nullable is type, source)
        return f"{self._written(type)}({source})"

    def _named(self, value: Any) -> str:
        name = f"n{next(self._numbers)}"
        self._names[name] = value
        return name

    def _list(self, item: GraphQLInputType) -> list[str]:
        return [f"return [{self._value(item, 'item')} for item in value]"]

    def _object(self, type: GraphQLInputObjectType) -> list[str]:
        raise NotImplementedError

    def _scalar(self, type: GraphQLScalarType, may_be_null: bool, source: str) -> str:
        raise NotImplementedError


class _Coercions(_Functions):
    def _list(self, item: GraphQLInputType) -> list[str]:
        return ["if type(value) is not list: odd()", *super()._list(item)]

    def _object(self, type: GraphQLInputObjectType) -> list[str]:
        is_plain = type.out_type is GraphQLInputObjectType.out_type and not type.is_one_of
        if not is_plain or any(field.out_name for field in type.fields.values()):
            raise NotCovered(f"values of {type}")
        names = self._named(frozenset(type.fields))
        members = [
            f"{name!r}: {self._value(field.type, self._given(name, field))}"
            for name, field in type.fields.items()
        ]
        return [
            f"if type(value) is not dict or not {names}.issuperset(value): odd()",
            f"return {{{', '.join(members)}}}",
        ]

    def _given(self, name: str, field: GraphQLInputField) -> str:
        """The expression of what is given for a field, else of its default."""
        default = coerce_default_value(field)
        if default is Undefined and isinstance(field.type, GraphQLNonNull):
            return f"value.get({name!r})"
        if not isinstance(default, IMMUTABLE):
            raise NotCovered(f"the default of {name}")
        return f"value.get({name!r}, {self._named(default)})"

    def _scalar(self, type: GraphQLScalarType, may_be_null: bool, source: str) -> str:
        if type.name not in QUICK:
            raise NotCovered(f"values of {type}")
        test = QUICK[type.name].format(source)
        instead = "odd()"
        if type.name == "Float":
            instead = "float(v) if type(v) is int and -EXACT <= v <= EXACT else odd()"
        if may_be_null:
            instead = f"None if v is None else {instead}"
        return f"(v if {test} else {instead})"


class _Conversions(_Functions):
    def _object(self, type: GraphQLInputObjectType) -> list[str]:
        definition = type.extensions.get(DEFINITION)
        if not isinstance(definition, StrawberryObjectDefinition) or definition.from_input:
            raise NotCovered(f"values of {type}")
        names = [field.python_name for field in definition.fields]
        made = [
            f"{name}={self._value(field.type, f'value[{key!r}]')}"
            for name, (key, field) in zip(names, type.fields.items(), strict=True)
        ]
        return [f"return {self._named(definition.origin)}({', '.join(made)})"]

    def _scalar(self, type: GraphQLScalarType, may_be_null: bool, source: str) -> str:
        return source
