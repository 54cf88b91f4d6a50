"""CPU time is limited; time that passes while waiting is not."""

import pickle
import signal
import time
from contextlib import suppress

import pytest

from parsing.svg.unit_map import parse_unit_map
from resolvers.processing.task_process import CpuTimeExceededError, limit_cpu_time

MESSAGE = "the drawing takes over 0.01 seconds of CPU time to parse; simplify it"


def test_parsing_stops_after_its_cpu_time_without_a_position() -> None:
    large = f"<svg>{'<g><path/></g>' * 50_000}</svg>".encode()
    with pytest.raises(CpuTimeExceededError) as caught, limit_cpu_time(0.01):
        parse_unit_map(large)
    assert str(caught.value) == MESSAGE
    assert str(pickle.loads(pickle.dumps(caught.value))) == MESSAGE


def test_waiting_takes_no_cpu_time() -> None:
    with limit_cpu_time(0.05):
        time.sleep(0.2)


def test_the_limit_ends_with_the_block() -> None:
    handler = signal.getsignal(signal.SIGPROF)
    with limit_cpu_time(0.05):
        pass
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
    assert signal.getsignal(signal.SIGPROF) == handler


def test_a_limit_counts_what_is_used_inside_a_shorter_one() -> None:
    with (
        pytest.raises(CpuTimeExceededError, match=r"^1 outside$"),
        limit_cpu_time(1.0, "{:g} outside"),
    ):
        with limit_cpu_time(0.9, "{:g} inside"):
            compute(0.4)
        compute(0.8)  # less than the limit, but for what was used inside


def test_the_limit_holds_where_its_exception_is_lost() -> None:
    """As in a finalizer, where Python prints an exception and goes on."""
    with pytest.raises(CpuTimeExceededError), limit_cpu_time(0.05):
        with suppress(CpuTimeExceededError):
            compute(10.0)
        compute(10.0)


def compute(seconds: float) -> None:
    """Use CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
