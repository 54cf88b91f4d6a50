"""`--log-file`: all processes of a service append to one file, which may be renamed at any time."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from gateway.errors import StartError
from gateway.server.logs import LogFile
from gateway.server.uvicorn_server import STOP_SIGNALS
from tests.gateway.server.clients import clients
from tests.gateway.server.processes import ServerProcess, Start, get, wait_until


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


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_line_is_lost_when_the_file_is_renamed(
    serve: Callable[..., ServerProcess], folder: Path
) -> None:
    running = serve()
    log = folder / "gateway.log"
    with clients(httpx.URL(running.address()).port or 0) as load:
        for number in range(6):
            before = load.answers
            wait_until(lambda before=before: load.answers > before + 40)  # type: ignore[misc]
            log.rename(folder / f"gateway.log.{number}")
            if number % 2:  # a reload changes nothing about it
                running.process.send_signal(signal.SIGHUP)
                wait_until(
                    lambda count=number: (
                        sum(  # type: ignore[misc]
                            message.startswith("Reloaded") for message in messages(folder)
                        )
                        == (count + 1) // 2
                    )
                )
            wait_until(log.exists)
    status, _, errors = running.stop()
    assert (status, load.failures) == (0, [])
    assert all(file.read_bytes().endswith(b"\n") for file in folder.iterdir())
    requests = [line for line in lines(folder) if line["message"] == "request"]
    assert len({line["request_id"] for line in requests}) == len(requests)
    assert Counter(line["pid"] for line in requests) == load.pids
    assert len({line["pid"] for line in lines(folder)}) > 2
    assert not any(line.startswith("{") for line in errors.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_worker_that_ends_writes_its_last_lines_whatever_signal_it_gets(
    serve: Callable[..., ServerProcess], folder: Path, tmp_path: Path, number: int
) -> None:
    running = serve(environment={"SMALL_APP_END": str(tmp_path)})
    get(f"{running.address()}/pid")
    running.process.send_signal(signal.SIGTERM)
    wait_until(lambda: len(list(tmp_path.glob("*.waits"))) == 2)
    for ending in tmp_path.glob("*.waits"):
        os.kill(int(ending.stem), number)
        ending.unlink()
    assert running.wait_for_exit()[0] == 0
    assert messages(folder).count("The process ends") == 2


@pytest.mark.slow
def test_lines_are_appended_to_what_is_there(
    serve: Callable[..., ServerProcess], folder: Path
) -> None:
    log = folder / "gateway.log"
    log.write_text('{"message": "of yesterday"}\n')
    running = serve()
    get(f"{running.address()}/pid")
    assert running.stop()[0] == 0
    assert messages(folder)[0] == "of yesterday"
    assert "request" in messages(folder)


@pytest.mark.slow
def test_a_reload_to_a_file_that_cannot_be_written_is_refused(
    serve: Callable[..., ServerProcess], folder: Path
) -> None:
    running = serve()
    address = running.address()
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
    start: Start, tmp_path: Path, name: str, reason: str
) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / name
    status, output, errors = start(service={"log_file": str(path)}).wait_for_exit()
    assert (status, output) == (1, "")
    assert errors == f"Error: --log-file {path} cannot be written: {reason}\n"


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
