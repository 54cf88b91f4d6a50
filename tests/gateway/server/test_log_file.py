"""`--log-file`: all processes of a service append to one file, which may be renamed at any time."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.errors import StartError
from gateway.server.logs import LogFile, check_log_file
from gateway.server.uvicorn_server import STOP_SIGNALS
from tests.gateway.server.clients import clients
from tests.gateway.server.processes import ServerProcess, Start, get
from tests.waiting import wait_until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


@pytest.fixture
def serve(start: Start, folder: Path) -> Callable[..., ServerProcess]:
    """Starts a service of two workers that log to `gateway.log`."""
    file = str(folder / "gateway.log")
    return lambda **given: start(service={"log_file": file}, workers=2, **given)


def lines(folder: Path) -> list[dict[str, Any]]:
    """The lines of all files, but for what comes after the last end of a line.

    A file that is read while a service writes to it may end within a line.
    """
    whole = [file.read_bytes().rpartition(b"\n")[0] for file in folder.iterdir()]
    return [orjson.loads(line) for content in whole for line in content.splitlines()]


def messages(folder: Path) -> list[str]:
    return [line["message"] for line in lines(folder)]


@pytest.mark.timeout(1800)
def test_no_line_is_lost_when_the_file_is_renamed(
    serve: Callable[..., ServerProcess], folder: Path
) -> None:
    """Lines are appended to those of yesterday, and a reload changes nothing about it."""
    log = folder / "gateway.log"
    log.write_text('{"message": "of yesterday"}\n')
    running = serve()
    with clients(running.port) as load:
        for number in range(3):
            before = load.answers
            wait_until(lambda before=before: load.answers > before + 40)  # type: ignore[misc]
            log.rename(folder / f"gateway.log.{number}")
            if number == 1:
                running.process.send_signal(signal.SIGHUP)
                wait_until(lambda: any(each.startswith("Reloaded") for each in messages(folder)))
            wait_until(log.exists)
    status, _, errors = running.stop()
    assert (status, load.failures) == (0, [])
    assert all(file.read_bytes().endswith(b"\n") for file in folder.iterdir())
    assert (folder / "gateway.log.0").read_text().startswith('{"message": "of yesterday"}\n')
    requests = [line for line in lines(folder) if line["message"] == "request"]
    assert len({line["request_id"] for line in requests}) == len(requests)
    assert Counter(line["pid"] for line in requests) == load.pids
    assert len(load.pids) >= 2
    assert not any(line.startswith("{") for line in errors.splitlines())


@pytest.mark.slow
def test_a_worker_that_ends_writes_its_last_lines_whatever_signal_it_gets(
    serve: Callable[..., ServerProcess], folder: Path, tmp_path: Path
) -> None:
    running = serve(environment={"SMALL_APP_END": str(tmp_path)})
    get(f"{running.address}/pid")
    running.process.send_signal(signal.SIGTERM)
    wait_until(lambda: len(list(tmp_path.glob("*.waits"))) == 2)
    for ending in tmp_path.glob("*.waits"):
        for number in STOP_SIGNALS:
            os.kill(int(ending.stem), number)
        ending.unlink()
    assert running.wait_for_exit()[0] == 0
    assert messages(folder).count("The process ends") == 2


@pytest.mark.slow
def test_a_reload_to_a_file_that_cannot_be_written_is_refused(
    serve: Callable[..., ServerProcess], folder: Path
) -> None:
    running = serve()
    address = running.address
    moved = folder.with_name("moved")
    folder.rename(moved)  # the lines go on in the file that is open
    running.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any(message.startswith("The reload failed") for message in messages(moved)))
    [failed] = [line for line in lines(moved) if line["message"].startswith("The reload failed")]
    path = folder / "gateway.log"
    assert failed["reason"] == f"--log-file {path} cannot be written: its directory does not exist"
    assert get(f"{address}/pid").status_code == 200
    folder.mkdir()
    get(f"{address}/pid")
    wait_until(path.exists)
    assert running.stop()[0] == 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing/gateway.log", "its directory does not exist"),
        (".", "Is a directory"),
        ("file/gateway.log", "Not a directory"),
    ],
)
def test_a_file_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, name: str, reason: str
) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / name
    with pytest.raises(StartError) as raised:
        check_log_file(path)
    assert str(raised.value) == f"--log-file {path} cannot be written: {reason}"


def test_lines_go_to_the_file_that_has_the_path_or_had_it_last(folder: Path) -> None:
    log = folder / "gateway.log"
    file = LogFile(log)
    os.write(file.fileno(), b"one\n")
    log.rename(folder / "renamed")
    os.write(file.fileno(), b"two\n")
    moved = folder.rename(folder.with_name("moved"))
    os.write(file.fileno(), b"three\n")  # there is no folder for another
    os.close(file.fileno())
    assert (moved / "renamed").read_text() == "one\n"
    assert (moved / "gateway.log").read_text() == "two\nthree\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_of_somebody_else_is_one_sentence(folder: Path) -> None:
    folder.chmod(0o500)
    with pytest.raises(StartError, match="Permission denied"):
        LogFile(folder / "gateway.log")


def test_only_the_owner_and_the_group_can_read_the_file(folder: Path) -> None:
    log = folder / "gateway.log"
    descriptor = LogFile(log).fileno()
    os.close(descriptor)
    assert log.stat().st_mode & 0o137 == 0
