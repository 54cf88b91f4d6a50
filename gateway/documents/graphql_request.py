"""The members of a GraphQL request, from a body or a URL, with every way to name its document."""

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.requests import Request

from resolvers.request.errors import LimitExceededError
from rest.bodies import has_more_tokens, parse_json, read_request_body
from rest.errors import JSON_MEDIA_TYPE, HttpError
from schema.execution import limit_exceeded_error

MAX_BODY_BYTES = 1_000_000
MAX_JSON_TOKENS = 100_000
"""Commas, colons and opening brackets of a body, outside strings: 10,000 assignments have 90,000.

orjson makes the values of as many in up to 10 ms, and nothing else runs meanwhile."""
MAX_DOCUMENT_ID_CHARACTERS = 200

PERSISTED_QUERY_VERSION = 1
_SHA256_HEX = re.compile(r"[0-9a-f]{64}")
# GraphQL over HTTP, appendix "Persisted Documents", "Document identifier syntax".
_DOCUMENT_ID = re.compile(r"[A-Za-z0-9._~:-]+")
_SHA256_PREFIX = "sha256:"


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """The members of a GraphQL request: `query`, `sha256`, `document_id`, or the first two."""

    query: str | None
    operation_name: str | None
    variables: dict[str, Any]
    sha256: str | None = None
    """Digest of the document, of `extensions.persistedQuery` or `documentId`; not yet compared."""
    document_id: str | None = None
    """A name that was given to the document when it was registered."""


def hash_document(text: str) -> str:
    """Return the name that clients compute for a document.

    >>> hash_document("query($id:ID!){user(id:$id){name}}")[:16]
    '71f7dc5758652baa'
    """
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def split_document_id(text: str) -> tuple[str | None, str | None]:
    """Return the digest that a document id is, or else the name that it is. Raises ValueError.

    >>> split_document_id("unit-page")
    (None, 'unit-page')
    >>> split_document_id("x" * MAX_DOCUMENT_ID_CHARACTERS)[1] == "x" * MAX_DOCUMENT_ID_CHARACTERS
    True
    """
    if len(text) > MAX_DOCUMENT_ID_CHARACTERS or not _DOCUMENT_ID.fullmatch(text):
        raise ValueError(
            f"must be 1 to {MAX_DOCUMENT_ID_CHARACTERS} letters, digits and -._~: characters"
        )
    if _SHA256_HEX.fullmatch(digest := text.removeprefix(_SHA256_PREFIX)):
        return digest, None
    if text.startswith(_SHA256_PREFIX):
        raise ValueError(f"must be {_SHA256_PREFIX} and 64 lower-case hexadecimal digits")
    return None, text


async def read_graphql_request(request: Request) -> GraphQLRequest:
    """Return the members of a request. Raises HttpError, InvalidOperationError."""
    if request.method == "POST":
        body = await read_request_body(request, JSON_MEDIA_TYPE, MAX_BODY_BYTES)
        if has_more_tokens(body, MAX_JSON_TOKENS):
            message = f"The body has over {MAX_JSON_TOKENS} commas, colons and opening brackets"
            raise limit_exceeded_error(
                LimitExceededError(message, limit="variables", maximum=MAX_JSON_TOKENS)
            )
        return parse_members(parse_json(body))
    members: dict[str, Any] = dict(request.query_params)
    for name in ("variables", "extensions"):
        if name in members:
            members[name] = parse_json(members[name].encode(errors="replace"), name)
    return parse_members(members)


def parse_members(members: Any) -> GraphQLRequest:
    """Return the request that a JSON object describes. Raises HttpError 400."""
    if isinstance(members, list):
        raise bad_request_error("Batches are not supported: send one operation per request")
    if not isinstance(members, dict):
        raise bad_request_error("The body must be a JSON object with the member query")
    query, name = members.get("query"), members.get("operationName")
    variables, extensions = members.get("variables"), members.get("extensions")
    if name is not None and not isinstance(name, str):
        raise bad_request_error("operationName must be a string")
    for member, value in (("variables", variables), ("extensions", extensions)):
        if value is not None and not isinstance(value, dict):
            raise bad_request_error(f"{member} must be an object")
    sha256, document_id = _find_names(members.get("documentId"), extensions or {})
    is_named = sha256 is not None or document_id is not None
    # Clients send an empty or a null query beside a hash.
    if not (isinstance(query, str) and query) and (query or not is_named):
        raise bad_request_error("query must be a GraphQL document")
    if query and members.get("documentId") is not None:
        raise bad_request_error("send either query or documentId")
    return GraphQLRequest(query or None, name or None, variables or {}, sha256, document_id)


def _find_names(document_id: Any, extensions: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return the digest and the name of a document that a request gives."""
    persisted = extensions.get("persistedQuery")
    if document_id is not None:
        return _split_id("documentId", document_id)
    if persisted is None:
        return None, None
    if not isinstance(persisted, dict) or persisted.get("version") != PERSISTED_QUERY_VERSION:
        raise bad_request_error(
            f"extensions.persistedQuery must have version {PERSISTED_QUERY_VERSION} and sha256Hash"
        )
    # Of a document that is registered under another id, clients send that as the hash.
    return _split_id("extensions.persistedQuery.sha256Hash", persisted.get("sha256Hash"))


def _split_id(name: str, value: Any) -> tuple[str | None, str | None]:
    if not isinstance(value, str):
        raise bad_request_error(f"{name} must be a string")
    try:
        return split_document_id(value)
    except ValueError as error:
        raise bad_request_error(f"{name} {error}") from error


def dump_variables(variables: dict[str, Any]) -> bytes:
    """Return the same bytes for equal variables. Raises HttpError 400."""
    try:
        return orjson.dumps(variables, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:  # orjson reads deeper nesting than it writes
        raise bad_request_error("variables are nested too deeply") from error


def bad_request_error(message: str) -> HttpError:
    """Return the 400 for a request that is not one of GraphQL."""
    return HttpError(400, message, "BAD_REQUEST")
