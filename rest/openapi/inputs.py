"""What a request carries: keys, parameters, bodies, each described for OpenAPI."""

from collections.abc import Iterable
from typing import Any, Final

from rest.bodies import RequestBody
from rest.envelopes import JsonSchema
from rest.openapi import examples
from rest.openapi.json_schemas import hoist_titled
from rest.parameters import ID_SCHEMA, QueryParameter
from rest.table import Endpoint

OpenApiObject = dict[str, Any]

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
        "description": "For where headers cannot be set; histories and logs may keep the address.",
    },
}

PATH_ID_DESCRIPTIONS: Final = {
    "asset": "Id of the asset.",
    "floor": "Id of the floor.",
    "unit": "Id of the unit.",
    "map": "Id of the unit map.",
    "unitMapId": "Id of the unit map.",
    "background": "Id of the background.",
    "group-id": "Id of the attribute group.",
}

HEADER_PARAMETERS: Final[dict[str, OpenApiObject]] = {
    "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "description": "Entity tags of the copies that the client has.",
        "schema": {"type": "string"},
    },
    "RequestId": {
        "name": "X-Request-Id",
        "in": "header",
        "description": "An id of the client's own for the request.",
        "schema": {"type": "string"},
    },
}


def describe_body(
    request_body: RequestBody | None, components: dict[str, JsonSchema]
) -> OpenApiObject:
    """The request body, if there is one; its titled schemas go to `components`."""
    if request_body is None:
        return {}
    limit = f"At most {request_body.max_bytes} bytes."
    media = {
        "schema": hoist_titled(dict(request_body.schema), components),
        "example": request_body.example,
    }
    return {
        "requestBody": {
            "description": f"{request_body.description} {limit}".strip(),
            "required": True,
            "content": {request_body.media_type: media},
        }
    }


def describe_parameters(endpoint: Endpoint, flags: Iterable[str]) -> list[OpenApiObject]:
    """The parameters of an endpoint that demands these flags."""
    names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    conditional = [_parameter_reference("IfNoneMatch")] if endpoint.method == "GET" else []
    return [
        *(_describe_path_parameter(name) for name in names),
        *(_describe_query_parameter(parameter) for parameter in endpoint.query_parameters),
        *(_describe_flag_parameter(flag) for flag in flags),
        *conditional,
        _parameter_reference("RequestId"),
    ]


def _parameter_reference(name: str) -> OpenApiObject:
    return {"$ref": f"#/components/parameters/{name}"}


def _describe_path_parameter(name: str) -> OpenApiObject:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": PATH_ID_DESCRIPTIONS[name],
        "schema": dict(ID_SCHEMA),
        "example": examples.PATH_ID_EXAMPLES[name],
    }


def _describe_query_parameter(parameter: QueryParameter) -> OpenApiObject:
    example = {} if parameter.example is None else {"example": parameter.example}
    return {
        "name": parameter.name,
        "in": "query",
        "required": parameter.is_required,
        "description": parameter.description,
        "schema": dict(parameter.schema),
        **example,
    }


def _describe_flag_parameter(flag: str) -> OpenApiObject:
    return {
        "name": "Experimental-Flags",
        "in": "header",
        "required": True,
        "description": f"Flags separated by commas; `{flag}` must be among them.",
        "schema": {"type": "string", "pattern": rf"^(.*,)?[ \t]*{flag}[ \t]*(,.*)?$"},
        "example": flag,
    }
