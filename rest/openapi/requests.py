"""OpenAPI descriptions of requests: security schemes, parameters, bodies.

Schemas and examples of inputs come from their GraphQL types and the rules on them.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, Final

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    Undefined,
    get_named_type,
    get_nullable_type,
)

from rest.bodies import ALIASES, OPEN_TYPES, JsonBody, RequestBody
from rest.endpoint_files import Endpoint
from rest.names import to_snake_case
from rest.openapi.example_values import make_example
from rest.openapi.json_schemas import hoist_titled, make_nullable
from rest.openapi.map_schemas import OpenApiObject
from rest.parameters import PAGE_SIZE, TEXT_FORMS, TOTAL_COUNT, EndpointInputs
from rest.responses import DATA, TOTAL_COUNT_HEADER, object_schema
from schema.operation_inputs import (
    Input,
    JsonSchema,
    definition_of,
    joint_rules_of_type,
    meaning_of,
)
from schema.types import DEFAULT_PER_PAGE, MAX_PER_PAGE

SECURITY_SCHEMES: Final[dict[str, OpenApiObject]] = {
    "ApiKeyHeader": {
        "type": "apiKey",
        "in": "header",
        "name": "API-Key",
        "description": "Recommended.",
    },
    "ApiKeyQuery": {
        "type": "apiKey",
        "in": "query",
        "name": "api-key",
        "description": "For clients that cannot set headers. Browser histories and logs may keep "
        "the URL.",
    },
}

_HEADERS: Final = {
    "If-None-Match": "Entity tags of the responses that the client has cached; a write to a "
    "list that still has one of them changes nothing, and the status is 412.",
    "If-Match": "Entity tags of the list that the client has read at the same URL with GET "
    "(query included; for `/remove`, at the URL without it). If the list has changed since, "
    "nothing is written and the status is 412.",
    "X-Request-Id": "The client's own id of the request.",
}
HEADER_PARAMETERS: Final[dict[str, OpenApiObject]] = {
    name.replace("-", "").removeprefix("X"): {
        "name": name,
        "in": "header",
        "description": description,
        "schema": {"type": "string"},
        "example": example,
    }
    for (name, description), example in zip(
        _HEADERS.items(), ('"D7CPavzfthr3Oj9cylBpKg"', "*", "import-2026-03-02"), strict=True
    )
}
"""The keys are names of components, such as `RequestId` for `X-Request-Id`."""
COMPONENT_NAMES: Final = {"WaypointInput": "Waypoint"}
"""Names of components that differ from those of their input types."""
PARAMETER_TEXTS: Final = {
    PAGE_SIZE: f"How many resources a page holds. More than {MAX_PER_PAGE} is served as "
    f"{MAX_PER_PAGE}. Without it {{default}}, or as many as the page had that `after` is of. "
    "`perPage` and `per_page` are read as `per-page`.",
    TOTAL_COUNT: f"Whether to count the records of the whole list, for `{TOTAL_COUNT_HEADER}`.",
}
"""What parameters mean that REST answers otherwise than GraphQL."""
SCALAR_SCHEMAS: Final[dict[str, JsonSchema]] = {
    "ID": {"type": "string"},
    "String": {"type": "string"},
    "Int": {"type": "integer", "format": "int32"},
    "Float": {"type": "number"},
    "Boolean": {"type": "boolean"},
    "DateTime": {"type": "string"},
    "Date": {"type": "string", "format": "date"},
    "SvgDocument": {"type": "string", "contentMediaType": "image/svg+xml"},
    "JSON": {},
}
SVG_EXAMPLE: Final = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 172">
  <g data-type="Level" data-tags="building=alder-court-main;floor=alder-court-floor-1">
    <g data-type="UnitLayer">
      <polygon id="ugwo2tfiznm" points="10,10 40,10 40,32 10,32" fill="#f4e3c1"/>
    </g>
  </g>
</svg>
"""
"""It parses to the recorded example of a parsed map."""


def describe_body(
    request_body: RequestBody | None,
    inputs: EndpointInputs,
    components: dict[str, JsonSchema] | None,
) -> OpenApiObject:
    """Describe the request body, if there is one.

    Its titled schemas go to `components`, see `hoist_titled`.
    """
    if request_body is None:
        return {}
    limit = f"At most {request_body.max_bytes} bytes."
    media = {
        "schema": hoist_titled(build_body_schema(request_body, inputs.body), components),
        "example": build_body_example(request_body, inputs.body),
    }
    return {
        "requestBody": {
            "description": f"{request_body.description} {limit}".strip(),
            "required": True,
            "content": {request_body.media_type: media},
        }
    }


