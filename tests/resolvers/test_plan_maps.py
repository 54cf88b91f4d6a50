"""Maps of OpenStreetMap and IMDF plans have a parsed map, made from the plan when processed."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from parsing.errors import DocumentRejectedError
from parsing.svg.unit_map import parse_unit_map
from resolvers.administration.catalog import import_catalog
from resolvers.processing import network_build
from resolvers.processing.build_task import BuildTask
from resolvers.processing.pipeline import ProcessingRequest, process_and_publish
from samples.venue import make_venue
from storage.exporting.bundles import export_bundle
from storage.store import Store
from tests.fixtures import BASE_URL, World, data_of, gateway_client, open_database
from tests.parsing.geography import OsmPlanBuilder, box
from tests.resolvers.worlds import FLAGS
from tests.storage.catalogs import text_of

pytestmark = pytest.mark.usefixtures("no_processes")

SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10">
  <rect x="1" y="2" width="3" height="4"/></svg>"""


class Service(NamedTuple):
    """A client of a gateway that has the map `hall` of a venue, and its database."""

    client: httpx.AsyncClient
    store: Store
    directory: Path

    async def process(self, files: dict[str, bytes], **given: Any) -> dict[str, Any]:
        request = ProcessingRequest("hall", files, **given)
        return (await process_and_publish(self.store, request)).report

    async def load(self, **members: list[dict[str, Any]]) -> None:
        (self.directory / "map.svg").write_text(SVG)
        bundle = self.directory / "more.json"
        bundle.write_text(json.dumps(members))
        await import_catalog(self.store.database, [bundle])

    async def export(self) -> dict[str, Any]:
        exported: dict[str, Any] = json.loads(await text_of(export_bundle(self.store.database)))
        return exported

    async def exported_map(self) -> dict[str, Any]:
        maps: list[dict[str, Any]] = (await self.export())["maps"]
        return next(each for each in maps if each["id"] == "hall")

    async def url(self) -> Any:
        return (await self.client.get("/v1/maps/hall")).json()["url"]

    async def parsed(self) -> httpx.Response:
        return await self.client.get("/v1/maps/hall/parsed")


@pytest.fixture
async def service(own_world: World, tmp_path: Path) -> AsyncIterator[Service]:
    async with open_database(own_world) as database:
        store = Store(database.client, database.name)
        async with gateway_client(own_world.settings(), own_world.keys.full) as client:
            client.headers.update(FLAGS)
            found = Service(client, store, tmp_path)
            assert (await found.process(make_venue()))["published"]
            yield found


def plan(*names: str, island: bool = False) -> dict[str, bytes]:
    """An OpenStreetMap plan of a corridor with named rooms along it, and maybe one apart."""
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 10 * len(names), 5), indoor="corridor", level="0")
    for number, name in enumerate(names):
        west = 10 * number
        builder.add_way(box(west, 5, west + 10, 12), indoor="room", level="0", name=name)
        builder.add_node((west + 5, 5), door="yes", level="0")
    if island:
        builder.add_way(box(0, 50, 10, 60), indoor="room", level="0", name="Island")
    return {"plan.osm": builder.to_osm()}


async def test_a_processed_plan_can_be_drawn_with_its_locations_on_top(service: Service) -> None:
    assert await service.url() == f"{BASE_URL}/v1/maps/hall/parsed"
    response = await service.parsed()
    assert response.headers["content-type"] == "application/vnd.map+json"
    unit_map = response.json()
    levels = [each for each in unit_map["elements"] if each["type"] == "Level"]
    floors = (await service.client.get("/v1/assets/hall/floors")).json()["data"]
    assert {level["tags"]["floor"] for level in levels} == {floor["id"] for floor in floors}
    drawn = {
        unit["id"]
        for level in levels
        for layer in level["elements"]
        if layer["type"] == "UnitLayer"
        for unit in layer["elements"]
    }
    units = (await service.client.get("/v1/maps/hall/units")).json()["data"]
    assert drawn == {unit["id"] for unit in units} != set()
    for location in (await service.client.get("/v1/maps/hall/locations")).json()["data"]:
        assert 0 <= location["x"] <= unit_map["width"]
        assert 0 <= location["y"] <= unit_map["height"]
    assert (await service.client.get("/v1/maps/hall/levels/tags")).json() == {"data": []}


async def test_it_changes_with_the_plan_and_then_its_etag_does(service: Service) -> None:
    before = await service.parsed()
    unchanged = {"If-None-Match": before.headers["etag"]}
    path = "/v1/maps/hall/parsed"
    assert (await service.client.get(path, headers=unchanged)).status_code == 304
    updated_at = (await service.client.get("/v1/maps/hall")).json()["updated_at"]
    await service.process(make_venue())
    assert (await service.client.get(path, headers=unchanged)).status_code == 304
    again = (await service.client.get("/v1/maps/hall")).json()["updated_at"]
    assert again == updated_at
    assert (await service.process(plan("Gym", "Pool")))["published"]
    after = await service.client.get(path, headers=unchanged)
    assert after.status_code == 200
    assert after.json() != before.json()


@pytest.mark.slow
async def test_imports_that_name_no_drawing_keep_it(service: Service) -> None:
    before = (await service.parsed()).content
    exported, unit_map = await service.export(), await service.exported_map()
    assert (unit_map["source"], unit_map["url"]) == (None, None)
    await service.load(**{kind: members for kind, members in exported.items() if members})
    await service.load(maps=[{**unit_map, "name": "Harbour Hall"}])
    assert (await service.parsed()).content == before
    # an address of the operator's own is what the map's record says
    await service.load(maps=[{**unit_map, "url": "https://example.org/hall.json"}])
    assert await service.url() == "https://example.org/hall.json"
    assert (await service.parsed()).content == before


@pytest.mark.slow
async def test_a_network_that_no_longer_matches_leaves_the_drawing(service: Service) -> None:
    before = (await service.parsed()).content
    unit_map = await service.exported_map()
    await service.load(maps=[{**unit_map, "feet_per_unit": 2}])
    routing = await data_of(service.client, '{ map(id: "hall") { routing { isRoutable } } }')
    assert routing == {"map": {"routing": {"isRoutable": False}}}
    assert (await service.parsed()).content == before


async def test_a_drawing_of_its_own_replaces_it(service: Service) -> None:
    unit_map = await service.exported_map()
    await service.load(maps=[{**unit_map, "source": "map.svg"}])
    assert (await service.parsed()).json() == parse_unit_map(SVG.encode()).to_dict()
    assert await service.url() == f"{BASE_URL}/v1/maps/hall/parsed"
    # and goes with it: the plan is not stored
    await service.load(maps=[unit_map])
    assert (await service.parsed()).status_code == 404
    assert await service.url() is None


async def test_a_plan_whose_drawing_would_be_too_large_is_routable_all_the_same(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(translated: object) -> bytes:
        raise DocumentRejectedError("the parsed map would be over 9 bytes of JSON")

    monkeypatch.setattr(network_build, "build_parsed_map", refuse)
    request = ProcessingRequest("hall", plan("Gym", "Pool"))
    task = BuildTask(request, "hall", None, {}, [], is_own=False)
    built = network_build.build_network(task, lambda share, step: None)
    assert built.parsed is None
    assert "foot" in built.report["modes"]
    [note] = [note for note in built.report["notes"] if "parsed map" in note]
    assert note == "no drawing: the parsed map would be over 9 bytes of JSON"
