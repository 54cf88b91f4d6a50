"""Violations of a bundle are reported with their positions, and nothing is written."""

import json
from pathlib import Path
from typing import Any

import pytest

from storage.bundles.violations import Violations
from storage.importing.checking import check_bundles
from storage.importing.import_bundles import import_bundles
from storage.importing.import_run import ParsedSource
from tests.storage.catalogs import (
    SMALL,
    Bundle,
    import_violations,
    small,
    write_arrays,
    write_lines,
)

INVALID_MEMBERS: list[tuple[str, int, dict[str, Any], str]] = [
    (
        "units",
        0,
        {"floor_id": "b1"},
        '$.units[0].floor_id: floor "b1" has asset_id "b", not "a"',
    ),
    (
        "units",
        1,
        {"asset_id": "c"},
        '$.units[1].asset_id: there is no asset "c", neither in the bundle nor in the catalog',
    ),
    ("units", 1, {"map_ids": ["am", "bm"]}, '$.units[1].map_ids: map "bm" has asset_id "b"'),
    (
        "maps",
        0,
        {"background_id": "bb"},
        '$.maps[0].background_id: background "bb" has unit_map_id "bm", not "am"',
    ),
    ("locations", 0, {"floors": [{"id": "x"}]}, '$.locations[0].floors.id: there is no floor "x"'),
    (
        "attribute_assignments",
        0,
        {"attribute_id": "view"},
        '$.attribute_assignments[0].group_id: attribute_group of group_id "plan" has no'
        ' attribute_id "view"',
    ),
    (
        "attribute_assignments",
        1,
        {"group_id": "plan", "attribute_id": "t"},
        "$.attribute_assignments[1]: the unit already has an attribute of this group at",
    ),
    ("units", 1, {"id": "u1"}, '$.units[1]: unit "u1" is already at'),
    ("level_tags", 0, {"map_id": "zz"}, '$.level_tags[0].map_id: there is no map "zz"'),
]


@pytest.mark.parametrize(("kind", "index", "change", "message"), INVALID_MEMBERS)
async def test_members_must_match_their_owners_and_each_other(
    database: Any, path: Path, kind: str, index: int, change: dict[str, Any], message: str
) -> None:
    bundle = small()
    bundle[kind][index] |= change
    found = await import_violations(database, write_arrays(path, bundle))
    assert any(line.startswith(f"{path}: {message}") for line in found), found


@pytest.mark.parametrize(
    ("kind", "index", "change", "message"),
    [
        (
            "units",
            0,
            {"asset_id": "b", "floor_id": "b1", "map_ids": ["bm"]},
            '$.units[0].asset_id: unit "u1" belongs to "a" and cannot move to "b"',
        ),
        (
            "attribute_groups",
            1,
            {"attributes": SMALL["attribute_groups"][1]["attributes"][1:]},
            '$.attribute_groups[1].attributes.attribute_id: "view" cannot be removed while'
            " attribute_assignments refer to it; the attribute_group of group_id"
            ' "extras" of the catalog, which all assets share, also has "view": add what it has, or'
            " give this one another id",
        ),
        (
            "attribute_groups",
            0,
            {"one_attribute_per_unit": False},
            "$.attribute_groups[0].one_attribute_per_unit: cannot change from true while there"
            " are attribute_assignments",
        ),
    ],
)
async def test_members_must_match_the_catalog(
    database: Any,
    bundle: Path,
    path: Path,
    kind: str,
    index: int,
    change: dict[str, Any],
    message: str,
) -> None:
    await import_bundles(database, [bundle])
    member: Any = SMALL[kind][index] | change
    one: Bundle = {kind: [*SMALL[kind][:index], member]}
    found = await import_violations(database, write_arrays(path, one))
    assert any(line.startswith(f"{path}: {message}") for line in found), found


async def test_an_error_in_the_last_line_of_the_last_file_changes_nothing(
    database: Any, bundle: Path, tmp_path: Path
) -> None:
    await import_bundles(database, [bundle])
    changed = small()
    changed["assets"][0]["name"] = "Renamed"
    first = write_arrays(tmp_path / "first.json", changed)
    units = [
        {"id": f"n{number}", "asset_id": "a", "floor_id": "a1", "name": ""} for number in range(20)
    ]
    last = write_lines(
        tmp_path / "last.ndjson", {"units": [*units, SMALL["units"][0] | {"id": "n", "x": 1}]}
    )
    (message,) = await import_violations(database, first, last)
    assert message.startswith(f'{last}: line 21: $: there is no field "x"; known fields')


async def test_a_repeated_id_is_found_whatever_else_is_wrong_with_its_members(
    database: Any, path: Path
) -> None:
    bundle = small()
    bundle["units"][1]["id"] = bundle["units"][0]["id"]
    for index in (0, 1):
        bundle["units"][index]["name"] = 5
    write_arrays(path, bundle)
    unit_id = bundle["units"][0]["id"]
    duplicate = f'{path}: $.units[1]: unit "{unit_id}" is already at {path}: $.units[0]'
    assert (await import_violations(database, path)).count(duplicate) == 1
    checked = check_bundles([path], Violations(), lambda svg: ParsedSource(b"{}"))
    assert [*map(str, checked.violations.list_first())].count(duplicate) == 1


@pytest.mark.parametrize(
    "floors",
    [
        '{"type": "floor", "id": "f", "asset_id": "a"}',  # the rejected one
        '{"type": "floor", "asset_id": "a", "name": "F"}',  # it may be this one
        '{"type": "flor", "id": "f", "asset_id": "a", "name": "F"}',
        r'{"type": "floor", "id": "\ud800", "asset_id": "a", "name": "F"}',  # no text of MongoDB
    ],
)
async def test_an_owner_with_an_error_is_not_missing(
    database: Any, bundle: Path, path: Path, floors: str
) -> None:
    await import_bundles(database, [bundle])
    unit = {"type": "unit", "id": "u9", "asset_id": "a", "floor_id": "f", "name": "901"}
    path.write_text(f"{floors}\n{json.dumps(unit)}\n")
    (message,) = await import_violations(database, path)
    assert message.startswith(f"{path}: line 1")
