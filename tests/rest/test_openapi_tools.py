"""Check the OpenAPI description with linters, a generated TypeScript client and schemathesis."""

import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphql import Source

from rest.endpoint_rules import load_own_endpoints
from rest.openapi.contracts import add_contracts, build_contract
from rest.openapi.description import EXAMPLES_FILE, build_description, to_yaml
from schema.query_limits import QueryLimits
from schema.root import GRAPHQL_SCHEMA
from tests.rest.demo_service import DemoService
from tests.rest.openapi.recorded_examples import mask, record, write
from tests.rest.packages import TOOLS, Packages

pytestmark = [pytest.mark.xdist_group("openapi-tools"), pytest.mark.slow]

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / "clients" / "python"
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
BRIEF_RUN = ["--phases=examples,coverage", "--exclude-path-regex=^/v1/unitmaps/", "--seed=1"]
"""No random requests, and each handler by one path: `/v1/unitmaps` has those of `/v1/maps`."""


OWN = """
query Nodes($ids: [ID!]!) @endpoint(path: "/v1/x/nodes", summary: "<b>", as: LIST) {
  nodes(ids: $ids) { __typename nodeId ... on Unit { name floor { id } other: floor { name } } }
}
query Flats($floor: ID, $page: Int, $attribute: AttributeFilter)
@endpoint(path: "/v1/x/flats", summary: "S", tag: "Units", description: "<script> */ \\"\\"\\"") {
  units(floor: $floor, page: $page, attribute: $attribute) {
    data { id name references { data { id } } }
  }
}
query Geo($map: ID!) @endpoint(path: "/v1/x/{map}", summary: "S", as: DATA, result: "map.geojson") {
  map(id: $map) { geojson }
}
query Times($map: ID!, $from: [WaypointInput!]!, $options: CostingOptions)
@endpoint(method: POST, path: "/v1/x/{map}/times", summary: "S", result: "map.distanceMatrix") {
  map(id: $map) {
    distanceMatrix(sources: $from, targets: [{id: "a"}], costingOptions: $options) {
      sources { name targets { distance } }
    }
  }
}
mutation Close($map: ID!, $doors: [ID!]!, $spaces: [ID!] = ["hall"])
@endpoint(method: PUT, path: "/v1/x/{map}/doors", summary: "S", deprecated: "2027-01-01") {
  setClosures(input: {map: $map, doors: $doors, spaces: $spaces}) { closures { doors } }
}
"""
"""Endpoints of an operator, of many forms."""


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("description") / "openapi.yaml"
    file.write_text(to_yaml(build_description(GRAPHQL_SCHEMA, "https://maps.example")))
    return file


