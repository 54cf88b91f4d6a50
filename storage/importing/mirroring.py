"""Which records an import removes: those that a mirrored source lacks, and those that are named."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from storage.bundles.names import suggest
from storage.bundles.violations import Mentions, Violations, quote_json
from storage.catalog import ASSETS, FLOORS, MAPS, PROCESSED_FIELD, RECORD_TYPES, UNITS
from storage.errors import BundleError
from storage.importing.removals import OWNER_FIELD, Removals
from storage.importing.staging import find_neighbours
from storage.mongo import driver
from storage.records.kinds import (
    Document,
    RecordType,
    format_key,
    get_key_values,
    get_stored_keys,
    parse_key,
)

DEFAULT_SHARE = 0.2
ALWAYS_ALLOWED = 5
"""Records of a kind that may be removed however few there are: a fifth of three is none."""
NEVER_FREE = frozenset({ASSETS.name, FLOORS.name, MAPS.name})
"""A fifth of these kinds is a fifth: they have few records, and much goes with each."""


class RemovalLimit(NamedTuple):
    """A limit of removals: a share of the records of each kind, or a number of all kinds."""

    share: float | None = DEFAULT_SHARE
    total: int | None = None

    @classmethod
    def parse(cls, text: str) -> "RemovalLimit":
        """Parse `100` or `30%`. Raises ValueError.

        >>> RemovalLimit.parse("30%"), RemovalLimit.parse("100")
        (RemovalLimit(share=0.3, total=None), RemovalLimit(share=None, total=100))
        """
        number = text.strip().removesuffix("%")
        is_share = number != text.strip()
        if not (number.isascii() and number.isdecimal()) or (is_share and int(number) > 100):
            raise ValueError(f"must be a number such as 100, or a share such as 30%, not {text!r}")
        return cls(int(number) / 100) if is_share else cls(None, int(number))

    def find_excess(self, removed: Mapping[str, int], existing: Mapping[str, int]) -> str | None:
        """Return what exceeds the limit, as a sentence; None if nothing does.

        Both count records by kind: those to remove, and those there are.

        >>> RemovalLimit(0.2).find_excess({"units": 21}, {"units": 100})
        '21 of 100 units would be removed, more than 20% of a kind'
        >>> RemovalLimit(0.2).find_excess({"units": 20, "floors": 0}, {"units": 100, "floors": 9})
        """
        if self.total is not None and sum(removed.values()) > self.total:
            return (
                f"{sum(removed.values()):,} records would be removed, more than the"
                f" {self.total:,} allowed"
            )
        if self.share is None:
            return None
        parts = [
            f"{count:,} of {existing[kind]:,} {kind}"
            for kind, count in removed.items()
            if count > self.share * existing[kind]
            and (count > ALWAYS_ALLOWED or kind in NEVER_FREE)
        ]
        if not parts:
            return None
        return f"{', '.join(parts)} would be removed, more than {self.share:.0%} of a kind"


def find_mirrored(mentions: Mentions, asset_ids: Collection[str] | None) -> dict[str, Document]:
    """Return which records of each kind may be removed if the sources lack them, of these assets.

    What processing has made is not the sources', and stays as long as its owners.

    >>> mentions = Mentions()
    >>> mentions.add("units")
    >>> find_mirrored(mentions, {"oak"})
    {'units': {'processed': {'$ne': True}, 'asset_id': {'$in': ['oak']}}}
    """
    mirrored = {}
    for kind in RECORD_TYPES:
        condition = mentions.condition_of(kind.name)
        if condition is None or (asset_ids is not None and not kind.scope_field):
            continue
        where: Document = {**condition, PROCESSED_FIELD: {"$ne": True}}
        if asset_ids is not None:
            where[kind.scope_field] = {"$in": sorted(asset_ids)}
        mirrored[kind.name] = where
    return mirrored


def find_users(mentions: Mentions, kind_name: str) -> tuple[str, str] | None:
    """Return the kind and the field by which records must be in use to be removed, if they must.

    A table of apartments has only the floors with units: a roof that never had any is not its.

    >>> mentions = Mentions()
    >>> mentions.add("floors", {"asset_id": {"$in": ["oak"]}})
    >>> find_users(mentions, "floors")
    ('units', 'floor_id')
    >>> mentions.add("floors")
    >>> find_users(mentions, "floors")
    """
    is_of_tables = kind_name == FLOORS.name and mentions.list_asset_ids(kind_name) is not None
    return (UNITS.name, "floor_id") if is_of_tables else None


def list_mirrored_assets(
    mentions: Mentions, mirrored: Collection[str], asset_ids: Collection[str] | None
) -> list[str] | None:
    """Return the assets that can lose records of any kind, given the mirrored kinds; None for all.

    >>> mentions = Mentions()
    >>> mentions.add("units", {"asset_id": {"$in": ["oak", "elm"]}})
    >>> list_mirrored_assets(mentions, ["units"], None)
    ['elm', 'oak']
    >>> list_mirrored_assets(mentions, ["units"], {"oak"})
    ['oak']
    >>> mentions.add("maps")
    >>> list_mirrored_assets(mentions, ["units", "maps"], None)
    """
    lists = [mentions.list_asset_ids(name) for name in mirrored]
    if not lists or None in lists:
        return None if asset_ids is None else sorted(asset_ids)
    found = {each for ids in lists for each in ids or ()}
    return sorted(found if asset_ids is None else found.intersection(asset_ids))


async def find_excess(
    database: driver.Database,
    removals: Removals,
    limit: RemovalLimit,
    mirrored: Mapping[str, Document],
    asset_ids: Collection[str] | None,
) -> str | None:
    """Return what exceeds the limit of removals; None if nothing does.

    All that is removed is a share of what these assets have, and what is removed for itself also
    one of what is mirrored: the units of one property, of which a table was cut off.
    """
    removed, existing, absent, listed = {}, {}, {}, {}
    for kind in RECORD_TYPES:
        staged, live = removals.collection_of(kind.name), database[kind.name]
        count = await staged.count_documents({})
        if not count:
            continue
        is_scoped = asset_ids is not None and kind.scope_field
        where = {kind.scope_field: {"$in": sorted(asset_ids or ())}} if is_scoped else {}
        removed[kind.name], existing[kind.name] = count, await live.count_documents(where)
        if kind.name in mirrored:
            absent[kind.name] = await staged.count_documents({OWNER_FIELD: {"$exists": False}})
            listed[kind.name] = await live.count_documents(mirrored[kind.name])
    return limit.find_excess(removed, existing) or limit.find_excess(absent, listed)


MAX_NAMED = 10


async def note_unmentioned_assets(
    database: driver.Database, mentions: Mentions, asset_ids: Collection[str] | None
) -> list[str]:
    """Return a note if the source has the units of some assets only, and there are others.

    A table of apartments has those of its properties: one that is no longer in it stays as it is.
    """
    mentioned = mentions.list_asset_ids(UNITS.name)
    if mentioned is None:
        return []
    where: list[Document] = [{"_id": {"$nin": mentioned}}]
    if asset_ids is not None:
        where.append({"_id": {"$in": sorted(asset_ids)}})
    found = database[ASSETS.name].find({"$and": where}, ["_id"], limit=MAX_NAMED + 1)
    names = [document["_id"] async for document in found.sort("_id", 1)]
    if not names:
        return []
    listed = _list_names(names)
    return [f"not in the source, and so left as they are: units of the assets {listed}"]


def note_unused_floors(floor_ids: Sequence[str]) -> list[str]:
    """Return a note about floors that a table of apartments cannot list, if there are any."""
    if not floor_ids:
        return []
    listed = _list_names(floor_ids)
    return [f"not in the source, and left as they are since they had no units: floors {listed}"]


def _list_names(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > MAX_NAMED else ""
    return ", ".join(map(quote_json, names[:MAX_NAMED])) + more


KINDS_BY_TEXT = {
    text: kind
    for kind in RECORD_TYPES
    for name in (kind.singular, kind.name)
    for text in (name, name.replace("_", "-"))
}
_BATCH_KEYS = 1_000


def find_kind(text: str) -> RecordType[Any]:
    """Return the kind with this name, such as `unit`, `units` or `unit-references`.

    Raises BundleError.
    """
    if kind := KINDS_BY_TEXT.get(text.lower()):
        return kind
    meant = suggest(text, KINDS_BY_TEXT)
    hint = f"did you mean {meant}? Kinds" if meant else "kinds"
    names = ", ".join(kind.singular for kind in RECORD_TYPES)
    raise BundleError([f"there is no kind {quote_json(text)}; {hint} are {names}"])


async def find_named(
    database: driver.Database, kind: RecordType[Any], texts: Sequence[str]
) -> list[Document]:
    """Return the records with these keys. Raises BundleError with all that do not exist."""
    violations = Violations()
    values_by_text = {}
    for text in texts:
        try:
            values_by_text[text] = parse_key(kind, text)
        except ValueError as error:
            violations.add("id", str(error))
    found: dict[str, Document] = {}
    wanted = [key for values in values_by_text.values() for key in get_stored_keys(kind, values)]
    for start in range(0, len(wanted), _BATCH_KEYS):
        where = {"_id": {"$in": wanted[start : start + _BATCH_KEYS]}}
        documents = await database[kind.name].find(where).to_list(None)
        found |= {format_key(get_key_values(kind, each)): each for each in documents}
    for text, values in values_by_text.items():
        if format_key(values) not in found:
            meant = None if violations.is_full else await _find_meant(database, kind, text)
            hint = f"; did you mean {quote_json(meant)}?" if meant else ""
            violations.add(kind.name, f"there is no {kind.singular} {quote_json(text)}{hint}")
    violations.raise_if_any()
    return [found[format_key(values)] for values in values_by_text.values()]


async def _find_meant(database: driver.Database, kind: RecordType[Any], text: str) -> str | None:
    """Return a similar id, of those that begin alike."""
    if len(kind.key_fields) > 1:
        return None
    near = await find_neighbours(database[kind.name], "_id", text)
    return await asyncio.to_thread(suggest, text, near)
