"""Child lists: a resolver made from a relation, for one parent and for a whole level."""

from typing import Any

import graphql
import pytest
import strawberry
from strawberry.schema.config import StrawberryConfig

from resolvers.request.batching import batch_resolver_of
from resolvers.request.context import Relation
from resolvers.request.listing import list_resolver
from schema.execution import Executor
from schema.fields import resolver_field
from schema.paging import Page
from schema.scalars import SCALAR_DEFINITIONS
from storage.units import UNITS
from tests.fixtures import FLOOR, HIDDEN, SEEN, UNIT_IDS
from tests.resolvers.directory import Directory

pytestmark = pytest.mark.anyio

BY_ID = list_resolver(
    Relation(UNITS, lambda floor_id: {"floor_id": floor_id}), "List the units on a storey."
)
BY_TWO_FIELDS = list_resolver(
    Relation(UNITS, lambda asset_id, floor_id: {"asset_id": asset_id, "floor_id": floor_id}),
    "List the units on a storey of its own asset.",
    "asset_id",
    "id",
)


@strawberry.type
class Home:
    id: strawberry.ID


@strawberry.type
class Storey:
    """A parent that no collection holds."""

    id: str
    asset_id: str
    units = resolver_field(BY_ID, Page[Home])
    own_units = resolver_field(BY_TWO_FIELDS, Page[Home])


STOREYS = [
    Storey(id=id, asset_id=asset_id)
    for id, asset_id in ((FLOOR, SEEN), ("n-2", SEEN), ("s-1", SEEN), ("s-1", HIDDEN))
]


@strawberry.type
class Query:
    @strawberry.field
    def storeys(self) -> list[Storey]:
        return STOREYS


SCHEMA = strawberry.Schema(Query, config=StrawberryConfig(scalar_map=SCALAR_DEFINITIONS))._schema
SOUTHERN = ["!unit-s", "unit-s"]


@pytest.fixture
def storeys(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> Directory:
    """The shared world below the schema of storeys."""
    monkeypatch.setattr(directory, "executor", Executor(SCHEMA))
    return directory


async def listed(storeys: Directory, field: str, assets: list[str] | None = None) -> Any:
    found = await storeys.read(f"{{ storeys {{ page: {field} {{ data {{ id }} }} }} }}", assets)
    return [[unit["id"] for unit in storey["page"]["data"]] for storey in found["storeys"]]


async def test_the_key_of_a_parent_is_its_id(storeys: Directory) -> None:
    assert await listed(storeys, "units") == [UNIT_IDS[:-1], UNIT_IDS[-1:], SOUTHERN, SOUTHERN]


async def test_the_key_may_be_several_fields_in_the_order_of_the_relation(
    storeys: Directory,
) -> None:
    assert await listed(storeys, "ownUnits") == [UNIT_IDS[:-1], UNIT_IDS[-1:], [], SOUTHERN]


async def test_every_parent_gets_the_page_that_is_asked_for(storeys: Directory) -> None:
    paged = await listed(storeys, "units(page: 2, perPage: 1)")
    assert paged == [UNIT_IDS[1:2], [], SOUTHERN[1:], SOUTHERN[1:]]


@pytest.mark.parametrize("field", ["units", "ownUnits", "units(page: 2, perPage: 1)"])
async def test_the_lists_of_a_level_take_one_read(storeys: Directory, field: str) -> None:
    await listed(storeys, field)  # just after an import, MongoDB may have a read repeated
    await listed(storeys, field)
    assert storeys.collections_read == ["units"]


@pytest.mark.parametrize("argument", ["page: 0", "perPage: 0", 'after: "!"'])
async def test_a_page_that_cannot_be_is_invalid(storeys: Directory, argument: str) -> None:
    query = f"{{ storeys {{ id units({argument}) {{ data {{ id }} }} }} }}"
    result = await storeys.run(query)
    assert result.data == {"storeys": [{"id": each.id, "units": None} for each in STOREYS]}
    fields = [(error.extensions or {})["fields"] for error in result.errors]
    assert [[*each] for each in fields] == [[argument.partition(":")[0]]] * len(STOREYS)


def test_the_field_is_described_and_takes_the_arguments_of_pages_and_filters() -> None:
    storey = SCHEMA.type_map["Storey"]
    assert isinstance(storey, graphql.GraphQLObjectType)
    assert storey.fields["units"].description == "List the units on a storey."
    arguments = storey.fields["units"].args
    assert {name: argument.default_value for name, argument in arguments.items()} == {
        "page": None,
        "perPage": None,
        "after": None,
        "ids": None,
        "search": None,
        "updatedSince": None,
        "first": None,
    }
    assert batch_resolver_of(BY_ID) is not None