def describe_parameters(
    endpoint: Endpoint,
    inputs: EndpointInputs,
    flags: Iterable[str],
    components: dict[str, OpenApiObject] | None,
) -> list[OpenApiObject]:
    """Describe the parameters of an endpoint that requires these flags.

    Those that hold flags go to `components`, if there are any.
    """
    conditions = ["IfMatch"] if endpoint.changes else []
    conditions += ["IfNoneMatch"] if endpoint.changes or endpoint.method == "GET" else []
    return [
        *(_describe_parameter(name, "path", source) for name, source in inputs.path.items()),
        *(_describe_parameter(item.name, "query", item.input) for item in inputs.query),
        *_describe_flags(inputs, flags, components),
        *map(_parameter_reference, conditions),
        _parameter_reference("RequestId"),
    ]


def _parameter_reference(name: str) -> OpenApiObject:
    return {"$ref": f"#/components/parameters/{name}"}


def _hoist_flags(
    flags: Iterable[str], parameter: OpenApiObject, components: dict[str, OpenApiObject]
) -> OpenApiObject:
    """Move the parameter of some flags to `components`, and return the reference to it."""
    words = (word for flag in flags for word in ("flags", *flag.split("-")))
    name = "".join(word.capitalize() for word in dict.fromkeys(words))
    components[name] = parameter
    return _parameter_reference(name)


def _describe_parameter(name: str, location: str, source: Input) -> OpenApiObject:
    value = describe_parameter_value(source)
    return {"name": name, "in": location, "required": source.is_required, **value}


def _describe_flags(
    inputs: EndpointInputs, required: Iterable[str], components: dict[str, OpenApiObject] | None
) -> list[OpenApiObject]:
    """Describe the header with the flags of the endpoint and of its parameters, if it has any."""
    required = [*required]
    of_parameters = {
        item.name: item.input.definition.requirement.flag
        for item in inputs.query
        if item.input.definition.requirement and item.input.definition.requirement.flag
    }
    flags = [*dict.fromkeys([*required, *of_parameters.values()])]
    if not flags:
        return []
    rules = [f"`{flag}` must be among them" for flag in required]
    if of_parameters:
        rules.append(", ".join(f"`{flag}` for `{name}`" for name, flag in of_parameters.items()))
    parameter = {
        "name": "Experimental-Flags",
        "in": "header",
        **({"required": True} if required else {}),
        "description": f"Flags separated by commas{'; ' if required else ': '}{'; '.join(rules)}.",
        "schema": {"type": "string", **_flags_pattern(required)},
        "example": ", ".join(flags),
    }
    return [parameter if components is None else _hoist_flags(flags, parameter, components)]


def _flags_pattern(flags: Sequence[str]) -> JsonSchema:
    patterns = [rf"(.*,)?[ \t]*{flag}[ \t]*(,.*)?$" for flag in flags]
    if len(patterns) > 1:
        patterns = [f"(?={pattern})" for pattern in patterns]
    return {"pattern": "^" + "".join(patterns)} if patterns else {}


def describe_parameter_value(source: Input) -> JsonSchema:
    """Return description, schema and example of an input in a path or a query."""
    example = source.definition.example
    text = PARAMETER_TEXTS.get(source.variable, source.description)
    schema = _build_schema(source.argument)
    if form := TEXT_FORMS.get(get_named_type(source.type).name):
        text = f"{text.removesuffix('.')}{form.description}"
        if "items" in schema:
            schema["items"] = form.json_schema
            example = example and [*map(form.write_example, example)]
        else:
            schema = form.json_schema
            example = example and form.write_example(example)
    if schema.get("type") == "array":
        # An empty parameter is one item, the empty text.
        schema["minItems"] = 1
    if example is None and (source.is_required or "default" in schema):
        example = make_example(schema, to_snake_case(source.variable))
    return {
        "description": text.replace("{default}", str(source.default or DEFAULT_PER_PAGE)),
        "schema": schema,
        # The default of OpenAPI is `avoid=stairs&avoid=lifts`.
        **({"explode": False} if schema.get("type") == "array" else {}),
        **({} if example is None else {"example": example}),
    }


