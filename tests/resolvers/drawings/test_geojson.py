"""A georeferenced map as GeoJSON: what it shows, to whom, and what standard tools make of it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pyogrio.raw
import pytest
import shapely

from resolvers.administration.catalog import import_catalog
from tests.fixtures import (
    ALL_FLAGS,
    BASE_URL,
    FLOOR,
    HIDDEN_MAP,
    MAP,
    OTHER_MAP,
    SEEN,
    World,
    data_of,
    gateway_client,
    open_database,
)
from tests.resolvers.directory import Directory
from tests.rest.error_bodies import read_message

pytestmark = pytest.mark.usefixtures("no_processes")

GEOREFERENCE = '<g data-type="Georeference" data-latitude="56" data-longitude="10" data-zoom="20"/>'
SVG = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20">
  {GEOREFERENCE}
  <g data-type="Level" id="low" data-tags="floor={FLOOR}">
    <g><rect width="40" height="20" fill="#eee"/></g>
    <g data-type="UnitLayer">
      <rect id="unit-1" width="10" height="20"/>
      <circle id="unit-2" cx="25" cy="10" r="5" transform="translate(1 2) scale(1.5)"/>
      <path id="loop" d="M30 0 L40 10 L40 0 L30 10z"/>
      <path id="line" d="M0 0 L9 9"/>
    </g>
    <g data-type="HitAreaLayer"><rect id="hitunit-1" width="10" height="20"/></g>
  </g>
  <g data-type="Level" id="attic"><g data-type="UnitLayer">
    <rect id="unit-s" width="4" height="4"/><rect id="unit-1" width="4" height="4"/>
  </g></g>
</svg>"""
PATH = "/v1/maps/placed/geojson"


async def import_map(world: World, directory: Path, svg: str = SVG, **members: Any) -> None:
    (directory / "placed.svg").write_text(svg)
    bundle = directory / "placed.json"
    placed = {"id": "placed", "asset_id": SEEN, "name": "Placed", "source": "placed.svg"}
    bundle.write_text(json.dumps({"maps": [placed | members]}))
    async with open_database(world) as database:
        await import_catalog(database, [bundle])


