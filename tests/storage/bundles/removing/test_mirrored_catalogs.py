"""Random catalogs: whatever there was before, a mirrored catalog is its source."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from storage.bundles.importing.import_bundles import import_bundles
from tests.storage.bundles.removing.mirroring import MIRROR, mirror
from tests.storage.catalogs import ONE_DRIVER, SMALL, Bundle, contents

pytestmark = [pytest.mark.anyio, pytest.mark.slow, ONE_DRIVER]


@st.composite
def catalogs(draw: st.DrawFn) -> Bundle:
    """A consistent catalog of a few records, with ids of which others have some, too."""

    def some(kind: str, count: int = 3) -> list[str]:
        return draw(st.lists(st.sampled_from([f"{kind}{n}" for n in range(count)]), unique=True))

    def name() -> str:
        return draw(st.sampled_from(["x", "y"]))

    assets = some("a", 2)
    owner = {f"{kind}{n}": f"a{n % 2}" for kind in "fmu" for n in range(3)}
    floors = [each for each in some("f") if owner[each] in assets]
    maps = [each for each in some("m") if owner[each] in assets]

    def of_asset(found: list[str], asset_id: str) -> list[str]:
        return [each for each in found if owner[each] == asset_id]

    def some_of(found: list[str]) -> list[str]:
        return draw(st.lists(st.sampled_from(found), unique=True)) if found else []

    backgrounds = [
        {"id": f"b{each}", "unit_map_id": each, "name": name()} for each in some_of(maps)
    ]
    pictured = {each["unit_map_id"] for each in backgrounds}
    units: list[dict[str, Any]] = []
    for key in some("u"):
        asset_id = owner[key]
        if on := of_asset(floors, asset_id):
            map_ids = draw(st.one_of(st.none(), st.just(some_of(of_asset(maps, asset_id)))))
            floor_id = draw(st.sampled_from(on))
            units.append(
                {
                    "id": key,
                    "asset_id": asset_id,
                    "floor_id": floor_id,
                    "name": name(),
                    "map_ids": map_ids,
                }
            )
    locations = []
    for number, unit_map in enumerate(some_of(maps)):
        asset_id = owner[unit_map]
        tags = [{"key": "svc:type", "value": "unit"}, {"key": "svc:id", "value": f"u{number}"}]
        locations.append(
            {
                "id": f"l{unit_map}",
                "asset_id": asset_id,
                "unit_map_id": unit_map,
                "name": name(),
                "x": number,
                "y": 0,
                "floors": [{"id": each} for each in some_of(of_asset(floors, asset_id))],
                "tags": tags if draw(st.booleans()) else [],
            }
        )
    groups: list[dict[str, Any]] = []
    for group_id in some("g", 2):
        attributes = draw(st.lists(st.sampled_from("pq"), unique=True))
        groups.append(
            {
                "group_id": group_id,
                "group_name": name(),
                "one_attribute_per_unit": group_id == "g0",
                "attributes": [
                    {"attribute_id": each, "attribute_name": each, "attribute_key": each}
                    for each in attributes
                ],
            }
        )
    assignments = []
    for group in groups:
        for unit in units:
            chosen = some_of([each["attribute_id"] for each in group["attributes"]])
            assignments += [
                {
                    "group_id": group["group_id"],
                    "attribute_id": each,
                    "unit_id": unit["id"],
                    "asset_id": unit["asset_id"],
                }
                for each in (chosen[:1] if group["one_attribute_per_unit"] else chosen)
            ]
    return {
        "assets": [{"id": each, "name": name()} for each in assets],
        "floors": [{"id": each, "asset_id": owner[each], "name": name()} for each in floors],
        "maps": [
            {
                "id": each,
                "asset_id": owner[each],
                "name": name(),
                "background_id": f"b{each}" if each in pictured and draw(st.booleans()) else None,
            }
            for each in maps
        ],
        "backgrounds": backgrounds,
        "units": units,
        "level_tags": [{"map_id": each, "key": "k", "name": name()} for each in some_of(maps)],
        "asset_references": [
            {"id": f"r{each}", "asset_id": each, "key": "kk", "value": "1"}
            for each in some_of(assets)
        ],
        "unit_references": [
            {
                "group_id": "g",
                "asset_id": each["asset_id"],
                "unit_id": each["id"],
                "key": "kk",
                "value": name(),
            }
            for each in units
            if draw(st.booleans())
        ],
        "attribute_groups": groups,
        "attribute_assignments": assignments,
        "locations": locations,
    }


@given(before=catalogs(), after=catalogs())
@settings(
    phases=[Phase.explicit, Phase.generate],  # shrinking takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
async def test_a_mirrored_catalog_is_its_source(
    database: Any, path: Path, before: Bundle, after: Bundle
) -> None:
    """Whatever the catalog had, and whatever its references: it becomes what the source has; and
    importing the undo file brings back all that was removed."""
    await mirror(database, path, before)
    assert await records_of(database) == await expected_of(database, before)
    undo = path.with_name("undo.ndjson")
    undo.unlink(missing_ok=True)
    await mirror(database, path, after, MIRROR._replace(undo_path=undo))
    assert await records_of(database) == await expected_of(database, after)


def without_times(value: Any) -> Any:
    """What there is of every kind, without timestamps."""
    if isinstance(value, list):
        return [without_times(each) for each in value]
    if isinstance(value, dict):
        return {name: without_times(each) for name, each in value.items() if "ed_at" not in name}
    return value


async def records_of(database: Any) -> Any:
    stored = await contents(database)
    return without_times({name: stored.get(name, []) for name in SMALL})


async def expected_of(database: Any, bundle: Bundle) -> Any:
    """What importing a bundle into an empty database gives."""
    other = database.client[f"{database.name}-other"]
    try:
        await import_bundles(other, [json.dumps(bundle).encode()])
        return await records_of(other)
    finally:
        await database.client.drop_database(other.name)
