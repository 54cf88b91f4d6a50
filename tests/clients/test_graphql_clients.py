"""Front ends show the right data: Apollo Client, urql and Relay with their default caches."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphql import GraphQLObjectType

from schema.root import GRAPHQL_SCHEMA
from tests.doc_pages import DOCS
from tests.docs.pages import find_blocks
from tests.rest.demo_service import DemoService
from tests.rest.packages import Packages, install

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.slow]

PROGRAMS = Path(__file__).with_name("graphql_clients")


@pytest.fixture(scope="module")
def packages() -> Packages:
    return install(PROGRAMS)


@pytest.fixture(scope="module", autouse=True)
def assignments_as_before(service: httpx.Client) -> Iterator[None]:
    """Undo what the programs assign: other tests use the service, too."""
    paths = [
        f"/units/attribute-groups/{each['group_id']}/assignments"
        for each in service.get("/units/attribute-groups").json()["data"]
        if each["one_attribute_per_unit"]
    ]
    before = {path: service.get(path).json()["data"] for path in paths}
    yield
    for path, assignments in before.items():
        assert service.put(path, json={"data": assignments}).is_success


def run(packages: Packages, demo: DemoService, program: str) -> dict[str, Any]:
    """What a program reports of its requests to the service."""
    done = packages.run(
        "node",
        program,
        FLOORGATE_URL=demo.url,
        FLOORGATE_KEY=demo.key,
        NODE_EXTRA_CA_CERTS=str(demo.certificate),
    )
    found: dict[str, Any] = json.loads(done.splitlines()[-1])
    return found


def ask(
    service: httpx.Client, query: str, variables: dict[str, Any] | None = None
) -> dict[str, Any]:
    url = service.base_url.join("/graphql")
    response = service.post(url, params={}, json={"query": query, "variables": variables})
    data: dict[str, Any] = response.json()["data"]
    return data


def true_distances(service: httpx.Client) -> list[list[float]]:
    map_id = "alder-court-floor-plates"
    listed = ask(
        service,
        "query ($map: ID!) { map(id: $map) { locations(first: 4) { data { id } } } }",
        {"map": map_id},
    )
    points = [{"id": each["id"]} for each in listed["map"]["locations"]["data"]]
    matrix = ask(
        service,
        """query ($map: ID!, $sources: [WaypointInput!]!, $targets: [WaypointInput!]!) {
            map(id: $map) {
                distanceMatrix(sources: $sources, targets: $targets) {
                    sources { targets { distance } }
                }
            }
        }""",
        {"map": map_id, "sources": points[:2], "targets": points[2:]},
    )
    rows = matrix["map"]["distanceMatrix"]["sources"]
    return [[cell["distance"] for cell in row["targets"]] for row in rows]


@pytest.mark.parametrize("client", ["apollo", "urql", "relay"])
def test_a_client_with_its_default_cache_shows_what_the_service_says(
    packages: Packages, demo: DemoService, service: httpx.Client, client: str
) -> None:
    if client == "relay":
        shutil.rmtree(PROGRAMS / "relay" / "__generated__", ignore_errors=True)
        (PROGRAMS / "relay" / "__generated__").mkdir()
        packages.tool("relay-compiler", "relay.config.json")
        # Node.js wants whole names of files.
        for made in (PROGRAMS / "relay" / "__generated__").glob("*.js"):
            text = made.read_text()
            made.write_text(re.sub(r"(from '\./\w+\.graphql)'", r"\1.js'", text))
    found = run(packages, demo, f"{client}.js")
    distances = true_distances(service)
    assert len({cell for row in distances for cell in row}) == 4
    assert found["matrix"] == distances
    for warning in found.get("warnings", []):
        # urql tells of each type without an id; it must be one that is no record.
        type_name = re.findall(r"`keys` config for `(\w+)`", warning)[0]
        value_type = GRAPHQL_SCHEMA.get_type(type_name)
        assert isinstance(value_type, GraphQLObjectType) and "id" not in value_type.fields

    units = ask(service, "{ units(first: 10000) { data { id assetId } } }")["units"]["data"]
    listed = [each["id"] for each in units]
    if client == "relay":  # it lists those of one asset
        listed = [each["id"] for each in units if each["assetId"] == "alder-court"]
    assert found["pages"] == listed

    assert found["partial"] == {"data": {"attributes": None}, "code": "FLAG_REQUIRED"}
    assert found.get("refused", "FORBIDDEN") == "FORBIDDEN"

    first, second = found["watcher"]["assigned"]
    seen = found["watcher"]["seen"]
    assert second in seen[-1] and first not in seen[-1]
    assert any(first in attributes for attributes in seen)


def test_a_program_with_types_of_graphql_codegen_compiles_strictly_and_runs(
    packages: Packages, demo: DemoService
) -> None:
    packages.tool("graphql-codegen", "--config", "codegen.json")
    packages.tool("tsc", "--project", ".")
    shutil.copy(PROGRAMS / "service.js", PROGRAMS / "build" / "service.js")
    found = run(packages, demo, "build/codegen/program.js")
    assert found["method"] == "pathfinding"
    assert found["rows"] == 2
    assert found["createdAt"].endswith("+00:00")


def test_the_programs_of_the_docs_run(packages: Packages, demo: DemoService) -> None:
    blocks = find_blocks((DOCS / "graphql" / "clients.md").read_text())
    programs = [block.text for block in blocks if block.language == "js"]
    assert len(programs) == 4
    given = f"""
        const address = {json.dumps(demo.url)}, key = {json.dumps(demo.key)}
        console.warn = (...words) => {{ throw new Error(words.join(' ')) }}
    """
    printed = [
        packages.run(
            *("node", "--input-type=module", "--eval", given + program),
            NODE_EXTRA_CA_CERTS=str(demo.certificate),
        )
        for program in programs
    ]
    assert [text for text in printed if "'101'" in text] == printed[:3]  # Relay's asks nothing yet


def test_the_configurations_of_the_docs_are_those_that_are_tried() -> None:
    blocks = find_blocks((DOCS / "graphql" / "clients.md").read_text())
    texts = [block.text for block in blocks if block.language == "json"]
    shown = [json.loads(text) for text in texts if text.startswith('{\n  "s')]
    relay, codegen = shown
    tried = json.loads((PROGRAMS / "relay.config.json").read_text())
    assert relay["schemaConfig"] == tried["schemaConfig"]
    tried = json.loads((PROGRAMS / "codegen.json").read_text())
    # The program of the test is in other directories.
    assert [*codegen] == [*tried]
    assert codegen["importExtension"] == tried["importExtension"]
    assert [*codegen["generates"].values()] == [*tried["generates"].values()]
