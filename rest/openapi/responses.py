"""OpenAPI descriptions of response headers and of errors.

Examples of errors are made by the code that sends them.
"""

from collections.abc import Callable, Container
from typing import Any, Final, NamedTuple

from rest import errors
from rest.bodies import RequestBody, parse_json
from rest.endpoint_files import built_in_endpoints
from rest.errors import ERROR_CODES, JSON_MEDIA_TYPE, ErrorSource, HttpError
from rest.openapi.map_schemas import COMPONENTS_PREFIX, OpenApiObject, text_schema
from rest.parameters import EndpointInputs, parse_query
from rest.responses import RESPONSE_HEADERS, TOTAL_COUNT_HEADER, VARY, WARNINGS_HEADER, Precondition
from rest.scope_members import MAX_HEADER_BYTES, MAX_URL_BYTES
from schema.errors import (
    ChangesExpiredError,
    FlagRequiredError,
    PermissionRequiredError,
    PreconditionFailedError,
    UnavailableCause,
)
from schema.execution import Executor
from schema.operation_inputs import MAX_INT32, MAX_REPORTED_ERRORS, JsonSchema
from schema.root import GRAPHQL_SCHEMA
from schema.types import MAX_TOTAL_COUNT

BASE_URL: Final = "https://localhost:8443"
EXAMPLE_SOURCE: Final = ErrorSource("019aa0c5f3b1e4a7c09d5b62f1380e7d", BASE_URL)
LONGEST_MESSAGE_CHARACTERS: Final = 1_000_000
"""Bound of a message in the description: it may list errors of a hundred inputs."""

LONGEST_HEADER_CHARACTERS: Final = 65_536
"""Bound of a header in the description: `Link` has the URLs of two pages, each with a cursor."""

_ERROR_MEMBERS: Final[dict[str, JsonSchema]] = {
    "message": text_schema(
        LONGEST_MESSAGE_CHARACTERS,
        description="What is wrong, in a sentence; its wording may change.",
    ),
    "code": {
        "type": "string",
        "pattern": "^[A-Z][A-Z_]*$",
        "maxLength": 64,
        "description": "What is wrong, in a word that does not change. There may be new ones.",
        "x-extensible-enum": [*ERROR_CODES],
    },
    "request_id": {
        "type": "string",
        "maxLength": 64,
        "pattern": r"^[0-9A-Za-z._:=+-]*$",
        "description": "Identifies the request in the service's log, as `X-Request-Id` does.",
    },
    "docs": {
        "type": "string",
        "format": "uri-reference",
        "maxLength": MAX_URL_BYTES,
        "description": "Address of a page that explains the code.",
    },
}
ERROR_SCHEMAS: Final[dict[str, JsonSchema]] = {
    "Error": {
        "type": "object",
        "description": "An error.",
        "required": [*_ERROR_MEMBERS],
        "properties": _ERROR_MEMBERS,
    },
    "InvalidInput": {
        "type": "object",
        "description": "Validation errors.",
        "required": [*_ERROR_MEMBERS, "fields"],
        "properties": {
            **_ERROR_MEMBERS,
            "fields": {
                "type": "object",
                "description": "From the name of an input to its errors; empty if the request as a "
                "whole is not accepted.",
                "additionalProperties": {
                    "type": "array",
                    "maxItems": MAX_REPORTED_ERRORS,
                    "items": text_schema(LONGEST_MESSAGE_CHARACTERS),
                },
            },
        },
    },
}