@pytest.fixture
async def placed(own_world: World, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    await import_map(own_world, tmp_path, feet_per_unit=2.0)
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        yield client


def by_type(collection: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for feature in collection["features"]:
        found.setdefault(feature["properties"]["feature_type"], []).append(feature)
    return found


async def test_levels_units_and_hit_areas_are_features(placed: httpx.AsyncClient) -> None:
    response = await placed.get(PATH)
    assert response.headers["content-type"] == "application/geo+json"
    features = by_type(response.json())
    assert {kind: len(found) for kind, found in features.items()} == {
        "level": 2,
        "unit": 5,
        "hit_area": 1,
    }
    ids = [feature["id"] for feature in response.json()["features"]]
    assert len({*ids}) == len(ids)
    properties = [feature["properties"] for feature in features["unit"]]
    assert properties[0] == {
        "feature_type": "unit",
        "unit_id": "unit-1",
        "name": "unit-1",
        "asset_id": SEEN,
        "floor_id": FLOOR,
        "floor_short_label": "1",
        "level_id": "low",
    }
    # The drawing has the ids of no unit, and of one of another asset.
    assert [each["name"] for each in properties] == ["unit-1", "unit-2", None, None, "unit-1"]
    assert features["level"][0]["properties"] == {
        "feature_type": "level",
        "level_id": "low",
        "floor_id": FLOOR,
        "name": "First",
        "short_label": "1",
        "sort": 1,
    }
    assert features["hit_area"][0]["properties"]["unit_id"] == "unit-1"


@pytest.mark.parametrize(("level", "units"), [(FLOOR, 3), ("low", 3), ("attic", 2)])
async def test_a_level_is_that_of_a_floor_or_has_an_id(
    placed: httpx.AsyncClient, level: str, units: int
) -> None:
    features = by_type((await placed.get(PATH, params={"level": level})).json())
    assert (len(features["unit"]), len(features["level"])) == (units, 1)
    response = await placed.get(PATH, params={"level": "n-2"})
    assert response.status_code == 422
    assert read_message(response).startswith("level: 'n-2' is neither a floor that the drawing")


async def test_attributes_and_locations_are_asked_for(
    placed: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    units = by_type(
        (await placed.get(PATH, params={"attributes": "true"}, headers=ALL_FLAGS)).json()
    )["unit"]
    assert units[0]["properties"]["attribute:view"] == "Sea"
    path = "/v1/maps/plan%2Fone/geojson"
    plain = (await client.get(path)).json()["features"]
    more = (await client.get(path, params={"locations": "true"}, headers=ALL_FLAGS)).json()[
        "features"
    ]
    [*_, last] = more
    assert more[: len(plain)] == plain
    assert last["properties"]["feature_type"] == "location"
    assert last["geometry"]["type"] == "Point"
    assert last["properties"]["tag:svc:amenity"] == "yes"


@pytest.mark.parametrize(
    ("name", "flag"),
    [("attributes", "unit-attributes-resource"), ("locations", "locations-resource")],
)
async def test_they_need_their_flags_also_from_the_cache(
    client: httpx.AsyncClient, name: str, flag: str
) -> None:
    url = f"/v1/maps/plan%2Fone/geojson?{name}=true"
    assert (await client.get(url, headers=ALL_FLAGS)).status_code == 200
    for method in ("GET", "HEAD"):
        response = await client.request(method, url, headers={"Experimental-Flags": "distances"})
        assert response.status_code == 400
    query = f"query ($map: ID!) {{ map(id: $map) {{ geojson({name}: true) }} }}"
    body = {"query": query, "variables": {"map": MAP}}
    response = await client.post("/graphql", json=body, headers={"Experimental-Flags": ""})
    [error] = response.json()["errors"]
    assert error["extensions"]["code"] == "FLAG_REQUIRED"


@pytest.mark.parametrize("map", [HIDDEN_MAP, "none", OTHER_MAP])
async def test_a_hidden_map_is_as_one_that_is_not_there(
    restricted: httpx.AsyncClient, map: str
) -> None:
    assert (await restricted.get(f"/v1/maps/{map}/geojson")).status_code == 404


@pytest.mark.parametrize(
    ("svg", "members", "message"),
    [
        (SVG.replace(GEOREFERENCE, ""), {"feet_per_unit": 1.0}, "add a <g data-type"),
        (SVG.replace('latitude="56"', 'latitude="91"'), {"feet_per_unit": 1.0}, "add a <g"),
        (SVG.replace(' data-zoom="20"', ""), {}, "the scale of 'placed' is unknown"),
    ],
)
async def test_what_is_missing_is_said(
    own_world: World, tmp_path: Path, svg: str, members: dict[str, Any], message: str
) -> None:
    await import_map(own_world, tmp_path, svg, **members)
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        response = await client.get(PATH)
        assert response.status_code == 422
        assert message in read_message(response)
        assert (await client.get("/v1/maps/placed")).json()["geojson_url"] is None


async def test_geojson_url_leads_to_it(own_world: World, tmp_path: Path) -> None:
    elsewhere = "https://geo.example/placed.json"
    await import_map(own_world, tmp_path)
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        url = (await client.get("/v1/maps/placed")).json()["geojson_url"]
        assert url == BASE_URL + PATH
        response = await client.get(url)
        tag = {"If-None-Match": response.headers["etag"]}
        assert (await client.get(url, headers=tag)).status_code == 304
        query = '{ map(id: "placed") { geojsonUrl geojson } }'
        shown = (await data_of(client, query))["map"]
        assert shown == {"geojsonUrl": url, "geojson": response.json()}
    await import_map(own_world, tmp_path, geojson_url=elsewhere)
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        assert (await client.get("/v1/maps/placed")).json()["geojson_url"] == elsewhere


async def test_a_list_of_maps_reads_no_drawings_for_their_urls(directory: Directory) -> None:
    await directory.read("{ maps { data { id } } }")  # the first time, it learns how long it is
    data = await directory.read("{ maps { data { id url geojsonUrl } } }")
    urls = {each["id"]: each["geojsonUrl"] for each in data["maps"]["data"]}
    assert urls[OTHER_MAP] is None
    assert urls[MAP] is not None
    assert directory.collections_read == ["maps", "maps"]


async def test_gdal_measures_the_areas_of_units(placed: httpx.AsyncClient, tmp_path: Path) -> None:
    """10 x 20 units of two feet are 800 square feet, and the circle has a radius of 15 feet."""
    file = tmp_path / "placed.geojson"
    file.write_bytes((await placed.get(PATH, params={"level": "low"})).content)
    meta, _, shapes, columns = pyogrio.raw.read(file, where="feature_type = 'unit'")
    assert meta["crs"] == "EPSG:4326"
    read = shapely.from_wkb(shapes)
    assert shapely.is_valid(read).all()
    assert all(part.exterior.is_ccw for part in shapely.get_parts(read))
    # Metres of a degree at 56 degrees of latitude, by the series of NGA.SIG.0012 (WGS 84).
    latitude, longitude = 111_341.82, 62_392.75
    drawn = shapely.transform(read, lambda xy: xy * (longitude, latitude))
    areas = dict(zip(columns[[*meta["fields"]].index("unit_id")], shapely.area(drawn), strict=True))
    square_metres = {"unit-1": 800 * 0.3048**2, "unit-2": 706.86 * 0.3048**2}
    assert {name: areas[name] for name in square_metres} == pytest.approx(square_metres, rel=4e-3)
