"""A field that fails is null, with one error, and all others keep their data."""

import pytest
from graphql import GraphQLField, GraphQLNonNull, GraphQLObjectType, is_introspection_type

from resolvers.request.caller import PERMISSIONS, Caller
from resolvers.request.context import Context
from schema.definitions import cost_of, is_loaded, strawberry_field_of
from schema.execution import Executor, OperationResult
from schema.permissions import Requirement, requirement_of
from schema.root import GRAPHQL_SCHEMA
from storage.records.visibility import ALL_ASSETS
from tests.fixtures import BASE_URL, HIDDEN, SEEN
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
