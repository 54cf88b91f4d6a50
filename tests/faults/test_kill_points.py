"""Processes killed while a write waits for MongoDB: all of it is done, or nothing."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench.load.machine import list_process_tree
from tests.faults.kill_points import WRITES, Service, is_alive, kill_at_points, run_service
from tests.faults.wire import Fault
from tests.waiting import TIMEOUT_SECONDS, wait_until

pytestmark = [pytest.mark.xdist_group("kill-points"), pytest.mark.slow]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with run_service(tmp_path_factory.mktemp("points")) as service:
        yield service


@pytest.mark.parametrize(
    ("name", "at_once"), [("assignUnitAttributes", False), ("createApiKey", True)]
)
def test_a_write_whose_worker_is_killed_is_done_or_not(
    service: Service, name: str, at_once: bool
) -> None:
    points = [*kill_at_points(service, name, at_once=at_once)]
    assert [point.problems for point in points] == [[]] * len(points)
    commands = [point.command for point in points]
    assert commands[-2:] == ["insert audit_log in a transaction", "commitTransaction"]


@pytest.mark.parametrize("fault", [Fault.HELD, Fault.REPLY_HELD])
def test_a_write_is_finished_when_the_supervisor_is_killed(service: Service, fault: Fault) -> None:
    write, process = WRITES["assignUnitAttributes"], service.gateway.process
    assert process is not None
    before = service.read()
    injection = service.wire.inject(fault, lambda sent: sent.name == "commitTransaction")
    with ThreadPoolExecutor(1) as clients:
        answer = clients.submit(service.send, write)
        assert injection.held.wait(TIMEOUT_SECONDS)
        _, *workers = list_process_tree(process.pid)
        process.kill()
        process.wait()
        service.wire.clear()
        assert answer.result()[0] == 200
    wait_until(lambda: not any(map(is_alive, workers)), "no worker is left")
    assert service.is_settled()
    assert service.read() != before
    service.gateway.start()
    service.gateway.wait_until_ready()
    assert service.send(write)[0] == 200
    service.restore()
