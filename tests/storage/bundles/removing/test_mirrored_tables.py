"""Tables of apartments as sources of a mirror: what they do not speak of stays."""

from pathlib import Path
from typing import Any

import pytest

from storage.bundles.importing.import_bundles import import_bundles
from tests.storage.bundles.removing.test_mirroring import MIRROR, removed_by
from tests.storage.catalogs import ONE_DRIVER, Bundle, write_arrays

pytestmark = [pytest.mark.anyio, pytest.mark.slow, ONE_DRIVER]

HEADERS = "Property,Floor,Unit #,Status,PMS Unit ID\n"
OAK = "Oak,1,101,Vacant,P1\nOak,1,102,Vacant,P2\nOak,2,201,Vacant,P3\n"
ELM = "Elm,1,101,Vacant,P9\n"


async def import_table(database: Any, path: Path, rows: str, **options: Any) -> Any:
    path.write_text(HEADERS + rows)
    return await import_bundles(database, [path], **options)


async def test_a_table_mirrors_the_floors_and_units_of_its_properties(
    database: Any, tmp_path: Path
) -> None:
    table = tmp_path / "units.csv"
    await import_table(database, table, OAK + ELM)
    summary = await import_table(
        database, table, OAK.replace("Oak,2,201,Vacant,P3\n", ""), changes=MIRROR
    )
    assert removed_by(summary) == {
        "floors": ["oak-floor-2"],
        "units": ["oak-201"],
        "unit_references": ["oak-201/pms-unit-id"],
        "attribute_assignments": ["status/oak-201/status-vacant"],
    }


async def test_what_has_no_column_stays(database: Any, tmp_path: Path) -> None:
    """Groups, attributes and references that others have given to the units of the table."""
    table = tmp_path / "units.csv"
    await import_table(database, table, OAK)
    others: Bundle = {
        "attribute_groups": [
            {
                "group_id": "view",
                "group_name": "View",
                "attributes": [
                    {"attribute_id": "park", "attribute_name": "Park", "attribute_key": "park"}
                ],
            }
        ],
        "attribute_assignments": [
            {
                "group_id": "view",
                "attribute_id": "park",
                "asset_id": "oak",
                "unit_id": "oak-101",
            }
        ],
        "unit_references": [
            {
                "group_id": "locks",
                "asset_id": "oak",
                "unit_id": "oak-101",
                "key": "lock",
                "value": "L1",
            }
        ],
    }
    await import_bundles(database, [write_arrays(tmp_path / "others.json", others)])
    assert removed_by(await import_table(database, table, OAK, changes=MIRROR)) == {}


async def test_an_emptied_cell_removes_its_attribute_and_reference(
    database: Any, tmp_path: Path
) -> None:
    table = tmp_path / "units.csv"
    await import_table(database, table, OAK)
    emptied = OAK.replace("101,Vacant,P1", "101,,")
    summary = await import_table(database, table, emptied, changes=MIRROR)
    assert removed_by(summary) == {
        "unit_references": ["oak-101/pms-unit-id"],
        "attribute_assignments": ["status/oak-101/status-vacant"],
    }
