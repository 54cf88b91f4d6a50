"""What processes share: leases and counts in memory; and tasks that end."""

import asyncio
import os
from typing import Any

import pytest

from storage.errors import LeaseLostError
from storage.mongo import lease, shared_memory
from storage.mongo.lease import Lease
from storage.mongo.shared_memory import REPORTED_BYTES, CounterSlot, ReportedTimes, WriteCounter
from storage.mongo.tasks import cancel_and_wait, run_in_background
from tests.waiting import TIMEOUT_SECONDS


async def test_one_of_many_acquires_it(database: Any) -> None:
    leases = [Lease(database["leases"]) for _ in range(5)]
    assert sorted(await asyncio.gather(*(each.try_acquire() for each in leases))) == [0, 0, 0, 0, 1]


async def test_the_next_holder_reads_what_the_last_one_left(database: Any) -> None:
    first, second = Lease(database["leases"]), Lease(database["leases"])
    assert await first.try_acquire()
    await first.update({"done": 3})
    await first.release()
    assert await second.try_acquire()
    assert second.document["done"] == 3


async def test_waiting_ends_when_it_is_released(database: Any) -> None:
    first, second = Lease(database["leases"]), Lease(database["leases"])
    assert await first.try_acquire()
    waited: list[bool] = []

    def release() -> None:
        if not waited:
            waited.append(True)
            releases.append(asyncio.ensure_future(first.release()))

    releases: list[Any] = []
    assert await second.acquire(60, release)
    assert waited


async def test_it_is_held_though_it_took_longer_to_acquire_than_it_lasts(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a transaction of the dead holder delayed the command."""
    times = iter([0.0])
    monkeypatch.setattr(lease, "read_clock", lambda: next(times, lease.LEASE_SECONDS + 1))
    waiting = Lease(database["leases"])
    assert await waiting.try_acquire()
    waiting.check_held()


class LateReplies:
    """A collection that gives the first reply to an update back late."""

    def __init__(self, collection: Any) -> None:
        self.collection = collection
        self.replied, self.may_arrive, self.has_arrived = (asyncio.Event() for _ in range(3))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.collection, name)

    async def find_one_and_update(self, *given: Any, **options: Any) -> Any:
        if self.may_arrive.is_set():  # this is the next heartbeat
            self.has_arrived.set()
        reply = await self.collection.find_one_and_update(*given, **options)
        if not self.replied.is_set():
            self.replied.set()
            await self.may_arrive.wait()
        return reply


async def test_a_late_reply_to_a_heartbeat_takes_no_update_back(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "HEARTBEAT_SECONDS", 0.01)
    held = Lease(database["leases"])
    assert await held.try_acquire()
    leases: Any = LateReplies(database["leases"])
    held._collection = leases
    async with asyncio.timeout(TIMEOUT_SECONDS), held.keep_alive():
        await leases.replied.wait()
        await held.update({"state": "removing"})
        leases.may_arrive.set()
        await leases.has_arrived.wait()
        assert held.document["state"] == "removing"
        held.check_held()


async def test_waiting_ends_after_a_time(database: Any) -> None:
    first, second = Lease(database["leases"]), Lease(database["leases"])
    assert await first.try_acquire()
    assert not await second.acquire(0)


async def test_a_holder_that_was_replaced_learns_it(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Lease(database["leases"]), Lease(database["leases"])
    with monkeypatch.context() as patch:
        patch.setattr(lease, "LEASE_SECONDS", 0.0)
        assert await first.try_acquire()
    assert await second.acquire(60)
    with pytest.raises(LeaseLostError):
        await first.update({"done": 3})
    with pytest.raises(LeaseLostError):
        first.check_held()
    assert "done" not in (await database["leases"].find_one())


async def test_heartbeats_keep_it(database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "HEARTBEAT_SECONDS", 0.01)
    held = Lease(leases := database["leases"])
    assert await held.try_acquire()
    expires = held.document["expires"]
    async with asyncio.timeout(TIMEOUT_SECONDS), held.keep_alive():
        while (await leases.find_one())["expires"] == expires:
            await asyncio.sleep(0.01)
    assert await Lease(database["leases"]).try_acquire()


async def test_a_task_that_ignores_cancellations_is_cancelled_again() -> None:
    ignored = 0

    async def ignore_cancellations() -> None:
        nonlocal ignored
        while ignored < 3:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                ignored += 1

    task = asyncio.create_task(ignore_cancellations())
    await asyncio.sleep(0)
    await cancel_and_wait(task)
    assert (task.done(), ignored) == (True, 3)


async def test_what_a_task_raised_is_not_raised_again() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    await cancel_and_wait(asyncio.create_task(fail()))


async def test_background_work_ends_with_its_context() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    with pytest.raises(ZeroDivisionError):
        async with run_in_background(work()):
            await started.wait()
            assert not ended.is_set()
            raise ZeroDivisionError
    assert ended.is_set()


@pytest.mark.parametrize("system", ["Linux", "macOS"])
def test_workers_of_one_gateway_see_each_others_writes(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if system == "macOS":
        monkeypatch.delattr(os, "memfd_create")
    descriptor = shared_memory.create_shared_memory(2)
    first, second = (WriteCounter.attach(CounterSlot(descriptor, number)) for number in (0, 1))
    os.close(descriptor)
    before = first.read()
    assert second.read() == before
    second.increment()
    assert first.read() == second.read() != before
    first.increment()
    assert second.read() not in (before, b"")


def attach(count: int) -> list[ReportedTimes]:
    """Return the times of processes that share memory."""
    memory = memoryview(bytearray(count * REPORTED_BYTES))
    return [ReportedTimes(memory, number) for number in range(count)]


def test_all_processes_that_follow_have_to_reach_a_time() -> None:
    first, second, _ = attach(3)
    first.publish(5)
    second.publish(4)
    assert first.have_reached(4)
    assert not first.have_reached(5)
    second.publish(5)
    assert first.have_reached(5)


def test_a_process_that_uses_no_cache_is_not_waited_for() -> None:
    first, second = attach(2)
    first.publish(5)
    second.publish(4)
    second.clear()
    assert first.have_reached(5)


def test_a_process_that_has_ended_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = attach(2)
    second.publish(4)
    assert not first.have_reached(5)
    monkeypatch.setattr(shared_memory, "DEAD_NS", 0)
    assert first.have_reached(5)
