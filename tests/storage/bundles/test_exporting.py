"""An export can be imported again and changes nothing."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.bundles.description.json_schema import build_bundle_schema
from storage.bundles.exporting import export_bundle
from storage.bundles.importing.import_bundles import ImportCounts, ParsedSource, import_bundles
from storage.catalog import RECORD_TYPES
from storage.records.visibility import AssetScope
from tests.storage.catalogs import ONE_DRIVER, SMALL, Bundle, small, text_of, write_arrays

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
MEMBERS = sum(len(array) for array in SMALL.values())
EXAMPLES = int(os.environ.get("FLOORGATE_CATALOG_EXAMPLES", 3))
"""How many random catalogs are exported; `make fuzz` tries more."""
MAX_DRAWN_MEMBERS = 16
"""Of each kind. An import costs as much for one member as for many, so few catalogs are large."""


async def load(database: Any, path: Path, bundle: Bundle) -> ImportCounts:
    return (await import_bundles(database, [write_arrays(path, bundle)])).total


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "b.json"


async def test_an_empty_catalog_is_an_empty_bundle(database: Any) -> None:
    exported = json.loads(await text_of(export_bundle(database)))
    assert exported == {kind.name: [] for kind in RECORD_TYPES}
    assert await text_of(export_bundle(database, lines=True)) == b""


async def test_members_have_the_fields_of_their_resource(database: Any, path: Path) -> None:
    await load(database, path, small())
    exported = json.loads(await text_of(export_bundle(database)))
    jsonschema_rs.validate(build_bundle_schema(), exported)
    unit = exported["units"][0]
    assert unit.pop("created_at") == unit.pop("updated_at")
    assert unit == SMALL["units"][0]
    assert exported["attribute_assignments"][-1] == SMALL["attribute_assignments"][0]


async def test_members_come_in_the_order_of_their_keys(database: Any, path: Path) -> None:
    ids = ["b", "a", "\N{GRINNING FACE}", "\uffee", "A", "a/"]
    await load(database, path, {"assets": [{"id": id, "name": ""} for id in ids]})
    exported = json.loads(await text_of(export_bundle(database)))
    assert [asset["id"] for asset in exported["assets"]] == sorted(ids)


@pytest.mark.parametrize("lines", [False, True])
async def test_an_export_goes_back_in_unchanged(database: Any, path: Path, lines: bool) -> None:
    await load(database, path, small())
    path.write_bytes(await text_of(export_bundle(database, lines=lines)))
    assert (await import_bundles(database, [path])).total == ImportCounts(unchanged=MEMBERS)


async def test_a_scope_exports_what_it_sees(database: Any, path: Path) -> None:
    await load(database, path, small())
    scope = AssetScope(frozenset({"b"}))
    exported = json.loads(await text_of(export_bundle(database, scope)))
    assert [asset["id"] for asset in exported["assets"]] == ["b"]
    assert [unit["id"] for unit in exported["units"]] == ["v1"]


def two_assets() -> Bundle:
    """Two properties; each uses a group of attributes of its own, and both use a third."""
    bundle = small()
    attributes = [{"attribute_id": "x", "attribute_name": "X", "attribute_key": "x"}]
    bundle["attribute_groups"].append(
        {"group_id": "both", "group_name": "Both", "attributes": attributes}
    )
    bundle["attribute_assignments"] += [
        {"group_id": "extras", "attribute_id": "view", "asset_id": "b", "unit_id": "v1"},
        {"group_id": "both", "attribute_id": "x", "asset_id": "a", "unit_id": "u2"},
        {"group_id": "both", "attribute_id": "x", "asset_id": "b", "unit_id": "v1"},
    ]
    bundle["attribute_assignments"] = [
        each
        for each in bundle["attribute_assignments"]
        if (each["group_id"], each["asset_id"]) != ("extras", "a")
    ]
    return bundle


async def test_the_scope_of_an_asset_has_the_groups_that_its_units_use(
    database: Any, path: Path
) -> None:
    await load(database, path, two_assets())
    for asset, groups in (("a", ["both", "plan"]), ("b", ["both", "extras"])):
        scope = AssetScope(frozenset({asset}))
        exported = json.loads(await text_of(export_bundle(database, scope)))
        assert [group["group_id"] for group in exported["attribute_groups"]] == groups


@pytest.mark.parametrize("lines", [False, True])
async def test_the_exports_of_all_assets_are_together_the_whole_export(
    client: Any, database: Any, database_name: str, path: Path, lines: bool
) -> None:
    await load(database, path, two_assets())
    elsewhere = client[f"{database_name}-elsewhere"]
    try:
        for asset in ("b", "a"):
            scope = AssetScope(frozenset({asset}))
            path.write_bytes(await text_of(export_bundle(database, scope, lines=lines)))
            await import_bundles(elsewhere, [path])
        assert await text_of(export_bundle(elsewhere)) == await text_of(export_bundle(database))
    finally:
        await client.drop_database(elsewhere.name)


async def test_an_export_is_a_snapshot_of_when_it_began(database: Any, path: Path) -> None:
    bundle = small()
    bundle["units"] += [
        {"id": f"n{number:06}", "asset_id": "a", "floor_id": "a1", "name": "before"}
        for number in range(9000)  # more than one piece
    ]
    await load(database, path, bundle)
    parts = export_bundle(database)
    first = await anext(parts)
    await database["locations"].delete_many({})
    await database["units"].update_many({}, {"$set": {"name": "after"}})
    exported = json.loads(first + await text_of(parts))
    assert {unit["name"] for unit in exported["units"]} == {"101", "102", "before"}
    assert len(exported["locations"]) == 1


async def uppercase_source(content: bytes) -> ParsedSource:
    return ParsedSource(content.upper())


async def test_an_export_contains_the_drawings(
    client: Any, database: Any, database_name: str, tmp_path: Path
) -> None:
    (tmp_path / "am.svg").write_bytes(SVG)
    bundle = small()
    bundle["maps"][0]["source"] = "am.svg"
    path = write_arrays(tmp_path / "b.json", bundle)
    await import_bundles(database, [path], parse_source=uppercase_source)
    exported = await text_of(export_bundle(database))
    path.write_bytes(exported)
    (tmp_path / "am.svg").unlink()
    again = await import_bundles(database, [path], parse_source=uppercase_source)
    assert again.total == ImportCounts(unchanged=MEMBERS)
    elsewhere = client[f"{database_name}-elsewhere"]
    try:
        await import_bundles(elsewhere, [path], parse_source=uppercase_source)
        assert await text_of(export_bundle(elsewhere)) == exported
    finally:
        await client.drop_database(elsewhere.name)


ids = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=8
)
names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
stamps = st.sampled_from(
    [
        {},
        {"created_at": "2020-01-01T00:00:00Z"},
        {"updated_at": "2021-05-06T07:08:09.123+05:30"},
        {"created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-01-01T00:00:00+01:00"},
    ]
)


@st.composite
def catalogs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Bundle:
    """Draw any catalog. Members refer only to owners that are drawn before them."""

    def some(make: Callable[[], dict[str, Any]], key: tuple[str, ...] = ("id",)) -> list[Any]:
        made = [make() for _ in range(draw(st.integers(0, MAX_DRAWN_MEMBERS)))]
        return list({tuple(member[field] for field in key): member for member in made}.values())

    def one(of: list[Any]) -> Any:
        return draw(st.sampled_from(of))

    assets = [
        {"id": "a", "name": "first"},
        *some(lambda: {"id": draw(ids) + "+", "name": draw(names)}),
    ]
    floors = [
        {"id": f"{asset['id']}1", "asset_id": asset["id"], "name": draw(names), **draw(stamps)}
        for asset in assets
    ]
    maps = [
        {
            "id": f"{asset['id']}m",
            "asset_id": asset["id"],
            "name": draw(names),
            "feet_per_unit": draw(st.none() | st.floats(1e-3, 1e3)),
            "tags": draw(st.lists(st.sampled_from(["ils", "mls"]))),
        }
        for asset in assets
    ]

    def unit() -> dict[str, Any]:
        floor = one(floors)
        return {
            "id": draw(ids),
            "asset_id": floor["asset_id"],
            "floor_id": floor["id"],
            "name": draw(names),
            "map_ids": one([None, [], [f"{floor['asset_id']}m"]]),
            **draw(stamps),
        }

    def location() -> dict[str, Any]:
        floor = one(floors)
        return {
            "id": draw(ids),
            "asset_id": floor["asset_id"],
            "unit_map_id": f"{floor['asset_id']}m",
            "name": draw(names),
            "x": draw(st.floats(-1e9, 1e9)),
            "y": draw(st.integers(-(10**9), 10**9)),
            "floors": [{"id": floor["id"]}],
            "tags": [
                {"key": key, "value": draw(names), **draw(stamps)}
                for key in draw(st.sets(ids, max_size=3))
            ],
        }

    units = some(unit)
    attributes = draw(st.sets(ids, min_size=1, max_size=3))
    group = {
        "group_id": "g",
        "group_name": draw(names),
        "one_attribute_per_unit": draw(st.booleans()),
        "attributes": [
            {"attribute_id": id, "attribute_name": "", "attribute_key": id} for id in attributes
        ],
    }
    assignments = [
        {
            "group_id": "g",
            "attribute_id": min(attributes),
            "asset_id": unit["asset_id"],
            "unit_id": unit["id"],
        }
        for unit in units
    ]
    return {
        "locations": some(location),
        "attribute_assignments": assignments,
        "units": units,
        "maps": maps,
        "floors": floors,
        "assets": assets,
        "attribute_groups": [group],
    }


@ONE_DRIVER
@given(bundle=catalogs(), lines=st.booleans())
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
async def test_any_catalog_survives_export_and_import(
    client: Any, database_name: str, path: Path, bundle: Bundle, lines: bool
) -> None:
    here, there = client[f"{database_name}-here"], client[f"{database_name}-there"]
    try:
        await load(here, path, bundle)
        exported = await text_of(export_bundle(here, lines=lines))
        path.write_bytes(exported)
        size = sum(len(array) for array in bundle.values())
        assert (await import_bundles(there, [path])).total == ImportCounts(inserted=size)
        assert await text_of(export_bundle(there, lines=lines)) == exported
        assert await load(here, path, bundle) == ImportCounts(unchanged=size)
    finally:
        await client.drop_database(here.name)
        await client.drop_database(there.name)
