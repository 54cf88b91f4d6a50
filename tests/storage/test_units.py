"""Units: on the maps that they name, and always in one asset."""

from pathlib import Path
from typing import Any

import pytest

from storage.bundles.importing.import_bundles import ImportCounts, import_bundles
from storage.bundles.reading.members import parse_member
from storage.units import UNITS
from tests.storage.catalogs import ONE_DRIVER, SMALL, small, write_arrays

UNIT = SMALL["units"][1]


@pytest.mark.parametrize(
    ("given", "map_ids"),
    [({}, None), ({"map_ids": None}, None), ({"map_ids": []}, []), ({"map_ids": ["m"]}, ["m"])],
)
def test_a_unit_on_no_map_differs_from_one_on_all_maps(
    given: dict[str, Any], map_ids: list[str] | None
) -> None:
    document = parse_member(UNITS, {**UNIT, **given})
    assert document["map_ids"] == map_ids
    assert UNITS.decode([document])[0].map_ids == map_ids


@pytest.mark.anyio
@pytest.mark.slow
@ONE_DRIVER
async def test_a_unit_may_move_to_another_floor_and_other_maps_of_its_asset(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    moved = small()
    moved["floors"].append({"id": "a2", "asset_id": "a", "name": "Second", "sort": 2})
    moved["maps"].append({"id": "an", "asset_id": "a", "name": "Second floor"})
    moved["units"][0] |= {"floor_id": "a2", "map_ids": ["an"]}
    summary = await import_bundles(database, [write_arrays(path, moved)])
    assert summary.total.written == 3
    assert summary.kinds["units"] == ImportCounts(updated=1, unchanged=2)
    found = await database["units"].find_one({"_id": "u1"})
    assert (found["floor_id"], found["map_ids"]) == ("a2", ["an"])
