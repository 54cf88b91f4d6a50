"""Directories of any size, written straight into MongoDB: an import of millions takes too long.

Documents go in without validators, and indexes are built afterwards. What an earlier run has left
is used again. Units of one property are spread over the order of ids, as in exports.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from bench.data.bundle import FLOORS_PER_ASSET, ID_MULTIPLIER
from bench.data.directory import Directory
from storage.administration import api_keys
from storage.catalog import ASSETS, FLOORS, LEVEL_TAGS, MAPS, UNITS
from storage.mongo import driver
from storage.records.filters import index_name
from storage.setup import preparation

PREPARATION_SECONDS = 7_200.0
BATCH_DOCUMENTS = 20_000
SAMPLED_UNITS = 500
TIMES = {"created_at": "2026-01-31T12:00:00+00:00", "updated_at": "2026-01-31T12:00:00+00:00"}
MARK = "grown"
"""Collection that is there once a directory is complete."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large a directory is; each asset has about the same number of units."""

    units: int
    assets: int

    @property
    def database(self) -> str:
        """The name of the database."""
        return f"grown-{self.units}-{self.assets}"

    def choose_assets(self, count: int | None) -> Sequence[str] | None:
        """Return assets for a key, spread over all; None for all, also those to come.

        >>> Size(100, 10).choose_assets(2)
        ['asset-000000', 'asset-000005']
        """
        if count is None:
            return None
        return [_name_asset(number * self.assets // count) for number in range(count)]


def load_grown_directory(
    mongo_url: str, size: Size, key_assets: int | None, scratch: Path
) -> Directory:
    """Return the directory of a size with a key for some of its assets; fill it if it is not there.

    The ids are of units that the key sees.
    """
    return asyncio.run(_load(mongo_url, size, key_assets, scratch))


def find_key_before_last(directory: Directory, assets: Sequence[str] | None, count: int) -> str:
    """Return the id of the unit before the last `count` of those in assets, or of the first."""
    where = {} if assets is None else {"asset_id": {"$in": assets}}
    with MongoClient[dict[str, Any]](directory.mongo_url) as client:
        units = client[directory.database][UNITS.name]
        found = units.find(where, {"_id": 1}, sort=[("_id", -1)], limit=count + 1)
        return str([unit["_id"] for unit in found][-1])


async def _load(mongo_url: str, size: Size, key_assets: int | None, scratch: Path) -> Directory:
    client = driver.connect(mongo_url, timeout_seconds=PREPARATION_SECONDS)
    database = client[size.database]
    try:
        await preparation.prepare_database(database)
        with MongoClient[dict[str, Any]](mongo_url) as blocking:
            stored = blocking[size.database]
            if MARK not in stored.list_collection_names():
                for name, documents in iter_collections(size):
                    stored[name].drop_indexes()
                    while batch := [*islice(documents, BATCH_DOCUMENTS)]:
                        stored[name].insert_many(
                            batch, ordered=False, bypass_document_validation=True
                        )
                await preparation.prepare_database(database)
                stored.create_collection(MARK)
            pid = blocking.admin.command("serverStatus")["pid"]
            assets = size.choose_assets(key_assets)
            where = {} if assets is None else {"asset_id": {"$in": assets}}
            units = stored[UNITS.name].find(where, {"_id": 1}).limit(SAMPLED_UNITS)
            unit_ids = [unit["_id"] for unit in units]
        _, key = await api_keys.create_api_key(
            database,
            name="growth",
            permissions=[],
            asset_ids=None if assets is None else [*assets],
            expires_at=None,
        )
    finally:
        await driver.close(client)
    return Directory(
        mongo_url=mongo_url,
        mongod_pid=pid,
        database=size.database,
        key=key,
        unit_ids=unit_ids,
        location_ids=[],
        answers_path=scratch / "answers",
    )


def iter_collections(size: Size) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """Yield the documents of each collection."""
    yield ASSETS.name, (_asset(number) for number in range(size.assets))
    yield (
        FLOORS.name,
        (_floor(asset, floor) for asset in range(size.assets) for floor in range(FLOORS_PER_ASSET)),
    )
    yield MAPS.name, (_map(number) for number in range(size.assets))
    yield LEVEL_TAGS.name, (_level_tag(number) for number in range(size.assets))
    yield UNITS.name, (_unit(number, size.assets) for number in range(size.units))


def _name_asset(number: int) -> str:
    return f"asset-{number:06}"


def _asset(number: int) -> dict[str, Any]:
    named = {"_id": _name_asset(number), "name": f"Property {number}", "market": "multifamily"}
    return named | TIMES | index_name(named)


def _floor(asset: int, floor: int) -> dict[str, Any]:
    id, name = f"{_name_asset(asset)}-floor-{floor}", f"Floor {floor}"
    labels = {"name": name, "label": name, "short_label": str(floor), "sort": floor}
    return {"_id": id, "asset_id": _name_asset(asset), **labels, **TIMES}


def name_map(asset: str) -> str:
    """Return the id of the map of an asset."""
    return f"{asset}-map"


def _map(asset: int) -> dict[str, Any]:
    named = {"_id": name_map(_name_asset(asset)), "name": "Floor plates"}
    return {**named, "asset_id": _name_asset(asset), "tags": [], **TIMES, **index_name(named)}


def _level_tag(asset: int) -> dict[str, Any]:
    map_id = name_map(_name_asset(asset))
    values = [
        {"name": f"Floor {floor}", "value": f"{_name_asset(asset)}-floor-{floor}", **TIMES}
        for floor in range(FLOORS_PER_ASSET)
    ]
    tag = {"map_id": map_id, "asset_id": _name_asset(asset), "key": "floor", "name": "Floor"}
    return {"_id": f"{map_id}\0floor", **tag, "values": values, **TIMES}


def _unit(number: int, assets: int) -> dict[str, Any]:
    door, asset = divmod(number, assets)
    name = f"{door % FLOORS_PER_ASSET}{door // FLOORS_PER_ASSET:02}"
    return {
        "_id": f"unit-{number * ID_MULTIPLIER % 1_000_000_007:010}",
        "asset_id": _name_asset(asset),
        "floor_id": f"{_name_asset(asset)}-floor-{door % FLOORS_PER_ASSET}",
        "map_ids": None,
        "name": name,
        **TIMES,
        **index_name({"name": name}),
    }
