"""Unit maps: listed by asset and tags, found by id, and those that a unit is on."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resolvers.maps import MapTags
from resolvers.request.input_checks import read_annotation
from tests.fixtures import BACKGROUND, HIDDEN, HIDDEN_MAP, MAP, OTHER_MAP, SEEN, UNIT, UNIT_IDS
from tests.resolvers.directory import Directory

pytestmark = pytest.mark.anyio

LIST = """query ($asset: ID, $tags: String, $page: Int, $perPage: Int) {
    maps(asset: $asset, tags: $tags, page: $page, perPage: $perPage) { data { id } }
}"""
GET = "query ($map: ID!) { map(id: $map) { id } }"
MAPS_OF_UNIT = """query ($unit: ID!, $page: Int, $perPage: Int) {
    unit(id: $unit) { maps(page: $page, perPage: $perPage) { data { id } paging { hasNext } } }
}"""


def ids(page: dict[str, Any]) -> list[str]:
    return [record["id"] for record in page["data"]]


@pytest.mark.parametrize(
    ("filters", "listed"),
    [
        ({}, [OTHER_MAP, MAP, HIDDEN_MAP]),
        ({"asset": None, "tags": None}, [OTHER_MAP, MAP, HIDDEN_MAP]),
        ({"asset": SEEN}, [OTHER_MAP, MAP]),
        ({"asset": HIDDEN}, [HIDDEN_MAP]),
        ({"tags": "ils"}, [OTHER_MAP, MAP]),
        ({"tags": "ils, mls"}, [MAP]),
        ({"tags": "ils,ils"}, [OTHER_MAP, MAP]),
        ({"asset": SEEN, "tags": "mls"}, [MAP]),
        ({"asset": HIDDEN, "tags": "mls"}, []),
        ({"asset": "none"}, []),
        ({"tags": "ILS"}, []),
        ({"tags": "ils", "perPage": 1, "page": 2}, [MAP]),
    ],
)
async def test_maps_are_filtered_by_asset_and_by_every_tag(
    directory: Directory, filters: dict[str, Any], listed: list[str]
) -> None:
    assert ids((await directory.read(LIST, **filters))["maps"]) == listed
    assert directory.collections_read == ["maps"]


async def test_filters_reach_no_further_than_the_key(directory: Directory) -> None:
    assert ids((await directory.read(LIST, [SEEN]))["maps"]) == [OTHER_MAP, MAP]
    for asset in (HIDDEN, "none"):
        assert ids((await directory.read(LIST, [SEEN], asset=asset))["maps"]) == []


@pytest.mark.parametrize("tags", ["", " ", ",", "ils,", ",ils", "ils,,mls", "a\0"])
async def test_tags_that_are_no_list_are_rejected(directory: Directory, tags: str) -> None:
    assert [*await directory.invalid_fields(LIST, tags=tags)] == ["tags"]


TAG_RULES = read_annotation(MapTags)[1].rules
PATTERN = next(filter(None, (rule.json_schema().get("pattern") for rule in TAG_RULES)))


@given(st.text(st.sampled_from("ab, \t\n\x1c\x85\xa0\0é"), max_size=8) | st.text(max_size=8))
@example("ils,mls")
@example(" ils , mls ")
def test_the_described_pattern_accepts_the_same_tags_as_the_resolver(tags: str) -> None:
    assert bool(re.search(PATTERN, tags)) == (not any(rule.check(tags) for rule in TAG_RULES))


@pytest.mark.parametrize("map", [HIDDEN_MAP, "none", MAP.upper()])
async def test_a_map_of_another_asset_is_as_absent_as_an_unknown_one(
    directory: Directory, map: str
) -> None:
    assert await directory.read(GET, [SEEN], map=map) == {"map": None}
    assert await directory.read(GET, [SEEN], map=MAP) == {"map": {"id": MAP}}


async def test_a_map_has_its_fields_and_defaults(directory: Directory) -> None:
    query = """query ($map: ID!) { map(id: $map) {
        id assetId backgroundId name style styleType tags routingTier geojsonUrl feetPerUnit
    } }"""
    assert (await directory.read(query, map=MAP))["map"] == {
        "id": MAP,
        "assetId": SEEN,
        "backgroundId": BACKGROUND,
        "name": "All floors",
        "style": "a",
        "styleType": "floor_plate",
        "tags": ["ils", "mls"],
        "routingTier": "no_routing",
        "geojsonUrl": "https://directory.test/v1/maps/plan%2Fone/geojson",
        "feetPerUnit": None,
    }


async def test_an_asset_lists_its_maps(directory: Directory) -> None:
    found = await directory.read("{ assets { data { id maps { data { id } } } } }")
    assert {asset["id"]: ids(asset["maps"]) for asset in found["assets"]["data"]} == {
        SEEN: [OTHER_MAP, MAP],
        HIDDEN: [HIDDEN_MAP],
    }
    assert directory.collections_read == ["assets", "maps"]


@pytest.mark.parametrize(
    ("unit", "listed"),
    [(UNIT, [OTHER_MAP, MAP]), (UNIT_IDS[-1], [OTHER_MAP]), ("unit-s", [HIDDEN_MAP])],
)
async def test_a_unit_is_on_the_maps_that_it_names_or_on_all(
    directory: Directory, unit: str, listed: list[str]
) -> None:
    assert ids((await directory.read(MAPS_OF_UNIT, unit=unit))["unit"]["maps"]) == listed


async def test_the_maps_of_a_unit_come_in_pages(directory: Directory) -> None:
    pages = [
        (await directory.read(MAPS_OF_UNIT, unit=UNIT, page=page, perPage=1))["unit"]["maps"]
        for page in (1, 2, 3)
    ]
    assert [(ids(page), page["paging"]["hasNext"]) for page in pages] == [
        ([OTHER_MAP], True),
        ([MAP], False),
        ([], False),
    ]


async def test_units_lead_to_the_maps_that_lead_to_them(directory: Directory) -> None:
    units = await directory.read("{ units { data { id maps { data { id } } } } }")
    assert directory.collections_read == ["units", "maps"]
    maps = await directory.read("{ maps { data { id units { data { id } } } } }")
    from_units = {(map, unit["id"]) for unit in units["units"]["data"] for map in ids(unit["maps"])}
    from_maps = {(map["id"], unit) for map in maps["maps"]["data"] for unit in ids(map["units"])}
    assert from_units == from_maps


async def test_backgrounds_lead_to_their_map_in_one_read(directory: Directory) -> None:
    query = "{ maps { data { id backgrounds { data { map { id } } } } } }"
    maps = (await directory.read(query))["maps"]["data"]
    for map in maps:
        assert all(each["map"]["id"] == map["id"] for each in map["backgrounds"]["data"])
    assert sum(len(map["backgrounds"]["data"]) for map in maps) == 3
    assert directory.collections_read == ["maps", "backgrounds", "maps"]
