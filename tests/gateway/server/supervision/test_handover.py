"""What passes from one program to the next, and from systemd to the first."""

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
from gateway.server.supervision.handover import Handover, WorkerState
from gateway.server.supervision.supervisor import Supervisor
from gateway.server.supervision.worker_process import WorkerProcess
from tests.gateway import small_app
from tests.gateway.server.processes import CHECKOUT, PROGRAM, Start, pid
from tests.waiting import TIMEOUT_SECONDS, wait_until


def handover(**given: Any) -> Handover:
    fixed = {"--host": "127.0.0.1", "--port": "8443"}
    workers = [WorkerState(1, 2, 3)] * 4
    return Handover(fixed, [5], workers, 10, 32, 6, 7, (256, 100), **given)


@pytest.mark.parametrize(
    ("changed", "workers", "message"),
    [
        ({"--port": "9000"}, 1, "--port cannot change from 8443 to 9000 while the service runs"),
        ({"--host": "::"}, 1, "--host cannot change"),
        ({}, 29, "--workers can be 28 at most"),
    ],
)
def test_what_cannot_change_is_refused_with_a_sentence(
    changed: dict[str, str], workers: int, message: str
) -> None:
    given = handover()
    given.check_options(given.fixed_options, 28)
    with pytest.raises(StartError, match=message):
        given.check_options({**given.fixed_options, **changed}, workers)


def test_a_release_that_shares_other_memory_is_refused() -> None:
    handover().check_memory((256, 100))
    with pytest.raises(StartError, match="restart the service"):
        handover().check_memory((512, 100))


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
    monkeypatch.setattr(WorkerProcess, "start", fail_for_lack_of_memory)
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
