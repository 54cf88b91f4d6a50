"""The memory in which the workers of a gateway count requests together."""

import itertools
import os
import signal
import time
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.limits import arrival_table
from gateway.limits.arrival_table import SETS, SLOTS, ArrivalTables, create_shared_memory
from gateway.limits.rate_limit import RateLimiter
from tests.gateway.limits.limiting_process import LimitingProcess

PROCESSES = 3
PER_SECOND, BURST = 200.0, 40

Processes = list[LimitingProcess]


@pytest.fixture(scope="module")
def memory() -> Iterator[int]:
    descriptor = create_shared_memory()
    yield descriptor
    os.close(descriptor)


@pytest.fixture(scope="module")
def processes(memory: int) -> Iterator[Processes]:
    started = [LimitingProcess(memory, PER_SECOND, BURST) for _ in range(PROCESSES)]
    yield started
    for process in started:
        process.stop()


def assert_no_window_exceeds(admitted: list[float], per_second: float, burst: int) -> None:
    """Assert that no window of time holds more than the burst and the rate."""
    times = sorted(admitted)
    surplus = [count - per_second * (at - times[0]) for count, at in enumerate(times)]
    before = itertools.accumulate(surplus, min)  # least surplus of a window's beginning
    worst = max((now - least for now, least in zip(surplus, before, strict=True)), default=0)
    assert worst + 1 <= burst + 0.011


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(0, PROCESSES - 1), st.floats(0, 0.3), st.integers(1, 30)),
        min_size=1,
        max_size=15,
    )
)
def test_processes_count_into_one_bucket(
    processes: Processes, rounds: list[tuple[int, float, int]]
) -> None:
    name = str(uuid.uuid4())
    now, admitted = 1000.0, list[float]()
    alone = RateLimiter(PER_SECOND, BURST, ArrivalTables.for_single_process().keys)
    expected = list[float]()
    for number, pause, requests in rounds:
        now += pause
        processes[number].begin(name, requests, now)
        admitted += processes[number].admitted()
        statuses = [alone.check("key", now) for _ in range(requests)]
        expected += [now for status in statuses if status.wait_seconds is None]
    assert admitted == expected  # as one process would
    assert_no_window_exceeds(admitted, PER_SECOND, BURST)


def test_processes_that_race_admit_no_more_than_one(memory: int) -> None:
    per_second, burst = 100_000.0, 5  # so fast that most requests change the number
    racing = [LimitingProcess(memory, per_second, burst) for _ in range(PROCESSES)]
    for process in racing:
        process.begin("race", 20_000)
    admitted = [at for process in racing for at in process.admitted()]
    for process in racing:
        process.stop()
    assert len(admitted) >= burst
    assert_no_window_exceeds(admitted, per_second, burst)


def test_a_process_that_dies_holding_a_lock_holds_up_no_other(memory: int) -> None:
    process_id = os.fork()
    if not process_id:  # a child that never returns
        with ArrivalTables.attach(memory).keys.find_slot("dying"):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(process_id, 0)
    tables = ArrivalTables.attach(memory)
    assert tables.keys._lock(0)
    with tables.keys.find_slot("dying") as slot:
        assert tables.keys.times[slot] == 0


def test_a_stopped_process_that_holds_a_lock_holds_up_no_other(
    memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    process_id = os.fork()
    if not process_id:
        with ArrivalTables.attach(memory).keys.find_slot("stopped"):
            os.write(writing, b"locked")
            os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    os.read(reading, 6)
    try:
        monkeypatch.setattr(arrival_table, "_LOCK_ATTEMPTS", 3)
        limiter = RateLimiter(1, 2, ArrivalTables.attach(memory).keys)
        statuses = [limiter.check("stopped", 9.0) for _ in range(3)]
        assert [status.remaining for status in statuses] == [1, 0, 0]  # still counts
    finally:
        os.kill(process_id, signal.SIGKILL)
        os.waitpid(process_id, 0)
        os.close(reading)
        os.close(writing)


def test_keys_and_addresses_are_counted_apart() -> None:
    tables = ArrivalTables.for_single_process()
    for table, value in zip(tables, (1.0, 2.0), strict=True):
        with table.find_slot("name") as slot:
            table.times[slot] = value
    for table, value in zip(tables, (1.0, 2.0), strict=True):
        with table.find_slot("name") as slot:
            assert table.times[slot] == value


def test_the_memory_does_not_grow_and_busy_clients_stay() -> None:
    table = ArrivalTables.for_single_process().keys
    limiter = RateLimiter(1, 1, table)
    now = time.monotonic()
    assert limiter.check("busy", now + 100).wait_seconds is None  # the latest of all
    for number in range(20_000):
        limiter.check(f"client {number}", now)
    assert len(table.times) == SLOTS
    assert limiter.check("busy", now + 100).wait_seconds is not None


def test_a_slot_of_the_past_is_used_before_one_that_still_counts() -> None:
    table = ArrivalTables.for_single_process().keys
    first, *others = _names_of_one_set(9)
    for age, name in enumerate([first, *others]):
        with table.find_slot(name) as slot:
            table.times[slot] = 10.0 + age
    with table.find_slot(others[0]) as slot:
        assert table.times[slot] == 11.0
    with table.find_slot(first) as slot:
        assert table.times[slot] == 0  # evicted for the ninth


def _names_of_one_set(count: int) -> list[str]:
    """Names whose digests select the same slots."""
    numbers = (str(number) for number in itertools.count())
    in_first_set = (name for name in numbers if arrival_table.compute_tag(name) % SETS == 0)
    return [*itertools.islice(in_first_set, count)]
