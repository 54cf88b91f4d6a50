"""JSON schemas of responses, derived from GraphQL operations.

Names come from an operation's aliases, types and descriptions from the schema. A fragment becomes
a component of the OpenAPI description under the fragment's name.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLEnumType,
    GraphQLField,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    SelectionSetNode,
    TypeMetaFieldDef,
    get_named_type,
    get_nullable_type,
    is_abstract_type,
    is_object_type,
)

from rest.openapi.map_schemas import (
    COMPONENTS_PREFIX,
    GEOJSON_SCHEMA,
    OUTPUT_TEXT_PATTERN,
    PARSED_MAP_SCHEMA,
    text_schema,
)
from schema.compiler.selection import TYPENAME, fragments_by_name
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
    "String": text_schema(LONGEST_TEXT_CHARACTERS),
    "Int": {
        "type": "integer",
        "format": "int32",
        "minimum": -MAX_INT32 - 1,
        "maximum": MAX_INT32,
    },
    "Float": {"type": "number", "format": "double"},
    "Boolean": {"type": "boolean"},
    "DateTime": {"type": "string", "format": "date-time", "maxLength": 40},
    "Date": {"type": "string", "format": "date", "maxLength": 10},
    "JSON": {"description": "Any value of JSON."},
    "Position": {
        "type": "array",
        "items": {"type": "number", "format": "double"},
        "maxItems": 2,
    },
    "SvgDocument": {"type": "string", "contentMediaType": "image/svg+xml"},
    "ParsedMap": PARSED_MAP_SCHEMA,
    "GeoJson": GEOJSON_SCHEMA,
}

EXTENSIBLE_ENUMS: Final = {"ChangeOperation", "RecordKind"}
"""Enums that later versions may extend: clients made from `enum` would reject new words."""


class MissingDescriptionError(Exception):
    """Part of a response has no JSON schema or description; the message names it."""


@dataclass(frozen=True, slots=True)
class _Objects:
    """Objects of one type, and what is selected of them."""

    type: GraphQLObjectType
    selections: tuple[SelectionSetNode, ...]


@dataclass(slots=True)
class _Member:
    """A response name of objects of one type: its field, with all nodes that select it."""

    parent: GraphQLObjectType
    field: GraphQLField
    selections: list[SelectionSetNode]
    is_certain: bool = False
    """True if a node selects it that no directive excludes."""


class ResultSchemaReader:
    """The fields that an operation selects, and their types."""

    def __init__(self, schema: GraphQLSchema, operation: Operation) -> None:
        self.schema = schema
        self.fragments = fragments_by_name(operation.document)
        root = schema.get_root_type(operation.node.operation)
        assert root is not None
        self.root = _Objects(root, (operation.node.selection_set,))

    def find_field(self, path: Sequence[str]) -> GraphQLField:
        return self._find(path)[0].field

    def _find(self, path: Sequence[str]) -> list[_Member]:
        """Return the field at a path, once for each type of objects that has it."""
        objects, found = [self.root], list[_Member]()
        for name in path:
            found = self._collect(objects)[name]
            objects = self._list_objects(found)
        return found

    def read_schema(self, path: Sequence[str]) -> JsonSchema:
        """Return the schema of the value at a path of response names when it is not null."""
        found = self._find(path)
        field_type = get_nullable_type(found[0].field.type)
        schema = self._non_null_schema(field_type, found)
        if "items" in schema:
            schema |= get_output_limits(found[0].parent, found[0].field)
        return schema

    def _type_schema(self, type: Any, members: Sequence[_Member]) -> JsonSchema:
        if isinstance(type, GraphQLNonNull):
            return self._non_null_schema(type.of_type, members)
        return make_nullable(self._non_null_schema(type, members))

    def _non_null_schema(self, type: Any, members: Sequence[_Member]) -> JsonSchema:
        if isinstance(type, GraphQLList):
            items = self._type_schema(type.of_type, members)
            return {"type": "array", "maxItems": MOST_LIST_ITEMS, "items": items}
        if isinstance(type, GraphQLEnumType) and type.name in EXTENSIBLE_ENUMS:
            return {**SCALAR_JSON_SCHEMAS["String"], "x-extensible-enum": [*type.values]}
        if isinstance(type, GraphQLEnumType):
            return {"title": type.name, "type": "string", "enum": [*type.values]}
        if is_object_type(type) or is_abstract_type(type):
            return self._object_schema(type, members)
        if type.name not in SCALAR_JSON_SCHEMAS:
            raise MissingDescriptionError(
                f"rest.openapi.json_schemas.SCALAR_JSON_SCHEMAS has no JSON schema of {type.name}"
            )
        return dict(SCALAR_JSON_SCHEMAS[type.name])

    def _object_schema(self, type: Any, members: Sequence[_Member]) -> JsonSchema:
        objects = self._list_objects(members)
        fields = self._collect(objects)
        # A response has every selected field, some as null (GraphQL, section 6.4), unless a
        # directive excludes it, or the object is of a type of which it is not selected.
        required = [
            name
            for name, found in fields.items()
            if len(found) == len(objects) and all(each.is_certain for each in found)
        ]
        shape: JsonSchema = {
            "type": "object",
            "required": required,
            "properties": {name: self._field_schema(found) for name, found in fields.items()},
        }
        title = type.name
        match [node for each in members for node in each.selections]:
            case [SelectionSetNode(selections=(FragmentSpreadNode() as spread,))]:
                title = title if spread.directives else spread.name.value
        return {"title": title, **_description_keyword(type.description), **shape}

    def _field_schema(self, members: Sequence[_Member]) -> JsonSchema:
        # All have types of the same shape (GraphQL, section 5.3.2).
        parent, field = members[0].parent, members[0].field
        if field is TypeMetaFieldDef:
            names = [each.parent.name for each in members]
            return {**SCALAR_JSON_SCHEMAS["String"], "x-extensible-enum": names}
        # A request that has errors is answered by one, so what only they make null is not null.
        schema = (
            self._non_null_schema(field.type, members)
            if all(is_null_on_error(each.field) for each in members)
            else self._type_schema(field.type, members)
        )
        if "title" in schema:
            return schema
        limits = get_output_limits(parent, field) if "type" in schema and not members[1:] else {}
        return {**schema, **limits, **_description_keyword(meaning_of(field))}

    def _list_objects(self, members: Iterable[_Member]) -> list[_Objects]:
        """Return the objects that the values of some fields are, one for each type."""
        objects: list[_Objects] = []
        for member in members:
            type = get_named_type(member.field.type)
            types = self.schema.get_possible_types(type) if is_abstract_type(type) else [type]
            selections = (*member.selections,)
            objects += [_Objects(each, selections) for each in types if is_object_type(each)]
        return objects

    def _collect(self, objects: Iterable[_Objects]) -> dict[str, list[_Member]]:
        """Return the members of objects by response name, each once for each type that has it."""
        collected: dict[str, list[_Member]] = {}
        for each in objects:
            members: dict[str, _Member] = {}
            for selection_set in each.selections:
                for node, is_certain in self._iter_nodes(each.type, selection_set, True):
                    name = node.name.value
                    field = TypeMetaFieldDef if name == TYPENAME else each.type.fields.get(name)
                    if field is None:  # `__schema` and `__type` are of another schema
                        continue
                    member = _Member(each.type, field, [])
                    member = members.setdefault(_response_name(node), member)
                    member.is_certain |= is_certain
                    if node.selection_set is not None:
                        member.selections.append(node.selection_set)
            for name, member in members.items():
                collected.setdefault(name, []).append(member)
        return collected

    def _iter_nodes(
        self, parent: GraphQLObjectType, selection: SelectionSetNode, is_certain: bool
    ) -> Iterator[tuple[FieldNode, bool]]:
        """Yield the fields that are selected of a type, and whether each is certainly there."""
        for node in selection.selections:
            is_there = is_certain and not node.directives
            if isinstance(node, FieldNode):
                yield node, is_there
                continue
            fragment: Any = node
            if isinstance(node, FragmentSpreadNode):
                fragment = self.fragments[node.name.value]
            condition = fragment.type_condition
            type = self.schema.get_type(condition.name.value) if condition else parent
            if type is parent or (is_abstract_type(type) and self.schema.is_sub_type(type, parent)):
                yield from self._iter_nodes(parent, fragment.selection_set, is_there)


def hoist_titled(schema: Any, components: dict[str, JsonSchema] | None) -> Any:
    """Move each schema with a title to `components`, and refer to it.

    Without components, all stay where they are, without titles, whose names might be taken.
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
    if components is None:
        return hoisted
    if components.setdefault(title, hoisted) != hoisted:
        raise MissingDescriptionError(f"two different schemas are titled {title}")
    return {"$ref": COMPONENTS_PREFIX + title}


def _response_name(node: FieldNode) -> str:
    return (node.alias or node.name).value


def make_nullable(schema: JsonSchema) -> JsonSchema:
    # A titled schema is shared as a component, where it is not null. An enum lists all its values:
    # with null in it, some clients get a class of its own.
    if "title" in schema or "enum" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]} if "type" in schema else schema


def _description_keyword(description: str | None) -> JsonSchema:
    return {"description": " ".join(description.split())} if description else {}
