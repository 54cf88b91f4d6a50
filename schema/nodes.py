"""Interfaces: the GraphQL type of an object is that of its record."""

from typing import Any

from graphql import GraphQLInterfaceType, GraphQLObjectType, GraphQLSchema

from resolvers.nodes import type_name_of


def resolve_types_by_record(schema: GraphQLSchema) -> None:
    """Let the interfaces of a schema tell the types of objects by their records.

    Resolvers return records, which are no instances of strawberry's types, as it expects of an
    object where an interface is.
    """
    for type in schema.type_map.values():
        if isinstance(type, GraphQLInterfaceType):
            type.resolve_type = _resolve_type
        elif isinstance(type, GraphQLObjectType):
            type.is_type_of = None


def _resolve_type(record: Any, *_: Any) -> str:
    return type_name_of(record)
