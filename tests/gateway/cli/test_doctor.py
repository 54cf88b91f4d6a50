"""`floorgate doctor`, `backup` and `restore`: what is wrong with a database, and copies of it."""

import contextlib
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
from collections import namedtuple
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from gateway.cli.doctor import INSTALL_AGAIN
from gateway.server import tls
from storage.backup.backups import read_manifest
from storage.embedded.embedded_mongo import EXCLUSIVE, open_lock_file, try_lock
from tests.gateway.cli.commands import assert_explains, floorgate, output_of, run_at_terminal
from tests.gateway.floorgate_process import COMMAND, environment, run_serve_command
from tests.gateway.floorgate_process import floorgate as floorgate_process
from tests.storage.catalogs import SMALL, write_arrays

NOBODY = 65534
Usage = namedtuple("Usage", "total used free")


def examine(*options: object, status: int = 0) -> dict[str, dict[str, str]]:
    """The findings of a run, by check."""
    run = floorgate("doctor", "--json", *options)
    assert run.exit_code == status, run.stdout
    return {each["check"]: each for each in json.loads(run.stdout)}


def test_all_is_well_before_the_first_start_and_nothing_is_made(tmp_path: Path) -> None:
    found = examine("--data-dir", tmp_path / "new")
    assert {each["status"] for each in found.values()} == {"ok"}
    assert not (tmp_path / "new").exists()


def test_beside_a_gateway_it_uses_the_mongodb_that_runs(tmp_path: Path) -> None:
    with run_serve_command(tmp_path) as server:
        port = (tmp_path / "mongod" / "port").read_text()
        run = floorgate_process("doctor", "--data-dir", tmp_path)
        assert (run.returncode, run.stderr) == (0, "")
        assert "│ warning" not in run.stdout
        assert "none is interrupted" in run.stdout
        assert (tmp_path / "mongod" / "port").read_text() == port
        assert len([*(tmp_path / "mongod").glob("mongod.log*")]) == 1  # each start has its own
        with server.client() as client:
            assert client.get("/health/ready").status_code == 200


def test_a_mongodb_that_is_down_is_an_error_among_the_other_checks(tmp_path: Path) -> None:
    nowhere = ("--mongo-url", "mongodb://127.0.0.1:9/", "--data-dir", tmp_path)
    found = examine(*nowhere, status=1)
    assert found["MongoDB"]["status"] == "error"
    assert "cannot be reached" in found["MongoDB"]["message"]
    assert found["versions"]["status"] == found["data directory"]["status"] == "ok"


def test_settings_of_the_gateway_come_from_its_file(tmp_path: Path) -> None:
    """Values may be quoted, and empty ones are not set."""
    file, data = tmp_path / "settings", tmp_path / "of mine"
    data.mkdir()
    file.write_text(
        f"FLOORGATE_WORKERS=2\nFLOORGATE_DATA_DIR='{data}'\nFLOORGATE_BEHIND_PROXY=true\n"
        'FLOORGATE_MONGO_URL= "mongodb://127.0.0.1:9/" \nFLOORGATE_TLS_CERT=\n'
        "FLOORGATE_TLS_KEY=''\n"
    )
    found = examine("--env-file", file, status=1)
    assert found["data directory"]["message"].startswith(f"{data}:")
    assert "of the proxy" in found["certificate"]["message"]
    assert found["MongoDB"]["status"] == "error"
    assert "127.0.0.1:9" in found["MongoDB"]["message"]


def test_packages_of_other_versions_than_the_release_needs_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = [
        "click>=8.3",
        "pymongo>=9999",
        "no-such-package>=1",
        "pytest>=9999; extra == 'dev'",
        "orjson>=9999; sys_platform == 'win32'",
    ]
    monkeypatch.setattr(metadata, "requires", lambda _: needed)
    found = examine("--data-dir", tmp_path / "new", status=1)["versions"]
    assert (found["status"], found["remedy"]) == ("error", INSTALL_AGAIN)
    problem = found["message"].partition("; ")[2]
    assert re.fullmatch(r"pymongo is \S+ and must be >=9999, no-such-package is missing", problem)


@pytest.mark.parametrize(
    ("free_mb", "expected", "status"), [(50, "error", 1), (500, "warning", 0), (5000, "ok", 0)]
)
def test_little_room_on_the_disk_is_a_warning_and_none_an_error(
    free_mb: int, expected: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, free_mb * 1_000_000))
    found = examine("--data-dir", tmp_path, status=status)["data directory"]
    assert (found["status"], bool(found["remedy"])) == (expected, expected != "ok")


def test_a_data_directory_that_cannot_be_reached_is_an_error_among_the_other_checks(
    tmp_path: Path,
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    with as_user_without_privileges():
        found = examine("--data-dir", closed / "data", status=1)
    # It is above the closed directory if this user may not enter its parents either.
    assert found["data directory"]["message"].endswith(" cannot be written to")
    assert found["MongoDB"]["message"].endswith(": Permission denied")
    assert found["versions"]["status"] == found["open files"]["status"] == "ok"


@contextlib.contextmanager
def as_user_without_privileges() -> Generator[None, None, None]:
    """Root may enter any directory, so it becomes another user for this long."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_a_low_limit_of_open_files_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))
    assert examine("--data-dir", tmp_path)["open files"]["status"] == "warning"
    few = ("--max-connections", "100")
    assert examine("--data-dir", tmp_path, *few)["open files"]["status"] == "ok"


@pytest.mark.parametrize(
    ("age_days", "expected", "status"),
    [(-10, "error", 1), (0, "ok", 0), (350, "warning", 0), (400, "error", 1)],
)
def test_a_certificate_that_expires_or_is_not_valid_yet_is_found(
    age_days: int, expected: str, status: int, tmp_path: Path
) -> None:
    tls.ensure_certificate(tmp_path, datetime.now(UTC) - timedelta(days=age_days))
    found = examine("--data-dir", tmp_path, status=status)["certificate"]
    assert ("not valid before" in found["message"]) == (age_days < 0)
    assert (found["status"], bool(found["remedy"])) == (expected, expected != "ok")


def test_a_key_of_another_certificate_is_an_error(tmp_path: Path) -> None:
    certificate, _ = tls.ensure_certificate(tmp_path / "one")
    _, key = tls.ensure_certificate(tmp_path / "other")
    options: tuple[Any, ...] = ("--tls-cert", certificate, "--tls-key", key)
    found = examine("--data-dir", tmp_path, *options, status=1)["certificate"]
    assert "does not belong to the certificate" in found["message"]
    assert examine("--data-dir", tmp_path, "--behind-proxy")["certificate"]["status"] == "ok"


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
