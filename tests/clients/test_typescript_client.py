"""The TypeScript client compiles strictly, and calls every endpoint."""

import json
import shutil
from pathlib import Path

import httpx
import pytest

from tests.clients.environment import CLIENTS, generate_types, read_snippets, trust_variables
from tests.clients.rest_clients import MAP, check, check_errors, check_requests
from tests.clients.unsteady_service import serve
from tests.docs.pages import find_blocks
from tests.endpoints import ENDPOINTS
from tests.rest.demo_service import DemoService
from tests.rest.packages import Packages, install

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.slow]

PROGRAMS = Path(__file__).parent
TYPESCRIPT = CLIENTS / "typescript"


@pytest.fixture(scope="module")
def packages(generated: None) -> Packages:
    installed = install(TYPESCRIPT)
    generate_types(installed)
    installed.tool("tsc", "--project", ".")
    return installed


@pytest.fixture(scope="module")
def compiled(packages: Packages) -> Packages:
    """The package with the programs that use it, which are compiled strictly."""
    snippets = read_snippets()
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


def test_the_typescript_client_calls_every_endpoint(
    compiled: Packages, demo: DemoService, service: httpx.Client
) -> None:
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
    check(found, service)
    assert found["isReused"]
    tagged = service.get(f"/maps/{MAP}/locations", params={"tags": "svc:amenity"}).json()["data"]
    assert found["byLink"] == [each["id"] for each in tagged] and len(tagged) > 7
    text = program.read_text()
    for endpoint in ENDPOINTS:
        assert f"'{endpoint.path}'" in text, endpoint.path


@pytest.mark.parametrize(("language", "program"), [("js", "fetch.mjs"), ("ts", "snippet.js")])
def test_a_snippet_of_the_guide_prints_what_is_shown(
    language: str,
    program: str,
    compiled: Packages,
    demo: DemoService,
) -> None:
    variables = {"URL": demo.url, "KEY": demo.key, **trust_variables(demo)}
    assert compiled.run("node", f"build/{program}", **variables) == read_snippets()[language][1]


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
