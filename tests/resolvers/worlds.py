"""Worlds of routes: a tower of two storeys and a house around a yard, processed in this process."""

import copy
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from resolvers.administration.catalog import import_catalog
from resolvers.processing import build_process
from resolvers.processing.pipeline import ProcessingRequest, process_and_publish
from resolvers.processing.process_pool import ProcessPool
from routing.values import ignore_progress
from storage.store import Store
from tests.fixtures import World, gateway_client, open_database


@contextmanager
def work_here() -> Iterator[None]:
    """Let every pool run its calls here, at once."""

    async def run(
        pool: ProcessPool,
        function: Callable[..., Any],
        *arguments: Any,
        progress: Callable[[float, str], None] = ignore_progress,
        **limits: Any,
    ) -> Any:
        if function is build_process.build_network:
            return function(*arguments, progress)
        return function(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProcessPool, "run", run)
        yield


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


YARD_LEVEL = """<g data-type="Level" data-tags="floor={floor}">
  <g data-type="UnitLayer">
    <rect id="{floor}-west" x="0" y="0" width="20" height="20"/>
    <rect id="{floor}-east" x="80" y="0" width="20" height="20"/>
  </g>
  <g>
    {corridors}
    <rect id="lift-{floor}" data-tags="indoor=room;highway=elevator;ref=L1"
      x="36" y="12" width="8" height="8"/>
    <rect id="stairs-{floor}" data-tags="highway=steps;ref=S1" x="94" y="21" width="6" height="9"/>
    <rect id="lift-door-{floor}" data-tags="door=yes" x="38" y="19" width="4" height="3"/>
    <rect id="west-door-{floor}" data-tags="door=yes" x="8" y="19" width="4" height="3"/>
    <rect id="east-door-{floor}" data-tags="door=yes" x="88" y="19" width="4" height="3"/>
  </g>
</g>"""
YARD_LOWER = """<rect id="west-hall" data-tags="indoor=corridor;name=West hall"
      x="0" y="21" width="45" height="9"/>
    <rect id="east-hall" data-tags="indoor=corridor" x="55" y="21" width="45" height="9"/>
    <rect id="yard" data-tags="indoor=area;outdoor=yes" x="0" y="30" width="100" height="10"/>"""
YARD_UPPER = '<rect id="gallery" data-tags="indoor=corridor" x="0" y="21" width="100" height="9"/>'
YARD_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 40">'
    + YARD_LEVEL.format(floor="lower", corridors=YARD_LOWER)
    + YARD_LEVEL.format(floor="upper", corridors=YARD_UPPER)
    + "</svg>"
)
PLACES = {
    "A": {"x": 10, "y": 10, "floorId": "lower"},
    "B": {"x": 90, "y": 10, "floorId": "lower"},
    "C": {"x": 10, "y": 10, "floorId": "upper"},
    "D": {"x": 90, "y": 10, "floorId": "upper"},
}


def write_bundle(directory: Path) -> Path:
    """Write the catalog of the tower with this drawing, at half the scale of its coordinates."""
    catalog: dict[str, list[dict[str, Any]]] = copy.deepcopy(CATALOG)
    catalog["maps"][0] |= {"id": "yard", "source": "yard.svg", "feet_per_unit": 2}
    catalog["locations"] = []
    (directory / "yard.svg").write_text(YARD_SVG)
    bundle = directory / "yard.json"
    bundle.write_text(json.dumps(catalog))
    return bundle


async def prepare_yard(world: World, directory: Path) -> None:
    """Import the map `yard`, routable, and the map `plain`, which is not."""
    async with open_database(world) as database:
        await import_catalog(database, [write_bundle(directory)])
        store = Store(database.client, database.name)
        outcome = await process_and_publish(store, ProcessingRequest("yard", {}))
        assert outcome.published, outcome.report


@asynccontextmanager
async def yard_client(
    world: World, directory: Path, **settings: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway that has the yard."""
    await prepare_yard(world, directory)
    async with gateway_client(world.settings(**settings), world.keys.full) as client:
        client.headers.update(FLAGS)
        yield client


async def measure(client: httpx.AsyncClient, ends: str, mode: str = "foot", **given: Any) -> Any:
    """The distance between two places, such as `AB`, as a matrix measures it."""
    start, end = (_to_rest(PLACES[name]) for name in ends)
    pedestrian = {"mode": mode, **given}
    data = {
        "sources": [start],
        "targets": [end],
        "distance_method": "pathfinding",
        "costing_options": {"pedestrian": pedestrian},
    }
    response = await client.post("/v1/maps/yard/distance-matrix", json={"data": data})
    assert response.status_code == 200, response.text
    return response.json()["data"]["sources"][0]["targets"][0]["distance"]


def _to_rest(place: dict[str, Any]) -> dict[str, Any]:
    return {"x": place["x"], "y": place["y"], "floor_id": place["floorId"]}
