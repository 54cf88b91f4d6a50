"""The packages as a service has them: built alike each time, installed from it, and loaded."""

import json
import os
import re
import subprocess
from html import unescape
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from clients import build
from clients.generate import REVISION
from rest.openapi.description import RELEASE_DATE
from tests.clients.conftest import Site
from tests.clients.environment import CLIENTS, install, run, trust_of
from tests.doc_pages import ROOT
from tests.docs.pages import find_blocks
from tests.gateway.pages import browser
from tests.rest import packages

pytestmark = pytest.mark.xdist_group("map")

slow = pytest.mark.slow
VERSION = f"1.{RELEASE_DATE}.{REVISION}"
GROUP = "views-and-features"
ASSIGNMENT = {
    "group_id": GROUP,
    "attribute_id": "views-and-features-balcony",
    "asset_id": "alder-court",
    "unit_id": "ugwo2tfiznm",
}


def read_program(package: str, language: str, site: Site) -> str:
    """The program that the guide of a package begins with, for this service."""
    blocks = find_blocks((CLIENTS / package / "README.md").read_text())
    [program] = [each.text for each in blocks if each.language == language]
    assert len([line for line in program.splitlines() if line]) <= 14
    return program.replace("https://floorgate.example", site.demo.url)


def check_program(site: Site, command: list[str], folder: Path, **variables: str) -> None:
    """Run a program that lists units with their attributes and follows changes; make a change."""
    environment = {
        **os.environ,
        "FLOORGATE_KEY": site.demo.key,
        "SSL_CERT_FILE": str(site.demo.certificate),
        "NODE_EXTRA_CA_CERTS": str(site.demo.certificate),
        "PYTHONUNBUFFERED": "1",
        **variables,
    }
    headers = {"API-Key": site.demo.key, "Experimental-Flags": "unit-attributes-resource"}
    path = f"{site.demo.url}/v1/units/attribute-groups/{GROUP}/assignments"
    with (
        httpx.Client(headers=headers, verify=trust_of(site.demo)) as service,
        subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
        ) as program,
    ):
        try:
            lines = iter(program.stdout or ())
            listed = [next(lines).split() for _ in range(86)]
            assert ["ugwo2tfiznm", "101"] in listed
            assert any(line.startswith("ugwo2tfiznm apartment-type-") for line in lines)
            service.post(f"{path}/remove", json={"data": [ASSIGNMENT]}).raise_for_status()
            service.put(path, json={"data": [ASSIGNMENT]}).raise_for_status()
            record = f"{GROUP}/ugwo2tfiznm/{ASSIGNMENT['attribute_id']}"
            assert any(line == f"created attribute_assignments {record}\n" for line in lines)
            service.post(f"{path}/remove", json={"data": [ASSIGNMENT]}).raise_for_status()
        finally:
            program.kill()


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
    found = "from importlib.metadata import version; print(version('floorgate-client'))"
    assert run(environment.python, "-c", found, cwd=tmp_path).strip() == VERSION
    program = read_program("python", "python", site)
    check_program(site, [str(environment.python), "-c", program], tmp_path)


@slow
@pytest.mark.usefixtures("published")
def test_npm_installs_the_client_from_a_service_with_its_own_certificate(
    site: Site, tmp_path: Path
) -> None:
    npm = packages.Packages(packages.install().node_directory, tmp_path)
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    (tmp_path / "program.mts").write_text(read_program("typescript", "ts", site))
    url = f"{site.demo.url}/clients/floorgate-client.tgz"
    # With this option, no other certificates are trusted: the client needs no other package.
    npm.run(*packages.npm(), "install", "--no-audit", f"--cafile={site.demo.certificate}", url)
    installed = tmp_path / "node_modules" / "@floorgate" / "client" / "package.json"
    assert json.loads(installed.read_text())["version"] == VERSION
    node = str(npm.node_directory / "node")  # it leaves the types out
    check_program(site, [node, "program.mts"], tmp_path)


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
