"""Pages of others with the map: the view alone, the panels of routes, and the examples."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
from playwright.sync_api import Page

from tests.clients.conftest import Site
from tests.clients.environment import CLIENTS, TYPESCRIPT
from tests.gateway.pages import browser
from tests.rest.demo_service import DemoService
from tests.rest.packages import install, npm

PACKAGE = Path(__file__).parents[3] / "clients" / "map"
FILES = Path(__file__).with_name("page")
BUNDLE = PACKAGE / "dist" / "floorgate-map.js"

# The policy of the strictest page that may hold the component.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'"
)
ICON = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


@contextmanager
def serve(
    maps: Mapping[str, object], files: Mapping[str, bytes] = MappingProxyType({})
) -> Iterator[str]:
    """Serve the page, parsed maps by their names, and files by their paths; yields the address."""
    served = {
        "/": (FILES / "page.html").read_bytes(),
        "/icon.svg": ICON,
        "/page.css": (FILES / "page.css").read_bytes(),
        "/page.js": (FILES / "page.js").read_bytes(),
        "/floorgate-map.js": BUNDLE.read_bytes(),
        **files,
        **{f"/{name}.json": json.dumps(parsed).encode() for name, parsed in maps.items()},
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, served))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Handler(BaseHTTPRequestHandler):
    """Answers with the files that it was made with."""

    def __init__(self, files: dict[str, bytes], *args: object) -> None:
        self.files = files
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        content = self.files.get(self.path)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Type", TYPES.get(Path(self.path).suffix, "text/html"))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


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


MAP = "alder-court-floor-plates"
FLAGS = {"Experimental-Flags": "distances"}
SOURCE = Path(__file__).with_name("routes_page.ts")
HTML = (
    '<!doctype html><html lang="en"><title>Routes</title>'
    '<main><h1>Routes</h1></main><script src="page.js"></script>'
)


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
