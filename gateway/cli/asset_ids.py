"""Asset ids on the command line: which do not exist, and which may be meant instead."""

from collections.abc import Sequence
from difflib import get_close_matches

from storage.catalog import ASSETS
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS
from storage.store import Store

MAX_COMPARED_ASSETS = 10_000


async def find_missing_assets(
    database: driver.Database, asset_ids: Sequence[str]
) -> dict[str, str]:
    """Return the assets that do not exist, each with the ids that it may have meant as the end of a
    sentence: empty, or `; did you mean 'larkspur'?`."""
    store = Store(database.client, database.name)
    where = {"_id": {"$in": [*asset_ids]}}
    known = await store.list_ids(ASSETS, ALL_ASSETS, where, len(asset_ids))
    missing = [asset for asset in asset_ids if asset not in known]
    ids = await store.list_ids(ASSETS, ALL_ASSETS, {}, MAX_COMPARED_ASSETS) if missing else []
    return {asset: _suggest(get_close_matches(asset, ids)) for asset in missing}


def _suggest(similar: Sequence[str]) -> str:
    return f"; did you mean {' or '.join(map(repr, similar))}?" if similar else ""
