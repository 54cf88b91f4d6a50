"""`floorgate schema`, `openapi` and `bundle-schema` print what the service serves."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from graphql import build_schema

from schema.root import build_sdl
from storage.bundles.description import build_bundle_schema
from tests.endpoints import ENDPOINTS
from tests.gateway.cli.commands import assert_explains, floorgate, output_of

ROOT = Path(__file__).parents[3]
COMMITTED_SCHEMA = ROOT / "schema" / "schema.graphql"
COMMITTED_BUNDLE_SCHEMA = ROOT / "storage" / "bundles" / "bundle.schema.json"


def test_the_schema_is_printed() -> None:
    printed = floorgate("schema").stdout
    assert printed == build_sdl() == COMMITTED_SCHEMA.read_text()
    assert build_schema(printed).query_type


def test_the_schema_of_bundles_is_printed() -> None:
    printed = floorgate("bundle-schema")
    assert output_of(printed) == build_bundle_schema()
    assert printed.stdout == COMMITTED_BUNDLE_SCHEMA.read_text(), "run: make schema"


def describe(*options: str) -> dict[str, Any]:
    described: dict[str, Any] = output_of(floorgate("openapi", *options))
    return described


def test_the_openapi_description_has_every_endpoint_in_both_formats() -> None:
    described = describe()
    assert {row.path for row in ENDPOINTS} <= set(described["paths"])
    printed = floorgate("openapi", "--format", "yaml").stdout
    assert printed.startswith("openapi: 3.1")
    assert yaml.safe_load(printed) == describe("--format", "json") == described


def test_the_description_names_the_address_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "https://maps.example/x"
    assert [each["url"] for each in describe()["servers"]] == ["/"]
    given = describe("--base-url", f"{address}/")
    assert [each["url"] for each in given["servers"]] == [address]
    monkeypatch.setenv("FLOORGATE_BASE_URL", address)
    assert describe() == given


@pytest.mark.parametrize(
    ("arguments", "explanation"),
    [
        (["openapi", "--format", "xml"], "'xml' is not one of 'json', 'yaml'"),
        (["openapi", "--base-url", "maps.example"], "must be an https URL"),
        (["openapi", "--database", "d"], "No such option"),  # it needs none
        (["schema", "--format", "json"], "No such option"),
        (["schema", "more"], "unexpected extra argument"),
    ],
)
def test_a_wrong_usage_is_explained(arguments: list[str], explanation: str) -> None:
    assert_explains(floorgate(*arguments), 2, explanation)
