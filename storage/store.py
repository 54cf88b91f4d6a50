"""Reading the catalog: by key, by page, and for many owners at once.

Every read takes the caller's `AssetScope`. Values from requests are only ever operands of `$eq`,
`$in` and the like, never in a position where MongoDB would read them as an operator.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from time import perf_counter
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from storage.cache.bookmarks import ListKey, PageBookmarks, PageStart, Stride
from storage.cache.cache import Cache
from storage.cache.read_set import read_list
from storage.catalog import GEOREFERENCE_FIELD, MAPS, PARSED_FIELD, Georeference, read_georeference
from storage.mongo import driver, files
from storage.records.kinds import Document, Record, RecordType
from storage.records.paging import BY_KEY, Order, Page, PageRequest, Position
from storage.records.visibility import ALL_ASSETS, AssetScope, project_asset

T = TypeVar("T")
V = TypeVar("V")

OBJECTS_IN_PART = 500
"""Objects that are handled before a look at the clock."""
MAX_SLICE_SECONDS = 0.005
"""The longest that one request may hold the event loop before others get a turn."""


class _LastPause:
    """The time when others had a turn, whichever request it was that let them."""

    ended = 0.0
    objects_since = 0
    """Objects in lists of less than a part, since the last look at the clock."""


async def pause_if_due() -> None:
    """Let other requests run, if none has let others run for long enough."""
    if perf_counter() - _LastPause.ended > MAX_SLICE_SECONDS:
        await asyncio.sleep(0)
        _LastPause.ended = perf_counter()


async def build_in_parts(
    build: Callable[[Sequence[V]], Sequence[T]],
    values: Sequence[V],
    part_size: int = OBJECTS_IN_PART,
) -> list[T]:
    """Return what `build` makes of the values, and let other requests run in between."""
    if len(values) <= part_size:
        built = [*build(values)]
        _LastPause.objects_since += len(built)
        if _LastPause.objects_since >= OBJECTS_IN_PART:
            _LastPause.objects_since = 0
            await pause_if_due()
        return built
    parts = []
    for start in range(0, len(values), part_size):
        parts.append(build(values[start : start + part_size]))
        await pause_if_due()
    return [*chain.from_iterable(parts)]


LIST_FIELD = "_list"


async def _count_lists(
    store: "Store",
    kind: RecordType[Any],
    wheres: Sequence[Document],
    max_count: int,
    by: str | None = None,
) -> list[list[Document]]:
    """Return for each list, up to `max_count` records, how many have each value of a field."""
    if not wheres:
        return []
    branches = [_build_branch(number, where, max_count, by) for number, where in enumerate(wheres)]
    groups = await store.run_union(kind, branches)
    groups_of_lists: defaultdict[int, list[Document]] = defaultdict(list)
    for group in groups:
        groups_of_lists[group[LIST_FIELD]].append(group)
    return [groups_of_lists[number] for number in range(len(wheres))]


async def _count_visible(
    store: "Store",
    kind: RecordType[Any],
    scope: AssetScope,
    wheres: Sequence[Document],
    max_count: int,
) -> list[int]:
    """Count the visible records that match each condition, up to `max_count`.

    For a scope with too many assets for a command, lists of one owner are counted by asset: mostly
    there is one. Other commands name the assets, which takes little beside the count itself.
    """
    counts = [0] * len(wheres)
    by_asset = [scope.needs_scan(kind, where) and _is_of_owner(where) for where in wheres]
    named = [number for number, is_by_asset in enumerate(by_asset) if not is_by_asset]
    visible = [scope.restrict(kind, wheres[number]) for number in named]
    found = await _count_lists(store, kind, visible, max_count)
    for number, groups in zip(named, found, strict=True):
        counts[number] = _total(groups)
    grouped = [number for number, is_by_asset in enumerate(by_asset) if is_by_asset]
    unrestricted = [wheres[number] for number in grouped]
    found = await _count_lists(store, kind, unrestricted, max_count, kind.scope_field)
    for number, groups in zip(grouped, found, strict=True):
        of_assets = [{kind.scope_field: group["_id"], **group} for group in groups]
        counts[number] = _total(scope.keep_visible(kind, of_assets))
        if counts[number] < _total(groups) >= max_count:
            restricted = [scope.restrict(kind, wheres[number])]
            counts[number] = _total(*await _count_lists(store, kind, restricted, max_count))
    return counts


def _is_of_owner(where: Document) -> bool:
    return any(isinstance(value, str) for value in where.values())


def _build_branch(number: int, where: Document, max_count: int, by: str | None) -> list[Document]:
    return [
        {"$match": where},
        # Without a condition MongoDB would read the documents, not an index.
        *([] if where else [{"$sort": {"_id": 1}}]),
        {"$limit": max_count},
        {"$group": {"_id": by and f"${by}", "count": {"$sum": 1}}},
        {"$project": {"count": 1, LIST_FIELD: {"$literal": number}}},
    ]


def _total(groups: Sequence[Document]) -> int:
    return sum(group["count"] for group in groups)


# Pages of lists as a caller sees them.
#
# A key with more assets than a command should name reads the list for everybody, and drops here
# what it does not see. Where that is most of the list, it reads only keys, from an index that has
# the asset, and then the documents of those that are visible. See docs/decisions/storage/scopes.md.


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
"""So many more records are read than the share demands that one window is mostly enough."""


class _Window(NamedTuple):
    """Some records of a list, one after another."""

    documents: list[Document]
    next: Position | None
    """The position that the next window follows; None at the end of the list."""


@dataclass(frozen=True, slots=True)
class ListRead:
    """A part of a list as a scope sees it."""

    store: "Store"
    kind: RecordType[Any]
    scope: AssetScope
    where: Document
    projection: Mapping[str, Any]
    limit: int
    skip: int = 0
    order: Order = BY_KEY
    after: Position | None = None
    """The position that the part follows; then nothing is skipped."""

    async def find(self) -> list[Document]:
        """Return the documents of the part."""
        if not self.scope.needs_scan(self.kind, self.where):
            return await self._find_in_database(self.after)
        list_type = (self.kind.name, self.order, *self.where)
        shares = self.store.shares.setdefault(self.scope, Cache(max_entries=MAX_SHARES))
        share = shares.get(list_type, 1.0)
        wanted, scanned, after = self.skip + self.limit, 0, self.after
        found: list[Document] = []
        unread: set[str] = set()
        while len(found) < wanted:
            if scanned >= MAX_SCANNED_RECORDS:
                if self.skip:
                    return await self._find_in_database(None)
                found += await self._find_in_database(after, wanted - len(found))
                break
            missing = wanted - len(found)
            size = min(ceil(missing * MARGIN / share) if share < 1 else missing, MAX_WINDOW_RECORDS)
            only_keys = bool(self.skip) or share < DENSE_SHARE
            window = await self._read_window(after, size, only_keys=only_keys)
            visible = self.scope.keep_visible(self.kind, window.documents)
            found += visible
            if only_keys:
                unread.update([document["_id"] for document in visible])
            scanned += size
            if window.next is None:
                break
            after, share = window.next, max(len(found), 1) / scanned
        shares.put(list_type, share)
        found = found[self.skip : wanted]
        if self.projection.keys() <= self._project_key().keys():
            return found
        return await self._complete(found, unread)

    async def find_stride(self, key: str | None, size: int) -> Stride | None:
        """Return the next `size` records after a key, or None if there are fewer.

        Of a list that is read for everybody, those that are not visible count for the size.
        """
        kind = self.kind
        after: Document = {} if key is None else {"_id": {"$gt": key}}
        if not self.scope.needs_scan(kind, self.where):
            where = both(self.scope.restrict(kind, self.where), after)
            documents = await self._read(where, {"_id": 1}, 1, size - 1)
            return Stride(documents[0]["_id"], size) if documents else None
        # One array takes a fifth of the time that decoding as many documents does.
        found = {"_id": None, "last": {"$last": "$_id"}, "read": {"$sum": 1}}
        group = {"$group": {**found, "assets": {"$push": f"${kind.scope_field}"}}}
        where = both(self.where, after)
        pipeline: list[Document] = [
            {"$match": where},
            {"$sort": self.order.sort},
            {"$limit": size},
            group,
        ]
        strides = await self.store.run_union(kind, [pipeline])
        if not strides or strides[0]["read"] < size:
            return None
        return Stride(strides[0]["last"], self.scope.count_visible(strides[0]["assets"]))

    async def _read_window(self, after: Position | None, size: int, *, only_keys: bool) -> _Window:
        """Return the next records of a list, also those that are not visible."""
        projection = self._project_key()
        if not only_keys:
            projection = {**self.projection, **projection}
        if self.kind.scope_field == "_id" and self.order == BY_KEY:
            ids = self.scope.list_ids_after(str(after[-1]) if after else None, size)
            documents = await self._read(both(self.where, {"_id": {"$in": ids}}), projection, size)
            return _Window(documents, (ids[-1],) if len(ids) == size else None)
        documents = await self._read_ranges(self.where, after, projection, size)
        if len(documents) < size:
            return _Window(documents, None)
        [last] = self.order.list_positions(documents[-1:])
        return _Window(documents, last)

    def _project_key(self) -> dict[str, Any]:
        return dict.fromkeys((*self.order.fields, self.kind.scope_field), 1)

    async def _complete(self, found: list[Document], unread: set[str]) -> list[Document]:
        """Read the documents of those found by their keys, in the same order."""
        wanted = [document["_id"] for document in found if document["_id"] in unread]
        if not wanted:
            return found
        fields, where = project_asset(self.kind, self.projection), {"_id": {"$in": wanted}}
        documents = await self.store.find_documents(self.kind, where, fields, len(wanted))
        # Again: without a snapshot, another record may have the key by now.
        visible = self.scope.keep_visible(self.kind, documents)
        read = {document["_id"]: document for document in visible}
        completed = (
            read.get(document["_id"]) if document["_id"] in unread else document
            for document in found
        )
        return [document for document in completed if document is not None]

    async def _find_in_database(
        self, after: Position | None, limit: int | None = None
    ) -> list[Document]:
        visible = self.scope.restrict(self.kind, self.where)
        wanted = self.limit if limit is None else limit
        return await self._read_ranges(visible, after, self.projection, wanted, self.skip)

    async def _read_ranges(
        self,
        where: Document,
        after: Position | None,
        projection: Mapping[str, Any],
        limit: int,
        skip: int = 0,
    ) -> list[Document]:
        """Return the first documents of what follows a position, one range after another."""
        if after is None:
            return await self._read(where, projection, limit, skip)
        documents: list[Document] = []
        for condition in self.order.split_after(after):
            if (missing := limit - len(documents)) > 0:
                documents += await self._read(both(where, condition), projection, missing)
        return documents

    async def _read(
        self, where: Document, projection: Mapping[str, Any], limit: int, skip: int = 0
    ) -> list[Document]:
        sort = self.order.sort
        return await self.store.find_documents(self.kind, where, projection, limit, skip, sort)


def both(where: Document, condition: Document) -> Document:
    """Return the condition that both hold."""
    return {"$and": [where, condition]} if where and condition else where or condition


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
) -> list[Document]:
    """Return the pipeline of one page; its documents say which branch they come from.

    For a scope that is too long for a command, the page is that of everybody.
    """
    visible = where if scope.needs_scan(kind, where) else scope.restrict(kind, where)
    fields = page_request.project(kind.projection)
    return [
        {"$match": visible},
        {"$sort": page_request.order.sort},
        *([{"$skip": page_request.skip}] if page_request.skip else []),
        {"$limit": page_request.limit},
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


MAX_RECORDS_READ_WHOLE = 20_000
"""Maximum number of records read when many short lists are read whole in one query."""
MAX_UNION_BRANCHES = 90
"""Conditions in one command. MongoDB allows 1,000 stages; a branch takes up to six."""
MAX_LONG_LISTS = 1_000
"""Maximum number of list types remembered as too long to be read whole."""


class StoredDrawing(NamedTuple):
    """A parsed drawing: the digest of its file, and where it is on Earth, if it says so."""

    digest: str
    georeference: Georeference | None


class Store:
    """Read access to the catalog in one MongoDB database."""

    def __init__(
        self,
        client: driver.Client,
        database_name: str,
        bookmarks: PageBookmarks | None = None,
        session: driver.Session | None = None,
    ) -> None:
        """Read one database. `bookmarks` make far pages fast; they need a change feed.

        With a `session`, all reads are part of its transaction.
        """
        self.client = client
        self.database: driver.Database = client[database_name]
        self._bookmarks = bookmarks
        self._session = session
        self._long_lists = Cache[tuple[str, str, int], bool](max_entries=MAX_LONG_LISTS)
        """Lists found too long to be read whole: kind, owner field, records requested."""
        self.shares = WeakKeyDictionary[AssetScope, Cache[tuple[Any, ...], float]]()
        """The share of a type of list that a scope was last found to see."""

    def in_transaction(self, session: driver.Session) -> "Store":
        """Return a store whose reads are part of a transaction."""
        return Store(self.client, self.database.name, session=session)

    async def load_records(
        self,
        kind: RecordType[R],
        scope: AssetScope,
        keys: Iterable[str],
        fields: Sequence[str] = (),
        copies: dict[str, Document] | None = None,
    ) -> dict[str, R]:
        """Return the visible records with these keys, by key, in one query.

        In lists of records, exceptions are in the place of damaged ones. Documents that are read
        with further `fields` are put into `copies`, by key.
        """
        distinct_keys = sorted(set(keys))
        if len(distinct_keys) == 1 and not fields:
            record = await self.load_record(kind, scope, distinct_keys[0])
            return {} if record is None else {distinct_keys[0]: record}
        # MongoDB has a fast path without query planning for equality on `_id`.
        condition = distinct_keys[0] if len(distinct_keys) == 1 else {"$in": distinct_keys}
        documents = await self._find_visible(
            kind,
            scope,
            {"_id": condition},
            len(distinct_keys),
            projection={**kind.projection, **dict.fromkeys(fields, 1)} if fields else None,
        )
        ids = [document["_id"] for document in documents]
        if copies is not None:
            copies.update((document["_id"], dict(document)) for document in documents)
            for document in documents:
                for name in {*fields} - {*kind.projection}:
                    document.pop(name, None)
        return dict(zip(ids, await decode_documents(kind, documents), strict=True))

    async def load_record(self, kind: RecordType[R], scope: AssetScope, key: str) -> R | None:
        """Return the visible record with this key, as `load_records` does, or None.

        Most requests read one record: here is none of the work that many take. Raises
        UnavailableError.
        """
        with driver.translate_errors():
            documents = await driver.find_documents(
                self.database,
                kind.name,
                {"_id": key},
                project_asset(kind, kind.projection),
                limit=1,
                session=self._session,
            )
        records = kind.decode_each(scope.keep_visible(kind, documents))
        return records[0] if records else None

    async def load_with_first_page(
        self,
        kind: RecordType[R],
        scope: AssetScope,
        key: str,
        list_kind: RecordType[Any],
        where: Document,
        page_request: PageRequest,
    ) -> tuple[R | None, list[Document]]:
        """Return the visible record with a key, and the documents of a page of its list.

        None and no documents if there is no such record; in the place of a damaged one is an
        exception. The scope must not need a scan of the list.
        """
        page = build_page_branch(1, list_kind, scope, where, page_request)
        pipeline: list[Document] = [
            {"$match": {"_id": key}},
            {"$project": project_asset(kind, kind.projection)},
            {"$unionWith": {"coll": list_kind.name, "pipeline": page}},
        ]
        documents = await self._aggregate(kind, pipeline)
        by_branch: tuple[list[Document], list[Document]] = [], []
        for document in documents:
            by_branch[document.pop(BRANCH_FIELD, 0)].append(document)
        records = await decode_documents(kind, scope.keep_visible(kind, by_branch[0]))
        return (records[0], by_branch[1]) if records else (None, [])

    async def list_page(
        self, kind: RecordType[R], scope: AssetScope, where: Document, page_request: PageRequest
    ) -> Page[R]:
        """Return a page of the visible records that match `where`, in the order of the request."""
        skip, order, after = page_request.skip, page_request.order, page_request.after
        if self._bookmarks is not None and after is None and order == BY_KEY:
            # A bookmark saves most of the skipping.
            key, skip = await self._find_start(self._bookmarks, kind, scope, where, skip)
            where = where if key is None else both(where, {"_id": {"$gt": key}})
        limit, fields = page_request.limit, page_request.project(kind.projection)
        read = ListRead(self, kind, scope, where, fields, limit, skip, order, after)
        return await build_page(kind, await read.find(), page_request)

    async def _find_start(
        self,
        bookmarks: PageBookmarks,
        kind: RecordType[Any],
        scope: AssetScope,
        where: Document,
        skip: int,
    ) -> PageStart:
        """Return the key after which to start, and how many records to skip from there."""
        is_scan = scope.needs_scan(kind, where)
        if is_scan and kind.scope_field == "_id":  # its keys are in memory
            return PageStart(None, skip)
        every = ListRead(self, kind, scope, where, {}, 0)

        async def advance(key: str | None) -> Stride | None:
            return await every.find_stride(key, bookmarks.stride)

        # `repr` depends on the order of fields; a condition written in two orders has two lists.
        list_key, reads = ListKey(kind.name, scope, repr(where)), read_list(kind, where, scope)
        max_scanned = MAX_SCANNED_RECORDS if is_scan else None
        return await bookmarks.find_start(list_key, reads, skip, advance, max_scanned=max_scanned)

    async def load_pages(
        self,
        kind: RecordType[R],
        scope: AssetScope,
        wheres: Sequence[Document],
        page_request: PageRequest,
    ) -> list[Page[R]]:
        """Return the same page for each of many conditions, such as the floors of many assets.

        A page that follows a position is of one list: then there is at most one condition.

        Short lists are read whole in one query. Otherwise one command reads the page of up to
        MAX_UNION_BRANCHES conditions; each branch is the query of `list_page`, so that it uses
        its index and stops at its limit.
        """
        if not wheres:
            return []
        if len(wheres) == 1:
            return [await self.list_page(kind, scope, wheres[0], page_request)]
        first_pages = await self._load_first_pages(kind, scope, wheres, page_request)
        if first_pages is not None:
            return first_pages
        # Where assets are compared here, also those of records that are skipped.
        if page_request.skip and any(scope.needs_scan(kind, where) for where in wheres):
            return [await self.list_page(kind, scope, where, page_request) for where in wheres]
        pages: list[Page[R]] = []
        for part in _split(wheres, MAX_UNION_BRANCHES):
            branches = [
                build_page_branch(number, kind, scope, where, page_request)
                for number, where in enumerate(part)
            ]
            documents = await self.run_union(kind, branches)
            documents_by_branch: list[list[Document]] = [[] for _ in part]
            for document in documents:
                documents_by_branch[document.pop(BRANCH_FIELD)].append(document)
            for where, found in zip(part, documents_by_branch, strict=True):
                are_visible = len(scope.keep_visible(kind, found)) == len(found)
                pages.append(
                    await build_page(kind, found, page_request)
                    if are_visible
                    else await self.list_page(kind, scope, where, page_request)
                )
        return pages

    async def _load_first_pages(
        self,
        kind: RecordType[R],
        scope: AssetScope,
        wheres: Sequence[Document],
        page_request: PageRequest,
    ) -> list[Page[R]] | None:
        """Return the first pages of lists that are short enough to be read whole, else None."""
        owner_field = _find_owner_field(wheres)
        if owner_field is None or page_request.skip:
            return None
        list_type = (kind.name, owner_field, page_request.limit)
        if self._long_lists.get(list_type):
            return None
        limit = min(page_request.limit * len(wheres), MAX_RECORDS_READ_WHOLE)
        by_owner: dict[str, list[Document]] = {where[owner_field]: [] for where in wheres}
        of_owners = {owner_field: {"$in": sorted(by_owner)}}
        fields = {**page_request.project(kind.projection), owner_field: 1}
        documents = await self.find_documents(kind, of_owners, project_asset(kind, fields), limit)
        if len(documents) == limit:
            self._long_lists.put(list_type, True)
            return None
        try:
            ordered = page_request.order.sort_documents(scope.keep_visible(kind, documents))
        except (KeyError, TypeError):  # one is damaged; MongoDB sorts values of all types
            return None
        for document in ordered:
            by_owner[document[owner_field]].append(document)
        pages = {
            owner: await build_page(kind, documents, page_request)
            for owner, documents in by_owner.items()
        }
        return [pages[where[owner_field]] for where in wheres]

    async def list_ids(
        self, kind: RecordType[Any], scope: AssetScope, where: Document, limit: int
    ) -> list[str]:
        """Return the first keys of visible records that match `where`, sorted.

        MongoDB reads the index alone if one covers `where`.
        """
        documents = await ListRead(self, kind, scope, where, {"_id": 1}, limit).find()
        return [document["_id"] for document in documents]

    async def load_field(
        self, kind: RecordType[Any], scope: AssetScope, where: Document, field: str
    ) -> dict[str, Any]:
        """Return one stored field of all visible records that match `where`, by key."""
        documents = await self._find_visible(
            kind, scope, where, driver.NO_LIMIT, projection={field: 1}
        )
        return {document["_id"]: document[field] for document in documents}

    async def load_stored_drawings(
        self, scope: AssetScope, map_ids: Iterable[str]
    ) -> dict[str, StoredDrawing]:
        """Return what is known of the parsed drawings of visible maps, by map id."""
        ids = sorted(set(map_ids))
        where = {"_id": {"$in": ids}, PARSED_FIELD: {"$type": "string"}}
        fields = {PARSED_FIELD: 1, GEOREFERENCE_FIELD: 1}
        maps = await self._find_visible(MAPS, scope, where, len(ids), projection=fields)
        return {
            document["_id"]: StoredDrawing(document[PARSED_FIELD], read_georeference(document))
            for document in maps
        }

    async def load_drawings(
        self, digests: Collection[str], check_size: Callable[[int], None]
    ) -> dict[str, bytes]:
        """Return parsed drawings as JSON, by digest.

        `check_size` receives their total size before more than one is read, and may raise.
        """
        with driver.translate_errors():
            if len(digests) > 1:
                sizes = await files.get_sizes(self.database, digests)
                check_size(sum(sizes.values()))
            return await files.read_files(self.database, digests)

    async def count_many(
        self,
        kind: RecordType[Any],
        wheres: Sequence[Document],
        max_count: int,
        scope: AssetScope = ALL_ASSETS,
    ) -> list[int]:
        """Count the records that match each condition, up to `max_count`.

        Without a `scope`, also those that a caller may not see.
        """
        counts = list[int]()
        for part in _split(wheres, MAX_UNION_BRANCHES):
            counts += await _count_visible(self, kind, scope, part, max_count)
        return counts

    async def run_union(
        self, kind: RecordType[Any], branches: list[list[Document]]
    ) -> list[Document]:
        """Return what several pipelines find, one after another."""
        first, *others = branches
        unions = [{"$unionWith": {"coll": kind.name, "pipeline": branch}} for branch in others]
        return await self._aggregate(kind, [*first, *unions])

    async def _aggregate(
        self, kind: RecordType[Any], pipeline: Sequence[Document]
    ) -> list[Document]:
        with driver.translate_errors():
            return await driver.aggregate_documents(
                self.database, kind.name, pipeline, self._session
            )

    async def _find_visible(
        self,
        kind: RecordType[Any],
        scope: AssetScope,
        where: Document,
        limit: int,
        *,
        projection: Mapping[str, Any] | None = None,
    ) -> Sequence[Document]:
        """Return the visible ones of up to `limit` documents; no more match `where`."""
        fields = project_asset(kind, projection or kind.projection)
        return scope.keep_visible(kind, await self.find_documents(kind, where, fields, limit))

    async def find_documents(
        self,
        kind: RecordType[Any],
        where: Document,
        projection: Mapping[str, Any],
        limit: int,
        skip: int = 0,
        sort: Mapping[str, int] | None = None,
    ) -> list[Document]:
        """Return the documents that match `where`, whoever may see them."""
        with driver.translate_errors():
            return await driver.find_documents(
                self.database,
                kind.name,
                where,
                projection,
                limit=limit,
                skip=skip,
                sort=sort,
                session=self._session,
            )


def _find_owner_field(wheres: Sequence[Document]) -> str | None:
    """Return the field if all conditions compare the same one with a string, else None."""
    fields = {(*where,) for where in wheres}
    if len(fields) > 1 or not all(
        isinstance(value, str) for where in wheres for value in where.values()
    ):
        return None
    [names] = fields
    return names[0] if len(names) == 1 else None


def _split(wheres: Sequence[Document], size: int) -> Iterator[Sequence[Document]]:
    return (wheres[start : start + size] for start in range(0, len(wheres), size))
