"""The records that an import mirrors: which it may remove, and how many of them."""

from collections.abc import Collection, Mapping

from storage.bundles.reading.mentions import Mentions
from storage.bundles.removing.limits import RemovalLimit
from storage.bundles.removing.removals import OWNER_FIELD, Removals
from storage.catalog import FLOORS, PROCESSED_FIELD, RECORD_TYPES, UNITS
from storage.mongo import driver
from storage.records.kinds import Document


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
