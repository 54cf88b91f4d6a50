"""`floorgate import --networks`: maps that an import changes are reported with the way out."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.cli.commands import assert_explains, floorgate, output_of
from tests.resolvers.tower import SVG, write

REASON = 'map "tower": its drawing has changed, so it '


@pytest.fixture
def storage(tower_storage: list[str]) -> list[str]:
    """The options of a database with a tower that has been processed."""
    return tower_storage


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """The bundle of the tower, with another drawing."""
    bundle = write(tmp_path)
    (tmp_path / "tower.svg").write_text(SVG + "<!-- again -->")
    return bundle


def maps(storage: list[str]) -> dict[str, Any]:
    found = json.loads(floorgate("export", *storage).stdout)["maps"]
    return {each["id"]: each for each in found}


def test_maps_are_processed_again_by_default(storage: list[str], bundle: Path) -> None:
    planned = output_of(floorgate("import", bundle, "--dry-run", "--json", *storage))
    assert planned["notes"] == [REASON + "will be processed again"]
    assert planned["stale_networks"][0]["map_id"] == "tower"
    run = floorgate("import", bundle, *storage)
    assert run.exit_code == 0
    note, _ = run.stderr.splitlines()  # then how --undo saves what it changes
    assert note == f"Note: {REASON}was processed again: routable by foot and wheelchair"
    assert maps(storage)["tower"]["tags"] == ["ils", "pathfinding"]
    assert floorgate("import", bundle, *storage).stderr == ""


def test_the_note_of_a_withdrawn_network_has_the_command_that_helps(
    storage: list[str], bundle: Path
) -> None:
    run = floorgate("import", bundle, "--networks", "withdraw", *storage)
    assert run.exit_code == 0
    note, _ = run.stderr.splitlines()
    assert note == f"Note: {REASON}is no longer routable until `floorgate maps process tower`"
    assert maps(storage)["tower"]["tags"] == ["ils"]
    _, *command = note.partition("`")[2].rstrip("`").split()
    assert floorgate(*command, *storage).exit_code == 0
    assert maps(storage)["tower"]["tags"] == ["ils", "pathfinding"]


def test_another_choice_is_explained(storage: list[str], bundle: Path) -> None:
    run = floorgate("import", bundle, "--networks", "keep", *storage)
    assert_explains(run, 2, "'reprocess', 'withdraw'")


@pytest.mark.slow
def test_a_removal_names_what_no_undo_brings_back(
    storage: list[str], bundle: Path, tmp_path: Path
) -> None:
    """The undo processes the map from its drawing, as any import of a map that claims a network."""
    run = floorgate("remove", "map", "tower", "--dry-run", *storage)
    assert run.stderr.splitlines()[0] == (
        'Note: map "tower" loses its routing network and closures, which no undo brings back: it'
        " must be processed from its drawing again"
    )
    undo = tmp_path / "undo.ndjson"
    assert floorgate("remove", "map", "tower", "--yes", "--undo", undo, *storage).exit_code == 0
    run = floorgate("import", undo, *storage)
    assert run.stderr == (
        'Note: map "tower": it is tagged pathfinding and has no network, so it was processed again:'
        " routable by foot and wheelchair\n"
    )
    assert floorgate("import", undo, *storage).stderr == ""
