"""The examples of pages with the map, on a site of others."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

from tests.clients.conftest import Site
from tests.gateway.pages import browser
from tests.rest.demo_service import DemoService
from tests.rest.packages import install, npm
from tools.client_generation import CLIENTS

EXAMPLES = CLIENTS / "examples" / "map-page"
EVENTS = """
window.told = []
for (const type of ['ready', 'statechange', 'unitselect', 'routefound', 'failure']) {
  document.addEventListener(type, ({ detail }) => window.told.push([type, detail]))
}
"""


@dataclass(frozen=True)
class Examples:
    """The pages of the examples, and keys of the service beside them."""

    seen: browser.Visit
    demo: DemoService
    plain_key: str
    """It sees the demo property, and has no permission."""

    @property
    def page(self) -> Page:
        return self.seen.page

    def open(self, name: str, *, key: str | None = None, **parameters: str) -> None:
        given = {"url": self.demo.url, "key": self.demo.key if key is None else key, **parameters}
        query = "&".join(f"{name}={value}" for name, value in given.items())
        self.seen.errors.clear()
        self.page.set_viewport_size({"width": 1280, "height": 800})
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        self.page.goto(f"{self.seen.base_url}/examples/{name}?{query}")

    def click(self, x: float, y: float) -> None:
        """Click where a point of the drawing is."""
        pixels = self.page.evaluate(
            "(point) => document.querySelector('floorgate-map').toPixels(point)", {"x": x, "y": y}
        )
        box = self.page.locator("floorgate-map").bounding_box()
        assert box
        self.page.mouse.click(box["x"] + pixels["x"], box["y"] + pixels["y"])

    def events(self, name: str) -> list[Any]:
        """The details of the events with this name, in their order."""
        told: list[tuple[str, Any]] = self.page.evaluate("window.told")
        return [detail for kind, detail in told if kind == name]

    def errors(self) -> list[str]:
        """What went wrong on the page, but for requests to the service on its own origin."""
        return [each for each in self.seen.all_errors() if "another origin" not in each]


@contextmanager
def open_examples(site: Site) -> Iterator[Examples]:
    """Build the examples and open a browser until the block ends."""
    packages = install(EXAMPLES)
    packages.run(*npm(), "run", "build")
    (site.directory / "examples").symlink_to(EXAMPLES)
    with browser.visit(site.url) as seen:
        seen.page.add_init_script(EVENTS)
        yield Examples(seen, site.demo, site.create_key("--asset", "alder-court"))
