"""What a request carries: keys, parameters, bodies, each described for OpenAPI."""

from collections.abc import Iterable
from typing import Any, Final

from rest import examples
from rest.bodies import Body
from rest.json_schemas import hoisted
from rest.parameters import ID, Parameter
from rest.shapes import JsonSchema
from rest.table import Row

Described = dict[str, Any]

SECURITY_SCHEMES: Final[dict[str, Described]] = {
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

HEADER_PARAMETERS: Final[dict[str, Described]] = {
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


def body(given: Body | None, components: dict[str, JsonSchema]) -> Described:
    """The request body, if there is one; its titled schemas go to `components`."""
    if given is None:
        return {}
    limit = f"At most {given.limit_bytes} bytes."
    media = {"schema": hoisted(dict(given.schema), components), "example": given.example}
    return {
        "requestBody": {
            "description": f"{given.description} {limit}".strip(),
            "required": True,
            "content": {given.media_type: media},
        }
    }


def parameters(row: Row, flags: Iterable[str]) -> list[Described]:
    """The parameters of an endpoint that demands these flags."""
    names = [part[1:-1] for part in row.path.split("/") if part.startswith("{")]
    conditional = [_common("IfNoneMatch")] if row.method == "GET" else []
    return [
        *(_path_parameter(name) for name in names),
        *(_query_parameter(parameter) for parameter in row.query),
        *(_flag_parameter(flag) for flag in flags),
        *conditional,
        _common("RequestId"),
    ]


def _common(name: str) -> Described:
    return {"$ref": f"#/components/parameters/{name}"}


def _path_parameter(name: str) -> Described:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": PATH_ID_DESCRIPTIONS[name],
        "schema": dict(ID),
        "example": examples.IDS[name],
    }


def _query_parameter(parameter: Parameter) -> Described:
    example = {} if parameter.example is None else {"example": parameter.example}
    return {
        "name": parameter.name,
        "in": "query",
        "required": parameter.is_required,
        "description": parameter.description,
        "schema": dict(parameter.schema),
        **example,
    }


def _flag_parameter(flag: str) -> Described:
    return {
        "name": "Experimental-Flags",
        "in": "header",
        "required": True,
        "description": f"Flags separated by commas; `{flag}` must be among them.",
        "schema": {"type": "string", "pattern": rf"^(.*,)?[ \t]*{flag}[ \t]*(,.*)?$"},
        "example": flag,
    }
