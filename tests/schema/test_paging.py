"""The page of a list in GraphQL: the page of storage, field by field."""

import pytest
from graphql import GraphQLField, GraphQLObjectType

from schema.root import GRAPHQL_SCHEMA
from tests.fixtures import SEEN, UNIT_IDS
from tests.resolvers.directory import Directory


def fields_of(name: str) -> dict[str, GraphQLField]:
    type = GRAPHQL_SCHEMA.type_map[name]
    assert isinstance(type, GraphQLObjectType)
    fields: dict[str, GraphQLField] = type.fields
    return fields


PAGES = [name for name in GRAPHQL_SCHEMA.type_map if name.endswith("Page")]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_named_for_its_records_and_never_holds_null(name: str) -> None:
    page = fields_of(name)
    assert [*page] == ["paging", "data", "edges", "pageInfo", "totalCount"]
    assert str(page["data"].type) == f"[{name.removesuffix('Page')}!]!"
    assert str(page["paging"].type) == "Paging!"
    assert str(page["edges"].type) == f"[{name.removesuffix('Page')}Edge!]!"
    assert str(page["pageInfo"].type) == "PageInfo!"
    assert str(page["totalCount"].type) == "Int"


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
