"""The clients for Python and TypeScript compile strictly, and call every endpoint."""

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from rest.endpoint_table import ENDPOINTS
from rest.openapi.description import build_description
from schema.root import GRAPHQL_SCHEMA
from tests.clients.generated_types import generate_types
from tests.clients.trust import trust_of
from tests.clients.unsteady_service import ERROR, UnsteadyService, serve
from tests.doc_pages import page
from tests.docs.markdown import find_blocks
from tests.rest.demo_service import DemoService
from tests.rest.packages import Packages, install
from tools import client_generation

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.slow]

PROGRAMS = Path(__file__).parent
PYTHON_SOURCE = client_generation.PYTHON / "src"
TYPESCRIPT = client_generation.CLIENTS / "typescript"


@pytest.fixture(scope="module", autouse=True)
def generated() -> None:
    client_generation.main()


@pytest.fixture(scope="module")
def packages(generated: None) -> Packages:
    installed = install(TYPESCRIPT)
    if isinstance(installed, str):
        pytest.skip(installed)
    generate_types(installed)
    installed.tool("tsc", "--project", ".")
    return installed


def test_generation_leaves_the_description_for_others_as_it_is() -> None:
    before = json.dumps(build_description(GRAPHQL_SCHEMA))
    client_generation.main()
    assert json.dumps(build_description(GRAPHQL_SCHEMA)) == before


def test_elements_of_maps_are_parsed_as_the_type_that_they_name() -> None:
    # Maps have tens of thousands; to try one type after the other takes 25 times as long.
    models = PYTHON_SOURCE / "floorgate_client/rest/models"
    for name in ("parsed_map", "map_level", "map_layer"):
        text = (models / f"{name}.py").read_text()
        assert "parse_element(" in text and "MapRect.from_dict" not in text


def expected(demo: DemoService) -> dict[str, Any]:
    """What the programs have to find, read without a client."""
    with httpx.Client(
        base_url=f"{demo.url}/v1", verify=trust_of(demo), timeout=60, headers={"API-Key": demo.key}
    ) as client:
        units = client.get("/units", params={"per-page": 10_000}).json()["data"]
        assets = client.get("/assets").json()["data"]
        floors = client.get(f"/assets/{assets[0]['id']}/floors").json()["data"]
        maps = client.get("/maps", params={"tags": "pathfinding"}).json()["data"]
        return {
            "assets": [each["id"] for each in assets],
            "floor": floors[0]["id"],
            "units": [each["id"] for each in units],
            "unit": units[0],
            "maps": [each["id"] for each in maps],
            "parsed": client.get("/maps/alder-court-floor-plates/parsed").json(),
        }


def locations(demo: DemoService) -> list[str]:
    """The ids of the locations with a tag, read without a client."""
    found = httpx.get(
        f"{demo.url}/v1/maps/alder-court-floor-plates/locations",
        params={"tags": "svc:amenity", "per-page": 10_000},
        verify=trust_of(demo),
        timeout=60,
        headers={"API-Key": demo.key, "Experimental-Flags": "locations-resource"},
    )
    return [each["id"] for each in found.json()["data"]]


def outlines_of(parent: dict[str, Any]) -> dict[str, str]:
    """The kinds of shapes that units have in a parsed map, by the id of the unit."""
    outlines = {
        each["id"]: each["shape"]["type"] for each in parent["elements"] if each["type"] == "Unit"
    }
    for element in parent["elements"]:
        if "elements" in element:
            outlines |= outlines_of(element)
    return outlines


def check(found: dict[str, Any], demo: DemoService) -> None:
    truth = expected(demo)
    directory = found["read_directory"]
    assert {name: directory[name] for name in ("assets", "floor", "units", "unit")} == {
        name: truth[name] for name in ("assets", "floor", "units", "unit")
    }
    assert directory["references"]
    assert found["read_map"] == {
        "maps": truth["maps"],
        "outlines": outlines_of(truth["parsed"]),
        "path": "M0 0h9v9z",
        "parsed": truth["parsed"],
    }
    assert found["read_map"]["outlines"]
    assert all(distance > 0 for distance in found["measure"]["distances"])
    assert found["measure"]["closing"] == "PERMISSION_REQUIRED"
    assert found["assign"]["assigned"] > 3 and found["assign"]["removed"] == 204
    assert {tuple(each) for each in found["assign"]["changes"]} == {
        ("attribute_assignments", "removed"),
        ("attribute_assignments", "created"),
    }
    assert found["fail"] == {"missing": "NOT_FOUND", "fields": ["page", "per-page"]}


