"""Pages of lists: the pipelines that read them, and how they are made of documents."""

from collections.abc import Sequence
from typing import Any, TypeVar

from storage.pauses import build_in_parts
from storage.records.fields import Record
from storage.records.kinds import Document, RecordType
from storage.records.paging import Page, PageRequest
from storage.records.visibility import AssetScope, project_asset

R = TypeVar("R", bound=Record)

BRANCH_FIELD = "_branch"
DOCUMENTS_IN_PART = 100
"""Documents that are decoded before a look at the clock; each may have many parts."""


def build_page_branch(
    number: int,
    kind: RecordType[Any],
    scope: AssetScope,
    where: Document,
    page_request: PageRequest,
    *,
    reads_skipped: bool,
) -> list[Document]:
    """Return the pipeline of one page; its documents say which branch they come from.

    For a scope that is too long for a command, the page is that of everybody.
    """
    visible = where if scope.needs_scan(kind, where) else scope.restrict(kind, where)
    fields = page_request.project(kind.projection)
    return [
        {"$match": visible},
        {"$sort": page_request.order.sort},
        *([{"$skip": page_request.skip}] if page_request.skip and not reads_skipped else []),
        {"$limit": page_request.limit + (page_request.skip if reads_skipped else 0)},
        {"$project": {**project_asset(kind, fields), BRANCH_FIELD: {"$literal": number}}},
    ]


async def build_page(
    kind: RecordType[R], documents: list[Document], page_request: PageRequest
) -> Page[R]:
    """Return the page of the documents that were read for it."""
    positions = page_request.order.list_positions(documents)
    documents = documents[: page_request.per_page]
    if page_request.document_fields is not None:
        whole: list[Any] = kind.complete_documents(documents, page_request.document_fields)
        return page_request.build_page(whole, positions)
    return page_request.build_page(await decode_documents(kind, documents), positions)


async def decode_documents(kind: RecordType[R], documents: Sequence[Document]) -> list[R]:
    """Return the records in documents, which are emptied: freeing thousands at once takes long."""

    def decode_part(part: Sequence[Document]) -> list[R]:
        records = kind.decode_each(part)
        for document in part:
            document.clear()
        return records

    return await build_in_parts(decode_part, documents, DOCUMENTS_IN_PART)
