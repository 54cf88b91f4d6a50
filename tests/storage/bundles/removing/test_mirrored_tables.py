"""Tables of apartments as sources of a mirror: what they do not speak of stays."""

from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from storage.bundles.changes.change_request import NO_REMOVALS
from storage.bundles.importing.import_bundles import import_bundles
from storage.bundles.importing.import_run import ImportRun
from storage.bundles.importing.recovery import finish_interrupted_import
from storage.bundles.removing.limits import RemovalLimit
from storage.errors import RemovalRefusedError
from tests.storage.bundles.removing.mirroring import MIRROR, removed_by
from tests.storage.catalogs import SMALL, Bundle, expire_lease, write_arrays

pytestmark = pytest.mark.anyio

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


async def test_a_property_that_is_no_longer_in_the_table_is_noted(
    database: Any, tmp_path: Path
) -> None:
    table = tmp_path / "units.csv"
    await import_table(database, table, OAK + ELM)
    note = 'not in the source, and so left as they are: units of the assets "elm"'
    assert note in (await import_table(database, table, OAK, changes=MIRROR)).notes
    for changes in (NO_REMOVALS, MIRROR._replace(asset_ids=frozenset(["oak"]))):
        assert note not in (await import_table(database, table, OAK, changes=changes)).notes
    assert note not in (await import_table(database, table, OAK + ELM, changes=MIRROR)).notes


async def test_what_has_no_column_stays_and_an_emptied_cell_removes(
    database: Any, tmp_path: Path
) -> None:
    """Others may have given references to the units of the table."""
    table = tmp_path / "units.csv"
    await import_table(database, table, OAK)
    unit = {"asset_id": "oak", "unit_id": "oak-101"}
    others: Bundle = {"unit_references": [{"group_id": "g", **unit, "key": "lock", "value": "L1"}]}
    await import_bundles(database, [write_arrays(tmp_path / "others.json", others)])
    assert removed_by(await import_table(database, table, OAK, changes=MIRROR)) == {}
    emptied = OAK.replace("101,Vacant,P1", "101,,")
    assert removed_by(await import_table(database, table, emptied, changes=MIRROR)) == {
        "unit_references": ["oak-101/pms-unit-id"],
        "attribute_assignments": ["status/oak-101/status-vacant"],
    }


async def test_a_floor_that_a_row_has_by_its_id_alone_stays_with_all_of_its_asset(
    database: Any, tmp_path: Path
) -> None:
    """Something else lists the floors then: in another asset of the table they are mirrored."""
    table = tmp_path / "units.csv"
    await import_table(database, table, OAK + ELM + "Elm,2,201,Vacant,P10\n")
    headers = "Property,Floor,Floor ID,Unit #,Status,PMS Unit ID\n"
    rows = "Oak,,oak-floor-1,101,Vacant,P1\nOak,,oak-floor-1,102,Vacant,P2\nElm,1,,101,Vacant,P9\n"
    table.write_text(headers + rows)
    summary = await import_bundles(database, [table], changes=MIRROR, dry_run=True)
    assert removed_by(summary).get("floors") == ["elm-floor-2"]
    table.write_text(headers + rows + "Oak,1,oak-floor-1,103,Vacant,P3\n")  # now a row lists it
    summary = await import_bundles(database, [table], changes=MIRROR, dry_run=True)
    assert removed_by(summary)["floors"] == ["elm-floor-2", "oak-floor-2"]


async def test_the_limit_is_a_fifth_of_what_the_table_mirrors(
    database: Any, tmp_path: Path
) -> None:
    """A table that was cut off loses most of its property, however many others there are."""
    table = tmp_path / "units.csv"
    oak = "".join(f"Oak,1,{100 + number},Vacant,\n" for number in range(30))
    elms = "".join(
        f"Elm {name},1,{100 + number},Vacant,\n" for name in "ABCDE" for number in range(30)
    )
    await import_table(database, table, oak + elms)
    cut_off = oak.splitlines(keepends=True)[0]
    default = MIRROR._replace(limit=RemovalLimit())
    with pytest.raises(RemovalRefusedError, match="29 of 30 units"):
        await import_table(database, table, cut_off, changes=default)


