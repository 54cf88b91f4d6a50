"""A page with the panels of routes, from an origin of its own, beside the demo property."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page

from tests.clients.page_server import serve_directory
from tests.gateway.pages import browser
from tests.rest.demo_service import FLOORGATE, UNLIMITED, DemoService, demo_service
from tests.rest.packages import install
from tools.client_generation import CLIENTS, TYPESCRIPT

MAP = "alder-court-floor-plates"
FLAGS = {"Experimental-Flags": "distances"}
PACKAGE = CLIENTS / "map"
SOURCE = Path(__file__).with_name("routes_page.ts")
HTML = '<!doctype html><html lang="en"><title>Routes</title><body><script src="page.js"></script>'


@contextmanager
def serve_page(directory: Path, source: Path = SOURCE) -> Iterator[str]:
    """Build the page into a directory and serve it; skips the test without npm packages."""
    client, packages = install(TYPESCRIPT), install(PACKAGE)  # the page has sources of both
    if isinstance(client, str):
        pytest.skip(client)
    if isinstance(packages, str):
        pytest.skip(packages)
    bundle = ["--bundle", "--format=esm", f"--outfile={directory / 'page.js'}"]
    # sources outside the package find its packages in this way, as in its build
    variables = {"NODE_PATH": str(PACKAGE / "node_modules")}
    esbuild = str(PACKAGE / "node_modules" / ".bin" / "esbuild")
    packages.run(esbuild, source, *bundle, "--log-level=warning", **variables)
    (directory / "index.html").write_text(HTML.replace("<script", '<script type="module"'))
    with serve_directory(directory) as address:
        yield address


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
def open_world(mongo_url: str, directory: Path, source: Path = SOURCE) -> Iterator[World]:
    """Start everything until the block ends."""
    (files := directory / "page").mkdir()
    with (
        serve_page(files, source) as page_url,
        demo_service(mongo_url, directory, ("--cors-origins", page_url, *UNLIMITED)) as demo,
        browser.visit(page_url) as seen,
    ):
        permissions = ((), ("service.admin",), ("service.distances.calculate",))
        yield World(seen.page, page_url, demo, *(_create_key(demo, *each) for each in permissions))


def _create_key(demo: DemoService, *permissions: str) -> str:
    options = [option for each in permissions for option in ("--permission", each)]
    command = [
        str(FLOORGATE),
        "keys",
        "create",
        "--name",
        "test",
        "--all-assets",
        "--json",
        *options,
    ]
    done = subprocess.run(
        command, env={**os.environ, **demo.environment}, capture_output=True, check=True
    )
    return str(json.loads(done.stdout)["key"])
