"""Bundles are read in batches, and checked without a database by the rules of an import."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from storage.bundles.drawings import ParsedSource, ShownLevel, ShownParts, SourceError, to_data_url
from storage.bundles.violations import Violations
from storage.importing import batches, validation
from storage.importing.batches import BundleSource, MemberBatch, count_total_bytes, read_batches
from storage.importing.import_bundles import import_bundles
from storage.importing.validation import CheckResult, check_bundles
from tests.storage.catalogs import (
    SMALL,
    Bundle,
    import_violations,
    small,
    write_arrays,
    write_lines,
)

# Violations of a bundle are reported with their positions, and nothing is written.


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


def parse_drawing(svg: bytes) -> ParsedSource:
    if b"broken" in svg:
        raise SourceError("line 1, column 1: not well-formed")
    return ParsedSource(b"{}", ShownParts(svg.decode().split()))


def check(*bundles: Bundle | bytes | Path, complete: bool = False, kept: int = 100) -> CheckResult:
    sources = [json.dumps(each).encode() if isinstance(each, dict) else each for each in bundles]
    return check_bundles(sources, Violations(kept), parse_drawing, is_complete=complete)


def errors(result: CheckResult) -> list[str]:
    return [*map(str, result.violations.list_first())]


def test_a_whole_catalog_has_no_errors() -> None:
    result = check(SMALL, complete=True)
    assert (errors(result), result.assumed, result.notes) == ([], [], [])
    assert check({"units": []}).notes == ["there is nothing to import: the files have no records"]
    assert result.members == {kind: len(array) for kind, array in SMALL.items()}


@pytest.mark.parametrize(("kind", "index", "change", "message"), INVALID_MEMBERS)
def test_it_finds_what_an_import_into_an_empty_catalog_finds(
    kind: str, index: int, change: dict[str, Any], message: str
) -> None:
    bundle = small()
    bundle[kind][index] |= change
    start = "bundle: " + message.partition(", neither in")[0]
    for order in (1, -1):
        found = errors(check(dict([*bundle.items()][::order]), complete=True))
        assert any(line.startswith(start) for line in found), found


def test_owners_that_are_in_no_file_are_assumed_to_be_in_the_catalog() -> None:
    units = SMALL["units"][:2]
    result = check({"units": units, "floors": [SMALL["floors"][0] | {"id": "a11"}]})
    assert errors(result) == []
    assert [*map(str, result.assumed)] == [
        'asset "a" (3 members)',
        'floor "a1" (2 members); did you mean "a11"?',
        'map "am" (1 member)',
    ]


def test_in_a_whole_catalog_they_are_missing() -> None:
    result = check({"units": SMALL["units"][:1], "assets": SMALL["assets"]}, complete=True)
    assert result.assumed == []
    assert errors(result) == [
        'bundle: $.units[0].floor_id: there is no floor "a1" in any of the files',
        'bundle: $.units[0].map_ids: there is no map "am" in any of the files',
    ]


def test_the_first_assumed_owners_are_listed_and_all_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(validation, "MAX_LISTED_OWNERS", 2)
    result = check({"units": SMALL["units"]})
    assert [owner.id for owner in result.assumed] == ["a", "a1"]  # with the most members
    assert result.assumed_total == 5


def test_members_may_refer_to_those_of_another_file(tmp_path: Path) -> None:
    bundle = small()
    units = write_lines(tmp_path / "units.ndjson", {"units": bundle.pop("units")})
    rest = write_arrays(tmp_path / "rest.json", bundle)
    result = check(units, rest, complete=True)
    assert (errors(result), result.assumed) == ([], [])
    again = check(units, rest, units, complete=True)
    assert errors(again) == [
        f'{units}: line {line}: $: unit "{id}" is already at {units}: line {line}: $'
        for line, id in enumerate(["u1", "u2", "v1"], 1)
    ]


def test_the_errors_of_all_files_and_of_both_passes_are_found_at_once(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"assets": [,]}')
    result = check(
        broken,
        {"units": [SMALL["units"][0] | {"name": 1, "nmae": ""}, SMALL["units"][2]]},
        {"floors": [SMALL["floors"][1] | {"asset_id": "a"}]},
    )
    assert errors(result) == [
        f"{broken}: line 1, column 13: Expecting value",
        'bundle: $.units[0]: there is no field "nmae"; known fields: created_at, updated_at, id,'
        " asset_id, floor_id, name, map_ids",
        "bundle: $.units[0].name: Expected `str`, got `int`",
        'bundle: $.units[1].floor_id: floor "b1" has asset_id "a", not "b"',
    ]


def test_an_owner_with_an_error_is_neither_missing_nor_assumed() -> None:
    bundle = {"floors": [{"id": "a1"}], "units": [SMALL["units"][1]]}
    for complete in (False, True):
        result = check({**bundle, "assets": SMALL["assets"]}, complete=complete)
        assert errors(result) == ["bundle: $.floors[0]: required but missing: asset_id, name"]
        assert result.assumed == []


@pytest.mark.parametrize("order", [1, -1])
def test_what_does_not_match_a_misspelt_owner_is_no_error_of_its_own(order: int) -> None:
    bundle = {**small(), "floors": [SMALL["floors"][0] | {"asset_id": "aa"}, *SMALL["floors"][1:]]}
    result = check(dict([*bundle.items()][::order]), complete=True)
    assert errors(result) == [
        'bundle: $.floors[0].asset_id: there is no asset "aa" in any of the files; did you mean'
        ' "a"?'
    ]


def test_drawings_are_parsed_and_units_that_no_file_has_are_noted(tmp_path: Path) -> None:
    bundle = small()
    bundle["maps"][0]["source"] = "am.svg"
    bundle["maps"][1]["source"] = to_data_url(b"broken")
    (tmp_path / "am.svg").write_text("u1 u7 u8")
    path = write_arrays(tmp_path / "b.json", bundle)
    result = check(path)
    assert errors(result) == [f"{path}: $.maps[1].source: line 1, column 1: not well-formed"]
    assert result.notes == [
        f'{path}: $.maps[0].source: the drawing shows 2 unknown units: "u7", "u8"'
    ]


def notes_of(
    parts: list[ShownLevel] | ShownParts, bundle: Bundle, source: str = "am.svg"
) -> list[str]:
    """The notes on a drawing with these Levels that is no map's, or of the first map."""
    shown = parts if isinstance(parts, ShownParts) else ShownParts(levels=parts)
    if source == "am.svg":
        named, parsed = {source: shown}, ParsedSource(b"{}")
    else:
        bundle["maps"][0]["source"] = source
        named, parsed = {}, ParsedSource(b"{}", shown)
    file = json.dumps(bundle).encode()
    return check_bundles([file], Violations(), lambda svg: parsed, named).notes


