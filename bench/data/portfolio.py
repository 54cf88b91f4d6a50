"""A portfolio of many small properties, and API keys that see one, ten, half or all of them.

Every unit has an attribute of each of two groups, which allow one per unit. Documents are inserted
as they are: an import of as many takes a minute.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.data.directory import IMPORT_SECONDS, Directory
from resolvers.request.caller import (
    READ_UNIT_ATTRIBUTES_PERMISSION,
    WRITE_UNIT_ATTRIBUTES_PERMISSION,
)
from storage.administration import api_keys
from storage.catalog import (
    ASSETS,
    ASSIGNMENTS,
    ATTRIBUTE_GROUPS,
    FLOORS,
    LEVEL_TAGS,
    MAPS,
    UNITS,
    Asset,
    Assignment,
    Attribute,
    AttributeGroup,
    Floor,
    LevelTag,
    LevelTagValue,
    Map,
    Unit,
)
from storage.mongo import driver
from storage.records.kinds import Document
from storage.setup import preparation

DATABASE = "portfolio"
TIME = "2026-01-31T12:00:00+00:00"
FLOORS_PER_ASSET = 2
UNITS_PER_ASSET = 20
ASSETS_PER_KEY = 10
GROUP_IDS = ("finishes", "views")
ATTRIBUTE_IDS = tuple(f"choice-{number:02}" for number in range(20))
FIRST_ATTRIBUTE = ATTRIBUTE_IDS[0]
"""Of every unit, before anything is written."""
PARALLEL = 8


@dataclass(frozen=True, slots=True)
class Portfolio:
    """Connection settings of the loaded data, and its keys; that of `directory` sees everything."""

    directory: Directory
    assets: int
    half_key: str
    """Sees the first half of the assets."""
    ten_keys: list[str]
    """Each sees ten assets, in their order."""
    asset_keys: list[str]
    """Each sees one asset."""


def asset_id(asset: int) -> str:
    """Return the id of an asset."""
    return f"asset-{asset:04}"


def floor_id(asset: int, floor: int) -> str:
    """Return the id of a floor."""
    return f"{asset_id(asset)}-floor-{floor}"


def map_id(asset: int) -> str:
    """Return the id of an asset's map."""
    return f"{asset_id(asset)}-map"


def unit_id(asset: int, unit: int) -> str:
    """Return the id of a unit."""
    return f"{asset_id(asset)}-unit-{unit:02}"


def load_portfolio(mongo_url: str, assets: int, scratch: Path) -> Portfolio:
    """Insert a portfolio into a new database, and create its keys."""
    return asyncio.run(_load_portfolio(mongo_url, assets, scratch))


async def _load_portfolio(mongo_url: str, assets: int, scratch: Path) -> Portfolio:
    client = driver.connect(mongo_url, timeout_seconds=IMPORT_SECONDS)
    database = client[DATABASE]
    try:
        await preparation.prepare_database(database)
        await database[ATTRIBUTE_GROUPS.name].insert_many([*_iter_groups()])
        for collection, documents in _build_documents(assets).items():
            await database[collection].insert_many(documents, ordered=False)
        turns = asyncio.Semaphore(PARALLEL)
        create = partial(_create_key, database, turns)
        ids = [asset_id(asset) for asset in range(assets)]
        everything, half, *others = await asyncio.gather(
            create(None),
            create(ids[: assets // 2]),
            *(create(ids[at : at + ASSETS_PER_KEY]) for at in range(0, assets, ASSETS_PER_KEY)),
            *(create([one]) for one in ids),
        )
        status = await client.admin.command("serverStatus")
    finally:
        await driver.close(client)
    directory = Directory(
        mongo_url=mongo_url,
        mongod_pid=status["pid"],
        database=DATABASE,
        key=everything,
        unit_ids=[],
        location_ids=[],
        answers_path=scratch / "answers",
    )
    return Portfolio(directory, assets, half, others[:-assets], others[-assets:])


async def _create_key(
    database: driver.Database, turns: asyncio.Semaphore, asset_ids: list[str] | None
) -> str:
    permissions = [READ_UNIT_ATTRIBUTES_PERMISSION]
    if asset_ids is None:
        permissions.append(WRITE_UNIT_ATTRIBUTES_PERMISSION)
    async with turns:
        _, key = await api_keys.create_api_key(
            database, name="bench", permissions=permissions, asset_ids=asset_ids, expires_at=None
        )
    return key


def _iter_groups() -> Iterator[Document]:
    attributes = [
        Attribute(attribute_id=each, attribute_name=each.title(), attribute_key=each)
        for each in ATTRIBUTE_IDS
    ]
    for each in GROUP_IDS:
        group = AttributeGroup(
            group_id=each,
            group_name=each.title(),
            one_attribute_per_unit=True,
            attributes=attributes,
        )
        yield ATTRIBUTE_GROUPS.to_document(group)


def _build_documents(assets: int) -> dict[str, list[Document]]:
    documents = defaultdict[str, list[Document]](list)
    for asset in range(assets):
        for collection, own in _build_asset(asset).items():
            documents[collection] += own
    return documents


def _build_asset(asset: int) -> dict[str, list[Document]]:
    own: dict[str, Any] = {"asset_id": asset_id(asset)}
    times: dict[str, Any] = {"created_at": TIME, "updated_at": TIME}
    floors = [
        Floor(id=floor_id(asset, number), name=f"Floor {number}", sort=number, **own, **times)
        for number in range(FLOORS_PER_ASSET)
    ]
    units = [
        Unit(
            id=unit_id(asset, number),
            floor_id=floors[number % FLOORS_PER_ASSET].id,
            name=f"{number % FLOORS_PER_ASSET + 1}{number // FLOORS_PER_ASSET:02}",
            **own,
            **times,
        )
        for number in range(UNITS_PER_ASSET)
    ]
    values = [LevelTagValue(name=each.name, value=each.id, **times) for each in floors]
    tag = LevelTag(map_id=map_id(asset), key="floor", name="Floor", values=values, **times)
    assignments = [
        Assignment(group_id=group, attribute_id=FIRST_ATTRIBUTE, unit_id=unit.id, **own)
        for group in GROUP_IDS
        for unit in units
    ]
    return {
        ASSETS.name: [
            ASSETS.to_document(Asset(id=asset_id(asset), name=f"Property {asset}", **times))
        ],
        FLOORS.name: [FLOORS.to_document(each) for each in floors],
        UNITS.name: [UNITS.to_document(each) for each in units],
        MAPS.name: [MAPS.to_document(Map(id=map_id(asset), name="Plates", **own, **times))],
        LEVEL_TAGS.name: [LEVEL_TAGS.to_document(tag, own)],
        ASSIGNMENTS.name: [
            ASSIGNMENTS.to_document(each, {"one_attribute_per_unit": True}) for each in assignments
        ],
    }
