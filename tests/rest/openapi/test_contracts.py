"""Contracts of operators' endpoints: complete, made from types, and compared for callers."""

import json
import time
from typing import Any

import jsonschema_rs
import pytest
import yaml
from graphql import (
    Source,
)

from rest.endpoint_rules import load_own_endpoints
from rest.openapi.contracts import OWN_TAG, add_contracts, build_contract, find_breaking_changes
from rest.openapi.description import build_description, to_yaml
from schema.query_limits import QueryLimits
from schema.root import GRAPHQL_SCHEMA

DESCRIPTION = build_description(GRAPHQL_SCHEMA)
COMPONENTS = DESCRIPTION["components"]
UNITS = """query FloorUnits($floor: ID, $page: Int)
@endpoint(path: "/v1/x/units", summary: "List units") {
  units(floor: $floor, page: $page) { data { id name floor { id } } }
}"""
CLOSURES = """mutation SetDoors($map: ID!, $doors: [ID!]!, $spaces: [ID!] = ["hall"])
@endpoint(method: PUT, path: "/v1/x/maps/{map}/doors", summary: "Close doors", result: "set.now") {
  set: setClosures(input: {map: $map, doors: $doors, spaces: $spaces}) { now: closures { doors } }
}"""
REPORT = """query Report($map: ID!)
@endpoint(path: "/v1/x/maps/{map}/report", summary: "Read", as: DATA, result: "map.routingReport") {
  map(id: $map) { routingReport }
}"""


def contract_of(text: str) -> str:
    [endpoint] = load_own_endpoints([Source(text, "own.graphql")], GRAPHQL_SCHEMA, QueryLimits())
    return build_contract(endpoint, GRAPHQL_SCHEMA)


def test_a_condition_is_described_as_the_directive_has_it() -> None:
    text = (
        'query Brief($brief: Boolean!, $unit: ID!) @endpoint(path: "/v1/x/{unit}", summary: "Get")'
        " { unit(id: $unit) { id name @skip(if: $brief) } }"
    )
    [brief] = [
        each
        for each in json.loads(contract_of(text))["operation"]["parameters"]
        if each.get("name") == "brief"
    ]
    assert brief["description"].startswith("Whether to leave out `brief`.")


def errors_of(schema: Any, value: object) -> list[str]:
    whole = {**schema, "components": COMPONENTS}
    validator = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
    return [error.message for error in validator.iter_errors(value)]


def response_of(contract: dict[str, Any]) -> dict[str, Any]:
    [content] = contract["operation"]["responses"]["200"]["content"].values()
    return dict(content)


@pytest.mark.parametrize("text", [UNITS, CLOSURES])
def test_a_contract_is_complete_and_its_examples_fit(text: str) -> None:
    contract = json.loads(contract_of(text))
    operation = contract["operation"]
    assert operation["x-extension"] is True
    assert operation["tags"] == [OWN_TAG]
    bodies = [response_of(contract), *operation.get("requestBody", {}).get("content", {}).values()]
    inputs = [each for each in operation["parameters"] if "$ref" not in each]
    for part in bodies + inputs:
        assert errors_of(part["schema"], part["example"]) == []
    added = add_contracts(DESCRIPTION, [contract_of(text)])
    described = added["paths"][contract["path"]][contract["method"].lower()]
    assert described.pop("x-sdk-method") in ("x.floor_units", "x.set_doors")
    assert described == operation
    assert contract["path"] not in DESCRIPTION["paths"]


def test_any_value_may_be_null_too() -> None:
    contract = json.loads(contract_of(REPORT))
    assert errors_of(response_of(contract)["schema"], {"data": None}) == []


def test_schemas_stand_where_they_are_and_built_in_groups_stay_apart() -> None:
    contract = contract_of(UNITS.replace('List units"', 'List units", tag: "Units"'))
    assert "#/components/schemas" not in contract
    added = add_contracts(DESCRIPTION, [contract, contract_of(CLOSURES)])
    assert added["paths"]["/v1/x/units"]["get"]["tags"] == ["Custom endpoints: Units"]
    assert [tag["name"] for tag in added["tags"]][-2:] == ["Custom endpoints: Units", OWN_TAG]


