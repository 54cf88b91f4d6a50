"""JSON schemas of responses, derived from GraphQL operations.

Names come from an operation's aliases, types and descriptions from the schema. A fragment becomes
a component of the OpenAPI description under the fragment's name.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLEnumType,
    GraphQLField,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    SelectionSetNode,
    get_named_type,
    get_nullable_type,
)

from rest.openapi.map_schemas import (
    COMPONENTS_PREFIX,
    GEOJSON_SCHEMA,
    OUTPUT_TEXT_PATTERN,
    PARSED_MAP_SCHEMA,
)
from schema.compiler.selection import fragments_by_name
from schema.definitions import is_null_on_error, meaning_of
from schema.execution import Operation
from schema.operation_inputs import MAX_ID_CHARACTERS, MAX_INT32, JsonSchema, get_output_limits

LONGEST_TEXT_CHARACTERS: Final = 65_536
"""Bound of a text that no record holds, such as a step of a route with the names on its way."""
MOST_LIST_ITEMS: Final = 1_000_000
"""Bound of a list within a record, or of a shape. MongoDB stores none that is longer."""

SCALAR_JSON_SCHEMAS: dict[str, JsonSchema] = {
    "ID": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_ID_CHARACTERS,
        "pattern": OUTPUT_TEXT_PATTERN,
    },
    "String": {
        "type": "string",
        "maxLength": LONGEST_TEXT_CHARACTERS,
        "pattern": OUTPUT_TEXT_PATTERN,
    },
    "Int": {
        "type": "integer",
        "format": "int32",
        "minimum": -MAX_INT32 - 1,
        "maximum": MAX_INT32,
    },
    "Float": {"type": "number", "format": "double"},
    "Boolean": {"type": "boolean"},
    "DateTime": {"type": "string", "format": "date-time", "maxLength": 40},
    "ParsedMap": PARSED_MAP_SCHEMA,
    "GeoJson": GEOJSON_SCHEMA,
}

EXTENSIBLE_ENUMS: Final = {"ChangeOperation", "RecordKind"}
"""Enums that later versions may extend: clients made from `enum` would reject new words."""


class MissingDescriptionError(Exception):
    """Part of a response has no JSON schema or description; the message names it."""


class ResultSchemaReader:
    """The fields that an operation selects, and their types."""

    def __init__(self, schema: GraphQLSchema, operation: Operation) -> None:
        self.schema = schema
        self.root = schema.get_root_type(operation.node.operation)
        self.selection = operation.node.selection_set
        self.fragments = fragments_by_name(operation.document)

    def find_field(self, path: Sequence[str]) -> GraphQLField:
        """Return the field at a path of response names."""
        return self._find(path)[1]

    def _find(
        self, path: Sequence[str]
    ) -> tuple[GraphQLObjectType, GraphQLField, SelectionSetNode | None]:
        *parents, last = path
        parent: Any = self.root
        selection: SelectionSetNode | None = self.selection
        for name in parents:
            field, selection = dict(self._iter_fields(parent, selection))[name]
            parent = get_named_type(field.type)
        return (parent, *dict(self._iter_fields(parent, selection))[last])

    def read_schema(self, path: Sequence[str]) -> JsonSchema:
        """Return the schema of the value at a path of response names when it is not null."""
        parent, field, selection = self._find(path)
        schema = self._non_null_schema(get_nullable_type(field.type), selection)
        if "items" in schema:
            schema |= get_output_limits(parent, field)
        return schema

    def _type_schema(
        self, type: GraphQLOutputType, selection: SelectionSetNode | None
    ) -> JsonSchema:
        if isinstance(type, GraphQLNonNull):
            return self._non_null_schema(type.of_type, selection)
        return _make_nullable(self._non_null_schema(type, selection))

    def _non_null_schema(self, type: Any, selection: SelectionSetNode | None) -> JsonSchema:
        if isinstance(type, GraphQLList):
            items = self._type_schema(type.of_type, selection)
            return {"type": "array", "maxItems": MOST_LIST_ITEMS, "items": items}
        if isinstance(type, GraphQLEnumType) and type.name in EXTENSIBLE_ENUMS:
            return {**SCALAR_JSON_SCHEMAS["String"], "x-extensible-enum": [*type.values]}
        if isinstance(type, GraphQLEnumType):
            return {"title": type.name, "type": "string", "enum": [*type.values]}
        if isinstance(type, GraphQLObjectType) and selection is not None:
            return self._object_schema(type, selection)
        if type.name not in SCALAR_JSON_SCHEMAS:
            raise MissingDescriptionError(
                f"rest.openapi.json_schemas.SCALAR_JSON_SCHEMAS has no JSON schema of {type.name}"
            )
        return dict(SCALAR_JSON_SCHEMAS[type.name])

    def _object_schema(
        self, object_type: GraphQLObjectType, selection: SelectionSetNode
    ) -> JsonSchema:
        members = {
            name: self._field_schema(object_type, *field)
            for name, field in self._iter_fields(object_type, selection)
        }
        # A response has every selected field, some as null (GraphQL, section 6.4), unless a
        # directive excludes it.
        required = [
            _response_name(node)
            for node in self._iter_nodes(object_type, selection)
            if not node.directives
        ]
        shape: JsonSchema = {"type": "object", "required": required, "properties": members}
        match selection.selections:
            case [FragmentSpreadNode(name=name)]:
                title = name.value
            case _:
                title = object_type.name
        return {"title": title, **_description_keyword(object_type.description), **shape}

    def _field_schema(
        self,
        parent: GraphQLObjectType,
        field: GraphQLField,
        selection: SelectionSetNode | None,
    ) -> JsonSchema:
        # A request that has errors is answered by one, so what only they make null is not null.
        schema = (
            self._non_null_schema(field.type, selection)
            if is_null_on_error(field)
            else self._type_schema(field.type, selection)
        )
        if "title" in schema:
            return schema
        limits = get_output_limits(parent, field) if "type" in schema else {}
        return {**schema, **limits, **_description_keyword(meaning_of(field))}

    def _iter_fields(
        self, parent: Any, selection: SelectionSetNode | None
    ) -> Iterator[tuple[str, tuple[GraphQLField, SelectionSetNode | None]]]:
        for node in self._iter_nodes(parent, selection):
            yield _response_name(node), (parent.fields[node.name.value], node.selection_set)

    def _iter_nodes(self, parent: Any, selection: SelectionSetNode | None) -> Iterator[FieldNode]:
        for node in selection.selections if selection else ():
            if isinstance(node, FieldNode):
                yield node
            elif isinstance(node, FragmentSpreadNode):
                yield from self._iter_nodes(parent, self.fragments[node.name.value].selection_set)
            else:
                raise MissingDescriptionError(f"an inline fragment in a selection of {parent.name}")


def hoist_titled(schema: Any, components: dict[str, JsonSchema]) -> Any:
    """Move each schema with a title to `components`, and refer to it.

    Raises MissingDescriptionError if two different schemas have the same title.

    >>> components = {}
    >>> hoist_titled({"items": {"title": "Unit", "type": "object"}}, components)
    {'items': {'$ref': '#/components/schemas/Unit'}}
    >>> components
    {'Unit': {'type': 'object'}}
    """
    if isinstance(schema, list):
        return [hoist_titled(item, components) for item in schema]
    if not isinstance(schema, dict):
        return schema
    hoisted = {name: hoist_titled(value, components) for name, value in schema.items()}
    if not isinstance(schema.get("title"), str):
        return hoisted
    title = hoisted.pop("title")
    if components.setdefault(title, hoisted) != hoisted:
        raise MissingDescriptionError(f"two different schemas are titled {title}")
    return {"$ref": COMPONENTS_PREFIX + title}


def _response_name(node: FieldNode) -> str:
    return (node.alias or node.name).value


def _make_nullable(schema: JsonSchema) -> JsonSchema:
    # A titled schema is shared as a component, where it is not null; an enum lists all its values.
    if "title" in schema or "enum" in schema or "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def _description_keyword(description: str | None) -> JsonSchema:
    return {"description": " ".join(description.split())} if description else {}
