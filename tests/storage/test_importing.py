"""Importing: what goes in, what is refused, and that it is all or nothing."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from storage import files
from storage.errors import BundleError, ImportRunning
from storage.importing import Counts, Drawing, Progress, finish_interrupted, import_bundles
from storage.lease import Lease
from storage.setup import prepare
from storage.sources import SourceFault, to_data_url
from tests.storage.catalogs import SMALL, Bundle, contents, small, write_arrays, write_lines

pytestmark = pytest.mark.anyio

ONE_DRIVER = pytest.mark.parametrize("client", ["motor"], indirect=True)
"""For tables of complaints, which no driver has a part in."""

ROOT = Path(__file__).parents[2]
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
MEMBERS = sum(len(array) for array in SMALL.values())


async def complaints(database: Any, *paths: Path) -> list[str]:
    """What is said of bundles that are at fault; nothing may have changed."""
    before = await contents(database)
    with pytest.raises(BundleError) as caught:
        await import_bundles(database, paths)
    assert await contents(database) == before
    return caught.value.complaints


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_arrays(tmp_path / "small.json", SMALL)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "b.json"


async def test_a_bundle_is_inserted_whole(database: Any, bundle: Path) -> None:
    summary = await import_bundles(database, [bundle])
    assert summary.total == Counts(inserted=MEMBERS)
    assert {name: counts.inserted for name, counts in summary.kinds.items()} == {
        name: len(array) for name, array in SMALL.items()
    }
    unit = await database["units"].find_one({"_id": "u1"})
    assert (unit["asset_id"], unit["floor_id"], unit["map_ids"]) == ("a", "a1", ["am"])
    assert unit["created_at"] == unit["updated_at"]


async def test_what_owners_lend_is_filled_in(database: Any, bundle: Path) -> None:
    await import_bundles(database, [bundle])
    assert (await database["backgrounds"].find_one({"_id": "ab"}))["asset_id"] == "a"
    assert (await database["level_tags"].find_one({"_id": "am\0floor"}))["asset_id"] == "a"


async def test_the_key_of_an_exclusive_assignment_is_its_group_and_unit(
    database: Any, bundle: Path
) -> None:
    await import_bundles(database, [bundle])
    keys = [document["_id"] async for document in database["attribute_assignments"].find()]
    assert sorted(keys) == ["extras\0u1\0quiet", "extras\0u1\0view", "plan\0u1"]


async def test_the_same_bundle_again_changes_nothing(
    database: Any, bundle: Path, tmp_path: Path
) -> None:
    await import_bundles(database, [bundle])
    before = await contents(database)
    for again in (bundle, write_lines(tmp_path / "b.ndjson", SMALL)):
        assert (await import_bundles(database, [again])).total == Counts(unchanged=MEMBERS)
    assert await contents(database) == before


async def test_a_dry_run_counts_and_writes_nothing(database: Any, bundle: Path) -> None:
    summary = await import_bundles(database, [bundle], dry_run=True)
    assert summary.total == Counts(inserted=MEMBERS)
    assert await contents(database) == {}


async def test_changed_members_are_updated_and_keep_when_they_were_created(
    database: Any, path: Path
) -> None:
    first = small()
    first["units"][0] |= {
        "created_at": "2020-01-01T00:00:00Z",
        "updated_at": "2020-01-01T00:00:00Z",
    }
    await import_bundles(database, [write_arrays(path, first)])
    other = await database["units"].find_one({"_id": "u2"})
    first["units"][0] = SMALL["units"][0] | {"name": "101A"}
    summary = await import_bundles(database, [write_arrays(path, first)])
    assert summary.kinds["units"] == Counts(updated=1, unchanged=2)
    unit = await database["units"].find_one({"_id": "u1"})
    assert (unit["name"], unit["created_at"]) == ("101A", "2020-01-01T00:00:00+00:00")
    assert unit["updated_at"] > "2026"
    assert await database["units"].find_one({"_id": "u2"}) == other


@pytest.mark.parametrize(
    ("given", "kept"),
    [("2021-01-01T00:00:00Z", True), ("2019-01-01T00:00:00Z", False)],
)
async def test_a_changed_member_takes_the_bundles_time_if_it_is_later(
    database: Any, path: Path, given: str, kept: bool
) -> None:
    asset = {"id": "a", "name": "A", "updated_at": "2020-01-01T00:00:00Z"}
    await import_bundles(database, [write_arrays(path, {"assets": [asset]})])
    asset |= {"name": "B", "updated_at": given}
    await import_bundles(database, [write_arrays(path, {"assets": [asset]})])
    found = await database["assets"].find_one({"_id": "a"})
    assert (found["updated_at"] == "2021-01-01T00:00:00+00:00") == kept


async def test_only_changed_values_of_a_level_tag_get_a_new_time(database: Any, path: Path) -> None:
    bundle = small()
    for value in bundle["level_tags"][0]["values"]:
        value |= {"created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-01-01T00:00:00Z"}
    await import_bundles(database, [write_arrays(path, bundle)])
    changed = small()
    changed["level_tags"][0]["values"][1]["name"] = "Terrace"
    await import_bundles(database, [write_arrays(path, changed)])
    first, roof = (await database["level_tags"].find_one())["values"]
    assert (first["name"], first["updated_at"]) == ("First", "2020-01-01T00:00:00+00:00")
    assert (roof["name"], roof["created_at"]) == ("Terrace", "2020-01-01T00:00:00+00:00")
    assert roof["updated_at"] > "2026"


async def test_bundles_of_one_import_complete_each_other(database: Any, tmp_path: Path) -> None:
    units = write_lines(tmp_path / "units.ndjson", {"units": SMALL["units"]})
    rest = {name: array for name, array in SMALL.items() if name != "units"}
    summary = await import_bundles(database, [units, write_arrays(tmp_path / "rest.json", rest)])
    assert summary.total == Counts(inserted=MEMBERS)


async def test_owners_may_be_in_the_catalog_already(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    unit = {"id": "u9", "asset_id": "a", "floor_id": "a1", "name": "909"}
    summary = await import_bundles(database, [write_arrays(path, {"units": [unit]})])
    assert summary.total == Counts(inserted=1)


async def test_fields_that_others_added_to_a_document_stay(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    await database["maps"].update_one({"_id": "am"}, {"$set": {"processed": {"version": 3}}})
    changed = small()
    changed["maps"][0]["name"] = "Floor plates"
    await import_bundles(database, [write_arrays(path, changed)])
    found = await database["maps"].find_one({"_id": "am"})
    assert (found["name"], found["processed"]) == ("Floor plates", {"version": 3})


async def test_an_exclusive_attribute_is_replaced(database: Any, bundle: Path, path: Path) -> None:
    await import_bundles(database, [bundle])
    other = SMALL["attribute_assignments"][0] | {"attribute_id": "t"}
    summary = await import_bundles(
        database, [write_arrays(path, {"attribute_assignments": [other]})]
    )
    assert summary.total == Counts(updated=1)
    plan = await database["attribute_assignments"].find({"group_id": "plan"}).to_list(None)
    assert [document["attribute_id"] for document in plan] == ["t"]


async def test_ids_may_look_like_operators_or_paths(database: Any, path: Path) -> None:
    odd = ["$gt", "a.b", "{}", "é/%2F", "\N{GRINNING FACE}", "x" * 255]
    assets = [{"id": id, "name": id} for id in odd]
    floors = [{"id": id, "asset_id": id, "name": id} for id in odd]
    bundle = write_arrays(path, {"floors": floors, "assets": assets})
    assert (await import_bundles(database, [bundle])).total == Counts(inserted=12)
    assert (await import_bundles(database, [bundle])).total == Counts(unchanged=12)


FAULTS: list[tuple[str, int, dict[str, Any], str]] = [
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
        0,
        {"asset_id": "b"},
        '$.attribute_assignments[0].unit_id: unit "u1" has asset_id "a", not "b"',
    ),
    (
        "attribute_assignments",
        1,
        {"group_id": "plan", "attribute_id": "t"},
        "$.attribute_assignments[1]: the unit already has an attribute of this group at",
    ),
    ("units", 1, {"id": "u1"}, '$.units[1]: unit "u1" is already at'),
    (
        "unit_references",
        0,
        {"unit_id": "v1"},
        '$.unit_references[0].unit_id: unit "v1" has asset_id "b", not "a"',
    ),
    ("level_tags", 0, {"map_id": "zz"}, '$.level_tags[0].map_id: there is no map "zz"'),
]


@ONE_DRIVER
@pytest.mark.parametrize(("kind", "index", "change", "complaint"), FAULTS)
async def test_members_must_agree_with_their_owners_and_each_other(
    database: Any, path: Path, kind: str, index: int, change: dict[str, Any], complaint: str
) -> None:
    bundle = small()
    bundle[kind][index] |= change
    found = await complaints(database, write_arrays(path, bundle))
    assert any(line.startswith(f"{path}: {complaint}") for line in found), found


@ONE_DRIVER
@pytest.mark.parametrize(
    ("kind", "index", "change", "complaint"),
    [
        (
            "units",
            0,
            {"asset_id": "b", "floor_id": "b1", "map_ids": ["bm"]},
            '$.units[0].asset_id: unit "u1" belongs to "a" and cannot move to "b"',
        ),
        (
            "floors",
            1,
            {"asset_id": "a"},
            '$.floors[1].asset_id: floor "b1" belongs to "b" and cannot move to "a"',
        ),
        (
            "attribute_groups",
            1,
            {"attributes": SMALL["attribute_groups"][1]["attributes"][1:]},
            '$.attribute_groups[1].attributes.attribute_id: "view" cannot go while there are'
            " attribute_assignments of it",
        ),
        (
            "attribute_groups",
            0,
            {"one_attribute_per_unit": False},
            "$.attribute_groups[0].one_attribute_per_unit: it cannot change from true while there"
            " are attribute_assignments",
        ),
    ],
)
async def test_members_must_agree_with_the_catalog(
    database: Any,
    bundle: Path,
    path: Path,
    kind: str,
    index: int,
    change: dict[str, Any],
    complaint: str,
) -> None:
    await import_bundles(database, [bundle])
    member: Any = SMALL[kind][index] | change
    one: Bundle = {kind: [*SMALL[kind][:index], member]}
    found = await complaints(database, write_arrays(path, one))
    assert any(line.startswith(f"{path}: {complaint}") for line in found), found


async def test_an_attribute_may_go_once_nobody_has_it(
    database: Any, bundle: Path, path: Path
) -> None:
    await import_bundles(database, [bundle])
    await database["attribute_assignments"].delete_many({"attribute_id": "view"})
    group = small()["attribute_groups"][1]
    del group["attributes"][0]
    summary = await import_bundles(database, [write_arrays(path, {"attribute_groups": [group]})])
    assert summary.total == Counts(updated=1)


async def test_a_fault_in_the_last_line_of_the_last_file_leaves_everything_as_it_was(
    database: Any, bundle: Path, tmp_path: Path
) -> None:
    await import_bundles(database, [bundle])
    changed = small()
    changed["assets"][0]["name"] = "Renamed"
    first = write_arrays(tmp_path / "first.json", changed)
    units = [
        {"id": f"n{number}", "asset_id": "a", "floor_id": "a1", "name": ""}
        for number in range(3000)
    ]
    last = write_lines(tmp_path / "last.ndjson", {"units": [*units, SMALL["units"][0] | {"x": 1}]})
    (complaint,) = await complaints(database, first, last)
    assert complaint.startswith(f"{last}: line 3001: $: Object contains unknown field `x`")


async def test_a_duplicate_in_another_file_names_both_places(database: Any, tmp_path: Path) -> None:
    one = write_arrays(tmp_path / "one.json", {"assets": SMALL["assets"]})
    two = write_lines(tmp_path / "two.ndjson", {"assets": SMALL["assets"][1:]})
    assert await complaints(database, one, two) == [
        f'{two}: line 1: $: asset "b" is already at {one}: $.assets[1]'
    ]


async def test_files_that_cannot_be_read_are_told(database: Any, tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    assert await complaints(database, missing) == [f"{missing}: No such file or directory"]
    assert await complaints(database, tmp_path) == [f"{tmp_path}: Is a directory"]


@ONE_DRIVER
async def test_the_example_of_the_guide_is_a_bundle(database: Any, path: Path) -> None:
    guide = (ROOT / "docs/bundles.md").read_text()
    example, line = (block.partition("```")[0] for block in guide.split("```json\n")[1:3])
    path.write_text(example)
    lines = path.with_name("b.ndjson")
    lines.write_text(line)
    summary = await import_bundles(database, [path])
    assert summary.total == Counts(inserted=12)
    assert (await import_bundles(database, [lines])).total == Counts(unchanged=1)


async def test_progress_tells_the_phases(database: Any, bundle: Path) -> None:
    seen: list[Progress] = []
    await import_bundles(database, [bundle], progress=seen.append)
    size = bundle.stat().st_size
    last = {progress.phase: progress for progress in seen}
    assert last == {
        "reading": Progress("reading", size, size),
        "checking": Progress("checking", MEMBERS, MEMBERS),
        "writing": Progress("writing", MEMBERS, MEMBERS),
    }


async def shout(content: bytes) -> Drawing:
    if b"broken" in content:
        raise SourceFault("line 1, column 1: not well-formed")
    return Drawing(content.upper(), ["u1", "nobody"])


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    (tmp_path / "am.svg").write_bytes(SVG)
    bundle = small()
    bundle["maps"][0]["source"] = "am.svg"
    return write_arrays(tmp_path / "drawn.json", bundle)


async def test_a_drawing_beside_the_bundle_is_kept_and_parsed(database: Any, drawn: Path) -> None:
    summary = await import_bundles(database, [drawn], parse_source=shout)
    found = await database["maps"].find_one({"_id": "am"})
    assert await files.read(database, found["source"]) == SVG
    assert await files.read(database, found["parsed"]) == SVG.upper()
    assert summary.notes == [
        f'{drawn}: $.maps[0].source: the drawing shows 1 units that there are not: "nobody"'
    ]


async def test_a_map_changes_when_its_drawing_does(database: Any, drawn: Path) -> None:
    await import_bundles(database, [drawn], parse_source=shout)
    again = await import_bundles(database, [drawn], parse_source=shout)
    assert again.total == Counts(unchanged=MEMBERS)
    (drawn.parent / "am.svg").write_bytes(SVG + b"\n")
    changed = await import_bundles(database, [drawn], parse_source=shout)
    assert changed.kinds["maps"] == Counts(updated=1, unchanged=1)
    assert await database["files"].count_documents({}) == 2  # the former ones are swept


async def test_a_drawing_may_lie_within_the_bundle(database: Any, path: Path) -> None:
    bundle = small()
    bundle["maps"][0]["source"] = to_data_url(SVG)
    await import_bundles(database, [write_arrays(path, bundle)])
    found = await database["maps"].find_one({"_id": "am"})
    assert await files.read(database, found["source"]) == SVG


@ONE_DRIVER
@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("missing.svg", '"missing.svg" beside the bundle: No such file or directory'),
        ("../am.svg", '"../am.svg" leads out of the directory of the bundle'),
        ("/etc/passwd", '"/etc/passwd" leads out of the directory of the bundle'),
        ("link.svg", '"link.svg" leads out of the directory of the bundle'),
        (".", '"." is not a file'),
        ("data:text/plain,x", "a data URL of a drawing begins with data:image/svg+xml;base64,"),
        ("data:image/svg+xml;base64,!", "the data URL is damaged: Only base64 data is allowed"),
        ("broken.svg", "line 1, column 1: not well-formed"),
    ],
)
async def test_a_drawing_that_cannot_be_read_is_told(
    database: Any, tmp_path: Path, source: str, complaint: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "am.svg").write_bytes(SVG)
    (home / "link.svg").symlink_to(tmp_path / "am.svg")
    (home / "broken.svg").write_bytes(b"broken")
    bundle = small()
    bundle["maps"][0]["source"] = source
    path = write_arrays(home / "b.json", bundle)
    with pytest.raises(BundleError) as caught:
        await import_bundles(database, [path], parse_source=shout)
    assert caught.value.complaints == [f"{path}: $.maps[0].source: {complaint}"]
    assert await contents(database) == {}


async def test_a_large_file_is_kept_in_chunks(database: Any) -> None:
    content = bytes(range(256)) * 4096 * 17
    digest = await files.write(database, content)
    assert await files.read(database, digest) == content
    assert await database["files"].count_documents({}) == 3
    assert await files.read(database, "0" * 64) is None


async def test_imports_at_once_go_one_after_the_other(database: Any, tmp_path: Path) -> None:
    paths = []
    for number in range(3):
        bundle = small()
        bundle["assets"][0]["name"] = bundle["units"][0]["name"] = f"of {number}"
        paths.append(write_arrays(tmp_path / f"{number}.json", bundle))
    summaries = await asyncio.gather(*(import_bundles(database, [path]) for path in paths))
    assert sum(summary.total.inserted for summary in summaries) == MEMBERS
    assert sum(summary.total.updated for summary in summaries) == 4
    asset = await database["assets"].find_one({"_id": "a"})
    unit = await database["units"].find_one({"_id": "u1"})
    assert asset["name"] == unit["name"]


async def test_an_import_waits_for_its_turn_only_so_long(database: Any, bundle: Path) -> None:
    lease = Lease(database)
    assert await lease.take()
    async with lease.beating():
        assert not await finish_interrupted(database)
        with pytest.raises(ImportRunning, match="another import is running"):
            await import_bundles(database, [bundle], wait_seconds=0)
    assert (await import_bundles(database, [bundle])).total.inserted == MEMBERS


async def test_there_may_be_nothing_to_finish(database: Any) -> None:
    await prepare(database)
    assert await finish_interrupted(database)


async def test_a_summary_reads_as_json(database: Any, bundle: Path) -> None:
    summary = json.loads(msgspec.json.encode(await import_bundles(database, [bundle])))
    assert summary["kinds"]["floors"] == {"inserted": 2, "updated": 0, "unchanged": 0}
    assert summary["notes"] == []
