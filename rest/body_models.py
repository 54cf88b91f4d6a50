"""Models of JSON bodies, made from GraphQL input types: msgspec reads and checks their types."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import GenericAlias
from typing import Any, Final

import msgspec
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    get_nullable_type,
)
from msgspec import Struct

from rest.names import to_snake_case
from schema.operation_inputs import is_id

ALIASES: Final = {"WaypointInput": ("floorId",)}
"""Second names of members, by input type: one guide of the specification writes `floorId`."""
OPEN_TYPES: Final = frozenset({"WaypointInput", "AssignmentInput"})
"""Input types with additional members ignored: clients send back whole locations."""
_PYTHON_TYPES: Final[dict[str, Any]] = {
    "ID": str,
    "String": str,
    "Int": int,
    "Float": float,
    "Boolean": bool,
}
_DATA: Final = "data"

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class BodyModel:
    """The msgspec type of a body, and the function that converts it to variables."""

    body_type: type[Any]
    to_variables: Callable[[Any], dict[str, Any]]


def build_model(title: str, types: Mapping[str, GraphQLInputType]) -> BodyModel:
    """Build the model of `{"data": ...}` for variables of these types.

    A variable named `data` is the whole content, else `data` has one member for each variable.
    """
    if [*types] == [_DATA]:
        content, convert = _model_of(types[_DATA])
        return _wrap(title, content, lambda value: {_DATA: convert(value)})
    content, convert = _build_struct(title, types, is_open=False)

    def to_variables(value: Struct) -> dict[str, Any]:
        members: dict[str, Any] = convert(value)
        # A member that is absent is None here; without its variable, the argument has its default.
        return {name: member for name, member in members.items() if member is not None}

    return _wrap(title, content, to_variables)


def _wrap(title: str, content: Any, to_variables: Callable[[Any], dict[str, Any]]) -> BodyModel:
    body_type: Any = msgspec.defstruct(f"{title}Body", [(_DATA, content)])
    return BodyModel(body_type, lambda body: to_variables(body.data))


def _model_of(input_type: GraphQLInputType) -> tuple[Any, Convert]:
    """Return the Python type to read, and the function that converts it to GraphQL's value."""
    nullable = get_nullable_type(input_type)
    python_type: Any
    convert: Convert
    if isinstance(nullable, GraphQLList):
        item_type, convert_item = _model_of(nullable.of_type)
        python_type = GenericAlias(list, item_type)
        convert = _ListConverter(convert_item)
    elif isinstance(nullable, GraphQLInputObjectType):
        members = {name: field.type for name, field in nullable.fields.items()}
        python_type, convert = _build_struct(
            nullable.name, members, is_open=nullable.name in OPEN_TYPES
        )
    elif isinstance(nullable, GraphQLEnumType):  # the rule of the argument names its words
        python_type, convert = str, _identity
    else:
        python_type, convert = _PYTHON_TYPES[nullable.name], _identity
    if isinstance(input_type, GraphQLNonNull):
        return python_type, convert
    return python_type | None, convert


def _build_struct(
    name: str, types: Mapping[str, GraphQLInputType], *, is_open: bool
) -> tuple[Any, Convert]:
    models = {member: _model_of(type) for member, type in types.items()}
    fields: list[Any] = [
        (member, models[member][0])
        if isinstance(type, GraphQLNonNull)
        else (member, models[member][0], None)
        for member, type in types.items()
    ]
    rename = {member: to_snake_case(member) for member in types}
    # With an underscore, because the struct has a field under GraphQL's name `floorId` already.
    aliases = {f"{alias}_": alias for alias in ALIASES.get(name, ())}
    fields += [(alias, models[member][0], None) for alias, member in aliases.items()]
    struct = msgspec.defstruct(
        name,
        fields,
        rename=rename | aliases,
        # A required field may then follow an optional one.
        kw_only=True,
        # See docs/decisions/rest/requests-and-responses.md.
        forbid_unknown_fields=not is_open,
    )
    nested = [
        (member, convert) for member, (_, convert) in models.items() if convert is not _identity
    ]
    # The struct's own field names are GraphQL's; only its names in JSON are snake_case.
    if not nested and not aliases:
        return struct, msgspec.structs.asdict
    return struct, _StructConverter(nested, [*aliases.items()])


def _identity(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class _ListConverter:
    convert_item: Convert

    def __call__(self, values: list[Any]) -> list[Any]:
        return [*map(self.convert_item, values)]


@dataclass(frozen=True, slots=True)
class _StructConverter:
    nested: list[tuple[str, Convert]]
    aliases: list[tuple[str, str]]

    def __call__(self, value: Struct) -> dict[str, Any]:
        members = msgspec.structs.asdict(value)
        for name, convert in self.nested:
            if members[name] is not None:
                members[name] = convert(members[name])
        for alias, name in self.aliases:
            second = members.pop(alias)
            # One that is no id is kept for the rule that says so.
            if members[name] is None or not (second is None or is_id(second)):
                members[name] = second
        return members