def test_the_python_client_calls_every_endpoint(demo: DemoService) -> None:
    program = PROGRAMS / "every_endpoint.py"
    done = subprocess.run(
        [sys.executable, program, demo.url, demo.key, demo.certificate],
        env={**os.environ, "PYTHONPATH": str(PYTHON_SOURCE)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    check(found, demo)
    assert found["concurrently"]["units"] == found["read_directory"]["units"]

    modules = (PYTHON_SOURCE / "floorgate_client/rest/api").glob("*/*.py")
    endpoints = {module.stem for module in modules} - {"__init__"}
    called = {*re.findall(r"\b(\w+)\.(?:sync|asyncio)\w*\b", program.read_text())}
    assert endpoints == called
    assert len(endpoints) == len(ENDPOINTS)


def test_the_python_client_and_its_users_pass_mypy_in_strict_mode() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "-p", "floorgate_client"],
        env={**os.environ, "MYPYPATH": str(PYTHON_SOURCE)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    programs = [PROGRAMS / "every_endpoint.py", PROGRAMS / "retries.py"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", *programs],
        env={**os.environ, "MYPYPATH": str(PYTHON_SOURCE)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def compiled(packages: Packages, snippets: dict[str, tuple[str, str]]) -> Packages:
    """The package with the programs that use it, which are compiled strictly."""
    # Inside the package, a program may import it by its name.
    folder = TYPESCRIPT / "program"
    folder.mkdir(exist_ok=True)
    for program in PROGRAMS.glob("*.ts"):
        shutil.copy(program, folder)
    (folder / "snippet.ts").write_text(snippets["ts"][0])
    [readme] = [
        block.text
        for block in find_blocks((TYPESCRIPT / "README.md").read_text())
        if block.language == "ts"
    ]
    (folder / "readme.ts").write_text(f"declare const key: string\n{readme}")
    packages.tool("tsc", "--project", "tsconfig.test.json")
    (TYPESCRIPT / "build" / "fetch.mjs").write_text(snippets["js"][0])
    return packages


def test_the_typescript_client_calls_every_endpoint(compiled: Packages, demo: DemoService) -> None:
    program = PROGRAMS / "every_endpoint.ts"
    found = json.loads(
        compiled.run(
            "node",
            "build/every_endpoint.js",
            demo.url,
            demo.key,
            NODE_EXTRA_CA_CERTS=str(demo.certificate),
        )
    )
    check(found, demo)
    assert found["isReused"]
    assert found["byLink"] == locations(demo) and len(found["byLink"]) > 7
    text = program.read_text()
    for endpoint in ENDPOINTS:
        assert f"'{endpoint.path}'" in text, endpoint.path


@pytest.fixture(scope="module")
def snippets() -> dict[str, tuple[str, str]]:
    """The last program of each language in the guide, and what the guide shows as its output."""
    blocks = find_blocks(page("rest/clients.md"))
    return {one.language: (one.text, other.text) for one, other in pairwise(blocks)}


@pytest.fixture(scope="module")
def trust(demo: DemoService) -> dict[str, str]:
    """What the guide sets, with the certificate of the service."""
    names = re.findall(r"`(\w+)=\$CURL_CA_BUNDLE`", page("rest/clients.md"))
    assert names == ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"]
    return dict.fromkeys(names, str(demo.certificate))


@pytest.mark.parametrize(("language", "program"), [("js", "fetch.mjs"), ("ts", "snippet.js")])
def test_a_snippet_of_the_guide_prints_what_is_shown(
    language: str,
    program: str,
    snippets: dict[str, tuple[str, str]],
    compiled: Packages,
    demo: DemoService,
    trust: dict[str, str],
) -> None:
    variables = {"URL": demo.url, "KEY": demo.key, **trust}
    assert compiled.run("node", f"build/{program}", **variables) == snippets[language][1]


def test_the_snippet_for_the_python_client_prints_what_is_shown(
    snippets: dict[str, tuple[str, str]], demo: DemoService, trust: dict[str, str]
) -> None:
    text, shown = snippets["python"]
    variables = {"URL": demo.url, "KEY": demo.key, "PYTHONPATH": str(PYTHON_SOURCE), **trust}
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == (shown, "")


REQUESTS = {
    "seconds": 2,
    "date": 2,
    "lost": 2,
    "same": 2,
    "post": 2,
    "down": 5,
    "broken": 1,
    "invalid": 1,
    "later": 1,
    "closed": 1,
}
"""How often a client asks: once more after the named time, at most four times more, or never."""


def check_requests(service: UnsteadyService, client: str) -> None:
    asked = {
        name.removesuffix(f"-{client}"): len(requests)
        for name, requests in service.requests.items()
        if name.endswith(f"-{client}")
    }
    assert asked == REQUESTS
    assert service.early == []
    first, second = service.requests[f"same-{client}"]
    assert first["If-None-Match"] is None and second["If-None-Match"] == '"1"'
    for requests in service.requests.values():
        assert {each["API-Key"] for each in requests} == {"key"}
        assert {each["Experimental-Flags"] for each in requests} == {"changes,distances"}


def check_errors(errors: list[dict[str, Any]]) -> None:
    down, broken, invalid, later, closed = errors
    assert (down["type"], down["code"]) == ("UnavailableError", "UNAVAILABLE")
    assert (broken["type"], broken["status"]) == ("FloorgateError", 500)
    described = {name: ERROR[name] for name in ("code", "fields", "request_id", "docs")}
    own = {"type": "InvalidInputError", "status": 422, "retry_after": None}
    assert invalid == {**own, **described}
    assert [each["retry_after"] for each in (down, broken, later)] == [0, None, 3600]
    assert closed["retry_after"] > 365 * 24 * 3600  # until a date that is far away


def test_the_python_clients_repeat_what_fails_for_a_while_and_nothing_else() -> None:
    with serve() as service:
        done = subprocess.run(
            [sys.executable, PROGRAMS / "retries.py", service.url],
            env={**os.environ, "PYTHONPATH": str(PYTHON_SOURCE)},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    for client, errors in json.loads(done.stdout).items():
        check_requests(service, client)
        check_errors(errors)


def test_the_typescript_client_repeats_what_fails_for_a_while_and_nothing_else(
    compiled: Packages,
) -> None:
    with serve() as service:
        found = json.loads(compiled.run("node", "build/retries.js", service.url))
    check_requests(service, "ts")
    check_errors(found["ts"])


def test_the_typescript_client_survives_what_services_in_trouble_send(compiled: Packages) -> None:
    with serve() as service:
        found = json.loads(compiled.run("node", "build/troubles.js", service.url))
        moved = f"http://localhost:{service.url.rpartition(':')[2]}/v1/maps/movedelsewhere"
    assert found["cut"] == [{"data": []}, "/v1/maps/cut/levels/tags"]
    assert found["same"] == [{"data": []}, "second"]
    assert found["errors"] == {
        "null": ["FloorgateError", 502, "Bad Gateway", False],
        "hours": ["RateLimitedError", 429, "Too Many Requests", False],
        "elsewhere": [
            "FloorgateError",
            307,
            f"redirects are not followed: {moved}/levels/tags",
            False,
        ],
        "expired": ["ChangesExpiredError", 410, "Gone", True],
        "permission": ["PermissionRequiredError", 403, "Forbidden", True],
    }
    assert found["late"] == "TimeoutError"
    assert {name: len(requests) for name, requests in service.requests.items()} == {
        "cut": 2,
        "same": 2,
        "null": 1,
        "hours": 1,
        "elsewhere": 1,
        "expired": 1,
        "permission": 1,
        "minute": 1,
    }
    assert {each["X-Request-Id"] for each in service.requests["cut"]} == {"mine"}
