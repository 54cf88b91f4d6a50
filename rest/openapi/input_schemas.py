"""JSON schemas and examples of inputs, from their GraphQL types and the rules on them."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from graphql import (
    GraphQLArgument,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    Undefined,
    get_named_type,
    get_nullable_type,
)

from rest.bodies import DATA, JsonBody, RequestBody
from rest.body_models import OPEN_TYPES
from rest.names import to_snake_case
from rest.openapi.examples import SVG_EXAMPLE
from rest.parameters import WAYPOINT_SCHEMA
from schema.operation_inputs import Input, JsonSchema, definition_of, joint_rules_of_type

SCALAR_SCHEMAS: Final[dict[str, JsonSchema]] = {
    "ID": {"type": "string"},
    "String": {"type": "string"},
    "Int": {"type": "integer", "format": "int32"},
    "Float": {"type": "number"},
    "Boolean": {"type": "boolean"},
}


def describe_parameter_value(source: Input) -> JsonSchema:
    """Return description, schema and example of an input in a path or a query."""
    if get_named_type(source.type).name == "WaypointInput":
        return {
            "description": f"{source.description.removesuffix('.')}: the id of a location or a "
            "unit, `unit:` and the id of a unit, or `x,y,floor_id`.",
            "schema": WAYPOINT_SCHEMA,
            "example": source.definition.example["id"],
        }
    example = source.definition.example
    schema = _build_schema(source.argument)
    return {
        "description": source.description,
        "schema": schema,
        # The default of OpenAPI is `avoid=stairs&avoid=lifts`.
        **({"explode": False} if schema.get("type") == "array" else {}),
        **({} if example is None else {"example": example}),
    }


def build_body_schema(body: RequestBody, inputs: Sequence[Input]) -> JsonSchema:
    """Return the schema of a body; that of a JSON body has a title."""
    if not isinstance(body, JsonBody):
        return {"type": "string", "contentMediaType": "image/svg+xml"}
    members = {source.variable: source.argument for source in inputs}
    if [*members] == [DATA]:
        data = _value_schema(members[DATA])
    else:
        data = _object_schema(members, is_open=False)
    return {"title": body.title, "type": "object", "required": [DATA], "properties": {DATA: data}}


def build_body_example(body: RequestBody, inputs: Sequence[Input]) -> Any:
    """Return the example of a body, made of the examples of its inputs."""
    if not isinstance(body, JsonBody):
        return SVG_EXAMPLE
    examples = {
        to_snake_case(source.variable): source.definition.example
        for source in inputs
        if source.definition.example is not None
    }
    return examples if [*examples] == [DATA] else {DATA: examples}


def _value_schema(source: GraphQLArgument | GraphQLInputField) -> JsonSchema:
    schema = _build_schema(source)
    if isinstance(source.type, GraphQLNonNull):
        return schema
    schema["type"] = [schema["type"], "null"]
    if "enum" in schema:
        # An enum lists every valid value, so null must be among them.
        schema["enum"] = [*schema["enum"], None]
    return schema


def _build_schema(source: GraphQLArgument | GraphQLInputField) -> JsonSchema:
    """Return the schema of values that are not null."""
    schema, keywords = _non_null_schema(source.type), _rule_keywords(source)
    if "items" in keywords:
        keywords["items"] = {**schema["items"], **keywords["items"]}
    return {**schema, **keywords}


def _rule_keywords(source: GraphQLArgument | GraphQLInputField) -> JsonSchema:
    keywords: JsonSchema = {}
    for rule in definition_of(source).rules:
        keywords |= rule.json_schema()
    if source.default_value not in (None, Undefined):
        keywords["default"] = source.default_value
    return keywords


def _non_null_schema(input_type: GraphQLInputType) -> JsonSchema:
    nullable = get_nullable_type(input_type)
    if isinstance(nullable, GraphQLList):
        return {"type": "array", "items": _non_null_schema(nullable.of_type)}
    if isinstance(nullable, GraphQLInputObjectType):
        return _input_type_schema(nullable)
    return SCALAR_SCHEMAS[nullable.name]


def _input_type_schema(input_type: GraphQLInputObjectType) -> JsonSchema:
    schema = _object_schema(input_type.fields, is_open=input_type.name in OPEN_TYPES)
    if input_type.description:
        schema["description"] = input_type.description
    for rule in joint_rules_of_type(input_type):
        schema |= rule.json_schema()
    return schema


def _object_schema(members: Any, *, is_open: bool) -> JsonSchema:
    required = [to_snake_case(name) for name in _iter_required(members)]
    return {
        "type": "object",
        **({"required": required} if required else {}),
        **({} if is_open else {"additionalProperties": False}),
        "properties": {
            to_snake_case(name): _describe_member(member) for name, member in members.items()
        },
    }


def _describe_member(member: GraphQLArgument | GraphQLInputField) -> JsonSchema:
    schema = _value_schema(member)
    return {**schema, "description": member.description} if member.description else schema


def _iter_required(members: Any) -> Iterator[str]:
    for name, member in members.items():
        if isinstance(member.type, GraphQLNonNull) and member.default_value is Undefined:
            yield name