@pytest.fixture(scope="module")
def own_description(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A description with own endpoints."""
    endpoints = load_own_endpoints([Source(OWN, "own.graphql")], GRAPHQL_SCHEMA, QueryLimits())
    contracts = [build_contract(each, GRAPHQL_SCHEMA) for each in endpoints]
    built_in = build_description(GRAPHQL_SCHEMA, "https://maps.example")
    file = tmp_path_factory.mktemp("own") / "openapi.yaml"
    file.write_text(to_yaml(add_contracts(built_in, contracts)))
    return file


def test_redocly_finds_nothing_under_its_recommended_rules(
    packages: Packages, description: Path, own_description: Path
) -> None:
    for file in (description, own_description):
        done = packages.tool("redocly", "lint", "--format=json", file)
        assert json.loads(done)["problems"] == []


def test_types_are_generated_from_a_description_with_own_endpoints(
    packages: Packages, own_description: Path, tmp_path: Path
) -> None:
    types = tmp_path / "types.d.ts"
    packages.tool("openapi-typescript", own_description, "-o", types)
    packages.tool("tsc", "--noEmit", "--strict", types)


def test_spectral_finds_nothing_under_its_recommended_rules(
    packages: Packages, description: Path
) -> None:
    done = packages.tool("spectral", "lint", "--fail-severity=hint", description)
    assert done.startswith("No results")


def test_the_examples_are_what_the_demo_sends(demo: DemoService) -> None:
    """`make examples` brings them up to date."""
    assert mask(EXAMPLES_FILE.read_text()) == mask(write(record(demo)))


def test_a_typed_client_made_from_the_description_works(
    packages: Packages, demo: DemoService
) -> None:
    made = TOOLS / "build" / "description.d.ts"
    made.parent.mkdir(exist_ok=True)
    trusting = ssl.create_default_context(cafile=demo.certificate)
    with httpx.Client(base_url=demo.url, verify=trusting, timeout=60) as client:
        described = made.with_name("openapi.json")
        described.write_bytes(client.get("/v1/openapi.json").content)
        client.headers["API-Key"] = demo.key
        units = client.get("/v1/units", params={"per-page": 10_000}).json()["data"]
    packages.tool("openapi-typescript", described, "-o", made)
    packages.tool("tsc", "--project", TOOLS)
    found = json.loads(
        packages.run(
            "node",
            made.with_name("client.js"),
            demo.url,
            demo.key,
            NODE_EXTRA_CA_CERTS=str(demo.certificate),
        )
    )
    assert found["ids"] == [unit["id"] for unit in units]
    assert found["first"] == {"unit": units[0], "market": "multifamily"}
    assert found["missing"] == "404 Not found"
    assert found["measured"]["method"] in ("pathfinding", "euclidean")
    assert found["measured"]["feet"] > 0
    assert found["references"] == len(units)
    assert found["assignments"]["listed"]
    assert found["assignments"]["echoed"] == found["assignments"]["listed"]


def test_postman_is_answered_as_it_imports(
    packages: Packages, demo: DemoService, tmp_path: Path
) -> None:
    """Our own collection, and the one that Postman makes of the examples of all parameters."""
    collection, made = tmp_path / "collection.json", tmp_path / "made.json"
    trusting = ssl.create_default_context(cafile=demo.certificate)
    with httpx.Client(base_url=demo.url, verify=trusting) as client:
        collection.write_bytes(client.get("/v1/postman.json").content)
        (tmp_path / "openapi.json").write_bytes(client.get("/v1/openapi.json").content)
    options = ["-o", made, "-O", "parametersResolution=Example"]
    packages.tool("openapi2postmanv2", "-s", tmp_path / "openapi.json", *options)
    assert run_gets(packages, demo, collection, f"apiKey={demo.key}") == {200}
    # There, `after` is the cursor of another database.
    both = f"apiKey={demo.key}", f"baseUrl={demo.url}"
    assert run_gets(packages, demo, made, *both, but="/v1/changes") == {200}


def run_gets(
    packages: Packages, demo: DemoService, collection: Path, *variables: str, but: str = " "
) -> set[int]:
    """The statuses of the responses to all GETs of a collection, which Postman's runner sends."""
    sent, report = json.loads(collection.read_text()), collection.with_suffix(".report")
    sent["item"] = [each for each in list_requests(sent) if each["request"]["method"] == "GET"]
    collection.write_text(json.dumps(sent))
    options = ["--ssl-extra-ca-certs", demo.certificate, "-r", "json"]
    options += ["--reporter-json-export", report]
    options += [word for each in variables for word in ("--env-var", each)]
    packages.tool("newman", "run", collection, *options)
    runs = json.loads(report.read_text())["run"]["executions"]
    assert len(runs) > 25
    paths = ["/" + "/".join(run["request"]["url"]["path"]) for run in runs]
    return {run["response"]["code"] for run, path in zip(runs, paths, strict=True) if path != but}


def list_requests(folder: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for item in folder["item"]:
        yield from list_requests(item) if "item" in item else [item]


def test_schemathesis_finds_nothing_against_the_running_service(
    demo: DemoService, tmp_path: Path
) -> None:
    """FLOORGATE_EXAMPLES adds as many random requests per operation."""
    examples = os.environ.get("FLOORGATE_EXAMPLES")
    done = subprocess.run(
        [
            SCHEMATHESIS,
            f"--config-file={HERE / 'schemathesis.toml'}",
            "run",
            f"{demo.url}/v1/openapi.json",
            f"--tls-verify={demo.certificate}",
            f"--header=API-Key:{demo.key}",
            "--checks=all",
            "--mode=all",
            "--no-color",
            *([f"--max-examples={examples}"] if examples else BRIEF_RUN),
        ],
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(HERE / "schemathesis_hooks.py")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
