"""The members of a GraphQL request, the document that it names, and its errors.

The request comes from a body, a URL or a WebSocket. Its document was sent with it, was sent before,
or is registered.
"""

import hashlib
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson
from graphql import GraphQLError
from starlette.requests import Request
from starlette.types import Scope

from gateway.metrics import SUBSCRIPTION
from resolvers.request.context import Cache
from resolvers.request.errors import LimitExceededError
from rest.bodies import has_more_tokens, parse_json, read_request_body
from rest.errors import (
    JSON_MEDIA_TYPE,
    HttpError,
    bad_request_error,
    service_unavailable_error,
)
from rest.scope_members import SCOPE_COUNTED_AS, SCOPE_OPERATION
from schema.execution import Operation, limit_exceeded_error
from storage.cache.record_cache import TrustedDocumentCache
from storage.errors import UnavailableCause, UnavailableError

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
_MEMBERS = ("query", "operationName", "variables", "extensions", "documentId")


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
    for name in _MEMBERS:
        if (times := len(request.query_params.getlist(name))) > 1:
            raise bad_request_error(f"{name} must be given once, not {times} times")
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


# Automatic persisted queries: documents that clients have sent, by their SHA-256.
#
# Each worker keeps its own, and each API key has its own share, so that no client can push out
# those of another, or learn which documents another one uses. A client sends a document again to a
# worker that does not have it. See docs/decisions/graphql/persisted-queries.md.


MAX_PERSISTED_QUERIES = 1_000
"""Documents of one API key."""
MAX_PERSISTED_BYTES = 2_000_000
"""Memory of the documents of one API key."""
MAX_BYTES_OF_ALL_KEYS = 32_000_000
"""Memory of all documents of a worker; beyond it, those of the key that was used least recently
go."""
ENTRY_BYTES = 300
"""Memory of an entry, apart from its text."""


class PersistedQueries:
    """The documents of each API key, the least recently used of which are dropped.

    >>> queries = PersistedQueries()
    >>> queries.put("key-1", "1234", "{ units { data { id } } }")
    >>> queries.get("key-1", "1234")
    '{ units { data { id } } }'
    >>> queries.get("key-2", "1234") is None
    True
    """

    def __init__(self, max_bytes: int = MAX_BYTES_OF_ALL_KEYS) -> None:
        self._of_keys: Cache[str, Cache[str, str]] = Cache(
            max_bytes=max_bytes,
            weigh=lambda _, queries: queries.counters.size_bytes,
            name="persisted_queries",
        )

    def get(self, key_id: str, digest: str) -> str | None:
        """Return the document that this key has sent, if it is still kept."""
        queries = self._of_keys.get(key_id)
        return None if queries is None else queries.get(digest)

    def put(self, key_id: str, digest: str, text: str) -> None:
        """Keep a valid document; `digest` is its own."""
        queries = self._of_keys.get(key_id)
        if queries is None:
            queries = Cache(
                max_entries=MAX_PERSISTED_QUERIES,
                max_bytes=MAX_PERSISTED_BYTES,
                weigh=lambda _, text: sys.getsizeof(text) + ENTRY_BYTES,
            )
        if queries.get(digest) is None:
            queries.put(digest, text)
            self._of_keys.put(key_id, queries)