@pytest.mark.parametrize(
    ("source", "place"),
    [(to_data_url(b"<svg/>"), "bundle: $.maps[0].source"), ("am.svg", "am.svg")],
)
def test_levels_that_match_no_floor_are_noted(source: str, place: str) -> None:
    bundle = small()
    bundle["floors"].append({"id": "a2", "asset_id": "a", "name": "Second"})
    levels = [ShownLevel("Level a1"), ShownLevel("Second"), ShownLevel("Third", "a2")]
    assert notes_of(levels, bundle, source) == [
        f'{place}: the drawing shows 1 unknown floor: Level "Second"; routes need a name such as'
        ' \'Level 2: floor=<id>\', or data-tags with floor=<id>; the floors are "a1", "a2"'
    ]
    assert notes_of(levels[::2], bundle, source) == []


@pytest.mark.parametrize("source", [to_data_url(b"<svg/>"), "am.svg"])
def test_units_that_a_drawing_shows_on_another_floor_are_noted(source: str) -> None:
    bundle = small()
    bundle["floors"].append({"id": "a2", "asset_id": "a", "name": "Second"})
    shown = ShownParts(["u1"], [ShownLevel("a1"), ShownLevel("a2")], [1])
    [note] = notes_of(shown, bundle, source)
    assert note.endswith('shows 1 unit on another floor than its own: "u1" on "a2", not "a1"')


def test_a_map_without_units_in_the_files_shows_those_of_the_catalog(tmp_path: Path) -> None:
    """It is the `map.json` of a guide, whose units a table has imported before."""
    bundle = {"maps": [{**small()["maps"][0], "source": to_data_url(b"<svg/>")}]}
    path = write_arrays(tmp_path / "map.json", bundle)
    drawing = ParsedSource(b"", ShownParts(["u1", "u7"]))
    assert check_bundles([path], Violations(), lambda _: drawing).notes == []
    [note] = check_bundles([path], Violations(), lambda _: drawing, is_complete=True).notes
    assert note.endswith('the drawing shows 2 unknown units: "u1", "u7"')


def test_a_merged_map_may_leave_out_its_asset(tmp_path: Path) -> None:
    partial = {"maps": [{"id": "am", "source": to_data_url(b"<svg/>")}], "units": [{"id": "u1"}]}
    path = write_arrays(tmp_path / "merge.json", partial)
    violations = Violations()
    shown = ParsedSource(b"", ShownParts(["unknown"]))
    result = check_bundles([path], violations, lambda _: shown, is_merge=True)
    violations.raise_if_any()
    assert result.notes == [
        f'{path}: $.maps[0].source: the drawing shows 1 unknown unit: "unknown"'
    ]


def read(*bundles: BundleSource) -> list[MemberBatch]:
    return list(read_batches(bundles, Violations()))


def keys(batches: list[MemberBatch]) -> list[list[str]]:
    return [[member.document["_id"] for member in batch.members] for batch in batches]


def assets(*ids: str) -> bytes:
    return json.dumps({"assets": [{"id": id, "name": ""} for id in ids]}).encode()


def test_each_bundle_has_batches_of_its_own(tmp_path: Path) -> None:
    path = write_arrays(tmp_path / "b.json", {"assets": SMALL["assets"]})
    batches = read(assets("x"), path)
    assert keys(batches) == [["x"], ["a", "b"]]
    assert [batch.directory for batch in batches] == [None, tmp_path]
    assert batches[-1].bytes_read == count_total_bytes([assets("x"), path])


def test_a_batch_ends_at_the_limit_of_members_or_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "MAX_BATCH_MEMBERS", 2)
    assert keys(read(assets("a", "b", "c"))) == [["a", "b"], ["c"]]
    monkeypatch.setattr(batches, "MAX_BATCH_CHARACTERS", 1)
    assert keys(read(assets("a", "b", "c"))) == [["a"], ["b"], ["c"]]


def test_standard_input_is_a_bundle_of_unknown_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(assets("a"))))
    assert count_total_bytes(["-", assets("b")]) is None
    assert keys(read("-")) == [["a"]]


def test_a_file_that_cannot_be_opened_is_an_error_and_the_next_is_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    assert count_total_bytes([missing]) == 0
    violations = Violations()
    assert keys(list(read_batches([missing, assets("a")], violations))) == [["a"]]
    assert violations.list_first() == [(str(missing), "No such file or directory")]
