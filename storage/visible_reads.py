"""Pages of lists as a caller sees them.

A key with more assets than a command should name reads the list for everybody, and drops here what
it does not see. Where that is most of the list, it reads only keys, from an index that has the
asset, and then the documents of those that are visible. See docs/decisions/storage/scopes.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from storage.cache.bookmarks import Stride
from storage.cache.cache import Cache
from storage.counting import RunUnion
from storage.records.kinds import Document, RecordType
from storage.records.paging import BY_KEY, Order, Position
from storage.records.visibility import AssetScope, project_asset

MAX_WINDOW_RECORDS = 10_000
"""Records that one command reads of a list."""
MAX_SCANNED_RECORDS = 200_000
"""Records that are read for one page, and as many for bookmarks before it. What is missing then is
found by MongoDB, with a condition that names all assets of the key."""
MAX_SHARES = 100
"""Types of lists of a scope."""
DENSE_SHARE = 0.5
"""Share of visible records from which documents are read at once, and not keys first."""
MARGIN = 1.2
"""How many more records are read than the share demands, so that one window is mostly enough."""


class ReadDocuments(Protocol):
    """Reads documents that meet a condition."""

    async def __call__(
        self,
        where: Document,
        projection: Mapping[str, Any],
        limit: int,
        skip: int = 0,
        sort: Mapping[str, int] | None = None,
    ) -> list[Document]: ...


@dataclass(frozen=True, slots=True)
class ListRead:
    """A part of a list, and how it is read."""

    read: ReadDocuments
    kind: RecordType[Any]
    scope: AssetScope
    where: Document
    projection: Mapping[str, Any]
    limit: int
    skip: int = 0
    order: Order = BY_KEY
    after: Position | None = None
    """The position that the part follows; then nothing is skipped."""


class _Window(NamedTuple):
    """Some records of a list, one after another."""

    documents: list[Document]
    next: Position | None
    """The position that the next window follows; None at the end of the list."""


class VisibleLists:
    """Read what callers see of lists."""

    def __init__(self) -> None:
        self._shares = WeakKeyDictionary[AssetScope, Cache[tuple[Any, ...], float]]()
        """The share of a type of list that a scope was last found to see."""

    async def find(self, part: ListRead) -> list[Document]:
        """Return the documents of a part of a list as its scope sees it."""
        if not part.scope.needs_scan(part.kind, part.where):
            return await _find_in_database(part, part.after)
        list_type = (part.kind.name, part.order, *part.where)
        shares = self._shares.setdefault(part.scope, Cache(max_entries=MAX_SHARES))
        share = shares.get(list_type, 1.0)
        wanted, scanned, after = part.skip + part.limit, 0, part.after
        found: list[Document] = []
        unread: set[str] = set()
        while len(found) < wanted:
            if scanned >= MAX_SCANNED_RECORDS:
                if part.skip:
                    return await _find_in_database(part, None)
                found += await _find_in_database(part, after, wanted - len(found))
                break
            missing = wanted - len(found)
            size = min(ceil(missing * MARGIN / share) if share < 1 else missing, MAX_WINDOW_RECORDS)
            only_keys = bool(part.skip) or share < DENSE_SHARE
            window = await _read_window(part, after, size, only_keys=only_keys)
            visible = part.scope.keep_visible(part.kind, window.documents)
            found += visible
            if only_keys:
                unread.update([document["_id"] for document in visible])
            scanned += size
            if window.next is None:
                break
            after, share = window.next, max(len(found), 1) / scanned
        shares.put(list_type, share)
        found = found[part.skip : wanted]
        if part.projection.keys() <= _project_key(part).keys():
            return found
        return await _complete(part, found, unread)


async def find_stride(part: ListRead, run: RunUnion, key: str | None, size: int) -> Stride | None:
    """Return the next `size` records after a key, or None if there are fewer.

    Of a list that is read for everybody, those that are not visible count for the size.
    """
    kind, sort = part.kind, part.order.sort
    after: Document = {} if key is None else {"_id": {"$gt": key}}
    if not part.scope.needs_scan(kind, part.where):
        where = both(part.scope.restrict(kind, part.where), after)
        documents = await part.read(where, {"_id": 1}, 1, size - 1, sort)
        return Stride(documents[0]["_id"], size) if documents else None
    # One array takes a fifth of the time that decoding as many documents does.
    found = {"_id": None, "last": {"$last": "$_id"}, "read": {"$sum": 1}}
    group = {"$group": {**found, "assets": {"$push": f"${kind.scope_field}"}}}
    where = both(part.where, after)
    strides = await run([[{"$match": where}, {"$sort": sort}, {"$limit": size}, group]])
    if not strides or strides[0]["read"] < size:
        return None
    return Stride(strides[0]["last"], part.scope.count_visible(strides[0]["assets"]))


async def _read_window(
    part: ListRead, after: Position | None, size: int, *, only_keys: bool
) -> _Window:
    """Return the next records of a list, also those that are not visible."""
    projection = _project_key(part)
    if not only_keys:
        projection = {**part.projection, **projection}
    if part.kind.scope_field == "_id" and part.order == BY_KEY:
        ids = part.scope.list_ids_after(str(after[-1]) if after else None, size)
        among = both(part.where, {"_id": {"$in": ids}})
        documents = await part.read(among, projection, size, sort=part.order.sort)
        return _Window(documents, (ids[-1],) if len(ids) == size else None)
    documents = await _read_ranges(part, part.where, after, projection, size)
    if len(documents) < size:
        return _Window(documents, None)
    [last] = part.order.list_positions(documents[-1:])
    return _Window(documents, last)


def _project_key(part: ListRead) -> dict[str, Any]:
    return dict.fromkeys((*part.order.fields, part.kind.scope_field), 1)


async def _complete(part: ListRead, found: list[Document], unread: set[str]) -> list[Document]:
    """Read the documents of those found by their keys, in the same order."""
    wanted = [document["_id"] for document in found if document["_id"] in unread]
    if not wanted:
        return found
    projection = project_asset(part.kind, part.projection)
    documents = await part.read({"_id": {"$in": wanted}}, projection, len(wanted))
    # Again: without a snapshot, another record may have the key by now.
    visible = part.scope.keep_visible(part.kind, documents)
    read = {document["_id"]: document for document in visible}
    completed = (
        read.get(document["_id"]) if document["_id"] in unread else document for document in found
    )
    return [document for document in completed if document is not None]


async def _find_in_database(
    part: ListRead, after: Position | None, limit: int | None = None
) -> list[Document]:
    visible = part.scope.restrict(part.kind, part.where)
    wanted = part.limit if limit is None else limit
    return await _read_ranges(part, visible, after, part.projection, wanted, part.skip)


async def _read_ranges(
    part: ListRead,
    where: Document,
    after: Position | None,
    projection: Mapping[str, Any],
    limit: int,
    skip: int = 0,
) -> list[Document]:
    """Return the first documents of what follows a position, one range after another."""
    sort = part.order.sort
    if after is None:
        return await part.read(where, projection, limit, skip, sort)
    documents: list[Document] = []
    for condition in part.order.split_after(after):
        if (missing := limit - len(documents)) > 0:
            visible = both(where, condition)
            documents += await part.read(visible, projection, missing, 0, sort)
    return documents


def both(where: Document, condition: Document) -> Document:
    """Return the condition that both hold."""
    return {"$and": [where, condition]} if where and condition else where or condition
