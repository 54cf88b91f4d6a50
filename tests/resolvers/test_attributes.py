"""Unit attributes (E19 to E22): their groups, and which unit has which."""

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.fixtures import (
    HIDDEN,
    SEEN,
    UNIT,
    World,
    data_of,
    gateway_client,
    make_key,
    open_database,
    post_graphql,
)
from tests.resolvers.directory import Directory
from tests.rest.error_bodies import read_error

pytestmark = pytest.mark.anyio

FLAG = {"Experimental-Flags": "unit-attributes-resource"}
GROUPS = "/v1/units/attribute-groups"
VIEW = f"{GROUPS}/view/assignments"


def build_assignment(
    attribute: str, unit: str = UNIT, group: str = "view", asset: str = SEEN
) -> Any:
    return {"group_id": group, "attribute_id": attribute, "asset_id": asset, "unit_id": unit}


async def list_assignments(client: httpx.AsyncClient, path: str = VIEW) -> list[tuple[str, str]]:
    found = (await client.get(path, headers=FLAG)).json()["data"]
    return [(each["unit_id"], each["attribute_id"]) for each in found]


async def put(client: httpx.AsyncClient, *data: Any, path: str = VIEW) -> httpx.Response:
    return await client.put(path, json={"data": data}, headers=FLAG)


async def remove(client: httpx.AsyncClient, *data: Any, path: str = VIEW) -> httpx.Response:
    return await client.post(f"{path}/remove", json={"data": data}, headers=FLAG)


async def test_groups_come_with_their_attributes(client: httpx.AsyncClient) -> None:
    response = await client.get(GROUPS, headers=FLAG)
    assert response.json() == {
        "data": [
            {
                "group_id": "fit/out %",
                "group_name": "Fittings",
                "one_attribute_per_unit": False,
                "attributes": [
                    {"attribute_id": "oven", "attribute_name": "Oven", "attribute_key": "oven"}
                ],
            },
            {
                "group_id": "view",
                "group_name": "View",
                "one_attribute_per_unit": True,
                "attributes": [
                    {"attribute_id": "sea", "attribute_name": "Sea", "attribute_key": "sea"},
                    {"attribute_id": "yard", "attribute_name": "Yard", "attribute_key": "yard"},
                ],
            },
        ]
    }


async def test_assignments_are_paged_and_filtered_by_asset(client: httpx.AsyncClient) -> None:
    assert await list_assignments(client) == [("a/b", "yard"), (UNIT, "sea"), ("unit-s", "sea")]
    assert await list_assignments(client, f"{VIEW}?asset={quote(HIDDEN, safe='')}") == [
        ("unit-s", "sea")
    ]
    page = (await client.get(f"{VIEW}?per-page=1&page=2", headers=FLAG)).json()
    assert [each["unit_id"] for each in page["data"]] == [UNIT]
    assert page["paging"]["per_page"] == 1


async def test_assigning_replaces_where_a_unit_has_one_and_echoes(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        response = await put(client, build_assignment("yard"), build_assignment("sea", "a+b"))
        assert response.status_code == 200
        assert response.json() == {
            "data": [build_assignment("yard"), build_assignment("sea", "a+b")]
        }
        assert await list_assignments(client, f"{VIEW}?asset={SEEN}") == [
            ("a+b", "sea"),
            ("a/b", "yard"),
            (UNIT, "yard"),
        ]
        assert (await put(client, build_assignment("yard"))).status_code == 200
        assert len(await list_assignments(client)) == 4


async def test_unassigning_answers_204_whether_it_was_assigned_or_not(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        for _ in range(2):
            response = await remove(client, build_assignment("sea"), build_assignment("sea", "a/b"))
            assert (response.status_code, response.content) == (204, b"")
            assert await list_assignments(client) == [("a/b", "yard"), ("unit-s", "sea")]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (build_assignment("nope"), "attribute_id"),
        (build_assignment("oven"), "attribute_id"),  # of another group
        (build_assignment("sea", "nope"), "unit_id"),
        (build_assignment("sea", "unit-s"), "asset_id"),  # of another asset
        (build_assignment("sea", group="fit/out %"), "group_id"),
        (build_assignment("sea", ""), "unit_id"),
        ({**build_assignment("sea"), "unit_id": {"$gt": ""}}, "unit_id"),
    ],
)
async def test_one_wrong_assignment_is_named_and_stops_them_all(
    client: httpx.AsyncClient, wrong: Any, field: str
) -> None:
    before = await list_assignments(client)
    for write in (put, remove):
        valid = build_assignment("yard"), build_assignment("sea", "a/b")
        response = await write(client, *valid, wrong)
        assert response.status_code == 422
        assert list(response.json()["fields"]) == [f"data[2].{field}"]
        assert await list_assignments(client) == before


