"""Endpoints of operators: what their documents may be, and what requests to them get."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import httpx
import pytest
from graphql import Source
from msgspec.structs import replace
from starlette.applications import Starlette

from rest.dispatch import PathRouter
from rest.endpoint_files import Endpoint, built_in_endpoints
from rest.endpoint_rules import load_own_endpoints
from rest.endpoints import build_handlers, build_routes
from schema.execution import Context
from schema.query_limits import QueryLimits
from schema.root import GRAPHQL_SCHEMA
from tests.fixtures import (
    ALL_FLAGS,
    BASE_URL,
    FLOOR,
    MAP,
    SEEN,
    UNIT,
    World,
    data_of,
    gateway_client,
)
from tests.resolvers.directory import Directory
from tests.rest.test_endpoints import ANYBODY, Endpoints

pytestmark = pytest.mark.anyio

URL = f"{BASE_URL}/v1/x/q"


@dataclass
class OwnEndpoints(Endpoints):
    """The endpoints of one document, beside built-in ones."""

    text: str = ""

    @cached_property
    def app(self) -> PathRouter:
        own = load_own_endpoints([Source(self.text)], GRAPHQL_SCHEMA, QueryLimits())
        handlers = build_handlers(self, [*built_in_endpoints(), *own])
        return PathRouter(lambda: build_routes(handlers.values()), Starlette())

    def depend_on(self, endpoint: Endpoint, context: Context) -> None:
        assert endpoint.source


def endpoint(selection: str, variables: str = "", options: str = "", path: str = "q") -> str:
    head = f"query Q{variables and f'({variables})'}"
    return f'{head} @endpoint(path: "/v1/x/{path}", summary: "Q" {options}) {selection}'


async def get(directory: Directory, text: str, path: str = "q", **query: str) -> httpx.Response:
    served = OwnEndpoints(directory.store, text=text)
    return await served.request("GET", f"/v1/x/{path}", params=query)


PAGE_SIZE = "$page: Int, $perPage: Int! = 2"


@pytest.mark.parametrize(
    ("text", "query", "body"),
    [
        (
            endpoint('{ u: unit(id: "unit-1") { id } u: unit(id: "unit-1") { assetId ...F } }')
            + "fragment F on Unit { own: floorId ... on Unit { floor { id } } }",
            {},
            {"id": UNIT, "asset_id": SEEN, "own": FLOOR, "floor": {"id": FLOOR}},
        ),
        (
            endpoint('{ unit(id: "unit-1") { data: id name floor { data: id } } }'),
            {"fields": "data,floor"},
            {"data": UNIT, "floor": {"data": FLOOR}},
        ),
        (
            endpoint('{ unit(id: "unit-1") { ...F ... { assetId } } } fragment F on Unit { id }'),
            {"fields": "asset_id"},
            {"asset_id": SEEN},
        ),
        (
            endpoint('{ unit(id: "unit-1") { id } }', options='as: DATA, result: "unit.id"'),
            {"fields": "id"},
            {"data": UNIT},
        ),
        (
            endpoint('{ unit(id: "unit-1") { floor { id name } } }', options="as: DATA"),
            {"fields": "floor"},
            {"data": {"floor": {"id": FLOOR, "name": "First"}}},
        ),
        (endpoint('{ unit(id: "none") { id } }', options="as: DATA"), {}, {"data": None}),
        (
            endpoint('{ units(search: "On one") { data { id name } } }', options="as: LIST"),
            {"fields": "id"},
            {"data": [{"id": "\U0001f600"}]},
        ),
        (
            endpoint(
                "{ maps(perPage: 1, page: 2) { data { id } n: totalCount paging { n: next } } }"
            ),
            {"page": "1", "fields": "id"},
            {
                "paging": {"per_page": 1, "current_page": 2, "prev_url": None, "next_url": None},
                "data": [{"id": "plan/one"}],
            },
        ),
        (
            endpoint("{ maps(page: $page, perPage: $perPage) { data { id } } }", PAGE_SIZE),
            {"fields": "id"},
            {
                "paging": {
                    "per_page": 2,
                    "current_page": 1,
                    "prev_url": None,
                    "next_url": f"{URL}?per-page=2&page=2&fields=id",
                },
                "data": [{"id": "plan-two"}, {"id": "plan/one"}],
            },
        ),
        (
            endpoint("{ maps(page: $page, perPage: 1) { data { id } } }", "$page: Int"),
            {"page": "2"},
            {
                "paging": {
                    "per_page": 1,
                    "current_page": 2,
                    "prev_url": f"{URL}?page=1",
                    "next_url": f"{URL}?page=3",
                },
                "data": [{"id": "plan/one"}],
            },
        ),
        (
            endpoint(
                "{ units(ids: [$a, $b]) { data { id x: name @include(if: $c) ...F @skip(if: $d) } "
                "} } fragment F on Unit { assetId }",
                "$a: ID!, $b: ID!, $c: Boolean!, $d: Boolean = true",
                "as: LIST",
            ),
            {"a": UNIT, "b": "unit-2", "c": "true"},
            {"data": [{"id": UNIT, "x": UNIT}, {"id": "unit-2", "x": "unit-2"}]},
        ),
        (
            endpoint(
                "{ a: unit(id: $a) { id } units(ids: $a, search: $b) { data { id } } }",
                "$a: ID!, $b: String",
                'result: "units.data"',
            ).replace("ids: $a", "ids: [$a]"),
            {"a": UNIT},
            {"data": [{"id": UNIT}]},
        ),
        (
            endpoint("{ units(ids: $some) { data { id } } }", "$some: [ID!]", "as: LIST"),
            {"some": "unit-2, unit-1"},
            {"data": [{"id": UNIT}, {"id": "unit-2"}]},
        ),
        (
            endpoint(
                "{ units(updatedSince: $updatedSince) { data { id } } }",
                "$updatedSince: DateTime",
                "as: LIST",
            ),
            {"updated_since": "2999-01-01"},
            {"data": []},
        ),
    ],
)
async def test_an_operation_is_answered_as_it_is_written(
    directory: Directory, text: str, query: dict[str, str], body: Any
) -> None:
    response = await get(directory, text, **query)
    assert response.status_code == 200, response.text
    assert response.json() == body


SIZED = endpoint("{ units(perPage: $size) { data { id } } }", "$size: Int!")
ORDERS = "id, id_desc, name, name_desc, updated_at or updated_at_desc"


@pytest.mark.parametrize(
    ("text", "path", "query", "fields"),
    [
        (
            endpoint("{ units(asset: $house) { data { id } } }", "$house: ID"),
            "q",
            {"house": "x" * 256},
            {"house": ["must have 1 to 255 characters, not 256"]},
        ),
        (
            endpoint(
                '{ unit(id: "unit-1") { id } units(ids: [$a]) { data { id } } }',
                "$a: ID!",
                'result: "unit"',
            ),
            "q",
            {"a": "x" * 256},
            {"a": ["must have 1 to 255 characters, not 256"]},
        ),
        (
            endpoint(
                "{ a: unit(id: $b) { id } b: unit(id: $a) { id } }",
                "$a: ID!, $b: ID!",
                'result: "a"',
            ),
            "q",
            {"a": "x", "b": "y" * 256},
            {"b": ["must have 1 to 255 characters, not 256"]},
        ),
        (SIZED, "q", {"size": "many"}, {"size": ["must be a whole number, not 'many'"]}),
        (SIZED, "q", {"size": "0"}, {"size": ["must be from 1 to 2147483647, not 0"]}),
        (
            endpoint("{ units(orderBy: $orderBy) { data { id } } }", "$orderBy: UnitOrder"),
            "q",
            {"order-by": "colour"},
            {"order-by": [f"must be {ORDERS}, not 'colour'"]},
        ),
        (
            endpoint(
                "{ map(id: $map) { picture(avoid: $avoid) { content } } }",
                "$map: ID = 1, $avoid: [Avoidable!]",
            ),
            "q",
            {"avoid": "stairs, rain"},
            {"avoid": ["must be stairs, escalators, lifts or outdoors, not 'rain'"]},
        ),
        (endpoint("{ unit(id: $id) { id } }", "$id: ID!"), "q", {}, {"id": ["must be given"]}),
        (
            endpoint('{ unit(id: "unit-1") { ...F id } } fragment F on Unit { name }'),
            "q",
            {"fields": "nope"},
            {"fields": ["must be among name, id, not 'nope'"]},
        ),
    ],
)
async def test_an_error_has_the_name_that_the_request_has(
    directory: Directory, text: str, path: str, query: dict[str, str], fields: Any
) -> None:
    response = await get(directory, text, path, **query)
    assert response.status_code == 422
    assert response.json()["fields"] == fields


@pytest.mark.parametrize(
    ("argument", "variables", "options"),
    [
        ('{groupId: "view", attributeId: "sea"}', "", "as: LIST"),
        ("$one", '$one: AttributeFilter = {groupId: "view", attributeId: "sea"}', "as: LIST"),
        ("{groupId: $group, attributeId: $one}", "$group: ID!, $one: ID!", "as: LIST"),
    ],
)
async def test_an_argument_that_is_given_is_for_those_who_may_give_it(
    directory: Directory, argument: str, variables: str, options: str
) -> None:
    document = f"{{ units(attribute: {argument}) {{ data {{ id }} }} }}"
    served = OwnEndpoints(directory.store, text=endpoint(document, variables, options))
    path = "/v1/x/q?group=view&one=sea" if "$group" in variables else "/v1/x/q"
    assert (await served.request("GET", path)).status_code == 200
    served.caller = replace(ANYBODY, flags=frozenset())
    assert (await served.request("GET", path)).json()["code"] == "FLAG_REQUIRED"
    served.caller = replace(ANYBODY, permissions=frozenset())
    assert (await served.request("GET", path)).json()["code"] == "PERMISSION_REQUIRED"
    assert len(served.keys) == 1


async def test_a_response_to_a_body_is_shared_by_keys_of_equal_rights(
    directory: Directory,
) -> None:
    text = endpoint(
        "{ units(attribute: $one) { data { id } } }", "$one: AttributeFilter", "method: POST"
    )
    served = OwnEndpoints(directory.store, text=text)
    body = {"data": {"one": {"group_id": "view", "attribute_id": "sea"}}}
    assert (await served.request("POST", "/v1/x/q", json=body)).status_code == 200
    served.caller = replace(ANYBODY, flags=frozenset())
    assert (await served.request("POST", "/v1/x/q", json=body)).json()["code"] == "FLAG_REQUIRED"
    assert served.keys[0] != served.keys[1]


async def test_a_post_reads_a_body_as_its_types_say(directory: Directory) -> None:
    text = endpoint(
        "{ units(ids: $unitIds, perPage: $size, updatedSince: $since) { data { id } } }",
        "$unitIds: [ID!]!, $size: Int! = 1, $since: DateTime",
        "method: POST",
    )
    served = OwnEndpoints(directory.store, text=text)
    body: dict[str, Any] = {"unit_ids": [UNIT, "unit-2"]}
    found = await served.request("POST", "/v1/x/q", json={"data": body})
    assert found.json() == {
        "paging": {"per_page": 1, "current_page": 1, "prev_url": None, "next_url": None},
        "data": [{"id": UNIT}],
    }
    bare = await served.request("POST", "/v1/x/q", json=body)  # without `data` around it
    assert bare.json() == found.json()
    body |= {"size": 0, "since": "soon", "unit_ids": ["x" * 256]}
    wrong = await served.request("POST", "/v1/x/q", json={"data": body})
    assert wrong.json()["fields"].keys() == {"data.size", "data.since", "data.unit_ids"}
    missing = await served.request("POST", "/v1/x/q", json={"data": {}})
    assert missing.json()["fields"] == {"data.unit_ids": ["must be given"]}


async def test_a_body_is_checked_with_what_is_written_out(directory: Directory) -> None:
    text = endpoint(
        '{ units(ids: [$id, ""], search: $search) { data { id } } a: unit(id: $id) { id } }',
        "$id: ID!, $search: String",
        'method: POST, result: "units"',
    )
    served = OwnEndpoints(directory.store, text=text)
    wrong = await served.request("POST", "/v1/x/q", json={"data": {"id": UNIT}})
    assert (wrong.status_code, [*wrong.json()["fields"]]) == (422, ["data.id"])


async def test_rules_of_several_values_are_checked_where_all_are_known(
    directory: Directory,
) -> None:
    text = endpoint(
        "{ map(id: $map) { distanceMatrix(sources: [{id: $a}, {x: 1}], targets: $targets) "
        "{ distanceMethod } } }",
        "$map: ID!, $a: ID!, $targets: [WaypointInput!]!",
        'method: POST, result: "map.distanceMatrix"',
    )
    served = OwnEndpoints(directory.store, text=text)
    data: dict[str, Any] = {"map": MAP, "a": UNIT, "targets": [{"id": UNIT}]}
    wrong = await served.request("POST", "/v1/x/q", json={"data": data})
    assert wrong.json()["fields"] == {"sources[1]": ["must have both x and y, or neither"]}
    data["targets"] = [{"x": 1}]
    wrong = await served.request("POST", "/v1/x/q", json={"data": data})
    assert [*wrong.json()["fields"]] == ["sources[1]", "data.targets[0]"]


async def test_a_drawing_is_read_within_the_limits_of_a_body(directory: Directory) -> None:
    text = endpoint(
        "{ parsedUnitMap(svg: $drawing) { map } }",
        "$drawing: SvgDocument!",
        'method: POST, result: "parsedUnitMap.map"',
    )
    served = OwnEndpoints(directory.store, text=text)
    headers = {"Content-Type": "application/vnd.map+xml"}
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"/>'
    found = await served.request("POST", "/v1/x/q", content=svg, headers=headers)
    assert (found.status_code, found.headers["content-type"]) == (200, "application/vnd.map+json")
    large = await served.request("POST", "/v1/x/q", content=b" " * 1_000_001, headers=headers)
    assert large.status_code == 413


ASSIGNMENTS = """
query XAssignments($group: ID!) @endpoint(
  path: "/v1/x/groups/{group}", summary: "List", result: "attributeGroup.assignments"
) { attributeGroup(id: $group) { assignments { data { attributeId unitId } } } }
mutation XAssign($group: ID!, $attribute: ID!, $asset: ID!, $unitId: ID!) @endpoint(
  method: PUT, path: "/v1/x/groups/{group}", summary: "Assign", %s, changes: "XAssignments"
) {
  assignUnitAttributes(input: {
    groupId: $group
    assignments: [{ groupId: $group, attributeId: $attribute, assetId: $asset, unitId: $unitId }]
  }) { assignments { attributeId unitId } units { id } }
}"""
SAVE = """mutation($documents: [String!]!) {
  saveEndpoints(documents: $documents, breaking: true) { added }
}"""


@pytest.mark.parametrize(
    ("options", "status", "written"),
    [
        ("as: OBJECT", 200, {"assignments": [{"attribute_id": "yard", "unit_id": UNIT}]}),
        ('result: "assignUnitAttributes.assignments"', 200, {"data": [{"unit_id": UNIT}]}),
        ('result: "assignUnitAttributes.units", as: DATA', 200, {"data": [{"id": UNIT}]}),
        ("as: NONE", 204, None),
    ],
)
async def test_a_write_is_answered_in_its_form_and_may_depend_on_an_entity_tag(
    own_world: World, options: str, status: int, written: Any
) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        client.headers.update(ALL_FLAGS)
        await data_of(client, SAVE, {"documents": [ASSIGNMENTS % options]})
        path, data = "/v1/x/groups/view", {"attribute": "yard", "asset": SEEN, "unit_id": UNIT}
        old = (await client.get(path)).headers["etag"]
        for tag, expected in ((old, status), (old, 412), ("*", status)):
            found = await client.put(path, json={"data": data}, headers={"If-Match": tag})
            assert found.status_code == expected, found.text
        if written is None:
            assert found.content == b""
        else:
            assert_contains(found.json(), written)
        wrong = await client.put(path, json={"data": data | {"unit_id": "none"}})
        assert [*wrong.json()["fields"]] == ["data.unit_id"]
        missing = await client.put("/v1/x/groups/none", json={"data": data})
        assert missing.status_code == 404


async def test_a_write_is_compared_with_what_the_list_is_now(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        client.headers.update(ALL_FLAGS)
        documents = ASSIGNMENTS % "as: NONE"
        path, data = "/v1/x/groups/view", {"attribute": "yard", "asset": SEEN, "unit_id": UNIT}
        for text in (
            documents,
            documents.replace("{ attributeId unitId } } } }", "{ unitId } } } }"),
        ):
            await data_of(client, SAVE, {"documents": [text]})
            tag = (await client.get(path)).headers["etag"]
            found = await client.put(path, json={"data": data}, headers={"If-Match": tag})
            assert found.status_code == 204


CHANGED = """
query Changed($group: ID!, $size: Int = 1, $ref: ReferenceFilter)
@endpoint(path: "/v1/x/units/{group}", summary: "Changed", result: "unit") {
  unit(id: $group) { id }
  units(perPage: $size, reference: $ref) { data { floor { units(perPage: 1000) { data { id }
  } } } }
}"""


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        ("", {"If-Match": "*"}, 412),
        ("", {"If-None-Match": "*"}, 204),
        ("?size=100", {"If-None-Match": "*"}, 422),
        (
            "?ref=rentwell:1",
            {"If-Match": "*", "Experimental-Flags": "unit-attributes-resource"},
            400,
        ),
    ],
)
async def test_a_write_depends_on_what_the_list_answers(
    own_world: World, query: str, headers: dict[str, str], status: int
) -> None:
    body = {"attribute": "yard", "asset": SEEN, "unit_id": UNIT}
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        client.headers.update(ALL_FLAGS)
        text = (ASSIGNMENTS % "as: NONE").replace('"XAssignments"', '"Changed"') + CHANGED
        await data_of(client, SAVE, {"documents": [text]})
        found = await client.put(f"/v1/x/groups/view{query}", json=body, headers=headers)
        assert found.status_code == status, found.text


def assert_contains(found: Any, part: Any) -> None:
    """Check that a value has the members of another, and lists as long as there."""
    if isinstance(part, dict):
        for name, member in part.items():
            assert_contains(found[name], member)
    elif isinstance(part, list):
        for item, expected in zip(found, part, strict=True):
            assert_contains(item, expected)
    else:
        assert found == part


async def test_a_number_may_be_in_the_path(directory: Directory) -> None:
    text = """query Q($size: Int!) @endpoint(path: "/v1/x/q/{size}", summary: "Q", as: LIST) {
      maps(perPage: $size) { data { id } }
    }"""
    assert (await get(directory, text, "q/1")).json() == {"data": [{"id": "plan-two"}]}
    for size, error in (("none", "a whole number"), ("0", "from 1 to")):
        wrong = await get(directory, text, f"q/{size}")
        assert (wrong.status_code, [*wrong.json()["fields"]]) == (422, ["size"])
        assert error in wrong.json()["message"]
