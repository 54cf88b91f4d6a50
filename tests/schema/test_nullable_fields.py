"""A field that fails is null, with one error, and all others keep their data."""

import json

import pytest
from graphql import GraphQLField, GraphQLNonNull, GraphQLObjectType, is_introspection_type

from resolvers.request.caller import PERMISSIONS, Caller
from resolvers.request.context import Context
from schema.definitions import cost_of, is_loaded, strawberry_field_of
from schema.execution import Executor, OperationResult
from schema.permissions import Requirement, requirement_of
from schema.root import GRAPHQL_SCHEMA
from storage.records.visibility import ALL_ASSETS
from tests.fixtures import BASE_URL, HIDDEN, MAP, SEEN
from tests.resolvers.directory import Directory

pytestmark = pytest.mark.anyio

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
FAILING = f"""{{
    a: asset(id: "{SEEN}") {{ name floors(perPage: 0) {{ data {{ id }} }} }}
    b: node(id: "!") {{ nodeId }}
    units(after: "!") {{ data {{ id }} }}
    map(id: "{MAP}") {{ nearest(from: {{id: "none"}}) {{ distance }} name }}
    maps {{ data {{ id backgrounds(page: 0) {{ data {{ id }} }} locations {{ data {{ id }} }} }} }}
}}"""


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


@pytest.mark.parametrize("executor", EXECUTORS)
async def test_one_wrong_argument_of_ten_leaves_the_other_nine(
    directory: Directory, executor: str
) -> None:
    sizes = [1, 1, 1, 1, 0, 1, 1, 1, 1, 1]
    aliased = (f"m{n}: maps(perPage: {size}) {{ data {{ id }} }}" for n, size in enumerate(sizes))
    result = await run(directory, executor, f"{{ {' '.join(aliased)} }}")
    assert result.data is not None
    assert [name for name, value in result.data.items() if value is None] == ["m4"]
    assert [error.path for error in result.errors] == [["m4"]]


async def test_the_same_operation_has_the_same_errors_every_time(directory: Directory) -> None:
    seen = set()
    for _ in range(25):
        for executor in EXECUTORS:
            result = await run(directory, executor, FAILING, "distances")
            errors = [error.formatted for error in result.errors]
            seen.add(json.dumps([result.data, errors]))
    [only] = seen
    data, errors = json.loads(only)
    assert (data["a"]["name"], data["map"]["name"]) == ("North House", "All floors")
    assert [error["path"] for error in errors] == [
        ["a", "floors"],
        ["b"],
        ["units"],
        ["map", "nearest"],
        *(
            ["maps", "data", index, name]
            for index in range(3)
            for name in ("backgrounds", "locations")
        ),
    ]