async def test_a_unit_that_the_key_does_not_see_is_as_unknown_as_any(own_world: World) -> None:
    async with open_database(own_world) as database:
        _, key = await make_key(
            database,
            "writer",
            permissions=("service.unit-attributes.write", "service.unit-attributes.read"),
            asset_ids=[SEEN],
        )
    async with gateway_client(own_world.settings(), key) as client:
        hidden = await put(client, build_assignment("sea", "unit-s", asset=HIDDEN))
        unknown = await put(client, build_assignment("sea", "nowhere", asset=HIDDEN))
        assert hidden.status_code == 422
        assert read_error(hidden) == read_error(unknown)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"data": []}', 422, "data: must hold 1 to 10000 assignments, not 0"),
        (
            b'{"data": [%s]}'
            % b",".join([b'{"group_id":"","attribute_id":"","asset_id":"","unit_id":""}'] * 10_001),
            422,
            "data: must hold 1 to 10000 assignments, not 10001",
        ),
        (b'{"data": [{"group_id": 1}]}', 422, "data[0].group_id: must be a string, not a number"),
        (b'{"data": [', 400, "line 1, column 11"),
    ],
    ids=lambda value: value[:30].decode("ascii", "replace") if isinstance(value, bytes) else "",
)
async def test_bodies_with_the_wrong_members_are_rejected(
    client: httpx.AsyncClient, body: bytes, status: int, said: str
) -> None:
    headers = {**FLAG, "Content-Type": "application/json"}
    for method, path in (("PUT", VIEW), ("POST", f"{VIEW}/remove")):
        response = await client.request(method, path, content=body, headers=headers)
        assert response.status_code == status
        assert said in response.json()["message"]


async def test_the_same_through_graphql(own_world: World) -> None:
    mutation = """mutation ($data: [AssignmentInput!]!) {
        assignUnitAttributes(input: { groupId: "view", assignments: $data }) {
            assignments { attributeId attribute { attributeName } }
            units { id attributes { data { attributeId } } }
        }
    }"""
    given = {"groupId": "view", "attributeId": "yard", "assetId": SEEN, "unitId": UNIT}
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        data = await data_of(client, mutation, {"data": [given]})
        assert data["assignUnitAttributes"] == {
            "assignments": [{"attributeId": "yard", "attribute": {"attributeName": "Yard"}}],
            "units": [{"id": UNIT, "attributes": {"data": [{"attributeId": "yard"}]}}],
        }
        body = await post_graphql(client, mutation, {"data": [given | {"unitId": "nope"}]})
        assert body["errors"][0]["extensions"] == {
            "code": "INVALID_INPUT",
            "fields": {"input.assignments[0].unitId": ["names no unit visible to this key"]},
        }
        removal = mutation.replace("assignUnit", "unassignUnit")
        removal = removal.replace("assignments {", "removedAssignments {")
        data = await data_of(client, removal, {"data": [given]})
        assert data["unassignUnitAttributes"] == {
            "removedAssignments": [{"attributeId": "yard", "attribute": {"attributeName": "Yard"}}],
            "units": [{"id": UNIT, "attributes": {"data": []}}],
        }
        assert (UNIT, "yard") not in await list_assignments(client)


ASSIGNMENTS = """query ($group: ID!, $asset: ID, $page: Int, $perPage: Int) {
    attributeGroup(id: $group) {
        assignments(asset: $asset, page: $page, perPage: $perPage) {
            data { unitId attributeId attribute { attributeName } }
        }
    }
}"""
ALL_ASSIGNED = [("a/b", "yard"), (UNIT, "sea"), ("unit-s", "sea")]


async def run_assign_mutation(
    directory: Directory, assets: list[str] | None = None, **given: Any
) -> Any:
    group = (await directory.read(ASSIGNMENTS, assets, **given))["attributeGroup"]
    return [(each["unitId"], each["attributeId"]) for each in group["assignments"]["data"]]


async def test_groups_are_for_every_key_but_assignments_for_those_that_see_the_unit(
    directory: Directory,
) -> None:
    assert await run_assign_mutation(directory, [SEEN], group="view") == ALL_ASSIGNED[:2]
    assert await run_assign_mutation(directory, [SEEN], group="view", asset=HIDDEN) == []
    assert await run_assign_mutation(directory, [], group="view") == []
    assert await run_assign_mutation(directory, group="fit/out %") == []


async def test_the_groups_of_all_assigned_attributes_are_read_at_once(
    directory: Directory,
) -> None:
    query = "{ units { data { id attributes { data { attribute { attributeName } } } } } }"
    units = (await directory.read(query))["units"]["data"]
    assert {
        unit["id"]: [each["attribute"]["attributeName"] for each in unit["attributes"]["data"]]
        for unit in units
        if unit["attributes"]["data"]
    } == {"a/b": ["Yard"], UNIT: ["Sea"], "unit-s": ["Sea"]}
    assert directory.collections_read == ["units", "attribute_assignments", "attribute_groups"]


async def test_an_attribute_that_left_its_group_is_null(own_world: World) -> None:
    query = '{ attributeGroup(id: "view") { assignments { data { attribute { attributeId } } } } }'
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        async with open_database(own_world) as database:
            await database["attribute_groups"].update_one(
                {"_id": "view"}, {"$pull": {"attributes": {"attribute_id": "sea"}}}
            )
        group = (await data_of(client, query))["attributeGroup"]
    attributes = [each["attribute"] for each in group["assignments"]["data"]]
    assert attributes == [{"attributeId": "yard"}, None, None]
