"""Level tags of a map: ordered by key, each with its values in display order."""

from typing import Any

import pytest

from tests.fixtures import FLOOR, HIDDEN_MAP, MAP, OTHER_MAP, SEEN
from tests.resolvers.directory import Directory

pytestmark = pytest.mark.anyio

LIST = """query ($map: ID!, $page: Int, $perPage: Int) {
    map(id: $map) {
        levelTags(page: $page, perPage: $perPage) {
            data { key name values { name value } } paging { hasNext }
        }
    }
}"""


async def read(directory: Directory, map: str, **page: Any) -> Any:
    return (await directory.read(LIST, map=map, **page))["map"]["levelTags"]


async def test_tags_have_their_values_in_the_order_of_the_bundle(directory: Directory) -> None:
    first, second = {"name": "First", "value": FLOOR}, {"name": "Second", "value": "n-2"}
    assert (await read(directory, MAP))["data"] == [
        {"key": "building", "name": "Building", "values": []},
        {"key": "floor", "name": "Floor", "values": [first, second]},
    ]


@pytest.mark.parametrize(("map", "keys"), [(OTHER_MAP, []), (HIDDEN_MAP, ["floor"])])
async def test_a_map_has_its_own_tags_alone(
    directory: Directory, map: str, keys: list[str]
) -> None:
    assert [tag["key"] for tag in (await read(directory, map))["data"]] == keys


@pytest.mark.parametrize(
    ("page", "keys", "has_next"), [(1, ["building"], True), (2, ["floor"], False), (3, [], False)]
)
async def test_tags_come_in_pages(
    directory: Directory, page: int, keys: list[str], has_next: bool
) -> None:
    found = await read(directory, MAP, page=page, perPage=1)
    assert [tag["key"] for tag in found["data"]] == keys
    assert found["paging"] == {"hasNext": has_next}


async def test_values_are_stamped_with_the_times_of_their_import(directory: Directory) -> None:
    query = """query ($map: ID!) { map(id: $map) { levelTags { data {
        createdAt updatedAt values { createdAt updatedAt }
    } } } }"""
    tags = (await directory.read(query, map=MAP))["map"]["levelTags"]["data"]
    stamps = {name: tags[1][name] for name in ("createdAt", "updatedAt")}
    assert tags[1]["values"] == [stamps, stamps]


async def test_the_tags_of_all_maps_are_read_at_once(directory: Directory) -> None:
    query = "{ maps { data { id levelTags { data { key } } } } }"
    maps = (await directory.read(query))["maps"]["data"]
    assert {map["id"]: len(map["levelTags"]["data"]) for map in maps} == {
        MAP: 2,
        OTHER_MAP: 0,
        HIDDEN_MAP: 1,
    }
    assert directory.collections_read == ["maps", "level_tags"]


@pytest.mark.parametrize("map", [HIDDEN_MAP, "none"])
async def test_a_hidden_map_has_no_tags_to_ask_for(directory: Directory, map: str) -> None:
    assert await directory.read(LIST, [SEEN], map=map) == {"map": None}