def _describe_header(description: str, example: Any, **schema: Any) -> OpenApiObject:
    text = {
        "type": "string",
        "maxLength": LONGEST_HEADER_CHARACTERS,
        "pattern": r"^[\x20-\x7e]*$",
    }
    return {"description": description, "schema": schema or text, "example": example}


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
        "Only the caller may cache the response, and must revalidate it before using it again.",
        RESPONSE_HEADERS["Cache-Control"],
    ),
    "Vary": _describe_header("The request headers that the response depends on.", VARY),
    "Link": _describe_header(
        "URLs of the next and the previous page (RFC 8288); absent if there is neither.",
        '<https://localhost:8443/v1/units?per-page=20&page=2>; rel="next"',
    ),
    TOTAL_COUNT_HEADER: _describe_header(
        "With `total-count=true`: how many records the whole list has, at most "
        f"{MAX_TOTAL_COUNT}; longer lists count as so many.",
        86,
        type="integer",
        minimum=0,
        maximum=MAX_TOTAL_COUNT,
        format="int32",
    ),
    WARNINGS_HEADER: _describe_header(
        "What the parse left out of the drawing, and what may be a mistake in it: a structured "
        "list (RFC 9651) of causes, with `count`, how many places, and `line` and `name` (the id) "
        "of the first; absent if there is nothing to say. GraphQL has all of it.",
        'text;count=12;line=34;name="lobby", duplicate-id;count=1;line=210;name="101"',
    ),
    "Allow": _describe_header("The methods that the path has.", "GET, HEAD, OPTIONS"),
    "Access-Control-Allow-Origin": _describe_header(
        "The page's origin, where the operator allows it (for a key, or for all); else absent.",
        "https://www.example.com",
    ),
    "WWW-Authenticate": _describe_header(
        "How to authenticate.", errors.AUTHENTICATE_HEADERS["WWW-Authenticate"]
    ),
    "Retry-After": _describe_header(
        "Seconds to wait before the next attempt.",
        1,
        type="integer",
        minimum=0,
        maximum=MAX_INT32,
        format="int32",
    ),
    "RateLimit-Policy": _describe_header(
        "The rate limit of the key: `q` requests at once, all of them available again after `w` "
        "seconds. Like `RateLimit`, absent if the key is not valid or has no limit.",
        '"default";q=1000;w=2',
    ),
    "RateLimit": _describe_header(
        "What is left of the rate limit: `r` requests at once, all of them available again after "
        "`t` seconds, or one of them if `r` is 0.",
        '"default";r=998;t=1',
    ),
}
DEPRECATION_HEADERS: Final[dict[str, OpenApiObject]] = {
    "Deprecation": _describe_header(
        "Since when the endpoint should not be used any more (RFC 9745).", "@1798761600"
    ),
    "Sunset": _describe_header(
        "When the endpoint stops working (RFC 8594); absent if that is not decided.",
        "Thu, 01 Jul 2027 00:00:00 GMT",
    ),
}
"""The headers of deprecated endpoints; no component, as most descriptions would not use it."""
_COMMON_HEADERS: Final = (
    "RateLimit-Policy",
    "RateLimit",
    "X-Request-Id",
    "Access-Control-Allow-Origin",
)


