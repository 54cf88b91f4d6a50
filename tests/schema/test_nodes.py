"""Nodes: every entity has a `nodeId`, and `node` and `nodes` find it by that."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from graphql import (
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLNonNull,
    GraphQLObjectType,
    is_introspection_type,
)

from resolvers.nodes import NODE_TYPES, parse_node_id
from resolvers.request.caller import PERMISSIONS, Caller
from resolvers.request.context import Context
from schema.definitions import Requirement, cost_of, is_loaded, requirement_of, strawberry_field_of
from schema.execution import Executor, OperationResult
from schema.root import GRAPHQL_SCHEMA
from storage.records.visibility import ALL_ASSETS
from tests.fixtures import BASE_URL, HIDDEN, MAP, SEEN, UNIT
from tests.resolvers.directory import Directory

NODE = GRAPHQL_SCHEMA.type_map["Node"]
assert isinstance(NODE, GraphQLInterfaceType)
ENTITIES = {type.name for type in GRAPHQL_SCHEMA.get_possible_types(NODE)}
OTHERS_WITH_AN_ID = {
    "Endpoint": "its name, by which it is saved again and removed",
    "CreatedApiKey": "a key with its text, which is shown once",
    "RotatedApiKey": "a key with its text, which is shown once",
}
PATHS = {
    "Asset": "assets { data { nodeId id } }",
    "Floor": "assets { data { floors { data { nodeId id } } } }",
    "Unit": "units { data { nodeId id } }",
    "Map": "maps { data { nodeId id } }",
    "Background": "maps { data { backgrounds { data { nodeId id } } } }",
    "LevelTag": "maps { data { levelTags { data { nodeId id } } } }",
    "Location": "maps { data { locations { data { nodeId id } } } }",
    "AssetReference": "assetReferences { data { nodeId id } }",
    "UnitReference": "unitReferences { data { nodeId id } }",
    "AttributeGroup": "attributeGroups { data { nodeId id } }",
    "Attribute": "attributeGroups { data { attributes { nodeId id } } }",
    "Assignment": "attributeGroups { data { assignments { data { nodeId id } } } }",
}
"""How each type of the catalog is reached."""


def node_id(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def found(value: Any) -> Iterator[dict[str, str]]:
    """The objects at the ends of a result."""
    if isinstance(value, list):
        for item in value:
            yield from found(item)
    elif isinstance(value, dict) and "nodeId" in value:
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from found(member)


def objects() -> Iterator[GraphQLObjectType]:
    return (
        each for each in GRAPHQL_SCHEMA.type_map.values() if isinstance(each, GraphQLObjectType)
    )


def test_what_has_an_id_is_a_node_and_nodes_have_an_id() -> None:
    with_id = {each.name for each in objects() if "id" in each.fields}
    assert with_id == ENTITIES | (OTHERS_WITH_AN_ID.keys() & with_id)
    for name in ENTITIES:
        type = GRAPHQL_SCHEMA.type_map[name]
        assert isinstance(type, GraphQLObjectType)
        assert isinstance(type.fields["id"].type, GraphQLNonNull)
    assert ENTITIES == {each.name for each in NODE_TYPES} == PATHS.keys() | {"ApiKey"}


def test_a_node_needs_what_every_field_needs_that_leads_to_its_type() -> None:
    roots = {
        "units": "Unit",
        "assetReferences": "AssetReference",
        "unitReferences": "UnitReference",
    }
    roots |= {"attributeGroups": "AttributeGroup", "apiKeys": "ApiKey"}
    required = {each.name: each.requirement for each in NODE_TYPES}
    assert GRAPHQL_SCHEMA.query_type is not None
    for field, name in roots.items():
        assert required[name] == requirement_of(GRAPHQL_SCHEMA.query_type.fields[field])
    map_type = GRAPHQL_SCHEMA.type_map["Map"]
    assert isinstance(map_type, GraphQLObjectType)
    assert required["Location"] == requirement_of(map_type.fields["locations"])
    assert required["Attribute"] == required["Assignment"] == required["AttributeGroup"]
    for name in ("Asset", "Floor", "Unit", "Map", "Background", "LevelTag"):
        assert required[name] == Requirement()


@pytest.mark.parametrize("name", PATHS)
async def test_every_record_is_found_by_its_node_id(directory: Directory, name: str) -> None:
    listed = [*found(await directory.read(f"{{ {PATHS[name]} }}"))]
    ids = [each["nodeId"] for each in listed]
    assert listed
    assert len({*ids}) == len(ids) == len({each["id"] for each in listed})
    inner = f"__typename nodeId ... on {name} {{ id }}"
    document = f"query ($ids: [ID!]!) {{ nodes(ids: $ids) {{ {inner} }} }}"
    nodes = (await directory.read(document, ids=ids[:100]))["nodes"]
    assert nodes == [{"__typename": name, **each} for each in listed[:100]]
    one = "query ($id: ID!) { node(id: $id) { __typename nodeId } }"
    assert await directory.read(one, id=ids[0]) == {"node": {"__typename": name, "nodeId": ids[0]}}


@pytest.mark.parametrize("name", PATHS)
async def test_a_hidden_record_is_as_one_that_does_not_exist(
    directory: Directory, name: str
) -> None:
    every = [each["nodeId"] for each in found(await directory.read(f"{{ {PATHS[name]} }}"))]
    seen = {each["nodeId"] for each in found(await directory.read(f"{{ {PATHS[name]} }}", [SEEN]))}
    document = "query ($ids: [ID!]!) { nodes(ids: $ids) { nodeId } }"
    nodes = (await directory.read(document, [SEEN], ids=every[:100]))["nodes"]
    expected = [{"nodeId": each} if each in seen else None for each in every[:100]]
    assert nodes == expected
    if name in ("AttributeGroup", "Attribute"):  # of no asset
        assert None not in nodes
    else:
        assert None in nodes


async def test_the_nodes_of_a_type_are_read_by_one_command(directory: Directory) -> None:
    units = [each["nodeId"] for each in found(await directory.read(f"{{ {PATHS['Unit']} }}"))]
    assets = [node_id(f"Asset:{SEEN}"), node_id(f"Asset:{HIDDEN}")]
    document = """query ($ids: [ID!]!) { nodes(ids: $ids) {
        ... on Unit { floor { name } } ... on Asset { floors { data { name } } } } }"""
    await directory.read(document, ids=[*units[:20], *assets])
    assert sorted(directory.collections_read) == ["assets", "floors", "floors", "units"]


async def test_nodes_are_in_the_order_of_their_ids_and_may_repeat(directory: Directory) -> None:
    ids = [node_id(each) for each in (f"Unit:{UNIT}", f"Map:{MAP}", "Unit:none", f"Unit:{UNIT}")]
    document = "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename ... on Unit { id } } }"
    unit = {"__typename": "Unit", "id": UNIT}
    assert await directory.read(document, ids=ids) == {
        "nodes": [unit, {"__typename": "Map"}, None, unit]
    }
    assert await directory.read(document, ids=[]) == {"nodes": []}


BAD_IDS = [
    "",
    UNIT,
    node_id("Unit"),
    node_id("Nothing:1"),
    node_id("UnitReference:only-one"),
    node_id('UnitReference:["unit-1","crm"]'),  # not as the service writes it
    node_id(f"Unit:{UNIT}") + "=",
    "x" * 10_000,
]


@pytest.mark.parametrize("bad", BAD_IDS, ids=range(len(BAD_IDS)))
async def test_a_text_that_is_no_node_id_is_an_error_of_its_own_place(
    directory: Directory, bad: str
) -> None:
    with pytest.raises(ValueError, match="must be a node id as the service returns it in nodeId"):
        parse_node_id(bad)
    result = await directory.run("query ($id: ID!) { node(id: $id) { nodeId } }", id=bad)
    assert result.data == {"node": None}
    [error] = result.errors
    assert error.extensions is not None
    assert error.extensions["code"] == "INVALID_INPUT"
    assert [*error.extensions["fields"]] == ["id"]
    document = "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }"
    result = await directory.run(document, ids=[node_id(f"Unit:{UNIT}"), bad])
    assert result.data == {"nodes": [{"__typename": "Unit"}, None]}
    [error] = result.errors
    assert error.path == ["nodes", 1]
    assert [*(error.extensions or {})["fields"]] == ["ids[1]"]


async def test_a_node_of_which_flag_or_permission_lacks_is_an_error_of_its_own_place(
    directory: Directory,
) -> None:
    executor = Executor(GRAPHQL_SCHEMA)
    operation = executor.prepare("query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }")
    ids = [node_id(f"Unit:{UNIT}"), node_id("AttributeGroup:view")]
    flags = frozenset({"unit-attributes-resource"})
    for code, caller in (
        ("FLAG_REQUIRED", Caller("none", ALL_ASSETS, frozenset(PERMISSIONS))),
        ("PERMISSION_REQUIRED", Caller("none", ALL_ASSETS, flags=flags)),
    ):
        context = Context(caller, directory.store, BASE_URL)
        result = await executor.run(operation, {"ids": ids}, context)
        assert result.data == {"nodes": [{"__typename": "Unit"}, None]}
        [error] = result.errors
        assert (error.path, (error.extensions or {})["code"]) == (["nodes", 1], code)


async def test_too_many_nodes_are_refused_before_they_are_read(directory: Directory) -> None:
    ids = [node_id(f"Unit:{number}") for number in range(101)]
    document = "query ($ids: [ID!]!) { nodes(ids: $ids) { nodeId } }"
    result = await directory.run(document, ids=ids)
    assert (result.errors[0].extensions or {})["code"] == "INVALID_INPUT"
    assert directory.collections_read == []


async def test_an_api_key_is_a_node_for_administrators(directory: Directory) -> None:
    keys = [*found(await directory.read("{ apiKeys { data { nodeId id name } } }"))]
    document = "query ($id: ID!) { node(id: $id) { nodeId ... on ApiKey { id name } } }"
    assert await directory.read(document, id=keys[0]["nodeId"]) == {"node": keys[0]}


NEVER_FAIL = {"Query.nodes": "an id that is wrong is an error of its own place in the list"}
FIELDS = {
    f"{type.name}.{name}": field
    for type in GRAPHQL_SCHEMA.type_map.values()
    if isinstance(type, GraphQLObjectType) and not is_introspection_type(type)
    for name, field in type.fields.items()
}
EXECUTORS = {
    "compiled": Executor(GRAPHQL_SCHEMA),
    "interpreted": Executor(GRAPHQL_SCHEMA, compile_queries=False),
}


def can_fail(field: GraphQLField) -> bool:
    definition = strawberry_field_of(field)
    return definition is not None and bool(
        is_loaded(definition) or cost_of(definition) or requirement_of(field) != Requirement()
    )


async def run(directory: Directory, executor: str, text: str, *flags: str) -> OperationResult:
    caller = Caller("any", ALL_ASSETS, frozenset(PERMISSIONS), frozenset(flags))
    context = Context(caller, directory.store, BASE_URL)
    return await EXECUTORS[executor].run(EXECUTORS[executor].prepare(text), {}, context)


@pytest.mark.parametrize("coordinate", [name for name, each in FIELDS.items() if can_fail(each)])
def test_a_field_that_can_fail_is_nullable(coordinate: str) -> None:
    is_required = isinstance(FIELDS[coordinate].type, GraphQLNonNull)
    assert is_required is (coordinate in NEVER_FAIL)


@pytest.mark.parametrize("executor", EXECUTORS)
async def test_a_field_without_its_flag_leaves_the_others_their_data(
    directory: Directory, executor: str
) -> None:
    text = (
        "{ assets { data { id references { data { key } } } } units(perPage: 1) { data { id } } }"
    )
    result = await run(directory, executor, text)
    assert result.data is not None
    assert result.data["assets"] == {
        "data": [{"id": SEEN, "references": None}, {"id": HIDDEN, "references": None}]
    }
    assert len(result.data["units"]["data"]) == 1
    assert [error.path for error in result.errors] == [
        ["assets", "data", 0, "references"],
        ["assets", "data", 1, "references"],
    ]
    assert {(error.extensions or {})["code"] for error in result.errors} == {"FLAG_REQUIRED"}
