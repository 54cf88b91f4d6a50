"""The TypeScript client compiles strictly, and calls every endpoint."""

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from rest.openapi.sdk_methods import SDK_METHODS
from tests.clients import environment
from tests.clients.conftest import Site
from tests.clients.environment import (
    TYPESCRIPT,
    generate_types,
    read_snippets,
    trust_variables,
)
from tests.clients.own_endpoints import HOSTILE_TEXTS, describe, with_hostile_texts
from tests.clients.rest_clients import MAP, check, check_errors, check_requests
from tests.clients.unsteady_service import EXPIRED, UnsteadyService, serve
from tests.docs.pages import find_blocks
from tests.endpoints import ENDPOINTS
from tests.gateway.pages import browser
from tests.rest.demo_service import DemoService
from tests.rest.openapi.test_contracts import CLOSURES, REPORT, UNITS
from tests.rest.packages import Packages, install, npm

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.slow]

PROGRAMS = Path(__file__).parent
PAGE = """<!doctype html><meta charset="utf-8"><output></output>
<script type="module">
import { Floorgate } from './client/index.js'
const client = new Floorgate(Object.fromEntries(new URLSearchParams(location.search)))
const units = []
try {
  for await (const { id } of client.units.list({ per_page: 30 })) units.push(id)
  document.querySelector('output').value = units.length
} catch (error) {
  document.querySelector('output').value = `${error.name}: ${error.message}`
}
</script>
"""
OWN_ENDPOINTS = (
    """query Linked($class: ID!, $query: String)
    @endpoint(path: "/v1/x/{class}/units", summary: "List */ units", as: LINKED_LIST) {
      units(floor: $class, search: $query) { data { id asset { floors { data { id } } } } }
    }""",
    """query Names($asset: ID!)
    @endpoint(path: "/v1/x/{asset}/names", summary: "List", as: LIST, result: "asset.floors.data") {
      asset(id: $asset) { floors { data { name sort } } }
    }""",
    """query Draw($svg: SvgDocument!)
    @endpoint(method: POST, path: "/v1/x/draw", summary: "Parse") {
      parsedUnitMap(svg: $svg) { map }
    }""",
    """mutation Assign($group: ID!, $data: [AssignmentInput!]!)
    @endpoint(method: POST, path: "/v1/x/{group}/units", summary: "Assign", as: NONE) {
      assignUnitAttributes(input: {groupId: $group, assignments: $data}) { units { id } }
    }""",
    """mutation CloseDoors($map: ID!, $data: [ID!])
    @endpoint(method: PUT, path: "/v1/x/{map}/closed", summary: "Close doors", as: NONE) {
      setClosures(input: {map: $map, doors: $data}) { closures { doors } }
    }""",
    """query Far($map: ID!, $from: WaypointInput!)
    @endpoint(method: POST, path: "/v1/x/{map}/far", summary: "Measure", result: "map.matrix") {
      map(id: $map) {
        matrix: distanceMatrix(sources: [$from], targets: [$from]) { sources { x } }
      }
    }""",
    """query Constructor
    @endpoint(path: "/v1/x/list", summary: "List") { assets { data { id } } }""",
)
OWN_PROGRAM = """import { Floorgate, type LinkedItem } from '@floorgate/client'

export async function call({ x }: Floorgate): Promise<void> {
  for await (const { id, floor } of x.floorUnits({ floor: 'floor-1' })) id.concat(floor?.id ?? '')
  for await (const unit of x.linked('floor-1', { query: 'gym' })) name(unit)
  for await (const { id } of x.constructor_()) id.concat()
  await x.setDoors('map', { doors: ['door-1'] })
  const [first] = await x.names('alder-court')
  first?.name.concat(String((await x.far('map', { from: { id: 'gym' } })).sources[0]?.x))
  void [await x.report('map'), await x.draw('<svg/>')]
  const assigned: void = await x.assign('view', [])
  await x.closeDoors('map', ['door-1'])
  await x.closeDoors('map', null)
  // @ts-expect-error: a misspelt filter
  x.linked('floor-1', { search: 'gym' })
  // @ts-expect-error: a misspelt member of a body
  await x.far('map', { from: { idd: 'gym' } })
  // @ts-expect-error: a member that the operation does not select
  first?.created_at
}

function name({ asset }: LinkedItem): string | undefined {
  return asset?.floors.data[0]?.id
}
"""