class RequestedDocument(NamedTuple):
    text: str
    sha256: str
    is_registered: bool = False
    """Tells whether it is run because it is registered: when it no longer is, it may not be."""
    is_new: bool = False
    """Tells whether to keep it as a persisted query, if it is valid."""


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """Finds documents by what requests say of them."""

    get_trusted_documents: Callable[[], TrustedDocumentCache]
    """Raises HttpError 503."""
    has_persisted_queries: bool = True
    is_trusted_only: bool = False
    """Tells whether only registered documents are run."""
    persisted: PersistedQueries = field(default_factory=PersistedQueries)

    async def find(self, request: GraphQLRequest, key_id: str) -> RequestedDocument:
        """Return the document of a request. Raises HttpError."""
        if request.query is not None:
            return await self._check_sent(request, request.query)
        if request.sha256 is not None and self._keeps_sent:
            text = self.persisted.get(key_id, request.sha256)
            if text is not None:
                return RequestedDocument(text, request.sha256)
        text = await self._find_registered(request.sha256 or request.document_id or "")
        if text is None:
            raise self._not_found_error(request)
        return RequestedDocument(text, hash_document(text), is_registered=True)

    async def check_unchanged(
        self, document: RequestedDocument, request: GraphQLRequest, key_id: str
    ) -> None:
        """Check that a request still has the document that was found. Raises HttpError."""
        if await self.find(request, key_id) != document:
            raise service_unavailable_error(UnavailableCause.WRITE_CONFLICT)

    def keep(self, document: RequestedDocument, key_id: str) -> None:
        """Keep a document that a client has sent with its digest, and that is valid."""
        if document.is_new:
            self.persisted.put(key_id, document.sha256, document.text)

    @property
    def _keeps_sent(self) -> bool:
        return self.has_persisted_queries and not self.is_trusted_only

    async def _check_sent(self, request: GraphQLRequest, text: str) -> RequestedDocument:
        digest = hash_document(text)
        if request.document_id is not None or request.sha256 not in (None, digest):
            raise bad_request_error(
                "extensions.persistedQuery.sha256Hash is not the SHA-256 of query, which is"
                f" {digest}"
            )
        if not self.is_trusted_only:
            is_new = request.sha256 is not None and self._keeps_sent
            return RequestedDocument(text, digest, is_new=is_new)
        if await self._find_registered(digest) is None:
            raise _not_trusted_error()
        return RequestedDocument(text, digest, is_registered=True)

    async def _find_registered(self, id: str) -> str | None:
        try:
            return await self.get_trusted_documents().find_text(id)
        except UnavailableError as error:
            raise service_unavailable_error(error.cause) from error

    def _not_found_error(self, request: GraphQLRequest) -> HttpError:
        if self.is_trusted_only:
            return _not_trusted_error()
        # Messages and codes of Apollo, which its clients compare. They send the document then.
        if request.sha256 is not None and not self.has_persisted_queries:
            return HttpError(400, "PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED")
        if request.sha256 is not None:
            return HttpError(400, "PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND")
        message = f"No document is registered as {request.document_id!r}"
        return HttpError(400, message, "PERSISTED_QUERY_NOT_FOUND")


def _not_trusted_error() -> HttpError:
    return HttpError(
        403,
        "This service runs only the documents that its operator has registered, and this one is"
        " not among them: see floorgate documents register",
        "DOCUMENT_NOT_TRUSTED",
    )


def note_operation(scope: Scope, operation: Operation, document: RequestedDocument) -> None:
    """Note the operation of a request for the log, and for metrics if no client has named it."""
    scope[SCOPE_OPERATION] = operation.name
    if operation.is_subscription:
        scope[SCOPE_COUNTED_AS] = SUBSCRIPTION
    elif document.is_registered and operation.name:
        scope[SCOPE_COUNTED_AS] = operation.name


def format_errors(
    errors: Iterable[GraphQLError | HttpError], request_id: str
) -> list[dict[str, Any]]:
    """Return errors as JSON. Each has the id of its request, which the log has too.

    >>> format_errors([HttpError(404, "Not found", "NOT_FOUND")], "r1")
    [{'message': 'Not found', 'extensions': {'code': 'NOT_FOUND', 'requestId': 'r1'}}]
    """
    return [_format_error(error, request_id) for error in errors]


def _format_error(error: GraphQLError | HttpError, request_id: str) -> dict[str, Any]:
    if isinstance(error, GraphQLError):
        # In a copy: an error of validation is kept with its document.
        extensions = {**(error.extensions or {}), "requestId": request_id}
        return {**error.formatted, "extensions": extensions}
    fields = {"fields": error.fields} if error.fields else {}
    extensions = {"code": error.code, **fields, "requestId": request_id}
    return {"message": error.message, "extensions": extensions}
