"""The directory that every peer serves: a bundle loaded into a MongoDB, and a key to read it.

Its first property has besides a drawing that is made routable, locations, level tags and a group
of unit attributes, for the requests that ask for those.
"""

import asyncio
import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from bench import office
from bench.bundle import members
from resolvers import catalog
from resolvers.caller import CALCULATE_DISTANCES, READ_UNIT_ATTRIBUTES, WRITE_UNIT_ATTRIBUTES
from resolvers.processing import Request, process
from storage import driver, keys, setup
from storage.store import Store

IMPORT_SECONDS = 600.0
FIRST_ASSET = "asset-000000"
MAP = "map-000000"
GROUP = "finishes"
ATTRIBUTES = ("oak", "stone")
AMENITIES = 100
DISUSED_EVERY = 10

Member = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Directory:
    """Where the data is, and what a reader needs to know of it."""

    mongo_url: str
    mongod_pid: int
    database: str
    key: str
    unit_ids: list[str]
    location_ids: list[str]
    """Of the first property's map, which is routable."""
    answers: Path
    """Where `serving.keep_answers` writes what Floorgate answers, for peers that have it ready."""


def fill(mongo_url: str, database: str, units: int, scratch: Path) -> Directory:
    """Loads so many units, by way of files in `scratch`."""
    return asyncio.run(_fill(mongo_url, database, units, scratch))


async def _fill(mongo_url: str, name: str, units: int, scratch: Path) -> Directory:
    unit_ids = [each["id"] for kind, each in members(units) if kind == "unit"]
    bundles = [scratch / "bundle.ndjson", scratch / "first.ndjson"]
    _write(bundles[0], members(units))
    _write(bundles[1], _first_property(units))
    client = driver.connect(mongo_url, timeout_seconds=IMPORT_SECONDS)
    try:
        await setup.prepare(client[name])
        for bundle in bundles:
            await catalog.load(client[name], [bundle])
        outcome = await process(Store(client, name), Request(MAP, {}))
        if not outcome.published:
            raise RuntimeError(f"the map for measurements is not routable: {outcome.report}")
        permissions = [CALCULATE_DISTANCES, READ_UNIT_ATTRIBUTES, WRITE_UNIT_ATTRIBUTES]
        _, key = await keys.create(
            client[name], name="bench", permissions=permissions, asset_ids=None, expires_at=None
        )
        routable = {"unit_map_id": MAP, "words": "svc:id"}
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
        answers=scratch / "answers",
    )


def _write(path: Path, made: Iterable[Member]) -> None:
    with path.open("wb") as file:
        file.writelines(orjson.dumps({"type": kind, **each}) + b"\n" for kind, each in made)


def _first_property(units: int) -> Iterator[Member]:
    generated = list(members(min(units, 250)))
    floors = {each["id"]: each["name"] for kind, each in generated if kind == "floor"}
    units_by_floor: dict[str, list[str]] = {floor: [] for floor in floors}
    for kind, each in generated:
        if kind == "unit":
            units_by_floor[each["floor_id"]].append(each["id"])
    svg = base64.b64encode(office.draw(units_by_floor).encode()).decode()
    yield (
        "map",
        {
            "id": MAP,
            "asset_id": FIRST_ASSET,
            "name": "Floor plates",
            "feet_per_unit": 1,
            "source": f"data:image/svg+xml;base64,{svg}",
        },
    )
    yield "level_tag", _level_tag("building", {FIRST_ASSET: "Main building"})
    yield "level_tag", _level_tag("floor", floors)
    for number in range(AMENITIES):
        yield "location", _amenity(number, list(floors)[number % len(floors)])
    attributes = [
        {"attribute_id": each, "attribute_name": each.title(), "attribute_key": each}
        for each in ATTRIBUTES
    ]
    yield (
        "attribute_group",
        {
            "group_id": GROUP,
            "group_name": "Finishes",
            "one_attribute_per_unit": True,
            "attributes": attributes,
        },
    )


def _level_tag(key: str, names: dict[str, str]) -> dict[str, Any]:
    values = [{"name": name, "value": value} for value, name in names.items()]
    return {"map_id": MAP, "key": key, "name": key.title(), "values": values}


def _amenity(number: int, floor_id: str) -> dict[str, Any]:
    tags = {"svc:amenity": "yes", "amenity": "lounge", "name:en": f"Lounge {number}"}
    if number % DISUSED_EVERY == 0:
        tags["disused"] = "yes"
    return {
        "id": f"amenity-{number:03}",
        "asset_id": FIRST_ASSET,
        "unit_map_id": MAP,
        "name": f"Lounge {number}",
        "x": 20.0 + number % 50,
        "y": 22.0,
        "floors": [{"id": floor_id}],
        "tags": [{"key": key, "value": value} for key, value in tags.items()],
    }