@pytest.fixture(scope="module")
def compiled() -> Packages:
    """The package with the programs that use it, which are compiled strictly."""
    packages = install(TYPESCRIPT)
    generate_types(packages)
    snippets = read_snippets()
    # Inside the package, a program may import it by its name.
    shutil.rmtree(folder := TYPESCRIPT / "program", ignore_errors=True)
    folder.mkdir()
    for program in PROGRAMS.glob("*.ts"):
        shutil.copy(program, folder)
    (folder / "snippet.ts").write_text(snippets["ts"][0])
    blocks = find_blocks((TYPESCRIPT / "README.md").read_text())
    readme = "\n".join(block.text for block in blocks if block.language == "ts")
    (folder / "readme.ts").write_text(readme)
    packages.tool("tsc", "--project", "tsconfig.test.json")
    (TYPESCRIPT / "build" / "fetch.mjs").write_text(snippets["js"][0])
    return packages


def run(compiled: Packages, program: str, *arguments: str, **variables: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        compiled.run("node", f"build/{program}.js", *arguments, **variables)
    )
    return found


def test_the_typescript_client_calls_every_endpoint(
    compiled: Packages, demo: DemoService, service: httpx.Client
) -> None:
    trust = {"NODE_EXTRA_CA_CERTS": str(demo.certificate)}
    found = run(compiled, "every_endpoint", demo.url, demo.key, **trust)
    check(found, service)
    assert found["isReused"] and found["steps"] and found["picture"] == "image/png"
    assert found["graphql"] == {"data": {"assets": {"totalCount": 1}}}
    tagged = service.get(f"/maps/{MAP}/locations", params={"tags": "svc:amenity"}).json()["data"]
    assert found["tagged"] == [each["id"] for each in tagged] and len(tagged) > 7
    for each in ENDPOINTS:
        if each.name[0].lower() + each.name[1:] in SDK_METHODS:
            pattern = re.compile(f"{each.method} {re.sub('{.+?}', '[^/]+', each.path)}")
            assert any(map(pattern.fullmatch, found["requests"])), each.path


@pytest.mark.parametrize(("language", "program"), [("js", "fetch.mjs"), ("ts", "snippet.js")])
def test_a_snippet_of_the_guide_prints_what_is_shown(
    language: str,
    program: str,
    compiled: Packages,
    demo: DemoService,
) -> None:
    variables = {"URL": demo.url, "KEY": demo.key, **trust_variables(demo)}
    assert compiled.run("node", f"build/{program}", **variables) == read_snippets()[language][1]


@pytest.fixture(scope="module")
def troubles(compiled: Packages, demo: DemoService) -> tuple[UnsteadyService, dict[str, Any]]:
    """A service in trouble, and what a program has found of it."""
    with serve() as service:
        return service, run(compiled, "troubles", service.url, demo.url)


def test_the_typescript_client_survives_what_services_in_trouble_send(
    troubles: tuple[UnsteadyService, dict[str, Any]],
) -> None:
    service, found = troubles
    moved = f"http://localhost:{service.url.rpartition(':')[2]}/v1/maps/movedelsewhere"
    check_requests(service, "ts")
    check_errors(found["ends"])
    assert found["data"] == [[]] * 8
    assert found["raw"] == [200, "first", {"data": []}]
    # Of 50 MB, the one that was used least recently is forgotten first.
    assert found["asked"] == [None, None, '"1"', None, '"1"', None]
    assert found["followed"] == ["now", "ChangesExpiredError"]
    assert len(service.requests["changes"]) == EXPIRED
    assert found["flags"] == "locations,changes"
    redirect = f"307: Temporary Redirect, to {moved}/levels/tags: redirects are not followed"
    other = "200: Not what the API sends: is the address that of the service?"
    name, message, _ = found["errors"].pop("zipped")
    assert name == "ConnectionFailedError" and message.startswith("No response from URL: ")
    assert found["errors"] == {
        "null": ["ResponseError", "500: Internal Server Error", False],
        "text": ["ResponseError", "500: Internal Server Error", False],
        "html": ["ResponseError", "500: Internal Server Error", False],
        "hours": ["RateLimitedError", "429 RATE_LIMITED: Too Many Requests", False],
        "elsewhere": ["ResponseError", redirect, False],
        "expired": ["ChangesExpiredError", "410 CHANGES_EXPIRED: Gone", True],
        "permission": ["PermissionRequiredError", "403 PERMISSION_REQUIRED: Forbidden", True],
        **{name: ["ResponseError", other, False] for name in ("login", "list", "members")},
    }
    late = "No response from URL: The operation was aborted due to timeout"
    assert found["timeout"] == ["ConnectionFailedError", late, 5]
    assert found["ended"] == ["enough", "left"]
    asked = {name: len(requests) for name, requests in service.requests.items()}
    assert (asked["cut"], asked["shared"], asked["minute"]) == (2, 3, 1)
    assert [each["If-None-Match"] for each in service.requests["shared"]] == [None, '"1"', '"1"']
    assert [each["X-Tour"] for each in service.requests["shared"]] == [None, "7", None]
    assert {each["X-Request-Id"] for each in service.requests["cut"]} == {"mine"}


