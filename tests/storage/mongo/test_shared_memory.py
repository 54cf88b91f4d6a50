"""What the workers of one gateway share: the count of their writes, and how far they have read."""

import os

import pytest

from storage.mongo import shared_memory
from storage.mongo.shared_memory import REPORTED_BYTES, CounterSlot, ReportedTimes, WriteCounter


def test_workers_of_one_gateway_see_each_others_writes() -> None:
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
