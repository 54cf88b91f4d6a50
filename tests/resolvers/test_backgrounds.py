"""Backgrounds: those of a map, one of them, and the one that the map is shown with."""

from typing import Any

import pytest

from tests.fixtures import BACKGROUND, HIDDEN_MAP, MAP, OTHER_MAP, SEEN
from tests.resolvers.directory import Directory

pytestmark = pytest.mark.anyio

LIST = """query ($map: ID!, $page: Int, $perPage: Int) {
    map(id: $map) { backgrounds(page: $page, perPage: $perPage) { data { id } } }
}"""
GET = "query ($map: ID!, $id: ID!) { map(id: $map) { background(id: $id) { id } } }"


def listed(data: dict[str, Any]) -> list[str]:
    return [each["id"] for each in data["map"]["backgrounds"]["data"]]


@pytest.mark.parametrize(
    ("map", "backgrounds"),
    [(MAP, [BACKGROUND, "bg-2"]), (OTHER_MAP, []), (HIDDEN_MAP, ["bg-s"])],
)
async def test_a_map_lists_its_own_backgrounds_by_id(
    directory: Directory, map: str, backgrounds: list[str]
) -> None:
    assert listed(await directory.read(LIST, map=map)) == backgrounds


@pytest.mark.parametrize(("page", "backgrounds"), [(1, [BACKGROUND]), (2, ["bg-2"]), (3, [])])
async def test_backgrounds_come_in_pages(
    directory: Directory, page: int, backgrounds: list[str]
) -> None:
    assert listed(await directory.read(LIST, map=MAP, page=page, perPage=1)) == backgrounds


@pytest.mark.parametrize(
    ("map", "id", "found"),
    [
        (MAP, BACKGROUND, True),
        (MAP, "bg-2", True),
        (OTHER_MAP, "bg-2", False),  # of another map of the asset
        (MAP, "bg-s", False),  # of another asset
        (MAP, "none", False),
        (HIDDEN_MAP, "bg-s", True),
    ],
)
async def test_a_background_is_found_on_its_own_map(
    directory: Directory, map: str, id: str, found: bool
) -> None:
    answer = await directory.read(GET, map=map, id=id)
    assert answer == {"map": {"background": {"id": id} if found else None}}


async def test_backgrounds_of_a_hidden_asset_are_as_absent_as_unknown_ones(
    directory: Directory,
) -> None:
    for id in ("bg-s", "none"):
        assert await directory.read(GET, [SEEN], map=MAP, id=id) == {"map": {"background": None}}
        assert await directory.read(GET, [SEEN], map=HIDDEN_MAP, id=id) == {"map": None}


async def test_a_map_is_shown_with_the_background_that_it_names(directory: Directory) -> None:
    query = "{ maps { data { id chosenBackground { id unitMapId name } } } }"
    maps = (await directory.read(query))["maps"]["data"]
    assert {map["id"]: map["chosenBackground"] for map in maps} == {
        MAP: {"id": BACKGROUND, "unitMapId": MAP, "name": "Plain"},
        OTHER_MAP: None,
        HIDDEN_MAP: None,
    }


@pytest.mark.parametrize(
    "field",
    ["backgrounds { data { id } }", 'background(id: "bg-2") { id }', "chosenBackground { id }"],
)
async def test_the_backgrounds_of_all_maps_are_read_at_once(
    directory: Directory, field: str
) -> None:
    await directory.read(f"{{ maps {{ data {{ {field} }} }} }}")
    assert directory.collections_read == ["maps", "backgrounds"]
