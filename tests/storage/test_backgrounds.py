"""Backgrounds: of one map for good, and of the map's asset."""

from pathlib import Path
from typing import Any

import pytest

from storage.bundles.importing.import_bundles import import_bundles
from tests.storage.catalogs import (
    ONE_DRIVER,
    SMALL,
    import_violations,
    write_arrays,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow, ONE_DRIVER]

BACKGROUND = SMALL["backgrounds"][0]


async def test_a_background_belongs_to_the_asset_of_its_map(database: Any, bundle: Path) -> None:
    await import_bundles(database, [bundle])
    found = database["backgrounds"].find().sort("_id", 1)
    assert [(each["_id"], each["asset_id"]) async for each in found] == [("ab", "a"), ("bb", "b")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"unit_map_id": "bm"},
            'unit_map_id: background "ab" belongs to "am" and cannot move to "bm"',
        ),
        ({"id": "new", "unit_map_id": "missing"}, 'unit_map_id: there is no map "missing"'),
        ({"id": "new", "asset_id": "a"}, ': there is no field "asset_id"'),
    ],
)
async def test_a_background_cannot_be_of_another_map_or_of_none(
    database: Any, bundle: Path, path: Path, change: dict[str, Any], message: str
) -> None:
    await import_bundles(database, [bundle])
    changed = write_arrays(path, {"backgrounds": [BACKGROUND | change]})
    (violation,) = await import_violations(database, changed)
    assert message in violation
