"""The directory that every peer serves: a bundle loaded into MongoDB, and a key to read it.

Its first property also has a routable drawing, locations, level tags and a group of unit
attributes, for the requests that need them.
"""

import asyncio
import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from bench.data import office_svg
from bench.data.bundle import iter_members
from resolvers.administration import catalog
from resolvers.processing.pipeline import ProcessingRequest, process_and_publish
from resolvers.request.caller import (
    CALCULATE_DISTANCES_PERMISSION,
    READ_UNIT_ATTRIBUTES_PERMISSION,
    WRITE_UNIT_ATTRIBUTES_PERMISSION,
)
from storage.administration import api_keys
from storage.mongo import driver
from storage.setup import preparation
from storage.store import Store

IMPORT_SECONDS = 600.0
FIRST_ASSET_ID = "asset-000000"
MAP_ID = "map-000000"
GROUP_ID = "finishes"
ATTRIBUTE_IDS = ("oak", "stone")
AMENITY_COUNT = 100
SCOPED_KEYS = 4
DISUSED_EVERY = 10

KindAndMember = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Directory:
    """Connection settings of the loaded data, and ids to request."""

    mongo_url: str
    mongod_pid: int
    database: str
    key: str
    unit_ids: list[str]
    location_ids: list[str]
    """Locations of the first property's map, which is routable."""
    answers_path: Path
    """File of Floorgate's recorded answers, for peers that replay them."""
    scoped_keys: tuple[str, ...] = ()
    """The first sees every `SCOPED_KEYS`-th asset from the first, the next from the second."""


def load_directory(mongo_url: str, database: str, units: int, scratch: Path) -> Directory:
    """Load a directory of `units` units; temporary files go to `scratch`."""
    return asyncio.run(_load_directory(mongo_url, database, units, scratch))


async def _load_directory(mongo_url: str, name: str, units: int, scratch: Path) -> Directory:
    unit_ids = [member["id"] for kind, member in iter_members(units) if kind == "unit"]
    bundles = [scratch / "bundle.ndjson", scratch / "first.ndjson"]
    _write_bundle(bundles[0], iter_members(units))
    _write_bundle(bundles[1], _iter_first_property(units))
    client = driver.connect(mongo_url, timeout_seconds=IMPORT_SECONDS)
    try:
        await preparation.prepare_database(client[name])
        for bundle in bundles:
            await catalog.import_catalog(client[name], [bundle])
        outcome = await process_and_publish(Store(client, name), ProcessingRequest(MAP_ID, {}))
        if not outcome.published:
            raise RuntimeError(f"the map for measurements is not routable: {outcome.report}")
        permissions = [
            CALCULATE_DISTANCES_PERMISSION,
            READ_UNIT_ATTRIBUTES_PERMISSION,
            WRITE_UNIT_ATTRIBUTES_PERMISSION,
        ]
        asset_ids = [member["id"] for kind, member in iter_members(units) if kind == "asset"]
        scopes = [None, *(asset_ids[first::SCOPED_KEYS] for first in range(SCOPED_KEYS))]
        key, *scoped_keys = [
            (
                await api_keys.create_api_key(
                    client[name],
                    name="bench",
                    permissions=permissions,
                    asset_ids=scope or None,
                    expires_at=None,
                )
            )[1]
            for scope in scopes
        ]
        routable = {"unit_map_id": MAP_ID, "words": "svc:id"}
        status = await client.admin.command("serverStatus")
        location_ids = await client[name]["locations"].distinct("_id", routable)
    finally:
        await driver.close(client)
    return Directory(
        mongo_url=mongo_url,
        mongod_pid=status["pid"],
        database=name,
        key=key,
        unit_ids=unit_ids,
        location_ids=location_ids,
        answers_path=scratch / "answers",
        scoped_keys=tuple(scoped_keys),
    )


def _write_bundle(path: Path, members: Iterable[KindAndMember]) -> None:
    with path.open("wb") as file:
        file.writelines(orjson.dumps({"type": kind, **member}) + b"\n" for kind, member in members)


def _iter_first_property(units: int) -> Iterator[KindAndMember]:
    generated = list(iter_members(min(units, 250)))
    floors = {member["id"]: member["name"] for kind, member in generated if kind == "floor"}
    units_by_floor: dict[str, list[str]] = {floor: [] for floor in floors}
    for kind, member in generated:
        if kind == "unit":
            units_by_floor[member["floor_id"]].append(member["id"])
    svg = base64.b64encode(office_svg.draw_office(units_by_floor).encode()).decode()
    yield (
        "map",
        {
            "id": MAP_ID,
            "asset_id": FIRST_ASSET_ID,
            "name": "Floor plates",
            "feet_per_unit": 1,
            "source": f"data:image/svg+xml;base64,{svg}",
        },
    )
    yield "level_tag", _level_tag("building", {FIRST_ASSET_ID: "Main building"})
    yield "level_tag", _level_tag("floor", floors)
    for number in range(AMENITY_COUNT):
        yield "location", _amenity(number, list(floors)[number % len(floors)])
    attributes = [
        {"attribute_id": name, "attribute_name": name.title(), "attribute_key": name}
        for name in ATTRIBUTE_IDS
    ]
    yield (
        "attribute_group",
        {
            "group_id": GROUP_ID,
            "group_name": "Finishes",
            "one_attribute_per_unit": True,
            "attributes": attributes,
        },
    )


def _level_tag(key: str, names: dict[str, str]) -> dict[str, Any]:
    values = [{"name": name, "value": value} for value, name in names.items()]
    return {"map_id": MAP_ID, "key": key, "name": key.title(), "values": values}


def _amenity(number: int, floor_id: str) -> dict[str, Any]:
    tags = {"svc:amenity": "yes", "amenity": "lounge", "name:en": f"Lounge {number}"}
    if number % DISUSED_EVERY == 0:
        tags["disused"] = "yes"
    return {
        "id": f"amenity-{number:03}",
        "asset_id": FIRST_ASSET_ID,
        "unit_map_id": MAP_ID,
        "name": f"Lounge {number}",
        "x": 20.0 + number % 50,
        "y": 22.0,
        "floors": [{"id": floor_id}],
        "tags": [{"key": key, "value": value} for key, value in tags.items()],
    }
