"""What every endpoint can answer besides its resource: headers and errors, each described once."""

from collections.abc import Container
from typing import Any, Final, NamedTuple

from rest.endpoints import JSON_MEDIA_TYPE, RESPONSE_HEADERS, VARY
from rest.envelopes import JsonSchema
from rest.openapi.json_schemas import COMPONENTS_PREFIX

OpenApiObject = dict[str, Any]

ERROR_SCHEMAS: Final[dict[str, JsonSchema]] = {
    "Error": {
        "type": "object",
        "description": "What went wrong.",
        "required": ["message"],
        "properties": {"message": {"type": "string", "description": "A sentence for people."}},
    },
    "InvalidInput": {
        "type": "object",
        "description": "What is wrong with the input, and where.",
        "required": ["message"],
        "properties": {
            "message": {"type": "string", "description": "A sentence for people."},
            "fields": {
                "type": "object",
                "description": "From the name of an input to what is wrong with it.",
                "additionalProperties": {"type": "array", "items": {"type": "string"}},
            },
        },
    },
}


def _describe_header(description: str, example: Any, **schema: Any) -> OpenApiObject:
    return {"description": description, "schema": schema or {"type": "string"}, "example": example}


HEADER_COMPONENTS: Final[dict[str, OpenApiObject]] = {
    "X-Request-Id": _describe_header(
        "Identifies the request in the service's log: the client's own id where it sent one of up "
        "to 64 letters, digits, `._:=+-`, else a new one.",
        "019aa0c5f3b1e4a7c09d5b62f1380e7d",
    ),
    "ETag": _describe_header(
        "A strong validator of the body, for `If-None-Match`.", '"5ekc2mdr7kt4nhqxw3vh6zlyqy"'
    ),
    "Cache-Control": _describe_header(
        "Only the caller may keep the response, and asks before using it again.",
        RESPONSE_HEADERS["Cache-Control"],
    ),
    "Vary": _describe_header("The request headers that the response depends on.", VARY),
    "Link": _describe_header(
        "Addresses of the next and the previous page (RFC 8288); absent when there is neither.",
        '<https://localhost:8443/v1/units?per-page=20&page=2>; rel="next"',
    ),
    "WWW-Authenticate": _describe_header("How to authenticate.", 'Key realm="floorgate"'),
    "Retry-After": _describe_header(
        "After how many seconds to try again.", 1, type="integer", minimum=0, format="int32"
    ),
}


def header_references(*names: str) -> OpenApiObject:
    """References to headers, with the one that every response has."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*names, "X-Request-Id")}


class ErrorResponse(NamedTuple):
    """A status that requests can be answered with instead of a resource."""

    name: str
    description: str
    messages: dict[str, str]
    """Examples by name."""
    headers: tuple[str, ...] = ()
    fields: dict[str, list[str]] | None = None


ERROR_RESPONSES: Final[dict[int, ErrorResponse]] = {
    400: ErrorResponse(
        "BadRequest",
        "An experimental flag is missing, or the body is malformed.",
        {
            "flag": "Experimental-Flags header must include references",
            "body": "The body is not JSON: unexpected character (line 1, column 1)",
        },
    ),
    401: ErrorResponse(
        "Unauthorized",
        "No API key, or more than one.",
        {"missing": "No API key found in request", "duplicate": "Duplicate API key found"},
        ("WWW-Authenticate",),
    ),
    403: ErrorResponse(
        "Forbidden",
        "The key is unknown, revoked or expired, or lacks a permission.",
        {
            "key": "Invalid authentication credentials",
            "permission": "Access denied: this key lacks the permission "
            "service.distances.calculate",
        },
    ),
    404: ErrorResponse(
        "NotFound", "It does not exist, or the key may not see it.", {"id": "Not found"}
    ),
    413: ErrorResponse(
        "ContentTooLarge",
        "The body is over its limit.",
        {"body": "The request body must not be over 1048576 bytes"},
    ),
    414: ErrorResponse(
        "UriTooLong",
        "The address is too long.",
        {"address": "The URL must not exceed 8192 bytes"},
    ),
    415: ErrorResponse(
        "UnsupportedMediaType",
        "The body's media type is another than the documented one.",
        {"type": "The Content-Type must be application/json"},
    ),
    422: ErrorResponse(
        "UnprocessableContent",
        "An input is invalid.",
        {"page": "page must be from 1 to 2147483647, not 0"},
        fields={"page": ["must be from 1 to 2147483647, not 0"]},
    ),
    429: ErrorResponse(
        "TooManyRequests",
        "The key's rate limit is exceeded.",
        {"rate": "API rate limit exceeded"},
        ("Retry-After",),
    ),
    431: ErrorResponse(
        "HeadersTooLarge",
        "The headers are too long.",
        {"headers": "Headers must not exceed 32768 bytes in all"},
    ),
    500: ErrorResponse("ServerError", "A fault of the service.", {"fault": "Server error"}),
    503: ErrorResponse(
        "ServiceUnavailable",
        "The service cannot answer at the moment.",
        {"database": "Service unavailable"},
        ("Retry-After",),
    ),
}
COMMON_STATUSES: Final = (401, 403, 414, 422, 429, 431, 500, 503)
"""What any request can come to."""


def response_reference(status: int) -> OpenApiObject:
    """Where the response of a status is described."""
    name = ERROR_RESPONSES[status].name if status in ERROR_RESPONSES else "NotModified"
    return {"$ref": f"#/components/responses/{name}"}


def response_components(statuses: Container[int]) -> OpenApiObject:
    """The responses that `reference` points to for these statuses."""
    not_modified = {
        "description": "The client's copy, whose tag it sent in `If-None-Match`, is still right.",
        "headers": header_references("ETag", "Cache-Control", "Vary"),
    }
    failures = {
        failure.name: _describe_error(failure)
        for status, failure in ERROR_RESPONSES.items()
        if status in statuses
    }
    return {"NotModified": not_modified, **failures}


def _describe_error(failure: ErrorResponse) -> OpenApiObject:
    schema = "InvalidInput" if failure.fields else "Error"
    extra = {"fields": failure.fields} if failure.fields else {}
    examples = {
        name: {"value": {"message": message, **extra}} for name, message in failure.messages.items()
    }
    content = {
        JSON_MEDIA_TYPE: {"schema": {"$ref": COMPONENTS_PREFIX + schema}, "examples": examples}
    }
    return {
        "description": failure.description,
        "headers": header_references(*failure.headers),
        "content": content,
    }