def test_a_contract_that_refers_to_what_is_not_there_is_left_out() -> None:
    contract = contract_of(UNITS)
    for broken in (contract.replace("responses/NotModified", "responses/Unmodified"), ""):
        assert add_contracts(DESCRIPTION, [broken]) == DESCRIPTION
    twice = add_contracts(DESCRIPTION, [contract, contract])
    assert twice == add_contracts(DESCRIPTION, [contract])


def test_a_thousand_contracts_are_added_in_a_moment() -> None:
    contract = contract_of(UNITS)
    contracts = [
        contract.replace("loorUnits", f"loorUnits{n}x").replace("/v1/x/", f"/v1/x/{n}/")
        for n in range(1000)
    ]
    started = time.process_time()
    added = add_contracts(DESCRIPTION, contracts)
    assert time.process_time() - started < 1
    assert len(added["paths"]) == len(DESCRIPTION["paths"]) + 1000


def test_texts_of_operators_are_data() -> None:
    text = '<script>x</script> [a](javascript:x) """ */ : - # {{7*7}} \u2028'
    quoted = json.dumps(text)
    texts = f"{quoted}, description: {quoted}, tag: {quoted}"
    contract = contract_of(UNITS.replace('"List units"', texts))
    described = add_contracts(DESCRIPTION, [contract])
    assert json.dumps(yaml.safe_load(to_yaml(described))) == json.dumps(described)
    operation = described["paths"]["/v1/x/units"]["get"]
    assert operation["summary"] == text
    # Markdown, which pages draw as HTML.
    shown = [operation["description"], operation["responses"]["200"]["description"]]
    assert all("&lt;script>x&lt;/script> [a](javascript :x)" in each for each in shown)


@pytest.mark.parametrize(
    ("was", "now", "changes"),
    [
        ("List units", "Units, by floor", []),
        ("id name", "id name sort: name", []),
        ("floor { id }", "floor { id } floor { name }", []),
        ("x/units", "x/flats", ["the path was /v1/x/units and is /v1/x/flats now"]),
        ("id name", "id", ["the response's data[].name is gone"]),
        ("$floor: ID,", "$floor: ID!,", ["the parameter floor may not be missing any more"]),
        ("$floor", "$storey", ["the parameter floor is gone"]),
        ("$page: Int", "$page: Int = 2",
         ["the default of the parameter page was absent and is 2 now"]),
        ("id name", "id name @skip(if: false)", ["the response's data[].name may be missing now"]),
        ("id name", "id name: floor { id }",
         ["the response's data[].name may be an object or null now"]),
        ("List units\"", "List units\", as: LIST",
         ["the response is the whole list now", "the response's paging is gone"]),
        ("floor { id }", "floor { id } references { data { id } }",
         ["the key needs the permission service.unit-references.read now",
          "the header Experimental-Flags is new and required"]),
        ("{ doors }", "{ doors spaces }", []),
        ("$doors: [ID!]!", "$doors: [ID!]", []),
        ('["hall"]', '["lobby"]',
         ['the default of the body\'s data.spaces was ["hall"] and is ["lobby"] now']),
        ('$spaces: [ID!] = ["hall"]', "$spaces: [ID!]!",
         ["the body's data.spaces may not be missing or null any more",
          'the default of the body\'s data.spaces was ["hall"] and is absent now']),
        ("set.now", "set\", as: DATA, tag: \"T", ["the response's doors is gone"]),
    ],
)  # fmt: skip
def test_changes_that_break_callers_are_named(was: str, now: str, changes: list[str]) -> None:
    before = UNITS if was in UNITS else CLOSURES
    after = contract_of(before.replace(was, now))
    assert find_breaking_changes(contract_of(before), after) == changes
