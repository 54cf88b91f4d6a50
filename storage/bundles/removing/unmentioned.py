"""Records that a mirrored source does not mention and that stay nevertheless."""

from collections.abc import Collection, Sequence

from storage.bundles.reading.mentions import Mentions
from storage.bundles.reading.violations import quote_json
from storage.catalog import ASSETS, UNITS
from storage.mongo import driver
from storage.records.kinds import Document

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
