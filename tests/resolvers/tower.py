"""A tower of two storeys, as large as a question about distances needs."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from resolvers.administration.catalog import import_catalog
from resolvers.processing.pipeline import ProcessingRequest, process_and_publish
from storage.store import Store
from tests.fixtures import World, gateway_client, open_database
from tests.resolvers.work_here import work_here

FLAGS = {"Experimental-Flags": "distances,locations-resource"}

# Two storeys, a foot a unit: on each a corridor 100 ft long with a room at either end, and a lift
# in its middle. The upper right room has a door of 2 ft, too narrow for wheelchairs.
LEVEL = """<g data-type="Level" data-tags="floor={floor}">
  <g data-type="UnitLayer">
    <rect id="{floor}-west" x="0" y="0" width="20" height="20"/>
    <rect id="{floor}-east" x="80" y="0" width="20" height="20"/>
  </g>
  <g>
    <rect data-tags="indoor=corridor" x="0" y="21" width="100" height="9"/>
    <rect data-tags="indoor=room;highway=elevator;ref=lift" x="46" y="12" width="8" height="8"/>
    <rect data-tags="door=yes" x="48" y="19" width="4" height="3"/>
    <rect data-tags="door=yes" x="8" y="19" width="4" height="3"/>
    <rect data-tags="door=yes" x="88" y="19" width="4" height="3"/>
    {more}
  </g>
</g>"""
CLOSET = """<rect data-tags="indoor=room" x="60" y="0" width="10" height="20"/>
    <rect data-tags="door=yes;width=0.6" x="63" y="19" width="4" height="3"/>"""
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 30">'
    + LEVEL.format(floor="lower", more="")
    + LEVEL.format(floor="upper", more=CLOSET)
    + "</svg>"
)
CATALOG: dict[str, list[dict[str, Any]]] = {
    "assets": [{"id": "tower", "name": "Tower"}],
    "floors": [
        {"id": "lower", "asset_id": "tower", "name": "Lower", "sort": 1},
        {"id": "upper", "asset_id": "tower", "name": "Upper", "sort": 2},
    ],
    "units": [
        {"id": f"{floor}-{side}", "asset_id": "tower", "floor_id": floor, "name": f"{floor} {side}"}
        for floor in ("lower", "upper")
        for side in ("west", "east")
    ],
    "maps": [
        {
            "id": "tower",
            "asset_id": "tower",
            "name": "Tower",
            "tags": ["ils"],
            "feet_per_unit": 1,
            "source": "tower.svg",
        },
        {"id": "plain", "asset_id": "tower", "name": "Plain", "feet_per_unit": 0.5},
        {"id": "unscaled", "asset_id": "tower", "name": "Unscaled"},
    ],
    "locations": [
        {
            "id": "gym",
            "asset_id": "tower",
            "unit_map_id": "tower",
            "name": "Gym",
            "x": 90,
            "y": 10,
            "floors": [{"id": "lower"}],
            "tags": [{"key": "svc:id", "value": "lower-east"}, {"key": "sport", "value": "yes"}],
        },
        {
            "id": "p1",
            "asset_id": "tower",
            "unit_map_id": "plain",
            "name": "One",
            "x": 0,
            "y": 0,
            "floors": [{"id": "lower"}],
        },
    ],
}


def write(directory: Path, svg: str = SVG) -> Path:
    (directory / "tower.svg").write_text(svg)
    bundle = directory / "tower.json"
    bundle.write_text(json.dumps(CATALOG))
    return bundle


@asynccontextmanager
async def tower(world: World, directory: Path, svg: str = SVG) -> AsyncIterator[Store]:
    """A store with the tower in it."""
    async with open_database(world) as database:
        with work_here():
            await import_catalog(database, [write(directory, svg)])
        yield Store(database.client, database.name)


@asynccontextmanager
async def processed(
    world: World, directory: Path, **more: list[dict[str, Any]]
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway whose tower, with `more` records, is routable."""
    async with tower(world, directory) as store:
        if more:
            await import_more(world, directory, **more)
        outcome = await process_and_publish(store, ProcessingRequest("tower", {}))
        assert outcome.published, outcome.report
    async with gateway_client(world.settings(), world.keys.full) as client:
        client.headers.update(FLAGS)
        yield client


async def import_more(world: World, directory: Path, **members: list[dict[str, Any]]) -> None:
    bundle = directory / "more.json"
    bundle.write_text(json.dumps(members))
    async with open_database(world) as database:
        await import_catalog(database, [bundle])


async def ask_matrix(client: httpx.AsyncClient, map_id: str = "tower", **data: Any) -> Any:
    path = f"/v1/unitmaps/{map_id}/distance-matrix"
    return await client.post(path, json={"data": data})


async def unit_locations(client: httpx.AsyncClient) -> dict[str, str]:
    found = (await client.get("/v1/maps/tower/locations?tags=svc:id")).json()["data"]
    return {
        next(tag["value"] for tag in each["tags"] if tag["key"] == "svc:id"): each["id"]
        for each in found
    }
