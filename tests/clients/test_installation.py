"""The packages as a service has them: built alike each time, installed from it, and loaded."""

import re
from html import unescape
from pathlib import Path
from typing import Literal

import httpx
import pytest
from playwright.sync_api import expect

from clients import build
from clients.generate import REVISION
from rest.openapi.description import RELEASE_DATE
from tests.clients.conftest import Site
from tests.clients.environment import install, run, trust_of
from tests.doc_pages import ROOT
from tests.gateway.pages import browser
from tests.gateway.pages.test_accessibility import AXE, TOOLS, problems
from tests.rest import packages

pytestmark = pytest.mark.xdist_group("map")

slow = pytest.mark.slow
VERSION = f"1.{RELEASE_DATE}.{REVISION}"
PYTHON_PROGRAM = """import sys
from importlib.metadata import version

from floorgate_client import Floorgate

with Floorgate(*sys.argv[1:]) as client:
    print(version("floorgate-client"))
"""
NODE_PROGRAM = """import { readFileSync } from 'node:fs'
import * as client from '@floorgate/client'

const { version } = JSON.parse(readFileSync('node_modules/@floorgate/client/package.json'))
console.log(version, typeof client.FloorgateError)
"""


def read_commands(site: Site) -> list[str]:
    """What the page of the service shows to copy."""
    page = httpx.get(f"{site.demo.url}/clients/", verify=trust_of(site.demo)).text
    return [unescape(shown) for shown in re.findall("<pre><code>(.*?)</code>", page, re.DOTALL)]


def test_guides_name_the_version_that_is_built() -> None:
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("clients/*/README.md")]
    named = {
        version
        for page in pages
        for version in re.findall(r"floorgate[_-](?:client|map)-(\d[\d.]*\d)", page.read_text())
    }
    assert named == {VERSION}


@slow
@pytest.mark.usefixtures("published")
def test_equal_sources_give_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [hatchling] = install().directory.glob("lib/python*/site-packages")
    monkeypatch.setenv("PYTHONPATH", str(hatchling))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    build.pack(again := tmp_path / "again")
    built = {file.name: file.read_bytes() for file in build.DIST.iterdir()}
    assert built == {file.name: file.read_bytes() for file in again.iterdir()}
    assert all(f"-{VERSION}" in name for name in built)


@slow
@pytest.mark.usefixtures("published")
def test_pip_installs_the_client_from_a_service_with_its_own_certificate(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # pip prefers them to the option
        monkeypatch.delenv(variable, raising=False)
    environment = install()
    [command] = [each for each in read_commands(site) if each.startswith("pip install --cert")]
    given = command.replace("cert.pem", str(site.demo.certificate)).split()
    # What it depends on is there already, so that the test needs no other index.
    environment.pip(*given[1:], "--no-deps", "--force-reinstall")
    (tmp_path / "program.py").write_text(PYTHON_PROGRAM)
    printed = run(environment.python, "program.py", site.demo.url, site.demo.key, cwd=tmp_path)
    assert printed.strip() == VERSION


@slow
@pytest.mark.usefixtures("published")
def test_npm_installs_the_client_from_a_service_with_its_own_certificate(
    site: Site, tmp_path: Path
) -> None:
    npm = packages.Packages(packages.install(TOOLS).node_directory, tmp_path)
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    (tmp_path / "program.js").write_text(NODE_PROGRAM)
    url = f"{site.demo.url}/clients/floorgate-client.tgz"
    # With this option, no other certificates are trusted: the client needs no other package.
    npm.run(*packages.npm(), "install", "--no-audit", f"--cafile={site.demo.certificate}", url)
    assert npm.run("node", "program.js").strip() == f"{VERSION} function"


@slow
@browser.needs_browser
@pytest.mark.usefixtures("published")
def test_a_page_of_others_loads_the_component_that_its_integrity_names(site: Site) -> None:
    [tag] = [each for each in read_commands(site) if each.startswith("<script")]
    assert VERSION in tag
    tag = tag.replace("fgk_…", site.demo.key).replace("my-map", "alder-court-floor-plates")
    other = re.sub(r"sha384-\S{8}", "sha384-AAAAAAAA", tag)
    (folder := site.directory / "integrity").mkdir()
    for name, text in (("right", tag), ("other", other)):
        (folder / f"{name}.html").write_text(f"<!doctype html><title>Page</title>\n{text}")
    with browser.visit(site.url) as seen:
        seen.page.goto(f"{site.url}/integrity/right.html")
        expect(seen.page.get_by_role("application", name="Map of Floor plates")).to_be_visible()
        seen.errors.clear()
        seen.page.goto(f"{site.url}/integrity/other.html")
        assert not seen.page.evaluate("Boolean(customElements.get('floorgate-map'))")
        assert any("integrity" in error for error in seen.errors)


@slow
@browser.needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.usefixtures("published")
def test_the_page_of_clients_is_accessible(site: Site, scheme: Literal["light", "dark"]) -> None:
    packages.install(TOOLS)
    with browser.visit(site.demo.url) as seen:
        seen.page.emulate_media(color_scheme=scheme)
        seen.page.goto(f"{site.demo.url}/clients/")
        expect(seen.page.get_by_role("heading", name="Clients")).to_be_visible()
        assert problems(seen.page, AXE.read_text()) == {}
        assert seen.all_errors() == []
