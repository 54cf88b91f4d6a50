"""What a staged member must satisfy beside its shape, and what it changes in the catalog.

Owners must exist, staged or live, and agree with the member (`storage.kinds.Owner`); fields that
never change must not; what live records need of their owners must stay. The same reading serves
twice: for the check, and, since applying repeats it, for the changes themselves.
"""

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from storage import driver
from storage.catalog import BY_NAME, KINDS
from storage.complaints import Complaints
from storage.kinds import Document, Kind, Owner
from storage.maps import MAPS, NETWORK, PATHFINDING
from storage.owners import Owners, agrees, disagreements, values
from storage.staging import PLACE, SHOWN, Staging, describe
from storage.stamps import is_same, stamp
from storage.units import UNITS

NAMED_IN_A_NOTE = 5


class Change(NamedTuple):
    """What one staged member does to the catalog; unchanged members have `fields` None."""

    key: str
    live: Document | None
    fields: Document | None


class Check:
    """Reads the staged members of one import against each other and against the catalog.

    Without complaints to add to, what may be wrong is not looked at: that was done before.
    """

    def __init__(
        self,
        database: driver.Database,
        staging: Staging,
        now: str,
        complaints: Complaints | None = None,
    ) -> None:
        self._database = database
        self._staging = staging
        self._now = now
        self._complaints = complaints
        self._owners = {kind.name: Owners(database, staging, kind) for kind in KINDS}

    async def changes(self, kind: Kind[Any]) -> AsyncIterator[list[Change]]:
        """What the staged members of a kind change, batch by batch, in the order of their keys."""
        stored = kind.stored
        taken = ("", "")
        async for batch in self._staging.batches(kind):
            places = [document.pop(PLACE) for document in batch]
            await self._meet_owners(kind, batch, places)
            if kind.narrowed_by:
                taken = self._narrow(kind, batch, places, taken)
            live = await self._live(kind, batch, stored)
            if self._complaints and live:
                for document, place in zip(batch, places, strict=True):
                    if before := live.get(document["_id"]):
                        await self._check_live(kind, document, before, place, self._complaints)
            yield [self._change(kind, document, live, stored) for document in batch]

    async def notes(self) -> list[str]:
        """What may be meant and yet deserves a look.

        Drawings of units that there are not, and maps said to be routable that are not.
        """
        notes = []
        units = self._owners[UNITS.name]
        async for batch in self._staging.batches(MAPS):
            notes += await self._unroutable(batch)
            for document in batch:
                shown = document.get(SHOWN, ())
                await units.learn(set(shown))
                if unknown := [key for key in shown if units.get(key) is None]:
                    named = ", ".join(map(_quoted, unknown[:NAMED_IN_A_NOTE]))
                    notes.append(
                        f"{document[PLACE]}.source: the drawing shows {len(unknown)} units that"
                        f" there are not: {named}" + ", ..." * (len(unknown) > NAMED_IN_A_NOTE)
                    )
        return notes

    async def _unroutable(self, batch: list[Document]) -> list[str]:
        said = {each["_id"]: each[PLACE] for each in batch if PATHFINDING in each.get("tags", ())}
        where = {"_id": {"$in": [*said]}, NETWORK: {"$exists": True}}
        found = self._database[MAPS.name].find(where, {"_id": 1}) if said else None
        routable = {each["_id"] for each in await found.to_list(None)} if found else set()
        return [
            f"{place}.tags: the map is said to be {PATHFINDING}, and is not routable here before"
            " it is processed"
            for key, place in said.items()
            if key not in routable
        ]

    async def _meet_owners(self, kind: Kind[Any], batch: list[Document], places: list[str]) -> None:
        """Checks what the members say of their owners, and fills in what the owners lend."""
        for owner in kind.owners:
            if not self._complaints and not owner.lends:
                continue
            known = self._owners[owner.kind]
            named = [values(document, owner.field) for document in batch]
            await known.learn({key for keys in named for key in keys})
            for document, place, keys in zip(batch, places, named, strict=True):
                for key in keys:
                    facts = known.get(key)
                    if self._complaints and (facts is None or not agrees(owner, document, facts)):
                        self._complain(owner, key, document, place, facts)
                    for field in owner.lends:
                        document[field] = facts and facts[field]

    def _complain(
        self, owner: Owner, key: str, document: Document, place: str, facts: Document | None
    ) -> None:
        assert self._complaints
        named = describe(BY_NAME[owner.kind], key)
        wrongs = (
            [f"there is no {named}, neither in the bundle nor in the catalog"]
            if facts is None
            else [f"{named} {wrong}" for wrong in disagreements(owner, document, facts)]
        )
        for wrong in wrongs:
            self._complaints.add(f"{place}.{owner.field}", wrong)

    def _narrow(
        self, kind: Kind[Any], batch: list[Document], places: list[str], taken: tuple[str, str]
    ) -> tuple[str, str]:
        """Gives members the keys that they have in the catalog, of which none may come twice.

        Members whose keys become the same follow each other. `taken` is the key and place of the
        last one before the batch; returns those of its last one.
        """
        for document, place in zip(batch, places, strict=True):
            document["_id"] = key = kind.key_of(document)
            if key == taken[0] and self._complaints:
                self._complaints.add(
                    place, f"the unit already has an attribute of this group at {taken[1]}"
                )
            taken = (key, place)
        return taken

    async def _live(
        self, kind: Kind[Any], batch: list[Document], stored: tuple[str, ...]
    ) -> dict[str, Document]:
        keys = [document["_id"] for document in batch]
        projection = dict.fromkeys(stored, 1)
        found = (
            await self._database[kind.name].find({"_id": {"$in": keys}}, projection).to_list(None)
        )
        return {document["_id"]: document for document in found}

    async def _check_live(
        self,
        kind: Kind[Any],
        document: Document,
        live: Document,
        place: str,
        complaints: Complaints,
    ) -> None:
        for field in kind.fixed:
            if document[field] != live[field]:
                complaints.add(
                    f"{place}.{field}",
                    f"{describe(kind, live['_id'])} belongs to {_quoted(live[field])} and cannot"
                    f" move to {_quoted(document[field])}",
                )
        for other in KINDS:
            for owner in other.owners:
                if owner.kind == kind.name and (owner.holds or owner.lends):
                    await self._check_owned(other, owner, document, live, place, complaints)

    async def _check_owned(
        self,
        kind: Kind[Any],
        owner: Owner,
        document: Document,
        live: Document,
        place: str,
        complaints: Complaints,
    ) -> None:
        """What live records of `kind` need of their owner must stay as long as there are any."""
        mine = {owner.field: document["_id"]}
        for field in owner.lends:
            if document[field] != live[field] and await self._database[kind.name].find_one(mine):
                complaints.add(
                    f"{place}.{field}",
                    f"it cannot change from {_quoted(live[field])} while there are {kind.name}",
                )
        if owner.holds:
            field, path = owner.holds
            dropped = set(values(live, path)) - set(values(document, path))
            orphan = dropped and await self._database[kind.name].find_one(
                {**mine, field: {"$in": sorted(dropped)}}
            )
            if orphan:
                complaints.add(
                    f"{place}.{path}",
                    f"{_quoted(orphan[field])} cannot go while there are {kind.name} of it",
                )

    def _change(
        self,
        kind: Kind[Any],
        document: Document,
        found: dict[str, Document],
        stored: tuple[str, ...],
    ) -> Change:
        key = document.pop("_id")
        live = found.get(key)
        fields = {field: document.get(field) for field in stored}
        if live is not None and kind.inherit:
            fields |= kind.inherit(fields, live)
        if live is not None and is_same(kind, fields, live):
            return Change(key, live, None)
        stamp(kind, fields, live, self._now)
        return Change(key, live, fields)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