async def test_locations_of_processing_are_none_that_a_mirror_may_remove(
    database: Any, bundle: Path, tmp_path: Path
) -> None:
    await import_bundles(database, [bundle])
    made = [
        {**SMALL["locations"][0], "id": f"{kind}{number}"}
        for kind, count in (("hand", 11), ("processed", 60))
        for number in range(count)
    ]
    await import_bundles(database, [write_arrays(tmp_path / "made.json", {"locations": made})])
    await database["locations"].update_many(
        {"_id": {"$regex": "^processed"}}, {"$set": {"processed": True}}
    )
    none = write_arrays(tmp_path / "none.json", {"locations": []})
    default = MIRROR._replace(limit=RemovalLimit())
    with pytest.raises(RemovalRefusedError, match="12 of 12 locations"):
        await import_bundles(database, [none], changes=default)


async def test_a_floor_without_units_stays_with_what_is_on_it(
    database: Any, tmp_path: Path
) -> None:
    """A table of apartments cannot list roofs and garages; it says which floors have apartments."""
    table = tmp_path / "units.csv"
    await import_table(database, table, OAK)
    others: Bundle = {
        "floors": [
            {"id": floor, "asset_id": "oak", "name": floor} for floor in ("oak-roof", "oak-garage")
        ]
    }
    await import_bundles(database, [write_arrays(tmp_path / "others.json", others)])
    kept = (
        "not in the source, and left as they are since they had no units: floors"
        ' "oak-garage", "oak-roof"'
    )
    summary = await import_table(database, table, OAK, changes=MIRROR)
    assert removed_by(summary) == {}
    assert kept in summary.notes
    summary = await import_table(
        database, table, OAK.replace("Oak,2,201", "Oak,1,201"), changes=MIRROR
    )
    assert removed_by(summary) == {"floors": ["oak-floor-2"]}
    assert kept in summary.notes
    whole = write_arrays(tmp_path / "floors.json", {"floors": []})
    summary = await import_bundles(database, [whole], changes=MIRROR, dry_run=True)
    assert removed_by(summary)["floors"] == ["oak-floor-1", "oak-garage", "oak-roof"]


@pytest.mark.parametrize("is_killed", [False, True])
async def test_references_that_no_column_speaks_of_are_cleared(
    database: Any, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_killed: bool
) -> None:
    """Sheets without `Map IDs` and `Floors`, beside those of maps and floors that have gone."""
    await import_bundles(database, [bundle])
    gone: Bundle = {
        "floors": [{"id": "a2", "asset_id": "a", "name": "2"}],
        "maps": [{**SMALL["maps"][0], "id": "gone", "background_id": None}],
        "units": [{**SMALL["units"][0], "map_ids": ["am", "gone"]}],
        "locations": [{**SMALL["locations"][0], "floors": [{"id": "a1"}, {"id": "a2"}]}],
    }
    await import_bundles(database, [write_arrays(tmp_path / "gone.json", gone)])
    sheets = {
        "maps": "ID,Asset ID,Name\nam,a,Renamed\nbm,b,Site\n",
        "floors": "ID,Asset ID,Name\na1,a,1\nb1,b,1\n",
        "units": "ID,Asset ID,Floor ID,Name\nu1,a,a1,1\nu2,a,a1,2\nv1,b,b1,1\n",
        "locations": "ID,Asset ID,Unit Map ID,Name,X,Y\nl,a,am,Renamed,0,0\n",
    }
    paths = [tmp_path / f"{name}.csv" for name in sheets]
    for path, text in zip(paths, sheets.values(), strict=True):
        path.write_text(text)
    if is_killed:  # once it is committed, so that another process applies it
        with monkeypatch.context() as patched, pytest.raises(OSError, match="killed"):
            patched.setattr(ImportRun, "apply", AsyncMock(side_effect=OSError("killed")))
            await import_bundles(database, paths, changes=MIRROR)
        await expire_lease(database)
        assert await finish_interrupted_import(database)
    else:
        summary = await import_bundles(database, paths, changes=MIRROR)
        assert removed_by(summary) == {"floors": ["a2"], "maps": ["gone"]}
    unit = await database["units"].find_one({"_id": "u1"})
    location = await database["locations"].find_one({"_id": "l"})
    assert unit["map_ids"] == ["am"]
    assert (location["name"], location["floors"]) == ("Renamed", [{"id": "a1"}])
    assert (await import_bundles(database, paths, changes=MIRROR)).total.written == 0
