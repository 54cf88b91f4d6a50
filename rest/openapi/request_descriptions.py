"""OpenAPI descriptions of requests: security schemes, parameters and bodies."""

from collections.abc import Iterable
from typing import Final

from rest.bodies import RequestBody
from rest.endpoint_table import Endpoint
from rest.openapi.input_schemas import (
    build_body_example,
    build_body_schema,
    describe_parameter_value,
)
from rest.openapi.json_schemas import hoist_titled
from rest.openapi.objects import OpenApiObject
from rest.parameters import EndpointInputs
from schema.operation_inputs import Input, JsonSchema

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

HEADER_PARAMETERS: Final[dict[str, OpenApiObject]] = {
    "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "description": "Entity tags of the responses that the client has cached; a write to a "
        "list that still has one of them changes nothing, and the status is 412.",
        "schema": {"type": "string"},
    },
    "IfMatch": {
        "name": "If-Match",
        "in": "header",
        "description": "Entity tags of the list that the client has read at the same URL with GET "
        "(query included; for `/remove`, at the URL without it). If the list has changed since, "
        "nothing is written and the status is 412.",
        "schema": {"type": "string"},
    },
    "RequestId": {
        "name": "X-Request-Id",
        "in": "header",
        "description": "The client's own id of the request.",
        "schema": {"type": "string"},
    },
}


def describe_body(
    request_body: RequestBody | None, inputs: EndpointInputs, components: dict[str, JsonSchema]
) -> OpenApiObject:
    """Describe the request body, if there is one; its titled schemas go to `components`."""
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
    components: dict[str, OpenApiObject],
) -> list[OpenApiObject]:
    """Describe the parameters of an endpoint that requires these flags.

    Those that hold flags go to `components`.
    """
    conditions = ["IfMatch"] if endpoint.changes else []
    conditions += ["IfNoneMatch"] if endpoint.changes or endpoint.method == "GET" else []
    return [
        *(_describe_parameter(name, "path", source) for name, source in inputs.path.items()),
        *(_describe_parameter(item.name, "query", item.input) for item in inputs.query),
        *(_hoist_flags([flag], _describe_flag_parameter(flag), components) for flag in flags),
        *_describe_flags_of_parameters(inputs, components),
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


def _describe_flags_of_parameters(
    inputs: EndpointInputs, components: dict[str, OpenApiObject]
) -> list[OpenApiObject]:
    """Describe the header with the flags that parameters need, if there are any."""
    flags = {
        item.name: item.input.definition.requirement.flag
        for item in inputs.query
        if item.input.definition.requirement and item.input.definition.requirement.flag
    }
    if not flags:
        return []
    needed = ", ".join(f"`{flag}` for `{name}`" for name, flag in flags.items())
    parameter = {
        "name": "Experimental-Flags",
        "in": "header",
        "description": f"Flags separated by commas: {needed}.",
        "schema": {"type": "string"},
        "example": ", ".join(flags.values()),
    }
    return [_hoist_flags(flags.values(), parameter, components)]


def _describe_flag_parameter(flag: str) -> OpenApiObject:
    return {
        "name": "Experimental-Flags",
        "in": "header",
        "required": True,
        "description": f"Flags separated by commas; `{flag}` must be among them.",
        "schema": {"type": "string", "pattern": rf"^(.*,)?[ \t]*{flag}[ \t]*(,.*)?$"},
        "example": flag,
    }
