"""The workers of one gateway see each other's writes."""

import os

from storage.cache import write_counter
from storage.cache.write_counter import CounterSlot, WriteCounter


def test_workers_of_one_gateway_see_each_others_writes() -> None:
    descriptor = write_counter.create_shared_memory(2)
    first, second = (WriteCounter.attach(CounterSlot(descriptor, number)) for number in (0, 1))
    os.close(descriptor)
    before = first.read()
    assert second.read() == before
    second.increment()
    assert first.read() == second.read() != before
    first.increment()
    assert second.read() not in (before, b"")
