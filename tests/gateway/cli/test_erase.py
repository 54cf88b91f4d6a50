"""`floorgate erase`: what it shows, asks and leaves, in a database and in an archive."""

from pathlib import Path

import pytest

from storage.backup.backups import BackupReader
from tests.gateway.cli.commands import assert_explains, floorgate, output_of, run_at_terminal
from tests.gateway.floorgate_process import storage_options
from tests.storage.catalogs import SMALL, write_arrays

ERASE = ("erase", "--asset", "a")


@pytest.fixture
def removed(storage: list[str], tmp_path: Path) -> list[str]:
    """A catalog from which an asset was removed, before which there was a backup."""
    bundle = write_arrays(tmp_path / "small.json", SMALL)
    for command in (
        ["import", bundle],
        ["backup", tmp_path / "old.tar"],
        ["remove", "asset", "a", "--yes", "--undo", tmp_path / "undo.ndjson"],
    ):
        run = floorgate(*command, *storage)
        assert run.exit_code == 0, run.stderr
    return storage


def count_traces(storage: list[str]) -> int:
    planned = output_of(floorgate(*ERASE, "--dry-run", "--json", *storage))
    return sum(each["count"] for each in planned["changes"])


def test_the_operator_sees_what_is_erased_and_is_asked(removed: list[str]) -> None:
    traces = count_traces(removed)
    run = floorgate(*ERASE, "--dry-run", *removed)
    assert "tombstones" in run.stdout
    assert run.stderr == "Nothing was erased: this was a dry run.\n"
    refused = floorgate(*ERASE, *removed)
    assert (refused.exit_code, refused.stdout) == (2, run.stdout)
    assert "nothing was erased: --yes erases without asking" in refused.stderr
    assert run_at_terminal(*ERASE, *removed, answer="n\n").exit_code == 1
    assert count_traces(removed) == traces > 0
    run = run_at_terminal(*ERASE, *removed, answer="y\n")
    assert (run.exit_code, count_traces(removed)) == (0, 0)
    assert "backups, undo files and logs have it" in run.stderr
    run = floorgate(*ERASE, "--yes", *removed)
    assert run.stderr == "Nothing was erased: there is nothing of it.\n"


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        ([], 2, "give --asset or --key"),
        (["--asset", "b", "--key", "key_1"], 2, "give --asset or --key"),
        (["--asset", "b", "--yes"], 1, "'b' is in use: first, floorgate remove asset b"),
    ],
)
def test_what_cannot_be_erased_is_explained(
    removed: list[str], arguments: list[str], status: int, sentence: str
) -> None:
    assert_explains(floorgate("erase", *arguments, *removed), status, sentence)


def test_an_endpoint_that_names_the_asset_is_named(removed: list[str], tmp_path: Path) -> None:
    file = tmp_path / "own.graphql"
    file.write_text(
        'query XOwn @endpoint(path: "/v1/x/own", summary: "s") { asset(id: "a") { name } }'
    )
    assert floorgate("endpoints", "apply", file, *removed).exit_code == 0
    run = floorgate(*ERASE, "--dry-run", *removed)
    assert "Note: endpoints: XOwn has it in its text, which stays" in run.stderr


def test_an_archive_is_erased_through_another_database(
    removed: list[str], tmp_path: Path, mongo_url: str, fresh_database_name: str
) -> None:
    """These are the steps of docs/operation.md."""
    there = storage_options(mongo_url, fresh_database_name, tmp_path)
    for command in (
        ["restore", tmp_path / "old.tar", "--yes"],
        ["remove", "asset", "a", "--yes", "--undo", tmp_path / "undo-2.ndjson"],
        [*ERASE, "--yes"],
        ["backup", tmp_path / "new.tar"],
    ):
        run = floorgate(*command, *there)
        assert run.exit_code == 0, run.stderr
    assert b"Alder Court" in read_archive(tmp_path / "old.tar")
    new = read_archive(tmp_path / "new.tar")
    assert b"Birch House" in new
    assert not [each for each in (b"Alder Court", b"asset_id\0\x02\0\0\0a\0") if each in new]


def read_archive(path: Path) -> bytes:
    with path.open("rb") as file:
        return b"".join(part.content for part in BackupReader(file).iter_parts())
