"""Processes killed while a write waits for MongoDB: all of it is done, or nothing."""

from collections.abc import AsyncIterator

import pytest

from bench.load.machine import list_process_tree
from tests.faults.kill_points import (
    MUTATIONS,
    KillableService,
    is_alive,
    kill_at_points,
    run_killable_service,
)
from tests.faults.wire import Fault
from tests.gateway.server.served_application import wait_until

pytestmark = [pytest.mark.xdist_group("kill-points"), pytest.mark.slow]


@pytest.fixture(scope="module")
async def service(
    tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[KillableService]:
    async with run_killable_service(tmp_path_factory.mktemp("points")) as service:
        yield service


@pytest.mark.parametrize(
    ("name", "at_once"), [("assignUnitAttributes", False), ("createApiKey", True)]
)
async def test_a_write_whose_worker_is_killed_is_done_or_not(
    service: KillableService, name: str, at_once: bool
) -> None:
    points = [each async for each in kill_at_points(service, MUTATIONS[name], at_once=at_once)]
    assert [point.problems for point in points] == [[]] * len(points)
    commands = [point.command for point in points]
    assert commands[-2:] == ["insert audit_log in a transaction", "commitTransaction"]


@pytest.mark.parametrize("fault", [Fault.HELD, Fault.REPLY_HELD])
async def test_a_write_is_finished_when_the_supervisor_is_killed(
    service: KillableService, fault: Fault
) -> None:
    mutation, process = MUTATIONS["assignUnitAttributes"], service.process.process
    assert process is not None
    before = service.read()
    injection = service.wire.inject(fault, lambda sent: sent.name == "commitTransaction")
    answer = await service.hold(mutation, injection)
    assert injection.held.is_set()
    _, *workers = list_process_tree(process.pid)
    process.kill()
    process.wait()
    service.wire.clear()
    assert (await answer).is_success
    await wait_until(lambda: not any(map(is_alive, workers)))
    assert service.is_settled()
    assert service.read() != before
    service.process.start()
    service.process.wait_until_ready()
    assert (await service.send_until_done(mutation)).is_success
    service.restore()
