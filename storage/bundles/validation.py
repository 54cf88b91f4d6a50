"""What a staged member must satisfy beside its shape, and what it changes in the catalog.

Owners must exist, staged or live, and agree with the member (`storage.records.kinds.Owner`); fields that
never change must not; what live records need of their owners must stay. The same reading serves
twice: for the check, and, since applying repeats it, for the changes themselves.
"""

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from storage.bundles.owners import OwnerCache, find_mismatches, is_consistent, values_at
from storage.bundles.staging import ORIGIN_FIELD, SHOWN_UNITS_FIELD, Staging, describe_record
from storage.bundles.timestamps import has_same_content, set_timestamps
from storage.bundles.violations import Violations
from storage.catalog import KINDS, KINDS_BY_NAME
from storage.maps import MAPS, NETWORK_FIELD, PATHFINDING_TAG
from storage.mongo import driver
from storage.records.kinds import Document, Kind, Owner
from storage.units import UNITS

MAX_IDS_IN_NOTE = 5


class MemberChange(NamedTuple):
    """What one staged member does to the catalog; unchanged members have `fields` None."""

    key: str
    live: Document | None
    fields: Document | None


class BundleValidator:
    """Reads the staged members of one import against each other and against the catalog.

    Without complaints to add to, what may be wrong is not looked at: that was done before.
    """

    def __init__(
        self,
        database: driver.Database,
        staging: Staging,
        now: str,
        violations: Violations | None = None,
    ) -> None:
        self._database = database
        self._staging = staging
        self._now = now
        self._violations = violations
        self._owners = {kind.name: OwnerCache(database, staging, kind) for kind in KINDS}

    async def plan_changes(self, kind: Kind[Any]) -> AsyncIterator[list[MemberChange]]:
        """What the staged members of a kind change, batch by batch, in the order of their keys."""
        stored = kind.stored_fields
        taken = ("", "")
        async for batch in self._staging.iter_batches(kind):
            places = [document.pop(ORIGIN_FIELD) for document in batch]
            await self._resolve_owners(kind, batch, places)
            if kind.single_valued_flag:
                taken = self._rekey_single_valued(kind, batch, places, taken)
            live = await self._load_live(kind, batch, stored)
            if self._violations and live:
                for document, place in zip(batch, places, strict=True):
                    if before := live.get(document["_id"]):
                        await self._validate_against_live(
                            kind, document, before, place, self._violations
                        )
            yield [self._plan_change(kind, document, live, stored) for document in batch]

    async def collect_notes(self) -> list[str]:
        """What may be meant and yet deserves a look.

        Drawings of units that there are not, and maps said to be routable that are not.
        """
        notes = []
        units = self._owners[UNITS.name]
        async for batch in self._staging.iter_batches(MAPS):
            notes += await self._note_unroutable_maps(batch)
            for document in batch:
                shown = document.get(SHOWN_UNITS_FIELD, ())
                await units.load(set(shown))
                if unknown := [key for key in shown if units.get(key) is None]:
                    named = ", ".join(map(_to_json, unknown[:MAX_IDS_IN_NOTE]))
                    notes.append(
                        f"{document[ORIGIN_FIELD]}.source: the drawing shows {len(unknown)} units that"
                        f" there are not: {named}" + ", ..." * (len(unknown) > MAX_IDS_IN_NOTE)
                    )
        return notes

    async def _note_unroutable_maps(self, batch: list[Document]) -> list[str]:
        said = {
            each["_id"]: each[ORIGIN_FIELD]
            for each in batch
            if PATHFINDING_TAG in each.get("tags", ())
        }
        where = {"_id": {"$in": [*said]}, NETWORK_FIELD: {"$exists": True}}
        found = self._database[MAPS.name].find(where, {"_id": 1}) if said else None
        routable = {each["_id"] for each in await found.to_list(None)} if found else set()
        return [
            f"{place}.tags: the map is said to be {PATHFINDING_TAG}, and is not routable here before"
            " it is processed"
            for key, place in said.items()
            if key not in routable
        ]

    async def _resolve_owners(
        self, kind: Kind[Any], batch: list[Document], places: list[str]
    ) -> None:
        """Checks what the members say of their owners, and fills in what the owners lend."""
        for owner in kind.owners:
            if not self._violations and not owner.copies:
                continue
            known = self._owners[owner.kind]
            named = [values_at(document, owner.field) for document in batch]
            await known.load({key for keys in named for key in keys})
            for document, place, keys in zip(batch, places, named, strict=True):
                for key in keys:
                    facts = known.get(key)
                    if self._violations and (
                        facts is None or not is_consistent(owner, document, facts)
                    ):
                        self._add_owner_violations(owner, key, document, place, facts)
                    for field in owner.copies:
                        document[field] = facts and facts[field]

    def _add_owner_violations(
        self, owner: Owner, key: str, document: Document, origin: str, facts: Document | None
    ) -> None:
        assert self._violations
        named = describe_record(KINDS_BY_NAME[owner.kind], key)
        wrongs = (
            [f"there is no {named}, neither in the bundle nor in the catalog"]
            if facts is None
            else [f"{named} {wrong}" for wrong in find_mismatches(owner, document, facts)]
        )
        for wrong in wrongs:
            self._violations.add(f"{origin}.{owner.field}", wrong)

    def _rekey_single_valued(
        self, kind: Kind[Any], batch: list[Document], places: list[str], taken: tuple[str, str]
    ) -> tuple[str, str]:
        """Gives members the keys that they have in the catalog, of which none may come twice.

        Members whose keys become the same follow each other. `taken` is the key and place of the
        last one before the batch; returns those of its last one.
        """
        for document, place in zip(batch, places, strict=True):
            document["_id"] = key = kind.key_of(document)
            if key == taken[0] and self._violations:
                self._violations.add(
                    place, f"the unit already has an attribute of this group at {taken[1]}"
                )
            taken = (key, place)
        return taken

    async def _load_live(
        self, kind: Kind[Any], batch: list[Document], stored: tuple[str, ...]
    ) -> dict[str, Document]:
        keys = [document["_id"] for document in batch]
        projection = dict.fromkeys(stored, 1)
        found = (
            await self._database[kind.name].find({"_id": {"$in": keys}}, projection).to_list(None)
        )
        return {document["_id"]: document for document in found}

    async def _validate_against_live(
        self,
        kind: Kind[Any],
        document: Document,
        live: Document,
        place: str,
        complaints: Violations,
    ) -> None:
        for field in kind.immutable_fields:
            if document[field] != live[field]:
                complaints.add(
                    f"{place}.{field}",
                    f"{describe_record(kind, live['_id'])} belongs to {_to_json(live[field])} and cannot"
                    f" move to {_to_json(document[field])}",
                )
        for other in KINDS:
            for owner in other.owners:
                if owner.kind == kind.name and (owner.value_in or owner.copies):
                    await self._validate_owned_records(
                        other, owner, document, live, place, complaints
                    )

    async def _validate_owned_records(
        self,
        kind: Kind[Any],
        owner: Owner,
        document: Document,
        live: Document,
        place: str,
        complaints: Violations,
    ) -> None:
        """What live records of `kind` need of their owner must stay as long as there are any."""
        mine = {owner.field: document["_id"]}
        for field in owner.copies:
            if document[field] != live[field] and await self._database[kind.name].find_one(mine):
                complaints.add(
                    f"{place}.{field}",
                    f"it cannot change from {_to_json(live[field])} while there are {kind.name}",
                )
        if owner.value_in:
            field, path = owner.value_in
            dropped = set(values_at(live, path)) - set(values_at(document, path))
            orphan = dropped and await self._database[kind.name].find_one(
                {**mine, field: {"$in": sorted(dropped)}}
            )
            if orphan:
                complaints.add(
                    f"{place}.{path}",
                    f"{_to_json(orphan[field])} cannot go while there are {kind.name} of it",
                )

    def _plan_change(
        self,
        kind: Kind[Any],
        document: Document,
        found: dict[str, Document],
        stored: tuple[str, ...],
    ) -> MemberChange:
        key = document.pop("_id")
        live = found.get(key)
        fields = {field: document.get(field) for field in stored}
        if live is not None and kind.keep_on_import:
            fields |= kind.keep_on_import(fields, live)
        if live is not None and has_same_content(kind, fields, live):
            return MemberChange(key, live, None)
        set_timestamps(kind, fields, live, self._now)
        return MemberChange(key, live, fields)


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
