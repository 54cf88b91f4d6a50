"""Units: all of them, those of an asset, a floor or a map, and the unit of a record."""

from typing import Any

import pytest

from tests.fixtures import FLOOR, HIDDEN, HIDDEN_MAP, MAP, ODD_IDS, OTHER_MAP, SEEN, UNIT, UNIT_IDS
from tests.resolvers.directory import Directory

pytestmark = pytest.mark.anyio

ON_ONE_MAP = UNIT_IDS[-1]
EVERYWHERE = UNIT_IDS[:-1]
"""Units that name no maps, and so are on every map of their asset."""
SOUTHERN = ["!unit-s", "unit-s"]

LIST = """query ($page: Int, $perPage: Int, $after: String) {
    units(page: $page, perPage: $perPage, after: $after) { data { id } paging { next } }
}"""
GET = "query ($unit: ID!) { unit(id: $unit) { id } }"
OF_ASSET = "query ($id: ID!) { asset(id: $id) { units { data { id } } } }"
ON_MAP = "query ($id: ID!) { map(id: $id) { units { data { id } } } }"
UNIT_ON_MAP = "query ($map: ID!, $unit: ID!) { map(id: $map) { unit(id: $unit) { id } } }"


def ids(page: dict[str, Any]) -> list[str]:
    return [record["id"] for record in page["data"]]


@pytest.mark.parametrize(
    ("assets", "listed"),
    [
        (None, sorted(UNIT_IDS + SOUTHERN)),
        ([SEEN], UNIT_IDS),
        ([HIDDEN], SOUTHERN),
        ([], []),
    ],
)
async def test_the_units_that_a_key_sees_are_listed_by_id(
    directory: Directory, assets: list[str] | None, listed: list[str]
) -> None:
    assert ids((await directory.read(LIST, assets))["units"]) == listed


async def test_cursors_lead_through_the_whole_list(directory: Directory) -> None:
    listed: list[str] = []
    page, after = 1, None
    while page == 1 or after:
        found = await directory.read(LIST, [SEEN], page=page, perPage=5, after=after)
        listed += ids(found["units"])
        page, after = page + 1, found["units"]["paging"]["next"]
    assert listed == UNIT_IDS


@pytest.mark.parametrize("unit", ODD_IDS, ids=lambda id: ascii(id)[1:30])
async def test_a_unit_is_found_by_its_id(directory: Directory, unit: str) -> None:
    assert await directory.read(GET, unit=unit) == {"unit": {"id": unit}}


@pytest.mark.parametrize("unit", ["unit-s", "!unit-s", "none", "Case", "unit-1 "])
async def test_a_unit_of_another_asset_is_as_absent_as_an_unknown_one(
    directory: Directory, unit: str
) -> None:
    assert await directory.read(GET, [SEEN], unit=unit) == {"unit": None}
    assert directory.collections_read == ["units"]


@pytest.mark.parametrize(("asset", "listed"), [(SEEN, UNIT_IDS), (HIDDEN, SOUTHERN)])
async def test_an_asset_lists_its_own_units(
    directory: Directory, asset: str, listed: list[str]
) -> None:
    assert ids((await directory.read(OF_ASSET, id=asset))["asset"]["units"]) == listed


async def test_a_floor_lists_the_units_on_it(directory: Directory) -> None:
    query = "{ assets { data { floors { data { id units { data { id floorId } } } } } } }"
    assets = (await directory.read(query))["assets"]["data"]
    floors = {floor["id"]: floor["units"] for asset in assets for floor in asset["floors"]["data"]}
    assert {id: ids(page) for id, page in floors.items()} == {
        FLOOR: EVERYWHERE,
        "n-2": [ON_ONE_MAP],
        "s-1": SOUTHERN,
    }
    assert {(id, unit["floorId"]) for id, page in floors.items() for unit in page["data"]} == {
        (id, id) for id in floors
    }
    assert directory.collections_read == ["assets", "floors", "units"]


@pytest.mark.parametrize(
    ("map", "listed"), [(MAP, EVERYWHERE), (OTHER_MAP, UNIT_IDS), (HIDDEN_MAP, SOUTHERN)]
)
async def test_a_map_lists_units_that_name_it_or_none(
    directory: Directory, map: str, listed: list[str]
) -> None:
    assert ids((await directory.read(ON_MAP, id=map))["map"]["units"]) == listed


@pytest.mark.parametrize("map", [MAP, OTHER_MAP, HIDDEN_MAP])
async def test_a_unit_is_found_on_the_maps_that_list_it(directory: Directory, map: str) -> None:
    units = [*UNIT_IDS, *SOUTHERN, "none"]
    declared = ", ".join(f"$u{number}: ID!" for number in range(len(units)))
    lookups = " ".join(f"u{n}: unit(id: $u{n}) {{ id }}" for n in range(len(units)))
    query = f"query ($map: ID!, {declared}) {{ map(id: $map) {{ {lookups} }} }}"
    variables: dict[str, Any] = {f"u{number}": unit for number, unit in enumerate(units)}
    found = await directory.read(query, map=map, **variables)
    listed = ids((await directory.read(ON_MAP, id=map))["map"]["units"])
    assert sorted(unit["id"] for unit in found["map"].values() if unit) == listed


@pytest.mark.parametrize("unit", ["unit-s", "none"])
async def test_a_map_does_not_show_what_the_key_does_not_see(
    directory: Directory, unit: str
) -> None:
    for map in (MAP, OTHER_MAP):
        found = await directory.read(UNIT_ON_MAP, [SEEN], map=map, unit=unit)
        assert found == {"map": {"unit": None}}
    assert await directory.read(UNIT_ON_MAP, [SEEN], map=HIDDEN_MAP, unit=unit) == {"map": None}


@pytest.mark.parametrize(
    ("query", "collections"),
    [
        ("{ assets { data { units { data { id } } } } }", ["assets", "units"]),
        ("{ maps { data { units { data { id } } } } }", ["maps", "units"]),
        ('{ maps { data { unit(id: "unit-1") { id } } } }', ["maps", "units"]),
        ("{ unitReferences { data { unit { id } } } }", ["unit_references", "units"]),
        (
            "{ attributeGroups { data { assignments { data { unit { id } } } } } }",
            ["attribute_groups", "attribute_assignments", "units"],
        ),
    ],
)
async def test_the_units_of_a_level_are_read_at_once(
    directory: Directory, query: str, collections: list[str]
) -> None:
    await directory.read(query)
    assert directory.collections_read == collections


async def test_records_about_one_unit_lead_to_it(directory: Directory) -> None:
    found = await directory.read("{ unitReferences { data { unitId unit { id } } } }")
    records = found["unitReferences"]["data"]
    assert [record["unitId"] for record in records] == ["a/b", UNIT, UNIT, "unit-s"]
    assert [record["unit"]["id"] for record in records] == ["a/b", UNIT, UNIT, "unit-s"]
