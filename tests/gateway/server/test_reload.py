"""SIGHUP: the program and its workers are replaced, and no client notices."""

import os
import signal
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateway.server import tls
from gateway.server.config import EXIT_FORCED
from tests.gateway.server.processes import (
    ServerProcess,
    Start,
    clients,
    get,
    is_alive,
    is_in_flight,
    keeping_client,
    pid,
    refuses_connections,
)
from tests.waiting import TIMEOUT_SECONDS, wait_until

pytestmark = pytest.mark.timeout(3 * TIMEOUT_SECONDS)

SLOW = pytest.mark.slow
LONG = {"drain_seconds": 3600}
"""Ends long after the test: nothing is cut off, and no idle connection is closed."""


@pytest.mark.parametrize(("workers", "reloads"), [(1, 2), pytest.param(2, 3, marks=SLOW)])
def test_no_client_notices_reloads(start: Start, workers: int, reloads: int) -> None:
    running = start(workers=workers, service=LONG)
    with clients(running.port) as load:
        for _ in range(reloads):
            before = load.answers
            running.reload()
            wait_until(lambda before=before: load.answers > before + 20)  # type: ignore[misc]
    assert load.failures == []
    assert len(load.pids) >= reloads  # not every worker needs to have answered
    assert is_alive(running.process.pid)
    assert running.stop()[0] == 0
    assert not any(is_alive(each) for each in load.pids)


def test_requests_in_progress_are_finished_by_the_workers_before(
    start: Start, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    running = start(environment={"SMALL_APP_GATE": str(gate)}, service=LONG)
    before = pid(running.address)
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(get, f"{running.address}/wait")
        wait_until(lambda: is_in_flight(running.address))
        running.reload()
        wait_until(lambda: pid(running.address) != before)
        gate.touch()
        response = slow.result()
    assert (response.status_code, response.json()["pid"]) == (200, before)
    assert response.headers["connection"] == "close"
    wait_until(lambda: not is_alive(before))


def test_an_idle_connection_is_answered_once_more_by_a_worker_that_sees_all_writes(
    start: Start,
) -> None:
    running = start(service=LONG)
    with keeping_client() as client:
        before = client.get(f"{running.address}/pid").json()
        running.reload()
        written = get(f"{running.address}/write").json()
        while written["pid"] == before["pid"]:  # it accepts until it has seen the signal
            written = get(f"{running.address}/write").json()
        last = client.get(f"{running.address}/health/ready")
        while "connection" not in last.headers:
            last = client.get(f"{running.address}/health/ready")
        assert (last.status_code, last.headers["connection"]) == (200, "close")
        seen = last.json()
        assert (seen["pid"], seen["writes"]) == (before["pid"], written["writes"])
        assert written["writes"] != before["writes"]
        assert seen["remaining"] < written["remaining"] < before["remaining"]  # limits go on
        wait_until(lambda: client.get(f"{running.address}/pid").json()["pid"] != before["pid"])


def test_a_long_task_ends_before_its_worker_does(start: Start, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    running = start(environment={"SMALL_APP_GATE": str(gate)}, service={"drain_seconds": 1})
    before = pid(running.address)
    with ThreadPoolExecutor() as pool:
        long = pool.submit(get, f"{running.address}/long")
        other = pool.submit(get, f"{running.address}/wait")
        wait_until(lambda: get(f"{running.address}/pid").json()["sleeping"] == 2)
        running.reload()
        running.wait_for("Waiting for imports and maps")
        assert other.result().status_code == 503
        assert pid(running.address) != before
        running.process.send_signal(signal.SIGHUP)
        running.wait_for("Another reload begins when")
        gate.touch()
        response = long.result()
    assert (response.status_code, response.json()["pid"]) == (200, before)
    assert response.headers["connection"] == "close"
    wait_until(lambda: not is_alive(before))
    running.wait_for("Reloaded", 2)
    assert running.stop()[0] == 0


# Certificates


def make_certificate(folder: Path) -> tuple[Path, Path]:
    folder.mkdir()
    return tls.ensure_certificate(folder)


def test_a_program_that_cannot_start_does_not_replace_the_one_that_runs(
    start: Start, tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path / "tls")
    running = start(service={"certificate": (str(certificate), str(key))})
    before = pid(running.address)
    certificate.write_text("nonsense")
    running.process.send_signal(signal.SIGHUP)
    [line] = running.wait_for("The reload failed")
    assert line["reason"] == f"{certificate} holds no TLS certificate in PEM form"
    assert pid(running.address) == before
    assert running.stop()[0] == 0


def test_a_new_certificate_is_shown_to_those_who_connect_after_a_reload(
    start: Start, tmp_path: Path
) -> None:
    paths = make_certificate(tmp_path / "first")
    trusting = ssl.create_default_context(cafile=str(paths[0]))
    limits = {"handshake_seconds": 3600}
    certificate = tuple(map(str, paths))
    running = start(service={**LONG, "certificate": certificate, "limits": limits})
    with socket.create_connection(("127.0.0.1", running.port)) as early:
        early.settimeout(TIMEOUT_SECONDS)
        before = pid(running.address)  # the worker has accepted the first connection too
        for old, other in zip(paths, make_certificate(tmp_path / "second"), strict=True):
            other.rename(old)
        running.reload()
        wait_until(lambda: pid(running.address) != before)
        new = paths[0].read_text().strip()
        wait_until(lambda: ssl.get_server_certificate(("127.0.0.1", running.port)).strip() == new)
        with trusting.wrap_socket(early, server_hostname="localhost") as client:
            client.sendall(b"GET /pid HTTP/1.1\r\nHost: a\r\n\r\n")
            response = client.recv(65536)
            while b"}" not in response:
                response += client.recv(65536)
    assert b"connection: close" in response
    assert b'"pid":%d,' % before in response


# Signals, deaths and faults during a reload


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=SLOW)])
def test_the_workers_go_on_if_new_ones_cannot_start(
    start: Start, tmp_path: Path, workers: int
) -> None:
    broken = tmp_path / "broken"
    running = start(workers=workers, service=LONG, environment={"SMALL_APP_BROKEN": str(broken)})
    with clients(running.port) as load:
        wait_until(lambda: len(load.pids) == workers)
        broken.touch()
        running.process.send_signal(signal.SIGHUP)
        [line] = running.wait_for("The reload failed")
        before = load.answers
        wait_until(lambda: load.answers > before + 20)
    assert line["reason"] == "the application is broken"
    assert (load.failures, len(load.pids)) == ([], workers)
    broken.unlink()
    running.reload()
    wait_until(lambda: pid(running.address) not in load.pids)
    assert running.stop()[0] == 0


