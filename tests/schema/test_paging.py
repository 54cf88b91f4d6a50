"""The page of a list in GraphQL: the page of storage, field by field."""

from typing import Any

import pytest
from graphql import GraphQLField, GraphQLObjectType

from rest.names import to_snake_case
from schema.root import GRAPHQL_SCHEMA
from storage.records.fields import MAX_INT32
from storage.records.paging import MAX_PER_PAGE, Page, Paging
from tests.fixtures import SEEN, UNIT_IDS
from tests.resolvers.directory import Directory

QUERY = """query ($page: Int, $perPage: Int, $after: String) {
    units(page: $page, perPage: $perPage, after: $after) {
        paging { perPage currentPage hasNext next } data { id }
    }
}"""


def fields_of(name: str) -> dict[str, GraphQLField]:
    type = GRAPHQL_SCHEMA.type_map[name]
    assert isinstance(type, GraphQLObjectType)
    fields: dict[str, GraphQLField] = type.fields
    return fields


PAGES = [name for name in GRAPHQL_SCHEMA.type_map if name.endswith("Page")]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_named_for_its_records_and_never_holds_null(name: str) -> None:
    page = fields_of(name)
    assert str(page["data"].type) == f"[{name.removesuffix('Page')}!]!"
    assert str(page["paging"].type) == "Paging!"
    assert str(page["edges"].type) == f"[{name.removesuffix('Page')}Edge!]!"
    assert str(page["pageInfo"].type) == "PageInfo!"
    assert str(page["totalCount"].type) == "Int"


def test_pages_and_paging_have_the_fields_of_those_of_storage() -> None:
    assert all(
        hasattr(Page, to_snake_case(name)) or name == "totalCount" for name in fields_of(PAGES[0])
    )
    assert [*fields_of("Paging")] == ["perPage", "currentPage", "hasNext", "next"]
    page = Paging(per_page=2, current_page=1, next="x")
    assert (page.has_next, Paging(2, 1, None).has_next) == (True, False)


def test_only_the_last_page_lacks_a_cursor() -> None:
    nullable = {name for name, field in fields_of("Paging").items() if "!" not in str(field.type)}
    assert nullable == {"next"}
    assert all(field.description for field in fields_of("Paging").values())


def test_the_largest_page_is_the_documented_one() -> None:
    assert f"at most {MAX_PER_PAGE}." in str(fields_of("Paging")["perPage"].description)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("asked", "shown", "has_next"),
    [
        ({}, (100, 1), False),
        ({"page": None, "perPage": None, "after": None}, (100, 1), False),
        ({"perPage": 10}, (10, 1), True),
        ({"perPage": len(UNIT_IDS)}, (len(UNIT_IDS), 1), False),
        ({"perPage": len(UNIT_IDS) - 1}, (len(UNIT_IDS) - 1, 1), True),
        ({"perPage": 10, "page": 3}, (10, 3), False),
        ({"perPage": MAX_PER_PAGE + 1}, (MAX_PER_PAGE, 1), False),
        ({"perPage": MAX_INT32, "page": MAX_INT32}, (MAX_PER_PAGE, MAX_INT32), False),
    ],
)
async def test_paging_says_which_page_it_is_and_whether_another_follows(
    directory: Directory, asked: dict[str, Any], shown: tuple[int, int], has_next: bool
) -> None:
    paging = (await directory.read(QUERY, [SEEN], **asked))["units"]["paging"]
    assert (paging["perPage"], paging["currentPage"]) == shown
    assert paging["hasNext"] is (paging["next"] is not None) is has_next


@pytest.mark.anyio
async def test_a_cursor_continues_after_the_last_record(directory: Directory) -> None:
    first = (await directory.read(QUERY, [SEEN], perPage=4))["units"]
    after = first["paging"]["next"]
    second = (await directory.read(QUERY, [SEEN], page=2, perPage=4, after=after))["units"]
    assert [unit["id"] for unit in first["data"] + second["data"]] == UNIT_IDS[:8]


CONNECTION = """query ($first: Int, $after: String) {
    units(first: $first, after: $after) {
        totalCount
        edges { cursor node { id } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
}"""


@pytest.mark.anyio
async def test_a_loop_that_passes_only_the_end_cursor_ends(directory: Directory) -> None:
    found: list[str] = []
    after, first = None, 1
    while True:
        page = (await directory.read(CONNECTION, [SEEN], first=first, after=after))["units"]
        info = page["pageInfo"]
        assert info["hasPreviousPage"] is (after is not None)
        assert info["endCursor"] == page["edges"][-1]["cursor"]
        assert page["totalCount"] == len(UNIT_IDS)
        found += [edge["node"]["id"] for edge in page["edges"]]
        if not info["hasNextPage"]:
            break
        after, first = info["endCursor"], first + 1  # sizes may differ
    assert found == UNIT_IDS


@pytest.mark.anyio
async def test_a_list_continues_after_every_edge(directory: Directory) -> None:
    edges = (await directory.read(CONNECTION, [SEEN], first=4))["units"]["edges"]
    for number, edge in enumerate(edges, 1):
        page = (await directory.read(CONNECTION, [SEEN], first=2, after=edge["cursor"]))["units"]
        assert [each["node"]["id"] for each in page["edges"]] == UNIT_IDS[number : number + 2]
