"""A house of two storeys around a yard: on the ground floor the way from wing to wing is outdoors.

```
lower   A.| |lift|   |.B      upper   C.| |lift|   |.D
        ==+==+==   =+=s               ==+==+=======+=s
        ~~~~~yard~~~~~~
```
"""

import copy
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
from tests.resolvers.tower import CATALOG as TOWER

FLAGS = {"Experimental-Flags": "distances,locations-resource"}
LEVEL = """<g data-type="Level" data-tags="floor={floor}">
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
LOWER = """<rect id="west-hall" data-tags="indoor=corridor;name=West hall"
      x="0" y="21" width="45" height="9"/>
    <rect id="east-hall" data-tags="indoor=corridor" x="55" y="21" width="45" height="9"/>
    <rect id="yard" data-tags="indoor=area;outdoor=yes" x="0" y="30" width="100" height="10"/>"""
UPPER = '<rect id="gallery" data-tags="indoor=corridor" x="0" y="21" width="100" height="9"/>'
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 40">'
    + LEVEL.format(floor="lower", corridors=LOWER)
    + LEVEL.format(floor="upper", corridors=UPPER)
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
    catalog: dict[str, list[dict[str, Any]]] = copy.deepcopy(TOWER)
    catalog["maps"][0] |= {"id": "yard", "source": "yard.svg", "feet_per_unit": 2}
    catalog["locations"] = []
    (directory / "yard.svg").write_text(SVG)
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
