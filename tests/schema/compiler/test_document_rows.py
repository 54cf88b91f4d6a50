"""Which lists are read as MongoDB's documents, and that their rows are those of records."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from resolvers.request.document_lists import ListedKind
from schema.compiler.document_rows import find_document_lists
from storage.catalog import UNITS
from storage.records.paging import BY_KEY, PageRequest
from tests.fixtures import SEEN
from tests.resolvers.directory import Directory, open_directory
from tests.schema.compiler.test_selection import collect

FLOORS, TAGS = "floors { floorId }", "tags { key value }"


@pytest.mark.parametrize(
    "text",
    [
        "{ units { data { id name createdAt } paging { next } totalCount } }",
        "{ units { data { id } again: data { name } } }",
        "{ asset(id: 1) { units(orderBy: NAME) { data { __typename id } } } }",
        f"{{ map(id: 1) {{ locations {{ data {{ {FLOORS} {TAGS} }} }} }} }}",
        "{ map(id: 1) { locations { data { id name } } } }",
    ],
)
def test_lists_of_plain_fields_are_read_as_documents(text: str) -> None:
    assert find_document_lists(collect(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{ units { data { id floor { name } } } }", "the floor needs the record of its unit"),
        ("{ maps { data { id url } } }", "a resolver makes the address from the record"),
        ("{ units { edges { node { id } } } }", "an edge has a record and a cursor"),
        ("{ units { paging { next } } }", "no record is shown"),
        ("{ units { data { __typename } } }", "reading a record tells whether it is damaged"),
        ("{ map(id: 1) { locations { data { tags { key } } } } }", "values may be damaged"),
        ("{ units { data { id asset { units { data { id } } } } } }", "both may be the same list"),
        ("{ asset(id: 1) { floors { data { label } } } }", "an empty label is that of the name"),
        ("{ unit(id: 1) { id } }", "it is no list"),
    ],
)
def test_other_lists_are_read_as_records(text: str, reason: str) -> None:
    assert not find_document_lists(collect(text)), reason


@pytest.mark.anyio
async def test_rows_have_the_fields_in_the_order_of_the_selection(directory: Directory) -> None:
    query = "query ($id: ID!) { asset(id: $id) { units { data { name __typename i: id name } } } }"
    first = (await directory.read(query, id=SEEN))["asset"]["units"]["data"][0]
    assert [*first] == ["name", "__typename", "i"]
    assert first["__typename"] == "Unit"


@pytest.mark.parametrize(
    "text",
    [
        "{ units { data { name floorId } } }",
        "{ units { data { name } } again: units { data { floorId } } }",
    ],
)
def test_only_what_is_selected_is_read(text: str) -> None:
    lists = find_document_lists(collect(text)).values()
    assert {each.fields for each in lists} == {frozenset({"_id", "name", "floor_id"})}


@pytest.fixture
async def units(mongo_url: str, database_name: str) -> AsyncIterator[Directory]:
    """Two units of an earlier release, which had no `map_ids`."""
    async with open_directory(mongo_url, database_name) as directory:
        stamps = {"created_at": "", "updated_at": ""}
        await directory.store.database["units"].insert_many(
            [{"_id": id, "asset_id": "a", "floor_id": "f", "name": id, **stamps} for id in "uv"]
        )
        yield directory


@pytest.mark.anyio
async def test_a_document_of_an_earlier_release_has_defaults(units: Directory) -> None:
    rows = (await units.read("{ units { data { id name } } }"))["units"]["data"]
    assert rows == [{"id": "u", "name": "u"}, {"id": "v", "name": "v"}]
    assert units.collections_read == ["units"]


@pytest.mark.anyio
@pytest.mark.parametrize("damage", [{"$unset": {"name": ""}}, {"$set": {"name": [1]}}])
async def test_a_damaged_record_is_an_error_of_its_own(
    units: Directory, damage: dict[str, Any]
) -> None:
    await units.store.database["units"].update_one(
        {"_id": "v"}, damage, bypass_document_validation=True
    )
    result = await units.run("{ units { data { id name } } }")
    assert [error.path[:3] for error in result.errors if error.path] == [["units", "data", 1]]
    assert units.collections_read == ["units"]


@pytest.mark.anyio
async def test_a_page_of_several_fields_is_decoded_for_each_of_them() -> None:
    documents = [{"_id": f"{number}", "name": "a", "floor_id": "f"} for number in range(300)]
    page = PageRequest(1, 300).build_page(documents, BY_KEY.list_positions(documents))
    listed = ListedKind(UNITS)
    [[named], [placed, same]] = await asyncio.gather(
        listed.decode([page], {"_id", "name"}), listed.decode([page, page], {"_id", "floor_id"})
    )
    assert page.data == documents
    assert {(unit.id, unit.name) for unit in named.data} == {(d["_id"], "a") for d in documents}
    assert {unit.floor_id for unit in placed.data} == {"f"}
    assert placed is same


@pytest.mark.anyio
async def test_an_error_elsewhere_reads_no_list_again(units: Directory) -> None:
    query = '{ units { data { id } totalCount } maps(after: "x") { data { id } } }'
    result = await units.run(query)
    listed = {"data": [{"id": "u"}, {"id": "v"}], "totalCount": 2}
    assert result.data == {"units": listed, "maps": None}
    assert [error.path for error in result.errors] == [["maps"]]
    assert units.collections_read == ["units", "units"]  # the list, and its count
