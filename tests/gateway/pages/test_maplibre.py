"""MapLibre shows the GeoJSON of a map, and finds a unit where it is."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import sync_playwright

from tests.clients.environment import trust_of
from tests.gateway.pages import browser
from tests.rest.demo_service import DemoService
from tests.rest.packages import install

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("clients"),
    pytest.mark.skipif(not browser.CHROMIUM, reason="no Chromium (apt install chromium)"),
]

TOOLS = Path(__file__).with_name("tools")
MAPLIBRE = TOOLS / "node_modules" / "maplibre-gl" / "dist"
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
PAGE = '<div id="map" style="width: 600px; height: 600px"></div>'
SHOW = """async ([plan, place]) => {
  const style = {
    version: 8,
    sources: { plan: { type: 'geojson', data: plan, promoteId: 'unit_id' } },
    layers: [{
      id: 'units', type: 'fill', source: 'plan', filter: ['==', ['get', 'feature_type'], 'unit'],
    }],
  }
  const map = new maplibregl.Map({ container: 'map', style, center: place, zoom: 19 })
  await map.once('idle')
  const found = map.queryRenderedFeatures(map.project(place), { layers: ['units'] })
  return found.map(({ id, properties }) => [id, properties.name])
}"""


@pytest.fixture(scope="module")
def maplibre() -> Path:
    install(TOOLS)
    return MAPLIBRE / "maplibre-gl.js"


def test_a_unit_is_found_where_it_is(demo: DemoService, maplibre: Path) -> None:
    plan: Any = httpx.get(
        f"{demo.url}/v1/maps/alder-court-floor-plates/geojson?level=alder-court-floor-1",
        headers={"API-Key": demo.key},
        verify=trust_of(demo),
        timeout=60,
    ).json()
    unit = next(
        each for each in plan["features"] if each["properties"].get("unit_id") == "ur2sgnxmb7c"
    )
    corners = unit["geometry"]["coordinates"][0][:-1]
    place = [sum(each) / len(corners) for each in zip(*corners, strict=True)]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser.CHROMIUM, args=FLAGS)
        page = chromium.new_page()
        page.set_content(PAGE)
        page.add_script_tag(path=maplibre)
        assert page.evaluate(SHOW, [plan, place]) == [["ur2sgnxmb7c", "105"]]
        chromium.close()
