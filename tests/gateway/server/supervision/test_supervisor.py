"""Workers share the sockets, are replaced when they die, and none outlives the service."""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import orjson
import pytest

from gateway.errors import StartError
from gateway.server.config import ServerConfig
from gateway.server.server import open_listeners
from gateway.server.supervision.orders import EXIT_FORCED
from gateway.server.supervision.supervisor import Supervisor
from tests.gateway import small_app
from tests.gateway.server.processes import (
    TIMEOUT_SECONDS,
    ServerProcess,
    Start,
    exit_worker,
    get,
    is_alive,
    is_in_flight,
    pid,
    pids,
    refuses_connections,
    wait_until,
)

pytestmark = pytest.mark.slow


def two_workers(running: ServerProcess) -> tuple[str, set[int]]:
    """The address, and the processes that serve it."""
    address = running.address()
    return address, wait_for_two_workers(address)


def wait_for_two_workers(address: str, excluding: Collection[int] = ()) -> set[int]:
    """Wait for two live processes that have answered, and are not among `excluding`."""
    seen: set[int] = set()
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while len(seen) < 2:
        assert time.monotonic() < deadline, f"only {seen} answer"
        seen = {each for each in {*seen, pid(address)} - {*excluding} if is_alive(each)}
    return seen


def test_workers_see_the_writes_of_one_another(start: Start) -> None:
    address, _ = two_workers(start(workers=2))
    before = {get(f"{address}/pid").json()["writes"] for _ in range(20)}
    after = get(f"{address}/write").json()["writes"]
    assert before != {after}
    seen = [get(f"{address}/pid").json() for _ in range(20)]
    assert {answer["writes"] for answer in seen} == {after}


def test_workers_count_requests_together_and_their_replacements_go_on(start: Start) -> None:
    address, before = two_workers(start(workers=2))
    answers: list[dict[str, int]] = []
    while len(answers) < 20 or {answer["pid"] for answer in answers} != before:
        answers.append(get(f"{address}/pid").json())
    left = [answer["remaining"] for answer in answers]
    assert left == list(range(left[0], left[0] - len(left), -1))
    exit_worker(address)
    wait_for_two_workers(address, excluding=set())
    assert get(f"{address}/pid").json()["remaining"] < left[-1]


def test_a_worker_that_dies_is_replaced(start: Start) -> None:
    running = start(workers=2)
    address, before = two_workers(running)
    exit_worker(address)
    assert len(wait_for_two_workers(address) & before) == 1
    assert running.stop()[0] == 0


def test_no_worker_outlives_a_killed_parent(start: Start) -> None:
    running = start(workers=2)
    _, workers = two_workers(running)
    assert running.stop(signal.SIGKILL)[0] == -signal.SIGKILL
    wait_until(lambda: not any(is_alive(worker) for worker in workers))


def test_each_death_is_logged_with_its_exit_status(start: Start) -> None:
    running = start(workers=2)
    address, before = two_workers(running)
    exit_worker(address)
    killed = next(iter(before & pids(address)))
    os.kill(killed, signal.SIGKILL)
    wait_for_two_workers(address, excluding=before)
    lines = [orjson.loads(line) for line in running.stop()[2].splitlines() if line[0] == "{"]
    deaths = [line for line in lines if line["message"] == "A worker died and is replaced"]
    assert [line["exit_status"] for line in deaths] == [7, -signal.SIGKILL]
    assert {line["worker_pid"] for line in deaths} == before


