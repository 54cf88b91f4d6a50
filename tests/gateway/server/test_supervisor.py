"""Workers that die are replaced, meanwhile no client is refused, and none outlives the service."""

import errno
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.errors import StartError
from gateway.server.config import ServerConfig
from gateway.server.supervisor import Handover, SupervisedWorker, Supervisor, WorkerState
from tests.gateway import small_app
from tests.gateway.server.processes import (
    CHECKOUT,
    PROGRAM,
    Start,
    clients,
    exit_worker,
    find_workers,
    get,
    is_alive,
    pid,
)
from tests.waiting import TIMEOUT_SECONDS, wait_until


def test_workers_count_requests_together_and_their_replacements_go_on(start: Start) -> None:
    running = start(workers=2)
    address, before = running.address, find_workers(running.address)
    answers: list[dict[str, int]] = []
    while len(answers) < 20 or {answer["pid"] for answer in answers} != before:
        answers.append(get(f"{address}/pid").json())
    left = [answer["remaining"] for answer in answers]
    assert left == list(range(left[0], left[0] - len(left), -1))

    exit_worker(address)
    replaced = find_workers(address)
    assert len(replaced & before) == 1
    killed = (replaced & before).pop()
    os.kill(killed, signal.SIGKILL)
    find_workers(address, excluding=before)
    assert get(f"{address}/pid").json()["remaining"] < left[-1]
    deaths = running.wait_for("A worker died and is replaced", 2)
    assert [line["exit_status"] for line in deaths] == [7, -signal.SIGKILL]
    assert [line["worker_pid"] for line in deaths] == [*before - {killed}, killed]
    assert running.stop()[0] == 0


def test_no_worker_outlives_a_killed_parent(start: Start) -> None:
    running = start(workers=2)
    workers = find_workers(running.address)
    assert running.stop(signal.SIGKILL)[0] == -signal.SIGKILL
    wait_until(lambda: not any(is_alive(worker) for worker in workers))


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_replacements_of_all_workers_that_cannot_start_are_tried_until_they_can(
    start: Start, tmp_path: Path, workers: int
) -> None:
    """As when MongoDB has no primary; requests are answered 503 meanwhile."""
    broken = tmp_path / "broken"
    running = start(workers=workers, environment={"SMALL_APP_BROKEN": str(broken)})
    with clients(running.port, keeping=0, fresh=4) as load:
        wait_until(lambda: len(load.pids) == workers)
        broken.touch()
        for worker in load.pids.copy():
            os.kill(worker, signal.SIGKILL)
        lines = running.wait_for("A worker could not be started", 2 * workers)
        broken.unlink()
        wait_until(lambda: len(load.pids) == 2 * workers)
    assert {line["reason"] for line in lines} == {"the application is broken"}
    answered = [each for each in load.failures if '"Service unavailable"' in each]
    broken_off = [each for each in load.failures if each not in answered]
    assert answered
    assert [each for each in broken_off if "Refused" in each] == []
    assert len(broken_off) <= workers * 4  # those that a dead worker had taken
    assert running.stop()[0] == 0


# What passes from one program to the next, and from systemd to the first.


def handover(**given: Any) -> Handover:
    fixed = {"--host": "127.0.0.1", "--port": "8443"}
    workers = [WorkerState(1, 2, 3)] * 4
    return Handover(fixed, [5], workers, 10, 32, 6, 7, (256, 100), **given)


@pytest.mark.parametrize(
    ("changed", "workers", "message"),
    [
        ({"--port": "9000"}, 1, "--port cannot change from 8443 to 9000 while the service runs"),
        ({"--host": "::"}, 1, "--host cannot change"),
        ({"--later": "x"}, 1, "--later cannot change from none to x"),
        ({}, 29, "--workers can be 28 at most"),
    ],
)
def test_what_cannot_change_is_refused_with_a_sentence(
    changed: dict[str, str], workers: int, message: str
) -> None:
    given = handover()
    given.check({**given.fixed_options, "--later": "none"}, 28, (256, 100))
    with pytest.raises(StartError, match=message):
        given.check({**given.fixed_options, **changed}, workers, (256, 100))


def test_a_release_that_shares_other_memory_is_refused() -> None:
    with pytest.raises(StartError, match="restart the service"):
        handover().check({}, 1, (512, 100))


def test_a_program_without_a_valid_handover_is_one_sentence(start: Start) -> None:
    running = start(environment={"FLOORGATE_HANDOVER": "{}"})
    assert running.wait_for_exit() == (
        1,
        "",
        "Error: This release cannot take over from the one that runs: restart the service\n",
    )


def test_a_socket_of_systemd_is_served_and_systemd_is_told(start: Start, tmp_path: Path) -> None:
    """The shell stands for systemd: it knows the process id before the program starts."""
    address = str(tmp_path / "notify")
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd,
    ):
        systemd.bind(address)
        systemd.settimeout(TIMEOUT_SECONDS)
        options = orjson.dumps({"service": {}, "port": 0}).decode()
        script = f'exec 3<&{listener.fileno()}; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'
        process = subprocess.Popen(
            ["bash", "-c", script, "-", sys.executable, "-c", PROGRAM, "create", options],
            pass_fds=[listener.fileno()],
            cwd=CHECKOUT,
            env={**os.environ, "NOTIFY_SOCKET": address},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = listener.getsockname()[1]
            assert systemd.recv(100) == b"READY=1"
            before = pid(f"http://127.0.0.1:{port}")
            process.send_signal(signal.SIGHUP)
            assert systemd.recv(100).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
            assert systemd.recv(100) == b"READY=1"
            wait_until(lambda: pid(f"http://127.0.0.1:{port}") != before)
            process.send_signal(signal.SIGTERM)
            assert systemd.recv(100) == b"STOPPING=1"
            assert process.wait(TIMEOUT_SECONDS) == 0
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def supervisor() -> Supervisor:
    """A supervisor that has taken over from a program without workers."""
    before = handover()
    before.workers = []
    config = ServerConfig(small_app.create)
    return Supervisor(config, [], workers=1, on_ready=lambda: None, predecessor=before)


def fail_for_lack_of_memory(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


def test_a_worker_that_the_machine_has_no_room_for_is_started_later(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(SupervisedWorker, "start", fail_for_lack_of_memory)
    supervisor._respawn_worker()
    assert len(supervisor._exit_times) == 1
    assert caplog.messages == ["A worker could not be started"]


def test_a_reload_that_cannot_be_checked_fails_and_the_service_goes_on(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(subprocess, "Popen", fail_for_lack_of_memory)
    monkeypatch.setattr(supervisor, "_build_handover", handover)
    supervisor._is_complete = supervisor._reload_requested = True
    with socket.socket() as signals:
        supervisor._continue_reload(signals)
    assert caplog.messages == ["Reloading", "The reload failed, and the service goes on as before"]
    assert supervisor._check is None