def header_references(*names: str) -> OpenApiObject:
    """Return references to headers, and to those that every response has."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*names, *_COMMON_HEADERS)}


class ErrorResponse(NamedTuple):
    """A status that requests can end with instead of a resource."""

    name: str
    description: str
    examples: dict[str, HttpError]
    headers: tuple[str, ...] = ()


def _invalid_page_error() -> HttpError:
    """Return the error of the first page parameter, out of its range."""
    endpoint = next(row for row in built_in_endpoints() if row.name == "ListAssets")
    operation = Executor(GRAPHQL_SCHEMA).prepare(endpoint.document)
    inputs = EndpointInputs.read(GRAPHQL_SCHEMA, endpoint, operation)
    return _raised_by(lambda: parse_query(inputs.query, [("page", "0")]))


def _raised_by(call: Callable[[], object]) -> HttpError:
    try:
        call()
    except HttpError as error:
        return error
    except PreconditionFailedError as error:
        return errors.from_graphql_error(error)
    raise AssertionError("the example of an error is valid")


def _body_of(name: str) -> RequestBody:
    body = next(row.body for row in built_in_endpoints() if row.name == name)
    assert body is not None
    return body


ERROR_RESPONSES: Final[dict[int, ErrorResponse]] = {
    400: ErrorResponse(
        "BadRequest",
        "An experimental flag is missing, the body is malformed, or the request is not HTTP.",
        {
            "flag": errors.from_graphql_error(FlagRequiredError("references")),
            "body": _raised_by(lambda: parse_json(b'{"data": ]}')),
        },
    ),
    401: ErrorResponse(
        "Unauthorized",
        "No API key, or more than one.",
        {"missing": errors.missing_key_error(), "duplicate": errors.duplicate_key_error()},
        ("WWW-Authenticate",),
    ),
    403: ErrorResponse(
        "Forbidden",
        "The key is unknown, revoked or expired, or lacks a permission.",
        {
            "key": errors.invalid_key_error(),
            "permission": errors.from_graphql_error(
                PermissionRequiredError("service.distances.calculate")
            ),
        },
    ),
    404: ErrorResponse(
        "NotFound",
        "It does not exist, or is not visible to the key.",
        {"id": errors.not_found_error()},
    ),
    405: ErrorResponse(
        "MethodNotAllowed",
        "The path does not have this method.",
        {"method": errors.method_not_allowed_error(["GET", "HEAD", "OPTIONS"])},
        ("Allow",),
    ),
    408: ErrorResponse(
        "RequestTimeout",
        "The headers or the body did not arrive in time.",
        {"body": errors.request_timeout_error(300)},
    ),
    410: ErrorResponse(
        "Gone",
        "The changes after this cursor are no longer known.",
        {"cursor": errors.from_graphql_error(ChangesExpiredError())},
    ),
    412: ErrorResponse(
        "PreconditionFailed",
        "What `If-Match` or `If-None-Match` asks for does not hold; nothing was written.",
        {"changed": _raised_by(lambda: Precondition('"other"', None).check('"tag"'))},
    ),
    413: ErrorResponse(
        "ContentTooLarge",
        "The body is over its limit.",
        {
            name: errors.body_too_large_error(_body_of(operation).max_bytes)
            for name, operation in (
                ("distances", "CalculateDistances"),
                ("assignments", "AssignUnitAttributes"),
                ("drawing", "ParseMap"),
            )
        },
    ),
    414: ErrorResponse(
        "UriTooLong", "The URL is too long.", {"address": errors.url_too_long_error(MAX_URL_BYTES)}
    ),
    415: ErrorResponse(
        "UnsupportedMediaType",
        "The body's media type is not the documented one.",
        {"type": errors.unsupported_media_type_error(JSON_MEDIA_TYPE)},
    ),
    422: ErrorResponse(
        "UnprocessableContent", "An input is invalid.", {"page": _invalid_page_error()}
    ),
    429: ErrorResponse(
        "TooManyRequests",
        "The key's rate limit is exceeded, it has too many requests in progress, or the client has "
        "sent too many requests without a valid key.",
        {"rate": errors.rate_limit_error(1), "keys": errors.bad_keys_error(1)},
        ("Retry-After",),
    ),
    431: ErrorResponse(
        "HeadersTooLarge",
        "The headers are too long.",
        {"size": errors.headers_too_large_error(MAX_HEADER_BYTES)},
    ),
    500: ErrorResponse("ServerError", "The service failed.", {"server": errors.server_error()}),
    501: ErrorResponse(
        "NotImplemented",
        "The `Transfer-Encoding` is not `chunked`.",
        {"coding": errors.unknown_coding_error()},
    ),
    503: ErrorResponse(
        "ServiceUnavailable",
        "The service cannot respond at the moment.",
        {"database": errors.service_unavailable_error(UnavailableCause.NO_PRIMARY)},
        ("Retry-After",),
    ),
    505: ErrorResponse(
        "HttpVersionNotSupported",
        "The request is not HTTP/1.0 or HTTP/1.1.",
        {"version": errors.http_version_error("1.2")},
    ),
}
COMMON_STATUSES: Final = (400, 401, 403, 405, 408, 414, 422, 429, 431, 500, 501, 503, 505)
"""The statuses that any request can end with."""


def response_reference(status: int) -> OpenApiObject:
    name = ERROR_RESPONSES[status].name if status in ERROR_RESPONSES else "NotModified"
    return {"$ref": f"#/components/responses/{name}"}


def response_components(statuses: Container[int]) -> OpenApiObject:
    """Return the responses that `response_reference` points to for these statuses."""
    not_modified = {
        "description": "The response that the client has cached under the tag in "
        "`If-None-Match` is current.",
        "headers": header_references("ETag", "Cache-Control", "Vary"),
    }
    error_responses = {
        response.name: _describe_error(response)
        for status, response in ERROR_RESPONSES.items()
        if status in statuses
    }
    return {"NotModified": not_modified, **error_responses}


def _describe_error(response: ErrorResponse) -> OpenApiObject:
    schema = "InvalidInput" if response.name == "UnprocessableContent" else "Error"
    examples = {
        name: {"value": error.describe(EXAMPLE_SOURCE)} for name, error in response.examples.items()
    }
    content = {
        JSON_MEDIA_TYPE: {"schema": {"$ref": COMPONENTS_PREFIX + schema}, "examples": examples}
    }
    return {
        "description": response.description,
        "headers": header_references(*response.headers),
        "content": content,
    }
