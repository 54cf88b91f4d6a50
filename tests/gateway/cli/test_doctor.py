"""`floorgate doctor` says what is wrong with the machine and the database, and what to do."""

import contextlib
import json
import os
import re
import resource
import shutil
from collections import namedtuple
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from gateway.server import tls
from tests.gateway.cli.commands import floorgate
from tests.gateway.floorgate_process import floorgate as floorgate_process
from tests.gateway.floorgate_process import run_serve_command

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
    assert (found["status"], found["remedy"]) == ("error", "make setup")
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
