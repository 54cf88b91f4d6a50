"""Drawings of the maps in a bundle, and the notes of an import about maps."""

from pathlib import Path
from typing import Any

import pytest

from storage import networks
from storage.bundles.drawings import ParsedSource, ShownLevel, ShownParts, SourceError
from storage.errors import BundleError
from storage.importing.change_plan import ChangeRequest
from storage.importing.import_bundles import (
    ImportCounts,
    SourceParser,
    import_bundles,
)
from storage.importing.removals import RemovalLimit
from storage.mongo import files
from storage.publication import Publication
from storage.records.visibility import ALL_ASSETS
from tests.storage.catalogs import ARCHIVE, SMALL, contents, small, write_arrays

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
MEMBERS = sum(len(array) for array in SMALL.values())


async def uppercase_source(content: bytes) -> ParsedSource:
    if b"broken" in content:
        raise SourceError("line 1, column 1: not well-formed")
    return ParsedSource(content.upper(), ShownParts(["u1", "unknown"]))


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    (tmp_path / "am.svg").write_bytes(SVG)
    bundle = small()
    bundle["maps"][0]["source"] = "am.svg"
    return write_arrays(tmp_path / "drawn.json", bundle)


async def test_a_drawing_next_to_the_bundle_is_stored_and_parsed(
    database: Any, drawn: Path
) -> None:
    summary = await import_bundles(database, [drawn], parse_source=uppercase_source)
    found = await database["maps"].find_one({"_id": "am"})
    assert await files.read_file(database, found["source"]) == SVG
    assert await files.read_file(database, found["parsed"]) == SVG.upper()
    assert summary.notes == [
        f'{drawn}: $.maps[0].source: the drawing shows 1 unknown unit: "unknown"'
    ]


def shows(*levels: str | tuple[str, str]) -> SourceParser:
    """A parser to which each drawing has these Levels, some with tags."""
    parts = [
        ShownLevel(level) if isinstance(level, str) else ShownLevel(*level) for level in levels
    ]

    async def parse(content: bytes) -> ParsedSource:
        return ParsedSource(content, ShownParts(levels=parts))

    return parse


UNKNOWN_FLOORS = (
    "$.maps[0].source: the drawing shows {}; routes need a name such as 'Level 2: floor=<id>', or"
    ' data-tags with floor=<id>; the floors are "a1"'
)


async def test_levels_of_a_drawing_that_match_no_floor_of_the_asset_are_noted(
    database: Any, drawn: Path
) -> None:
    parse = shows("Level 8", ("Roof", "b1"), ("First", "a1"), "Level a1")
    summary = await import_bundles(database, [drawn], parse_source=parse)
    unknown = UNKNOWN_FLOORS.format('2 unknown floors: Level "Level 8", "Roof"')
    assert summary.notes == [f"{drawn}: {unknown}"]


async def test_the_only_level_is_the_only_floor_that_the_asset_has_after_the_import(
    database: Any, drawn: Path
) -> None:
    only = await import_bundles(database, [drawn], parse_source=shows("Lobby"))
    assert only.notes == []
    floors = [{"id": "roof", "asset_id": "a", "name": "Roof"}]
    await import_bundles(database, [write_arrays(drawn.parent / "roof.json", {"floors": floors})])
    [note] = (await import_bundles(database, [drawn], parse_source=shows("Lobby"))).notes
    assert note.endswith('the floors are "a1", "roof"')
    mirror = ChangeRequest(mirrors=True, limit=RemovalLimit.parse("1"))
    one = await import_bundles(database, [drawn], parse_source=shows("Lobby"), changes=mirror)
    assert one.kinds["floors"].removed == 1
    assert one.notes == []


async def test_a_map_changes_when_its_drawing_does(database: Any, drawn: Path) -> None:
    await import_bundles(database, [drawn], parse_source=uppercase_source)
    again = await import_bundles(database, [drawn], parse_source=uppercase_source)
    assert again.total == ImportCounts(unchanged=MEMBERS)
    (drawn.parent / "am.svg").write_bytes(SVG + b"\n")
    changed = await import_bundles(database, [drawn], parse_source=uppercase_source)
    assert changed.kinds["maps"] == ImportCounts(updated=1, unchanged=1)
    assert await database["files"].count_documents({}) == 2  # the former ones are swept


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("missing.svg", '"missing.svg" next to the bundle: No such file or directory'),
        ("../am.svg", '"../am.svg" is outside the directory of the bundle'),
        ("link.svg", '"link.svg" is outside the directory of the bundle'),
        (".", '"." is not a file'),
        ("data:text/plain,x", "a data URL of a drawing must begin with data:image/svg+xml;base64,"),
        ("data:image/svg+xml;base64,!", "the data URL is damaged: Only base64 data is allowed"),
        ("broken.svg", "line 1, column 1: not well-formed"),
    ],
)
async def test_an_unreadable_drawing_is_reported(
    database: Any, tmp_path: Path, source: str, message: str
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
        await import_bundles(database, [path], parse_source=uppercase_source)
    assert caught.value.violations == [f"{path}: $.maps[0].source: {message}"]
    assert await contents(database) == {}


async def test_a_map_tagged_routable_that_is_not_is_noted(database: Any, tmp_path: Path) -> None:
    said = small()
    said["maps"][0]["tags"] = ["pathfinding"]
    bundle = write_arrays(tmp_path / "said.json", said)
    summary = await import_bundles(database, [bundle])
    assert summary.notes == [
        f"{bundle}: $.maps[0].tags: the map is tagged pathfinding but is not routable until it is"
        " processed"
    ]
    assert (await import_bundles(database, [bundle])).notes == summary.notes
    map_id = said["maps"][0]["id"]
    states = await networks.load_routing_states(database, ALL_ASSETS, [map_id])
    assert states[map_id] == (False, False, "it has not been processed since it was imported")
    publication = Publication(map_id, ARCHIVE, "foot_routing", {}, [])
    await networks.publish_network(database, publication)
    again = await import_bundles(database, [bundle])
    assert (again.notes, again.total.written) == ([], 0)  # a bundle says nothing of the tier
    assert await networks.withdraw_network(database, map_id, {})
    assert (await import_bundles(database, [bundle])).notes == summary.notes
