"""Overload is four times what the server answered at saturation, over more connections."""

import pytest

from bench.data.workloads import UNIT, WORKLOADS
from bench.load.overload import Overload, measure_overload
from tests.bench.load.canned import DIRECTORY, CannedLoad, build_outcome, build_server

[WORKLOAD] = [workload for workload in WORKLOADS if workload.name == UNIT]


@pytest.mark.parametrize("workers", [1, 3])
def test_four_times_the_saturation_is_sent_over_more_connections_than_are_answered(
    workers: int,
) -> None:
    load = CannedLoad(build_outcome(2.0, 1000), build_outcome(4.0, 1600, 4800))
    measured = measure_overload(build_server(), workers, WORKLOAD, DIRECTORY, load, 1.5)
    saturating, overloading = load.orders
    assert (saturating.rate, saturating.connections) == (None, 8 * workers)
    assert (overloading.rate, overloading.connections) == (2000.0, 600 * workers)
    assert saturating.seconds == overloading.seconds == 1.5
    assert measured == Overload(
        saturation=500.0,
        answered=400.0,
        p50_ms=1601.0,
        p99_ms=1602.0,
        refused=1200.0,
        refused_p99_ms=4804.0,
    )


def test_requests_may_be_refused_under_overload_only() -> None:
    load = CannedLoad(build_outcome(1.0, 10), build_outcome(1.0, 10))
    measure_overload(build_server(), 1, WORKLOAD, DIRECTORY, load, 1.0)
    assert [order.may_refuse for order in load.orders] == [False, True]
