"""Workers that die are replaced, meanwhile no client is refused, and none outlives the service."""

import os
import signal
from pathlib import Path

import pytest

from tests.gateway.server.clients import clients
from tests.gateway.server.processes import Start, exit_worker, find_workers, get, is_alive
from tests.waiting import wait_until


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
    """As when MongoDB has no primary; connections wait meanwhile."""
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
    assert [each for each in load.failures if "Refused" in each] == []
    assert len(load.failures) <= workers * 4  # those that a dead worker had taken
    assert running.stop()[0] == 0
