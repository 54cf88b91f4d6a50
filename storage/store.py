"""Reading the catalog: by key, by page, and for many owners at once.

Every read takes the caller's `AssetScope`. Values from requests are only ever operands of `$eq`,
`$in` and the like, never in a position where MongoDB would read them as an operator.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from storage.cache.bookmarks import ListKey, PageBookmarks, PageStart, Stride
from storage.cache.cache import Cache
from storage.cache.read_set import read_list
from storage.counting import count_visible
from storage.georeferences import GEOREFERENCE_FIELD, Georeference, read_georeference
from storage.maps import MAPS, PARSED_FIELD
from storage.mongo import driver, files
from storage.pages import BRANCH_FIELD, build_page, build_page_branch, decode_documents
from storage.records.fields import Record
from storage.records.kinds import Document, RecordType
from storage.records.paging import BY_KEY, Page, PageRequest
from storage.records.visibility import ALL_ASSETS, AssetScope, project_asset
from storage.visible_reads import MAX_SCANNED_RECORDS, ListRead, VisibleLists, both, find_stride

R = TypeVar("R", bound=Record)

MAX_RECORDS_READ_WHOLE = 20_000
"""Maximum number of records read when many short lists are read whole in one query."""
MAX_UNION_BRANCHES = 90
"""Conditions in one command. MongoDB allows 1,000 stages; a branch takes up to six."""
MAX_SKIPPED_HERE = 200
"""Records of a list that are read to find its page for a key with many assets, if many lists are
read at once."""
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
        self._visible_lists = VisibleLists()

    def in_transaction(self, session: driver.Session) -> "Store":
        """Return a store whose reads are part of a transaction."""
        return Store(self.client, self.database.name, session=session)

    async def find_record(
        self, kind: RecordType[R], scope: AssetScope, where: Document
    ) -> R | None:
        """Return the visible record that matches `where`, which at most one does, or None.

        Raises UnavailableError.
        """
        with driver.translate_errors():
            documents = await self._find_visible(kind, scope, where, limit=1)
        return next(iter(kind.decode(documents)), None)

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
        # MongoDB has a fast path without query planning for equality on `_id`.
        condition = distinct_keys[0] if len(distinct_keys) == 1 else {"$in": distinct_keys}
        with driver.translate_errors():
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
        page = build_page_branch(1, list_kind, scope, where, page_request, reads_skipped=False)
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
        with driver.translate_errors():
            documents = await self._find_page(kind, scope, where, page_request)
        return await build_page(kind, documents, page_request)

    async def _find_page(
        self, kind: RecordType[Any], scope: AssetScope, where: Document, page_request: PageRequest
    ) -> list[Document]:
        """Return the documents of a page; a bookmark saves most of the skipping."""
        skip, order, after = page_request.skip, page_request.order, page_request.after
        if self._bookmarks is not None and after is None and order == BY_KEY:
            key, skip = await self._find_start(self._bookmarks, kind, scope, where, skip)
            where = where if key is None else both(where, {"_id": {"$gt": key}})
        read = partial(self._find_documents, kind)
        limit, fields = page_request.limit, page_request.project(kind.projection)
        return await self._visible_lists.find(
            ListRead(read, kind, scope, where, fields, limit, skip, order, after)
        )

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
        every = ListRead(partial(self._find_documents, kind), kind, scope, where, {}, 0)

        async def advance(key: str | None) -> Stride | None:
            return await find_stride(every, partial(self._run_union, kind), key, bookmarks.stride)

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
        is_scan = any(scope.needs_scan(kind, where) for where in wheres)
        skipped = page_request.skip if is_scan else 0
        if skipped and skipped + page_request.limit > MAX_SKIPPED_HERE:
            return [await self.list_page(kind, scope, where, page_request) for where in wheres]
        pages: list[Page[R]] = []
        for part in _split(wheres, MAX_UNION_BRANCHES):
            branches = [
                build_page_branch(number, kind, scope, where, page_request, reads_skipped=is_scan)
                for number, where in enumerate(part)
            ]
            documents = await self._run_union(kind, branches)
            documents_by_branch: list[list[Document]] = [[] for _ in part]
            for document in documents:
                documents_by_branch[document.pop(BRANCH_FIELD)].append(document)
            for where, found in zip(part, documents_by_branch, strict=True):
                are_visible = len(scope.keep_visible(kind, found)) == len(found)
                pages.append(
                    await build_page(kind, found[skipped:], page_request)
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
        with driver.translate_errors():
            documents = await self._find_documents(
                kind, of_owners, project_asset(kind, fields), limit
            )
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
        with driver.translate_errors():
            return await self._find_keys(kind, scope, where, limit)

    async def load_field(
        self, kind: RecordType[Any], scope: AssetScope, where: Document, field: str
    ) -> dict[str, Any]:
        """Return one stored field of all visible records that match `where`, by key."""
        with driver.translate_errors():
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
        with driver.translate_errors():
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
        run, counts = partial(self._run_union, kind), list[int]()
        for part in _split(wheres, MAX_UNION_BRANCHES):
            counts += await count_visible(run, kind, scope, part, max_count)
        return counts

    async def _run_union(
        self, kind: RecordType[Any], branches: list[list[Document]]
    ) -> list[Document]:
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
        return scope.keep_visible(kind, await self._find_documents(kind, where, fields, limit))

    async def _find_keys(
        self, kind: RecordType[Any], scope: AssetScope, where: Document, limit: int
    ) -> list[str]:
        read = partial(self._find_documents, kind)
        part = ListRead(read, kind, scope, where, {"_id": 1}, limit)
        return [document["_id"] for document in await self._visible_lists.find(part)]

    async def _find_documents(
        self,
        kind: RecordType[Any],
        where: Document,
        projection: Mapping[str, Any],
        limit: int,
        skip: int = 0,
        sort: Mapping[str, int] | None = None,
    ) -> list[Document]:
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
