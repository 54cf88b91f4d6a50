"""A page with the panels of routes, on a site of others."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page

from tests.clients.conftest import Site
from tests.gateway.pages import browser
from tests.rest.demo_service import DemoService
from tests.rest.packages import install
from tools.client_generation import CLIENTS, TYPESCRIPT

MAP = "alder-court-floor-plates"
FLAGS = {"Experimental-Flags": "distances"}
PACKAGE = CLIENTS / "map"
SOURCE = Path(__file__).with_name("routes_page.ts")
HTML = '<!doctype html><html lang="en"><title>Routes</title><body><script src="page.js"></script>'


def build_page(directory: Path, source: Path) -> None:
    """Build the page into a directory; skip the test without npm packages."""
    _, packages = install(TYPESCRIPT), install(PACKAGE)  # the page has sources of both
    bundle = ["--bundle", "--format=esm", f"--outfile={directory / 'page.js'}"]
    # sources outside the package find its packages in this way, as in its build
    variables = {"NODE_PATH": str(PACKAGE / "node_modules")}
    esbuild = str(PACKAGE / "node_modules" / ".bin" / "esbuild")
    packages.run(esbuild, source, *bundle, "--log-level=warning", **variables)
    (directory / "index.html").write_text(HTML.replace("<script", '<script type="module"'))


@dataclass(frozen=True)
class World:
    """The page, and keys of the service next to it."""

    page: Page
    page_url: str
    demo: DemoService
    plain_key: str
    """It sees everything, and may not calculate distances."""
    operator_key: str
    visitor_key: str
    """It sees everything, and may calculate distances."""

    def open(self, key: str | None = None) -> None:
        self.page.goto(f"{self.page_url}/?url={self.demo.url}&key={key or self.demo.key}")
        self.page.wait_for_function("window.routes")

    def run(self, script: str, **values: object) -> Any:
        """What a script returns that has `routes` and these values."""
        names = ", ".join(values)
        return self.page.evaluate(f"async ({{{names}}}) => {{ {script} }}", values)

    def set_state(self, **state: object) -> None:
        script = """const element = document.querySelector('routes-page')
        element.state = { mode: 'foot', avoid: [], theme: 'auto', ...state }"""
        self.run(script, state={"map": MAP, **state})

    @contextmanager
    def closed(self, *connectors: str) -> Iterator[None]:
        """Close connectors until the block ends."""
        self._close(connectors)
        try:
            yield
        finally:
            self._close(())

    def _close(self, connectors: tuple[str, ...]) -> None:
        httpx.put(
            f"{self.demo.url}/v1/maps/{MAP}/closures",
            headers={"API-Key": self.operator_key, **FLAGS},
            json={"data": {"connectors": connectors}},
            verify=False,
            timeout=60,
        ).raise_for_status()


@contextmanager
def open_world(site: Site, source: Path = SOURCE) -> Iterator[World]:
    """Build the page and open a browser until the block ends."""
    (files := site.directory / source.stem).mkdir(exist_ok=True)
    build_page(files, source)
    everything = ("--all-assets",)
    with browser.visit(site.url) as seen:
        yield World(
            seen.page,
            f"{site.url}/{source.stem}",
            site.demo,
            plain_key=site.create_key(*everything),
            operator_key=site.create_key(*everything, "--permission", "service.admin"),
            visitor_key=site.create_key(*everything, "--permission", "service.distances.calculate"),
        )
