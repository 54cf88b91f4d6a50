"""Reading the catalog: by key, by page, and for many owners at once.

Every read takes the caller's `Scope`. Values from outside are only ever compared (`$eq`, `$in`),
never placed where MongoDB would read them as operators.
"""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from storage import driver, files
from storage.fields import Record
from storage.kinds import Document, Kind
from storage.landmarks import Landmarks, ListName
from storage.maps import MAPS
from storage.paging import Page, Slice
from storage.visibility import Scope

R = TypeVar("R", bound=Record)

BY_KEY = {"_id": 1}
MOST_WHOLE = 20_000
"""Records of all lists that are read whole in one query."""
UNION_STAGES = 90
"""Owners in one command; MongoDB allows 1,000 stages in all, of which each owner takes some."""
MOST_LONG = 1_000
"""Sorts of lists that are remembered as too long to be read whole."""


class Store:
    """The catalog in one MongoDB database, for reading."""

    def __init__(self, client: driver.Client, database: str) -> None:
        self.client = client
        self.database: driver.Database = client[database]
        self.landmarks: Landmarks | None = None
        """What bounds jumps to far pages, where changes are followed."""
        self._long: set[tuple[str, str, int]] = set()
        """Lists that were once too long to be read whole: kind, owner's field, records asked."""

    async def get(self, kind: Kind[R], scope: Scope, where: Document) -> R | None:
        """The one visible record that `where` picks out, or None."""
        with driver.translating():
            documents = await self._find(kind, scope.limit(kind, where), limit=1)
        return next(iter(kind.read(documents)), None)

    async def get_many(self, kind: Kind[R], scope: Scope, keys: Iterable[str]) -> dict[str, R]:
        """The visible records among `keys`, by key: one command, however many."""
        wanted = sorted(set(keys))
        # MongoDB answers for one key without planning.
        among = wanted[0] if len(wanted) == 1 else {"$in": wanted}
        with driver.translating():
            documents = await self._find(kind, scope.limit(kind, {"_id": among}), len(wanted))
        found = zip(documents, kind.read(documents), strict=True)
        return {document["_id"]: record for document, record in found}

    async def page(self, kind: Kind[R], scope: Scope, where: Document, slice: Slice) -> Page[R]:
        """The page of the visible records that `where` matches, in the order of their keys."""
        with driver.translating():
            key, skip = await self._start(kind, scope, where, slice)
            visible = scope.limit(kind, _after(where, key))
            documents = await self._find(kind, visible, slice.limit, skip=skip, sort=BY_KEY)
        return _page(kind, documents, slice)

    async def _start(
        self, kind: Kind[Any], scope: Scope, where: Document, slice: Slice
    ) -> tuple[str | None, int]:
        """The key behind which to begin, and how many records to pass over from there."""
        landmarks = self.landmarks
        if landmarks is None or slice.after_key is not None:
            return slice.after_key, slice.skip

        async def advance(key: str | None) -> str | None:
            keys = await self._keys(kind, scope, _after(where, key), 1, skip=landmarks.stride - 1)
            return keys[0] if keys else None

        name = ListName(kind.name, scope, repr(where))
        return await landmarks.start(name, slice.skip, advance)

    async def page_each(
        self, kind: Kind[R], scope: Scope, wheres: Sequence[Document], slice: Slice
    ) -> list[Page[R]]:
        """The same page for each of many conditions, such as the floors of many assets.

        Lists no longer than their first pages come in one query. For others it is one command for
        up to `UNION_STAGES` conditions; each is the very query that `page` would make, so that
        each uses its index and stops at its limit.
        """
        if len(wheres) == 1:
            return [await self.page(kind, scope, wheres[0], slice)]
        first_pages = await self._first_pages(kind, scope, wheres, slice)
        if first_pages is not None:
            return first_pages
        pages: list[Page[R]] = []
        for start in range(0, len(wheres), UNION_STAGES):
            part = wheres[start : start + UNION_STAGES]
            first, *rest = [
                self._branch(number, kind, scope, where, slice) for number, where in enumerate(part)
            ]
            unions = [{"$unionWith": {"coll": kind.name, "pipeline": branch}} for branch in rest]
            with driver.translating():
                documents = await driver.aggregate(
                    self.database[kind.name], [*first, *unions], batchSize=slice.limit * len(part)
                )
            found: list[list[Document]] = [[] for _ in part]
            for document in documents:
                found[document.pop("_branch")].append(document)
            pages += [_page(kind, documents, slice) for documents in found]
        return pages

    async def _first_pages(
        self, kind: Kind[R], scope: Scope, wheres: Sequence[Document], slice: Slice
    ) -> list[Page[R]] | None:
        """The first pages of lists that are short enough to be read whole, else None."""
        owner = _owner(wheres)
        if owner is None or slice.skip or slice.after_key is not None:
            return None
        if (sort := (kind.name, owner, slice.limit)) in self._long:
            return None
        most = min(slice.limit * len(wheres), MOST_WHOLE)
        found: dict[str, list[Document]] = {where[owner]: [] for where in wheres}
        visible = scope.limit(kind, {owner: {"$in": sorted(found)}})
        with driver.translating():
            documents = await self._find(kind, visible, most)
        if len(documents) == most:
            if len(self._long) >= MOST_LONG:
                self._long.clear()  # a list may have become short meanwhile
            self._long.add(sort)
            return None
        for document in sorted(documents, key=itemgetter("_id")):
            found[document[owner]].append(document)
        pages = {key: _page(kind, documents, slice) for key, documents in found.items()}
        return [pages[where[owner]] for where in wheres]

    async def keys(self, kind: Kind[Any], scope: Scope, where: Document, most: int) -> list[str]:
        """The keys of the first visible records that `where` matches, from an index alone."""
        with driver.translating():
            return await self._keys(kind, scope, where, most)

    async def drawings(self, scope: Scope, map_ids: Iterable[str]) -> dict[str, bytes]:
        """What the drawings of visible maps were parsed to, as JSON, by map."""
        wanted = sorted(set(map_ids))
        where = scope.limit(MAPS, {"_id": {"$in": wanted}})
        with driver.translating():
            most = len(wanted)
            maps = await driver.find(self.database, MAPS.name, where, {"parsed": 1}, limit=most)
            digests = {each["_id"]: each["parsed"] for each in maps if each.get("parsed")}
            contents = await files.read_each(self.database, set(digests.values()))
        return {key: contents[digest] for key, digest in digests.items() if digest in contents}

    async def count_each(self, kind: Kind[Any], wheres: Sequence[Document], most: int) -> list[int]:
        """How many records meet each condition, counted no further than `most`.

        For planning a read, never for showing: it counts what the caller may not see too.
        """
        counts: list[int] = []
        for start in range(0, len(wheres), UNION_STAGES):
            first, *rest = [
                [
                    {"$match": where},
                    {"$limit": most},
                    {"$group": {"_id": number, "count": {"$sum": 1}}},
                ]
                for number, where in enumerate(wheres[start : start + UNION_STAGES])
            ]
            unions = [{"$unionWith": {"coll": kind.name, "pipeline": branch}} for branch in rest]
            with driver.translating():
                found = await driver.aggregate(self.database[kind.name], [*first, *unions])
            counted = {each["_id"]: each["count"] for each in found}
            counts += [counted.get(number, 0) for number in range(len(rest) + 1)]
        return counts

    async def _find(
        self, kind: Kind[Any], where: Document, limit: int, **options: Any
    ) -> list[Document]:
        projection = kind.projection
        return await driver.find(
            self.database, kind.name, where, projection, limit=limit, **options
        )

    async def _keys(
        self, kind: Kind[Any], scope: Scope, where: Document, limit: int, skip: int = 0
    ) -> list[str]:
        visible, key = scope.limit(kind, where), {"_id": 1}
        found = await driver.find(
            self.database, kind.name, visible, key, limit=limit, skip=skip, sort=BY_KEY
        )
        return [document["_id"] for document in found]

    @staticmethod
    def _branch(
        number: int, kind: Kind[Any], scope: Scope, where: Document, slice: Slice
    ) -> list[Document]:
        return [
            {"$match": scope.limit(kind, _after(where, slice.after_key))},
            {"$sort": BY_KEY},
            *([{"$skip": slice.skip}] if slice.skip else []),
            {"$limit": slice.limit},
            {"$project": {**kind.projection, "_branch": {"$literal": number}}},
        ]


def _after(where: Document, key: str | None) -> Document:
    return where if key is None else {"$and": [where, {"_id": {"$gt": key}}]}


def _owner(wheres: Sequence[Document]) -> str | None:
    """The one field that all conditions are about, each with a value for it."""
    fields = {(*where,) for where in wheres}
    if len(fields) > 1 or not all(
        isinstance(value, str) for each in wheres for value in each.values()
    ):
        return None
    [names] = fields
    return names[0] if len(names) == 1 else None


def _page(kind: Kind[R], documents: list[Document], slice: Slice) -> Page[R]:
    return Page(slice.paging(documents, itemgetter("_id")), kind.read(documents[: slice.per_page]))