def test_a_replacement_that_cannot_start_is_tried_again_while_another_serves(
    start: Start, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    running = start(workers=2, environment={"SMALL_APP_BROKEN": str(broken)})
    address, before = two_workers(running)
    broken.touch()
    exit_worker(address)
    wait_until(lambda: broken.stat().st_size >= 2)
    assert len(pids(address)) == 1
    broken.unlink()
    assert len(wait_for_two_workers(address) & before) == 1
    assert running.stop()[0] == 0


def test_a_worker_that_dies_before_it_serves_ends_the_start(start: Start) -> None:
    status, output, errors = start("create_exit", workers=2).wait_for_exit()
    assert (status, output) == (1, "")
    assert errors.splitlines()[-1] == "Error: A worker exited with status 7 before it served"


@pytest.mark.parametrize(
    ("signals", "status"),
    [([signal.SIGTERM], 0), ([signal.SIGINT], 0), ([signal.SIGINT] * 2, EXIT_FORCED)],
)
def test_no_worker_is_left_when_the_service_has_ended(
    start: Start, signals: list[int], status: int
) -> None:
    running = start(workers=2)
    address, workers = two_workers(running)
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(get, f"{address}/sleep/{1 if status == 0 else 300}")
        wait_until(lambda: is_in_flight(address))
        for number in signals:
            running.process.send_signal(number)
            wait_until(lambda: refuses_connections(address))
        assert running.process.wait(TIMEOUT_SECONDS) == status
        assert not any(is_alive(worker) for worker in workers)
        with contextlib.suppress(httpx.TransportError):
            slow.result()


def test_no_worker_is_left_of_a_start_that_failed(start: Start, tmp_path: Path) -> None:
    """One worker still starts when the other has failed."""
    started = tmp_path / "pids"
    started.mkdir()
    waiting = {"SMALL_APP_START_SECONDS": "300", "SMALL_APP_PIDS": str(started)}
    running = start("create_second_fails", workers=2, environment=waiting)
    assert running.process.wait(TIMEOUT_SECONDS) == 1
    workers = [int(path.name) for path in started.iterdir()]
    assert len(workers) == 2
    assert not any(is_alive(worker) for worker in workers)


def test_an_interrupt_from_the_terminal_reaches_the_supervisor_alone(start: Start) -> None:
    running = start(workers=2)
    _, workers = two_workers(running)
    for worker in workers:
        assert os.getsid(worker) == worker != os.getsid(running.process.pid)


def test_settings_are_not_visible_in_the_list_of_processes(start: Start) -> None:
    running = start(workers=2, service={"headers": [["x-secret", "hunter2"]]})
    address, workers = two_workers(running)
    assert get(f"{address}/pid").headers["x-secret"] == "hunter2"
    for worker in workers:
        for name in ("cmdline", "environ"):
            assert b"hunter2" not in Path(f"/proc/{worker}/{name}").read_bytes()


def test_what_a_worker_prints_is_not_on_standard_output(start: Start) -> None:
    running = start(workers=2)
    address = running.address()
    get(f"{address}/say")
    _, output, errors = running.stop()
    assert output == ""
    assert "said" in errors.splitlines()


def test_a_connection_made_before_any_worker_serves_is_answered() -> None:
    """Also that the supervisor leaves this process's signal handlers as they were."""
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    [listener] = open_listeners("127.0.0.1", 0)
    early = socket.create_connection(listener.getsockname())
    early.sendall(b"GET /pid HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    answers = []

    def ready() -> None:
        answers.append(early.recv(12))
        os.kill(os.getpid(), signal.SIGTERM)

    config = ServerConfig(small_app.create)
    assert Supervisor(config, [listener], workers=2, on_ready=ready).run() == 0
    early.close()
    assert answers == [b"HTTP/1.1 200"]
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == handlers


def test_the_service_is_ready_when_every_worker_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMALL_APP_PIDS", str(tmp_path))
    [listener] = open_listeners("127.0.0.1", 0)
    started = []

    def ready() -> None:
        started.append(len([*tmp_path.iterdir()]))
        os.kill(os.getpid(), signal.SIGTERM)

    Supervisor(ServerConfig(small_app.create), [listener], workers=3, on_ready=ready).run()
    assert started == [3]


def test_a_failed_start_is_raised_with_its_reason() -> None:
    [listener] = open_listeners("127.0.0.1", 0)
    config = ServerConfig(small_app.create_expected_failure)
    with listener, pytest.raises(StartError, match="give another --mongo-url"):
        Supervisor(config, [listener], workers=2, on_ready=lambda: None).run()