def build_body_schema(body: RequestBody, inputs: Sequence[Input]) -> JsonSchema:
    """Return the schema of a body; that of a JSON body has a title."""
    if not isinstance(body, JsonBody):
        return {
            "title": "UnitMapDrawing",
            "type": "string",
            "maxLength": body.max_bytes,
            "pattern": "<",  # XML, and no more can be said in a pattern
            "contentMediaType": "image/svg+xml",
        }
    members = {source.variable: source.argument for source in inputs}
    if [*members] == [DATA]:
        data = _value_schema(members[DATA])
    else:
        data = {"title": f"{body.title}Data", **_object_schema(members, is_open=False)}
    return object_schema(body.title, data=data)


def build_body_example(body: RequestBody, inputs: Sequence[Input]) -> Any:
    if not isinstance(body, JsonBody):
        return SVG_EXAMPLE
    examples: dict[str, Any] = {}
    for source in inputs:
        if (example := source.definition.example) is None and source.is_required:
            example = make_example(_value_schema(source.argument), to_snake_case(source.variable))
        if example is not None:
            examples[to_snake_case(source.variable)] = example
    return examples if [*examples] == [DATA] else {DATA: examples}


def _value_schema(source: GraphQLArgument | GraphQLInputField) -> JsonSchema:
    schema = _build_schema(source)
    # Of a property that has a default, generators of clients make a required member.
    if "default" in schema:
        schema["x-default"] = schema.pop("default")
    return schema if isinstance(source.type, GraphQLNonNull) else make_nullable(schema)


def _build_schema(source: GraphQLArgument | GraphQLInputField) -> JsonSchema:
    schema, keywords = _non_null_schema(source.type), _rule_keywords(source)
    if "items" in keywords:
        keywords["items"] = {**schema["items"], **keywords["items"]}
    return {**schema, **keywords}


def _rule_keywords(source: GraphQLArgument | GraphQLInputField) -> JsonSchema:
    keywords: JsonSchema = {}
    for rule in definition_of(source).rules:
        keywords |= rule.json_schema()
    if source.default_value not in (None, Undefined):
        default = source.default_value
        keywords["default"] = default.value if isinstance(default, StrEnum) else default
    return keywords


def _non_null_schema(input_type: GraphQLInputType) -> JsonSchema:
    nullable = get_nullable_type(input_type)
    if isinstance(nullable, GraphQLList):
        return {"type": "array", "items": _non_null_schema(nullable.of_type)}
    if isinstance(nullable, GraphQLInputObjectType):
        return _input_type_schema(nullable)
    if isinstance(nullable, GraphQLEnumType):
        return {"type": "string", "enum": [*nullable.values]}
    return dict(SCALAR_SCHEMAS[nullable.name])


def _input_type_schema(input_type: GraphQLInputObjectType) -> JsonSchema:
    schema = {
        "title": COMPONENT_NAMES.get(input_type.name, input_type.name),
        **_object_schema(input_type.fields, is_open=input_type.name in OPEN_TYPES),
    }
    schema["properties"] |= _describe_aliases(input_type)
    if input_type.description:
        schema["description"] = input_type.description
    for rule in joint_rules_of_type(input_type):
        schema |= rule.json_schema()
    return schema


def _object_schema(members: Any, *, is_open: bool) -> JsonSchema:
    required = [
        to_snake_case(name)
        for name, member in members.items()
        if isinstance(member.type, GraphQLNonNull) and member.default_value is Undefined
    ]
    return {
        "type": "object",
        **({"required": required} if required else {}),
        **({} if is_open else {"additionalProperties": False}),
        "properties": {
            to_snake_case(name): _describe_member(member) for name, member in members.items()
        },
    }


def _describe_aliases(input_type: GraphQLInputObjectType) -> JsonSchema:
    """Return the schemas of second names of members, which new clients should not use."""
    return {
        alias: {
            **_value_schema(input_type.fields[alias]),
            "description": f"The same as `{to_snake_case(alias)}`.",
            "deprecated": True,
        }
        for alias in ALIASES.get(input_type.name, ())
    }


def _describe_member(member: GraphQLArgument | GraphQLInputField) -> JsonSchema:
    schema = _value_schema(member)
    if not meaning_of(member) or "title" in schema:
        return schema
    default = "" if member.default_value in (None, Undefined) else member.default_value
    suffix = f" Default: `{default}`." if isinstance(default, str) and default else ""
    return {**schema, "description": meaning_of(member) + suffix}
