"""An export can be imported again and changes nothing."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.bundles.description import build_bundle_schema
from storage.catalog import RECORD_TYPES
from storage.exporting.bundles import export_bundle
from storage.importing.import_bundles import ImportCounts, ParsedSource, import_bundles
from storage.records.visibility import AssetScope
from tests.storage.catalogs import SMALL, Bundle, small, text_of, write_arrays
from tests.storage.importing.random_catalogs import DEAR, catalogs, load_alone

pytestmark = pytest.mark.anyio

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
MEMBERS = sum(len(array) for array in SMALL.values())


async def load(database: Any, path: Path, bundle: Bundle) -> ImportCounts:
    return (await import_bundles(database, [write_arrays(path, bundle)])).total


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
        assert [each["id"] for each in exported["assets"]] == [asset]
        assert {unit["asset_id"] for unit in exported["units"]} == {asset}


@pytest.mark.parametrize("lines", [False, True])
async def test_the_exports_of_all_assets_are_together_the_whole_export(
    database: Any, path: Path, lines: bool
) -> None:
    await load(database, path, two_assets())
    whole = await text_of(export_bundle(database))
    scopes = [AssetScope(frozenset({asset})) for asset in ("b", "a")]
    parts = [await text_of(export_bundle(database, scope, lines=lines)) for scope in scopes]
    await load_alone(database, path, {"assets": []})
    for part in parts:
        await import_bundles(database, [part])
    assert await text_of(export_bundle(database)) == whole


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


async def test_an_export_contains_the_drawings(database: Any, tmp_path: Path) -> None:
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
    await load_alone(database, tmp_path / "none.json", {"assets": []})
    await import_bundles(database, [path], parse_source=uppercase_source)
    assert await text_of(export_bundle(database)) == exported


@given(bundle=catalogs(), lines=st.booleans())
@DEAR
async def test_any_catalog_survives_export_and_import(
    database: Any, path: Path, bundle: Bundle, lines: bool
) -> None:
    await load_alone(database, path, bundle)
    exported = await text_of(export_bundle(database, lines=lines))
    size = sum(len(array) for array in bundle.values())
    assert await load(database, path, bundle) == ImportCounts(unchanged=size)
    await load_alone(database, path, {"assets": []})
    path.write_bytes(exported or b'{"assets": []}')
    assert (await import_bundles(database, [path])).total == ImportCounts(inserted=size)
    assert await text_of(export_bundle(database, lines=lines)) == exported
