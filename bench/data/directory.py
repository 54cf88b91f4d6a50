"""The directory that every peer serves: a bundle of any size in MongoDB, and keys to read it.

An asset has 250 units on eight floors and one map, as a mid-rise property has. Units are not sorted
by id, as in exports of property-management systems. The first property also has a routable drawing,
locations, level tags and a group of unit attributes, for the requests that need them.
"""

import asyncio
import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

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

UNITS_PER_ASSET, FLOORS_PER_ASSET = 250, 8
ID_MULTIPLIER = 7_368_787
"""A prime; multiplying by it modulo another prime spreads ids over their range."""
IMPORT_SECONDS = 7_200.0
FIRST_ASSET_ID = "asset-000000"
MAP_ID = "map-000000"
GROUP_ID = "finishes"
ATTRIBUTE_IDS = ("oak", "stone")
AMENITY_COUNT = 100
SCOPED_KEYS = 4
DISUSED_EVERY = 10
PERMISSIONS = [
    CALCULATE_DISTANCES_PERMISSION,
    READ_UNIT_ATTRIBUTES_PERMISSION,
    WRITE_UNIT_ATTRIBUTES_PERMISSION,
]
KindAndMember = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Directory:
    """Connection settings of the loaded data, and ids to request."""

    mongo_url: str
    mongod_pid: int
    database: str
    key: str
    unit_ids: list[str]
    """The ids of the units in the order of their assets."""
    location_ids: list[str]
    """Locations of the first property's map, which is routable."""
    answers_path: Path
    """File of Floorgate's recorded answers, for peers that replay them."""
    scoped_keys: tuple[str, ...] = ()
    """The first sees every `SCOPED_KEYS`-th asset from the first, the next from the second."""


def load_directory(mongo_url: str, database: str, units: int, scratch: Path) -> Directory:
    """Load a directory, if the database does not have it yet; temporary files go to `scratch`."""
    return asyncio.run(_load_directory(mongo_url, database, units, scratch))


async def _load_directory(mongo_url: str, name: str, units: int, scratch: Path) -> Directory:
    client = driver.connect(mongo_url, timeout_seconds=IMPORT_SECONDS)
    try:
        if not await api_keys.list_api_keys(client[name]):  # they are made last
            await preparation.prepare_database(client[name])
            for members in (iter_members(units), _iter_first_property(units)):
                bundle = write_bundle(scratch / "bundle.ndjson", members)
                await catalog.import_catalog(client[name], [bundle])
            outcome = await process_and_publish(Store(client, name), ProcessingRequest(MAP_ID, {}))
            if not outcome.published:
                raise RuntimeError(f"the map for measurements is not routable: {outcome.report}")
        assets = [get_asset_id(asset) for asset in range(_count_assets(units))]
        scopes = [None, *(assets[first::SCOPED_KEYS] or None for first in range(SCOPED_KEYS))]
        key, *scoped_keys = [await _create_key(client[name], scope) for scope in scopes]
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
        unit_ids=[get_unit_id(unit) for unit in range(units)],
        location_ids=location_ids,
        answers_path=scratch / "answers",
        scoped_keys=tuple(scoped_keys),
    )


async def _create_key(database: driver.Database, asset_ids: list[str] | None) -> str:
    _, key = await api_keys.create_api_key(
        database, name="bench", permissions=PERMISSIONS, asset_ids=asset_ids, expires_at=None
    )
    return key


def write_bundle(path: Path, members: Iterable[KindAndMember]) -> Path:
    """Write a member a line."""
    with path.open("wb") as file:
        file.writelines(orjson.dumps({"type": kind, **member}) + b"\n" for kind, member in members)
    return path


def iter_members(units: int) -> Iterator[KindAndMember]:
    """Yield every member with its kind, owners first."""
    assets = _count_assets(units)
    for asset in range(assets):
        yield "asset", {"id": get_asset_id(asset), "name": f"Property {asset}"}
    for asset in range(assets):
        for floor in range(FLOORS_PER_ASSET):
            yield "floor", _floor(asset, floor)
    for asset in range(assets):
        yield (
            "map",
            {"id": get_map_id(asset), "asset_id": get_asset_id(asset), "name": "Floor plates"},
        )
    for unit in range(units):
        yield "unit", _unit(unit)