@pytest.mark.slow
def test_signals_that_arrive_while_the_program_is_replaced_are_not_lost(start: Start) -> None:
    """They are sent as fast as possible: some find no handler in place."""
    running = start(service=LONG)
    with clients(running.port) as load:
        for _ in range(300):
            running.process.send_signal(signal.SIGHUP)
            assert is_alive(running.process.pid)
        running.wait_for("Reloaded")
    assert load.failures == []
    assert running.stop()[0] == 0


@pytest.mark.parametrize(
    ("moment", "signals", "status"),
    [
        ("check", [signal.SIGTERM], 0),
        pytest.param("start", [signal.SIGINT], 0, marks=SLOW),
        pytest.param("start", [signal.SIGINT] * 2, EXIT_FORCED, marks=SLOW),
    ],
)
def test_the_service_can_be_stopped_during_a_reload(
    start: Start, tmp_path: Path, moment: str, signals: list[int], status: int
) -> None:
    """While the new program is checked, and while its workers start."""
    starting, slow, gate = (tmp_path / name for name in ("starting", "slow", "gate"))
    environment = {
        "SMALL_APP_SLOW_START": str(slow),
        "SMALL_APP_STARTING": str(starting),
        "SMALL_APP_GATE": str(gate),
    }
    running = start(environment=environment, service=LONG)
    before = pid(running.address)
    slow.touch()
    starting.unlink()
    with ThreadPoolExecutor() as pool:
        request = pool.submit(get, f"{running.address}/wait")
        wait_until(lambda: is_in_flight(running.address))
        running.process.send_signal(signal.SIGHUP)
        running.wait_for("Reloading")
        if moment == "start":
            wait_until(starting.exists)
        for number in signals:
            running.process.send_signal(number)
            wait_until(lambda: refuses_connections(running.address))
        if status == 0:
            gate.touch()
            assert request.result().status_code == 200
        else:
            assert request.exception() is not None
        assert running.process.wait(TIMEOUT_SECONDS) == status
        assert not is_alive(before)


def test_a_worker_that_dies_during_a_reload_does_not_stop_it(start: Start, tmp_path: Path) -> None:
    """One of the program before, while the new ones start: no client is refused meanwhile."""
    slow = tmp_path / "slow"
    running = start(environment={"SMALL_APP_SLOW_START": str(slow)})
    before = pid(running.address)
    slow.touch()
    with clients(running.port, keeping=0, fresh=4) as load:
        wait_until(lambda: load.answers > 20)
        running.process.send_signal(signal.SIGHUP)
        wait_until(lambda: has_new_worker(running, before))
        os.kill(before, signal.SIGKILL)
        running.wait_for("A worker of the previous program died")
        slow.unlink()
        running.wait_for("Reloaded")
        answers = load.answers
        wait_until(lambda: load.answers > answers + 20)
    broken_off = [each for each in load.failures if "Service unavailable" not in each]
    assert [each for each in broken_off if "Refused" in each] == []
    assert len(broken_off) <= 4  # those that the dead worker had taken
    assert running.stop()[0] == 0


@pytest.mark.slow
def test_a_reload_while_no_worker_can_start_is_tried_until_one_can(
    start: Start, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    running = start(environment={"SMALL_APP_BROKEN": str(broken)})
    before = pid(running.address)
    broken.touch()
    os.kill(before, signal.SIGKILL)
    running.wait_for("A worker could not be started")
    running.process.send_signal(signal.SIGHUP)
    environment = Path(f"/proc/{running.process.pid}/environ")
    wait_until(lambda: b"FLOORGATE_HANDOVER" in environment.read_bytes())
    tried = len(running.lines("A worker could not be started"))
    running.wait_for("A worker could not be started", tried + 2)
    broken.unlink()
    running.wait_for("Reloaded")
    assert pid(running.address) != before
    assert running.stop()[0] == 0


def has_new_worker(running: ServerProcess, before: int) -> bool:
    """Whether there is a worker process beside that of the program before."""
    number = running.process.pid
    children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
    others = {*map(int, children)} - {before}
    return any(b"gateway.server.worker" in read_command(each) for each in others)


def read_command(number: int) -> bytes:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return b""