def test_an_address_that_cannot_be_right_is_a_sentence(
    troubles: tuple[UnsteadyService, dict[str, Any]],
) -> None:
    _, found = troubles
    for name, sentence in (
        (
            "certificate",
            ". To trust a certificate, name its file in NODE_EXTRA_CA_CERTS before Node.js starts",
        ),
        ("plain", ". Does its address begin with https://?"),
        ("tls", ". The service answers without TLS: its address begins with http://"),
        ("nothing", "ECONNREFUSED"),
    ):
        assert found["addresses"][name].startswith("No response from URL: ")
        assert sentence in found["addresses"][name]
    begins = "An address is https:// or http://, host, port and path, unlike"
    assert found["sentences"] == [
        "There is no address: pass one as `url`, or set FLOORGATE_URL",
        f"{begins} 'floorgate.example'",
        f"{begins} 'localhost:8443'",
        f"{begins} 'ftp://floorgate.example'",
        f"{begins} 'https://f.example:abc'",
        f"{begins} 'https://f.example?x=1'",
        "The address goes without /v1: 'URL' instead of 'URL/v1/'",
        "The address goes without /graphql: 'https://f.example/a' instead of 'https://f.example/a/graphql'",
        "There is no API key: pass one as `key`, or set FLOORGATE_KEY",
        "The API key has a character that keys do not have, such as a space",
        "'..' is not an id",
        *found["sentences"][11:],
    ]
    assert found["sentences"][11].startswith("There is no parameter asset_id; there are page, ")


def build_own(compiled: Packages, tmp_path: Path, description: object) -> Packages:
    """Generate and compile a library of its own."""
    clients, file = environment.copy_clients(tmp_path), tmp_path / "openapi.json"
    package = clients / "typescript"
    (package / "node_modules").symlink_to(TYPESCRIPT / "node_modules")
    file.write_text(json.dumps(description))
    environment.run(sys.executable, clients / "generate.py", file, "typescript", cwd=clients)
    own = replace(compiled, tools=package)
    own.run(*npm(), "run", "build")
    return own


def test_texts_of_a_description_do_not_become_code(compiled: Packages, tmp_path: Path) -> None:
    own = build_own(compiled, tmp_path, with_hostile_texts(describe()))
    assert own.run("node", "dist/index.js") == ""
    generated = (own.tools / "src" / "resources.ts").read_text()
    kept = (text.splitlines()[0].replace("*/", "*\\/") for text in HOSTILE_TEXTS)
    assert all(text in generated for text in kept)


def test_own_endpoints_are_methods_with_types(compiled: Packages, tmp_path: Path) -> None:
    own = build_own(compiled, tmp_path, describe(UNITS, CLOSURES, REPORT, *OWN_ENDPOINTS))
    (own.tools / "program").mkdir()
    (own.tools / "program" / "own.ts").write_text(OWN_PROGRAM)
    own.tool("tsc", "--project", "tsconfig.test.json")


@pytest.mark.skipif(not browser.CHROMIUM, reason="no Chromium: apt install chromium")
def test_browsers_load_it_as_it_is(compiled: Packages, site: Site, demo: DemoService) -> None:
    (folder := site.directory / "typescript").mkdir()
    (folder / "client").symlink_to(TYPESCRIPT / "dist")
    (folder / "index.html").write_text(PAGE)
    with browser.visit(site.url) as seen:
        page, output = seen.page, seen.page.locator("output")
        page.goto(f"{site.url}/typescript/?url={site.demo.url}&key={site.demo.key}")
        expect(output).to_have_text("86")
        page.goto(f"{site.url}/typescript/?url={demo.url}&key={demo.key}")
        expect(output).to_contain_text(f"allow pages of {site.url}")
        expect(output).to_contain_text(f"'floorgate keys create --origin {site.url}'")