def _count_assets(units: int) -> int:
    return -(-units // UNITS_PER_ASSET)


def get_asset_id(asset: int) -> str:
    """Return the id of an asset by its number."""
    return f"asset-{asset:06}"


def get_map_id(asset: int) -> str:
    """Return the id of an asset's map."""
    return f"map-{asset:06}"


def get_floor_id(asset: int, floor: int) -> str:
    """Return the id of a floor."""
    return f"{get_asset_id(asset)}-floor-{floor}"


def get_unit_id(unit: int) -> str:
    """Return the id of a unit by its number in the whole directory."""
    return f"unit-{unit * ID_MULTIPLIER % 1_000_000_007:010}"


def _floor(asset: int, floor: int) -> dict[str, Any]:
    return {
        "id": get_floor_id(asset, floor),
        "asset_id": get_asset_id(asset),
        "name": f"Floor {floor}",
        "short_label": str(floor),
        "sort": floor,
    }


def _unit(unit: int) -> dict[str, Any]:
    asset, number = divmod(unit, UNITS_PER_ASSET)
    floor, door = number % FLOORS_PER_ASSET, number // FLOORS_PER_ASSET
    return {
        "id": get_unit_id(unit),
        "asset_id": get_asset_id(asset),
        "floor_id": get_floor_id(asset, floor),
        "name": f"{floor}{door:02}",
    }


def _iter_first_property(units: int) -> Iterator[KindAndMember]:
    floors = {get_floor_id(0, floor): f"Floor {floor}" for floor in range(FLOORS_PER_ASSET)}
    units_by_floor: dict[str, list[str]] = {floor: [] for floor in floors}
    for unit in range(min(units, UNITS_PER_ASSET)):
        units_by_floor[get_floor_id(0, unit % FLOORS_PER_ASSET)].append(get_unit_id(unit))
    svg = base64.b64encode(draw_office(units_by_floor).encode()).decode()
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
        yield "location", _amenity(number, get_floor_id(0, number % FLOORS_PER_ASSET))
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


# The drawing of the first property: corridors, rooms on both sides, a lift

ROOM_FEET, DEPTH_FEET, CORRIDOR_FEET = 12, 18, 8
LIFT_FEET = 10


def draw_office(units_by_floor: Mapping[str, Sequence[str]]) -> str:
    """Return a unit map in SVG, a foot a unit, of floors from the lowest to the highest."""
    max_units = max(len(units) for units in units_by_floor.values())
    width = LIFT_FEET + ROOM_FEET * -(-max_units // 2)
    height = 2 * DEPTH_FEET + CORRIDOR_FEET
    levels = "".join(_level(floor, units, width) for floor, units in units_by_floor.items())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
    return f"{head}{levels}</svg>"


def _level(floor: str, units: Sequence[str], width: int) -> str:
    rooms, doors = [], []
    for at, unit in enumerate(units):
        along, south = divmod(at, 2)
        west = LIFT_FEET + along * ROOM_FEET
        north = south * (DEPTH_FEET + CORRIDOR_FEET)
        rooms.append(_rectangle(f'id="{unit}"', west, north, ROOM_FEET, DEPTH_FEET))
        wall = DEPTH_FEET - 1 + south * CORRIDOR_FEET
        doors.append(_rectangle('data-tags="door=yes"', west + 4, wall, 4, 2))
    hall = _rectangle('data-tags="indoor=corridor"', 0, DEPTH_FEET, width, CORRIDOR_FEET)
    lift = _rectangle('data-tags="highway=elevator;ref=lift"', 1, DEPTH_FEET + 1, 6, 6)
    return (
        f'<g data-type="Level" data-tags="floor={floor}"><g data-type="UnitLayer">{"".join(rooms)}'
        f"</g><g>{hall}{lift}{''.join(doors)}</g></g>"
    )


def _rectangle(attributes: str, x: int, y: int, width: int, height: int) -> str:
    return f'<rect {attributes} x="{x}" y="{y}" width="{width}" height="{height}"/>'
