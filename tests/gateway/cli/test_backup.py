"""`floorgate backup` and `floorgate restore`, as an operator runs them."""

import io
import os
import resource
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from storage.backup.backup_file import read_manifest
from storage.embedded.embedded_mongo import EXCLUSIVE, open_lock_file, try_lock
from tests.gateway.cli.commands import assert_explains, floorgate, output_of, run_at_terminal
from tests.gateway.floorgate_process import COMMAND, environment
from tests.storage.catalogs import SMALL, write_arrays


@pytest.fixture
def filled(storage: list[str], tmp_path: Path) -> list[str]:
    """The options of a database with a catalog and a key."""
    bundle = write_arrays(tmp_path / "bundle.json", SMALL)
    assert floorgate("import", bundle, *storage).exit_code == 0
    assert floorgate("keys", "create", "--name", "k", *storage).exit_code == 0
    return storage


@pytest.fixture
def archive(filled: list[str], tmp_path: Path) -> Path:
    path = tmp_path / "backup.tar"
    run = floorgate("backup", path, *filled)
    assert run.exit_code == 0, run.stderr
    return path


def rename_assets(mongo_url: str, database: str) -> None:
    with MongoClient[dict[str, Any]](mongo_url) as client:
        client[database]["assets"].update_many({}, {"$set": {"name": "changed"}})


def names_of_assets(storage: list[str]) -> set[str]:
    return {asset["name"] for asset in output_of(floorgate("export", *storage))["assets"]}


def test_an_archive_is_for_its_owner_only_and_says_what_it_has(
    filled: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "backup.tar"
    run = floorgate("backup", path, *filled)
    assert run.stdout == ""
    assert "Saved " in run.stderr
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file for file in tmp_path.iterdir() if file.suffix == ".partial"] == []
    with path.open("rb") as file:
        assert read_manifest(file).count_documents()["api_keys"] == 1


def test_what_was_changed_is_put_back(
    filled: list[str], archive: Path, mongo_url: str, database_name: str
) -> None:
    rename_assets(mongo_url, database_name)
    run = floorgate("restore", "--yes", archive, *filled)
    assert run.exit_code == 0, run.stderr
    assert "Restored " in run.stderr
    assert "changed" not in names_of_assets(filled)
    [latest, *_] = floorgate("audit", "--json", *filled).stdout.splitlines()
    assert '"catalog.restored"' in latest
    assert '"backup.tar"' in latest


def test_a_database_that_is_not_empty_is_not_replaced_by_chance(
    filled: list[str], archive: Path, mongo_url: str, database_name: str
) -> None:
    rename_assets(mongo_url, database_name)
    run = floorgate("restore", archive, *filled)
    assert_explains(run, 1, "the database is not empty; --yes replaces")
    assert names_of_assets(filled) == {"changed"}


@pytest.mark.parametrize(("answer", "status"), [("n\n", 1), ("y\n", 0)])
def test_at_a_terminal_the_operator_is_asked(
    filled: list[str], archive: Path, mongo_url: str, database_name: str, answer: str, status: int
) -> None:
    rename_assets(mongo_url, database_name)
    run = run_at_terminal("restore", archive, *filled, answer=answer)
    assert run.exit_code == status, run.stderr
    assert "In the archive" in run.stderr
    assert "Replace everything by the state of" in run.stderr
    assert (names_of_assets(filled) == {"changed"}) == (status == 1)


def test_keys_that_are_valid_again_are_named(filled: list[str], archive: Path) -> None:
    [key] = output_of(floorgate("keys", "list", "--json", *filled))
    assert floorgate("keys", "revoke", key["id"], *filled).exit_code == 0
    run = floorgate("restore", "--yes", archive, *filled)
    assert f"valid again as they were; revoke them with floorgate keys revoke: {key['id']}" in (
        run.stderr
    )


@pytest.mark.slow
def test_an_archive_goes_through_pipes(
    filled: list[str], mongo_url: str, database_name: str
) -> None:
    saved = subprocess.run(
        [*COMMAND, "backup", "-", *filled], capture_output=True, check=True, env=environment()
    )
    rename_assets(mongo_url, database_name)
    subprocess.run(
        [*COMMAND, "restore", "--yes", "-", *filled],
        input=saved.stdout,
        capture_output=True,
        check=True,
        env=environment(),
    )
    assert "changed" not in names_of_assets(filled)


def test_a_pipe_with_a_name_gets_the_archive_and_stays(filled: list[str], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(pipe.read_bytes)
        assert floorgate("backup", pipe, *filled).exit_code == 0
        archive = io.BytesIO(reading.result())
    assert pipe.is_fifo()
    assert read_manifest(archive).count_documents()["api_keys"] == 1


def test_an_archive_is_checked_without_a_database(archive: Path, tmp_path: Path) -> None:
    run = floorgate("restore", "--check", archive)
    assert run.exit_code == 0
    assert "The archive is whole" in run.stderr
    content = bytearray(archive.read_bytes())
    content[1540] ^= 1  # in the first part
    (tmp_path / "damaged.tar").write_bytes(content)
    for path in (tmp_path / "damaged.tar", tmp_path / "bundle.json"):
        assert_explains(floorgate("restore", "--check", path), 1, "damaged")


def test_a_full_disk_leaves_no_archive(filled: list[str], archive: Path) -> None:
    before = archive.read_bytes()
    run = subprocess.run(
        [*COMMAND, "backup", str(archive), *filled],
        capture_output=True,
        text=True,
        env=environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)),
    )
    assert run.returncode == 1
    assert run.stderr == f"Error: {archive}: File too large; no archive was written\n"
    assert archive.read_bytes() == before
    assert [file.name for file in archive.parent.glob(".*")] == []


def test_a_backup_that_is_killed_leaves_the_archive_before(
    filled: list[str], archive: Path
) -> None:
    before = archive.read_bytes()
    with subprocess.Popen([*COMMAND, "backup", str(archive), *filled], env=environment()) as run:
        while not (partial := [*archive.parent.glob(".backup.tar.*.partial")]):
            assert run.poll() is None
        os.kill(run.pid, signal.SIGKILL)
    assert archive.read_bytes() == before
    assert_explains(floorgate("restore", "--check", partial[0]), 1, "archive")
    other = archive.with_name(".other.tar.1.partial")
    other.touch()
    running = archive.with_name(".backup.tar.1.partial")
    with open_lock_file(running) as lock:
        assert try_lock(lock, EXCLUSIVE)
        assert floorgate("backup", archive, *filled).exit_code == 0
    assert {*archive.parent.glob(".*.partial")} == {other, running}


def test_an_archive_is_on_disk_before_it_has_its_name(
    filled: list[str], archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so is its name when the command ends."""
    done: list[str] = []
    sync, rename = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        done.append(f"fsync {Path(f'/proc/self/fd/{descriptor}').readlink()}")
        sync(descriptor)

    def replace(self: Path, target: Path) -> Path:
        done.append(f"rename to {target}")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    assert floorgate("backup", archive, *filled).exit_code == 0
    file, renamed, folder = (each for each in done if str(archive.parent) in each)
    assert file.endswith(".partial")
    assert (renamed, folder) == (f"rename to {archive}", f"fsync {archive.parent}")


def test_an_export_says_what_it_lacks(storage: list[str]) -> None:
    run = floorgate("export", *storage)
    assert "no routing networks, closures, API keys or audit log; floorgate backup" in run.stderr
