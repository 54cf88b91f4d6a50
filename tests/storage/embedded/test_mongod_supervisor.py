"""The supervisor, running small programs in place of a server."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from storage.embedded import embedded_mongo, mongod_supervisor
from tests.waiting import TIMEOUT_SECONDS


def run_supervised(directory: Path, *command: str) -> None:
    """Run the command under a supervisor while we use it, until it ends by itself."""
    with (
        embedded_mongo.open_lock_file(directory / mongod_supervisor.USERS_LOCK) as users,
        embedded_mongo.open_lock_file(directory / mongod_supervisor.SERVER_LOCK) as again,
    ):
        assert embedded_mongo.try_lock(users, embedded_mongo.SHARED)
        with embedded_mongo.open_lock_file(directory / mongod_supervisor.SERVER_LOCK) as server:
            assert embedded_mongo.try_lock(server, embedded_mongo.EXCLUSIVE)
            arguments = [mongod_supervisor.__file__, str(directory), str(server), *command]
            subprocess.run([sys.executable, "-I", "-S", *arguments], pass_fds=[server], check=True)
        assert embedded_mongo.wait_for_lock(
            again, embedded_mongo.EXCLUSIVE, time.monotonic() + TIMEOUT_SECONDS
        )


@pytest.mark.parametrize(
    ("script", "log"),
    [
        ("echo one; echo two >&2", "one\ntwo\n"),
        ("echo three; exit 3", "three\nsh ended with status 3\n"),
        ("kill -SEGV $$", "sh ended with signal SIGSEGV\n"),
    ],
)
def test_the_log_has_the_output_of_the_server_and_its_exit_status(
    tmp_path: Path, script: str, log: str
) -> None:
    run_supervised(tmp_path, "sh", "-c", script)
    assert (tmp_path / mongod_supervisor.LOG_NAME).read_text() == log


def test_every_start_has_a_log_of_its_own(tmp_path: Path) -> None:
    run_supervised(tmp_path, "echo", "first")
    run_supervised(tmp_path, "echo", "second")
    assert (tmp_path / "mongod.log").read_text() == "second\n"
    assert (tmp_path / "mongod.log.1").read_text() == "first\n"


def test_logs_are_bounded_however_much_the_server_writes(tmp_path: Path) -> None:
    run_supervised(tmp_path, "sh", "-c", "tr '\\0' x </dev/zero | fold -w 9999 | head -c 15000000")
    sizes = [log.stat().st_size for log in tmp_path.glob("mongod.log*")]
    assert len(sizes) == 5
    assert max(sizes) <= 2_000_000


def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    run_supervised(tmp_path, "/no/such/mongod")
    assert (
        tmp_path / mongod_supervisor.LOG_NAME
    ).read_text() == "/no/such/mongod: No such file or directory\n"
