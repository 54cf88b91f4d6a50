"""In a round every peer runs every workload it serves, saturated and at half of that."""

import pytest

from bench.data.workloads import LIST, NOT_MODIFIED, UNIT, WORKLOADS, Workload
from bench.load.rounds import BenchmarkSetup, RoundSettings, measure_rounds, warm_up
from tests.bench.load.canned import DIRECTORY, CannedLoad, CannedServer, build_outcome, build_server

BY_NAME = {workload.name: workload for workload in WORKLOADS}


def build_setup(
    load: CannedLoad, *servers: CannedServer, workloads: tuple[str, ...] = (UNIT,)
) -> BenchmarkSetup:
    chosen: list[Workload] = [BY_NAME[name] for name in workloads]
    return BenchmarkSetup(servers, chosen, DIRECTORY, load)


def test_a_sample_is_cpu_per_request_at_saturation_and_latency_at_half_of_it() -> None:
    load = CannedLoad(build_outcome(2.0, 1000), build_outcome(2.0, 500))
    [sample] = measure_rounds(build_setup(load, build_server(10.0, 11.5)), RoundSettings(1, 1.0))
    assert (sample.round, sample.workload, sample.peer) == (0, UNIT, "peer")
    assert (sample.requests, sample.requests_per_second) == (1000, 500.0)
    assert sample.cpu_ms == pytest.approx(1.5)  # 1.5 s for 1,000 requests
    assert sample.busy == pytest.approx(0.75)
    assert (sample.p50_ms, sample.p99_ms) == (501.0, 502.0)
    assert 0 <= sample.mongod_cpu_ms < 1  # of this process, in a moment
    saturating, paced = load.orders
    assert (saturating.rate, saturating.connections, saturating.seconds) == (None, 8, 1.0)
    assert (paced.rate, paced.connections, paced.seconds) == (250.0, 32, 1.0)


def test_a_slow_peer_is_paced_for_as_long_as_five_requests_take() -> None:
    load = CannedLoad(build_outcome(2.0, 2), build_outcome(10.0, 5))
    assert [*measure_rounds(build_setup(load, build_server(0.0, 2.0)), RoundSettings(1, 0.1))]
    assert (load.orders[1].rate, load.orders[1].seconds) == (0.5, 10.0)


def test_every_second_round_goes_backwards_through_what_each_peer_serves() -> None:
    partial = build_server(*range(20), name="partial", workloads=frozenset({LIST}))
    load = CannedLoad(*[build_outcome(1.0, 10)] * 18)
    setup = build_setup(load, build_server(*range(20)), partial, workloads=(UNIT, LIST))
    samples = [*measure_rounds(setup, RoundSettings(3, 0.1))]
    forwards = [(UNIT, "peer"), (LIST, "peer"), (LIST, "partial")]
    assert [(sample.workload, sample.peer) for sample in samples] == [
        *forwards,
        *forwards[::-1],
        *forwards,
    ]
    assert [sample.round for sample in samples] == [0] * 3 + [1] * 3 + [2] * 3


def test_conditional_requests_carry_the_etag_of_their_own_server() -> None:
    load = CannedLoad(*[build_outcome(1.0, 10)] * 2)
    setup = build_setup(load, build_server(0.0, 1.0), workloads=(NOT_MODIFIED,))
    assert [*measure_rounds(setup, RoundSettings(1, 0.1))]
    for order in load.orders:
        [request] = order.requests
        assert (order.status, request.headers) == (304, {"If-None-Match": f'"{request.path}"'})


def test_warming_up_runs_every_workload_once_on_every_peer() -> None:
    load = CannedLoad(*[build_outcome(1.0, 10)] * 4)
    servers = build_server(), build_server(name="other")
    steps = [*warm_up(build_setup(load, *servers, workloads=(UNIT, LIST)), 0.25)]
    assert len(steps) == len(load.orders) == 4
    assert {(order.seconds, order.rate) for order in load.orders} == {(0.25, None)}
