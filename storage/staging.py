"""Where members wait until the whole of their bundle is known to be right.

One collection per kind, named after the import, in the database that they are to go into. A member
has there its number in the import as `_id`, the key it is told apart by as `_key`, and `_place`,
where it came from. Once an import begins to apply, its staging is its redo log.

Members are read in the order in which they came: a million of them do not fit MongoDB's cache, and
bundles keep together what belongs together, so that few pages are touched at a time.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from itertools import count
from typing import Any

from pymongo.errors import BulkWriteError

from storage import driver, walking
from storage.bundles import Member
from storage.complaints import Complaints
from storage.kinds import Document, Kind

PREFIX = "staging."
KEY = "_key"
PLACE = "_place"
SHOWN = "_shown"
"""The field of a staged map that holds the ids of the units in its drawing."""
DUPLICATE_KEY = 11000


class Staging:
    """The staged members of one import."""

    def __init__(self, database: driver.Database, import_id: str) -> None:
        self._database = database
        self._prefix = f"{PREFIX}{import_id}."
        self._numbers = count()
        self._begun: set[str] = set()

    def of(self, kind_name: str) -> driver.Collection:
        """The collection of the staged members of a kind."""
        return self._database[self._prefix + kind_name]

    async def add(self, members: Sequence[Member], complaints: Complaints) -> None:
        """Stages members; a key that is already staged is a complaint that names both places."""
        by_kind: dict[str, list[Member]] = defaultdict(list)
        for member in members:
            by_kind[member.kind.name].append(member)
        for kind_name, group in by_kind.items():
            if kind_name not in self._begun:
                self._begun.add(kind_name)
                await self.of(kind_name).create_index(KEY, unique=True)
            documents = [self._staged(member) for member in group]
            try:
                await self.of(kind_name).insert_many(documents, ordered=False)
            except BulkWriteError as error:
                await self._complain(group[0].kind, error, complaints)

    def _staged(self, member: Member) -> Document:
        document = member.document
        document[KEY] = document.pop("_id")
        return {"_id": next(self._numbers), **document, PLACE: member.place}

    async def _complain(
        self, kind: Kind[Any], error: BulkWriteError, complaints: Complaints
    ) -> None:
        faults = error.details["writeErrors"] if error.details else []
        if not faults or any(fault["code"] != DUPLICATE_KEY for fault in faults):
            raise error
        second = [fault["op"] for fault in faults]
        keys = list({document[KEY] for document in second})
        found = await self.of(kind.name).find({KEY: {"$in": keys}}, [KEY, PLACE]).to_list(None)
        first = {document[KEY]: document[PLACE] for document in found}
        for document in second:
            key = document[KEY]
            complaints.add(document[PLACE], f"{describe(kind, key)} is already at {first[key]}")

    async def batches(self, kind: Kind[Any]) -> AsyncIterator[list[Document]]:
        """The staged members of a kind with their keys as `_id`, some at a time.

        They come as they came in the bundle; where keys are narrowed, in the order of their keys.
        """
        order = KEY if kind.narrowed_by else "_id"
        async for batch in walking.batches(self.of(kind.name), order=order):
            for document in batch:
                document["_id"] = document.pop(KEY)
            yield batch

    async def find(self, kind_name: str, keys: list[str], fields: set[str]) -> list[Document]:
        """Those fields of the staged members of a kind that have these keys, which are `_id`."""
        projection = dict.fromkeys({KEY, *fields}, 1)
        found = await self.of(kind_name).find({KEY: {"$in": keys}}, projection).to_list(None)
        return [{**document, "_id": document[KEY]} for document in found]

    async def drop(self) -> None:
        """Forgets this import's members, and any that a dead import left behind."""
        for name in await self._database.list_collection_names():
            if name.startswith(PREFIX):
                await self._database.drop_collection(name)


def describe(kind: Kind[Any], key: str) -> str:
    """A record for people: its kind and the fields of its key."""
    if kind.key == ("id",):
        return f'{kind.singular} "{key}"'
    pairs = zip(kind.key, key.split("\0"), strict=False)
    return f"{kind.singular} of " + ", ".join(f'{field} "{value}"' for field, value in pairs)
