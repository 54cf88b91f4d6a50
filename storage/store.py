"""Reading the catalog: by key, by page, and for many owners at once.

Every read takes the caller's `Scope`. Values from outside are only ever compared (`$eq`, `$in`),
never placed where MongoDB would read them as operators.
"""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from storage import files
from storage.cache.bookmarks import ListKey, PageBookmarks
from storage.maps import MAPS
from storage.mongo import driver
from storage.records.fields import Record
from storage.records.kinds import Document, Kind
from storage.records.paging import Page, PageRequest
from storage.records.visibility import Scope

R = TypeVar("R", bound=Record)

SORT_BY_KEY = {"_id": 1}
MAX_RECORDS_READ_WHOLE = 20_000
"""Records of all lists that are read whole in one query."""
MAX_UNION_STAGES = 90
"""Owners in one command; MongoDB allows 1,000 stages in all, of which each owner takes some."""
MAX_LONG_LISTS = 1_000
"""Sorts of lists that are remembered as too long to be read whole."""


class Store:
    """The catalog in one MongoDB database, for reading."""

    def __init__(self, client: driver.Client, database: str) -> None:
        self.client = client
        self.database: driver.Database = client[database]
        self.bookmarks: PageBookmarks | None = None
        """What bounds jumps to far pages, where changes are followed."""
        self._long_lists: set[tuple[str, str, int]] = set()
        """Lists that were once too long to be read whole: kind, owner's field, records asked."""

    async def find_record(self, kind: Kind[R], scope: Scope, where: Document) -> R | None:
        """The one visible record that `where` picks out, or None."""
        with driver.translate_errors():
            documents = await self._find_documents(kind, scope.restrict(kind, where), limit=1)
        return next(iter(kind.decode(documents)), None)

    async def load_records(self, kind: Kind[R], scope: Scope, keys: Iterable[str]) -> dict[str, R]:
        """The visible records among `keys`, by key: one command, however many."""
        wanted = sorted(set(keys))
        # MongoDB answers for one key without planning.
        among = wanted[0] if len(wanted) == 1 else {"$in": wanted}
        with driver.translate_errors():
            documents = await self._find_documents(
                kind, scope.restrict(kind, {"_id": among}), len(wanted)
            )
        found = zip(documents, kind.decode(documents), strict=True)
        return {document["_id"]: record for document, record in found}

    async def list_page(
        self, kind: Kind[R], scope: Scope, where: Document, page_request: PageRequest
    ) -> Page[R]:
        """The page of the visible records that `where` matches, in the order of their keys."""
        with driver.translate_errors():
            key, skip = await self._find_start(kind, scope, where, page_request)
            visible = scope.restrict(kind, _continue_after(where, key))
            documents = await self._find_documents(
                kind, visible, page_request.limit, skip=skip, sort=SORT_BY_KEY
            )
        return _build_page(kind, documents, page_request)

    async def _find_start(
        self, kind: Kind[Any], scope: Scope, where: Document, page_request: PageRequest
    ) -> tuple[str | None, int]:
        """The key behind which to begin, and how many records to pass over from there."""
        landmarks = self.bookmarks
        if landmarks is None or page_request.after_key is not None:
            return page_request.after_key, page_request.skip

        async def advance(key: str | None) -> str | None:
            keys = await self._find_keys(
                kind, scope, _continue_after(where, key), 1, skip=landmarks.stride - 1
            )
            return keys[0] if keys else None

        name = ListKey(kind.name, scope, repr(where))
        return await landmarks.find_start(name, page_request.skip, advance)

    async def load_pages(
        self, kind: Kind[R], scope: Scope, wheres: Sequence[Document], page_request: PageRequest
    ) -> list[Page[R]]:
        """The same page for each of many conditions, such as the floors of many assets.

        Lists no longer than their first pages come in one query. For others it is one command for
        up to `UNION_STAGES` conditions; each is the very query that `page` would make, so that
        each uses its index and stops at its limit.
        """
        if len(wheres) == 1:
            return [await self.list_page(kind, scope, wheres[0], page_request)]
        first_pages = await self._load_first_pages(kind, scope, wheres, page_request)
        if first_pages is not None:
            return first_pages
        pages: list[Page[R]] = []
        for start in range(0, len(wheres), MAX_UNION_STAGES):
            part = wheres[start : start + MAX_UNION_STAGES]
            first, *rest = [
                self._build_union_branch(number, kind, scope, where, page_request)
                for number, where in enumerate(part)
            ]
            unions = [{"$unionWith": {"coll": kind.name, "pipeline": branch}} for branch in rest]
            with driver.translate_errors():
                documents = await driver.aggregate_documents(
                    self.database[kind.name],
                    [*first, *unions],
                    batchSize=page_request.limit * len(part),
                )
            found: list[list[Document]] = [[] for _ in part]
            for document in documents:
                found[document.pop("_build_union_branch")].append(document)
            pages += [_build_page(kind, documents, page_request) for documents in found]
        return pages

    async def _load_first_pages(
        self, kind: Kind[R], scope: Scope, wheres: Sequence[Document], slice: PageRequest
    ) -> list[Page[R]] | None:
        """The first pages of lists that are short enough to be read whole, else None."""
        owner = _find_owner_field(wheres)
        if owner is None or slice.skip or slice.after_key is not None:
            return None
        if (sort := (kind.name, owner, slice.limit)) in self._long_lists:
            return None
        most = min(slice.limit * len(wheres), MAX_RECORDS_READ_WHOLE)
        found: dict[str, list[Document]] = {where[owner]: [] for where in wheres}
        visible = scope.restrict(kind, {owner: {"$in": sorted(found)}})
        with driver.translate_errors():
            documents = await self._find_documents(kind, visible, most)
        if len(documents) == most:
            if len(self._long_lists) >= MAX_LONG_LISTS:
                self._long_lists.clear()  # a list may have become short meanwhile
            self._long_lists.add(sort)
            return None
        for document in sorted(documents, key=itemgetter("_id")):
            found[document[owner]].append(document)
        pages = {key: _build_page(kind, documents, slice) for key, documents in found.items()}
        return [pages[where[owner]] for where in wheres]

    async def list_keys(
        self, kind: Kind[Any], scope: Scope, where: Document, limit: int
    ) -> list[str]:
        """The keys of the first visible records that `where` matches, from an index alone."""
        with driver.translate_errors():
            return await self._find_keys(kind, scope, where, limit)

    async def load_drawings(self, scope: Scope, map_ids: Iterable[str]) -> dict[str, bytes]:
        """What the drawings of visible maps were parsed to, as JSON, by map."""
        wanted = sorted(set(map_ids))
        where = scope.restrict(MAPS, {"_id": {"$in": wanted}})
        with driver.translate_errors():
            most = len(wanted)
            maps = await driver.find_documents(
                self.database, MAPS.name, where, {"parsed": 1}, limit=most
            )
            digests = {each["_id"]: each["parsed"] for each in maps if each.get("parsed")}
            contents = await files.read_files(self.database, set(digests.values()))
        return {key: contents[digest] for key, digest in digests.items() if digest in contents}

    async def count_many(
        self, kind: Kind[Any], wheres: Sequence[Document], max_count: int
    ) -> list[int]:
        """How many records meet each condition, counted no further than `most`.

        For planning a read, never for showing: it counts what the caller may not see too.
        """
        counts: list[int] = []
        for start in range(0, len(wheres), MAX_UNION_STAGES):
            first, *rest = [
                [
                    {"$match": where},
                    {"$limit": max_count},
                    {"$group": {"_id": number, "count": {"$sum": 1}}},
                ]
                for number, where in enumerate(wheres[start : start + MAX_UNION_STAGES])
            ]
            unions = [{"$unionWith": {"coll": kind.name, "pipeline": branch}} for branch in rest]
            with driver.translate_errors():
                found = await driver.aggregate_documents(
                    self.database[kind.name], [*first, *unions]
                )
            counted = {each["_id"]: each["count"] for each in found}
            counts += [counted.get(number, 0) for number in range(len(rest) + 1)]
        return counts

    async def _find_documents(
        self, kind: Kind[Any], where: Document, limit: int, **options: Any
    ) -> list[Document]:
        projection = kind.projection
        return await driver.find_documents(
            self.database, kind.name, where, projection, limit=limit, **options
        )

    async def _find_keys(
        self, kind: Kind[Any], scope: Scope, where: Document, limit: int, skip: int = 0
    ) -> list[str]:
        visible, key = scope.restrict(kind, where), {"_id": 1}
        found = await driver.find_documents(
            self.database, kind.name, visible, key, limit=limit, skip=skip, sort=SORT_BY_KEY
        )
        return [document["_id"] for document in found]

    @staticmethod
    def _build_union_branch(
        number: int, kind: Kind[Any], scope: Scope, where: Document, slice: PageRequest
    ) -> list[Document]:
        return [
            {"$match": scope.restrict(kind, _continue_after(where, slice.after_key))},
            {"$sort": SORT_BY_KEY},
            *([{"$skip": slice.skip}] if slice.skip else []),
            {"$limit": slice.limit},
            {"$project": {**kind.projection, "_build_union_branch": {"$literal": number}}},
        ]


def _continue_after(where: Document, key: str | None) -> Document:
    return where if key is None else {"$and": [where, {"_id": {"$gt": key}}]}


def _find_owner_field(wheres: Sequence[Document]) -> str | None:
    """The one field that all conditions are about, each with a value for it."""
    fields = {(*where,) for where in wheres}
    if len(fields) > 1 or not all(
        isinstance(value, str) for each in wheres for value in each.values()
    ):
        return None
    [names] = fields
    return names[0] if len(names) == 1 else None


def _build_page(kind: Kind[R], documents: list[Document], page_request: PageRequest) -> Page[R]:
    return Page(
        page_request.build_paging(documents, itemgetter("_id")),
        kind.decode(documents[: page_request.per_page]),
    )
