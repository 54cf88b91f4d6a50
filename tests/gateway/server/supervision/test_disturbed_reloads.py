"""Signals, deaths and long work during a reload."""

import os
import signal
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateway.server.supervision.orders import (
    EXIT_FORCED,
)
from tests.gateway.server.clients import clients
from tests.gateway.server.processes import (
    TIMEOUT_SECONDS,
    get,
    is_alive,
    is_in_flight,
    pid,
    wait_until,
)
from tests.gateway.server.supervision.services import Service

pytestmark = pytest.mark.slow


def test_a_second_reload_begins_when_the_first_has_ended(serve: Callable[..., Service]) -> None:
    service = serve()
    with clients(service.port) as load:
        service.send(signal.SIGHUP)
        service.wait_for("Reloading")
        service.wait_for("Reloaded")  # its old worker may still drain
        service.send(signal.SIGHUP)
        service.send(signal.SIGHUP)  # as good as one
        service.wait_for("Reloaded", 2)
    assert load.failures == []
    assert service.stop() == 0


def test_signals_that_arrive_while_the_program_is_replaced_are_not_lost(
    serve: Callable[..., Service],
) -> None:
    """They are sent as fast as possible: some find no handler in place."""
    service = serve()
    with clients(service.port) as load:
        for _ in range(300):
            service.send(signal.SIGHUP)
            wait_until(lambda: is_alive(service.running.process.pid))
        service.wait_for("Reloaded")
    assert load.failures == []
    assert service.stop() == 0


@pytest.mark.parametrize(
    ("signals", "status"),
    [([signal.SIGTERM], 0), ([signal.SIGINT], 0), ([signal.SIGINT] * 2, EXIT_FORCED)],
)
@pytest.mark.parametrize("moment", ["check", "start"])
def test_the_service_can_be_stopped_during_a_reload(
    serve: Callable[..., Service], tmp_path: Path, signals: list[int], status: int, moment: str
) -> None:
    """While the new program is checked, and while its workers start."""
    starting, slow = tmp_path / "starting", tmp_path / "slow"
    environment = {"SMALL_APP_SLOW_START": str(slow), "SMALL_APP_STARTING": str(starting)}
    service = serve(environment=environment, service={"drain_seconds": 60})
    before = pid(service.address)
    slow.touch()
    starting.unlink()
    with ThreadPoolExecutor() as pool:
        request = pool.submit(get, f"{service.address}/sleep/{1 if status == 0 else 300}")
        wait_until(lambda: is_in_flight(service.address))
        service.send(signal.SIGHUP)
        service.wait_for("Reloading")
        if moment == "start":
            wait_until(starting.exists)
        for number in signals:
            service.send(number)
            wait_until(lambda: _refuses(service.port))
        assert service.running.process.wait(TIMEOUT_SECONDS) == status
        assert not is_alive(before)
        if status == 0:
            assert request.result().status_code == 200
        else:
            assert request.exception() is not None


def _refuses(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_workers_that_die_during_a_reload_do_not_stop_it(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    """One of the program before, while the new ones start: nobody is refused meanwhile."""
    slow = tmp_path / "slow"
    service = serve(environment={"SMALL_APP_SLOW_START": str(slow)})
    before = pid(service.address)
    slow.touch()
    with clients(service.port, keeping=0, fresh=4) as load:
        wait_until(lambda: load.answers > 20)
        service.send(signal.SIGHUP)
        wait_until(lambda: bool(new_workers(service, before)))
        os.kill(before, signal.SIGKILL)
        service.wait_for("A worker of the previous program died")
        slow.unlink()
        service.wait_for("Reloaded")
        answers = load.answers
        wait_until(lambda: load.answers > answers + 20)
    assert [each for each in load.failures if "Refused" in each] == []
    assert len(load.failures) <= 4  # those that the dead worker had taken
    assert service.stop() == 0


def test_a_new_worker_that_dies_while_it_starts_ends_the_reload(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    slow = tmp_path / "slow"
    service = serve(environment={"SMALL_APP_SLOW_START": str(slow)})
    before = pid(service.address)
    slow.touch()
    service.send(signal.SIGHUP)
    wait_until(lambda: bool(new_workers(service, before)))
    [new] = new_workers(service, before)
    os.kill(new, signal.SIGKILL)
    [line] = service.wait_for("The reload failed")
    assert line["reason"] == "A worker exited with status -9 before it served"
    assert pid(service.address) == before
    slow.unlink()
    service.reload()
    assert service.stop() == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_replacements_of_all_workers_that_cannot_start_are_tried_until_they_can(
    serve: Callable[..., Service], tmp_path: Path, workers: int
) -> None:
    """As when MongoDB has no primary; connections wait meanwhile."""
    broken = tmp_path / "broken"
    service = serve(workers=workers, environment={"SMALL_APP_BROKEN": str(broken)})
    with clients(service.port, keeping=0, fresh=4) as load:
        wait_until(lambda: len(load.pids) == workers)
        broken.touch()
        for worker in load.pids.copy():
            os.kill(worker, signal.SIGKILL)
        lines = service.wait_for("A worker could not be started", 2 * workers)
        broken.unlink()
        wait_until(lambda: len(load.pids) == 2 * workers)
    assert {line["reason"] for line in lines} == {"the application is broken"}
    assert [each for each in load.failures if "Refused" in each] == []
    assert len(load.failures) <= workers * 4  # those that a dead worker had taken
    assert service.stop() == 0


def test_a_reload_while_no_worker_can_start_is_tried_until_one_can(
    serve: Callable[..., Service], tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    service = serve(environment={"SMALL_APP_BROKEN": str(broken)})
    before = pid(service.address)
    broken.touch()
    os.kill(before, signal.SIGKILL)
    service.wait_for("A worker could not be started")
    service.send(signal.SIGHUP)
    environment = Path(f"/proc/{service.running.process.pid}/environ")
    wait_until(lambda: b"FLOORGATE_HANDOVER" in environment.read_bytes())
    tried = len(service.lines("A worker could not be started"))
    service.wait_for("A worker could not be started", tried + 2)
    broken.unlink()
    service.wait_for("Reloaded")
    assert pid(service.address) != before
    assert service.stop() == 0


def new_workers(service: Service, before: int) -> list[int]:
    """Worker processes beside that of the program before."""
    number = service.running.process.pid
    children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
    others = {*map(int, children)} - {before}
    return [each for each in others if b"gateway.server.worker" in command(each)]


def command(number: int) -> bytes:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_lone_worker_that_is_killed_is_replaced_and_nobody_is_refused(
    serve: Callable[..., Service],
) -> None:
    service = serve()
    with clients(service.port, keeping=0, fresh=4) as load:
        for number in range(3):
            wait_until(lambda number=number: len(load.pids) == number + 1)  # type: ignore[misc]
            os.kill(pid(service.address), signal.SIGKILL)
        wait_until(lambda: len(load.pids) == 4)
    assert [each for each in load.failures if "Refused" in each] == []
    assert len(load.failures) <= 3 * 4  # those that a dead worker had taken
    assert service.stop() == 0
