"""Where the text of a request's document comes from: sent, sent before, or registered."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from gateway.documents.graphql_request import GraphQLRequest, bad_request_error, hash_document
from gateway.documents.persisted_queries import PersistedQueries
from rest.errors import HttpError, service_unavailable_error
from storage.cache.record_cache import TrustedDocumentCache
from storage.errors import Cause, UnavailableError


class RequestedDocument(NamedTuple):
    """The document of a request."""

    text: str
    sha256: str
    is_registered: bool = False
    """Whether it is run because it is registered: when it no longer is, it may not be."""
    is_new: bool = False
    """Whether to keep it as a persisted query, if it is valid."""


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """Finds documents by what requests say of them."""

    get_trusted_documents: Callable[[], TrustedDocumentCache]
    """Raises HttpError 503."""
    has_persisted_queries: bool = True
    is_trusted_only: bool = False
    """Whether only registered documents are run."""
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
            raise service_unavailable_error(Cause.WRITE_CONFLICT)

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
