"""A soak fails when a process has more memory or descriptors at its end than after its warm-up."""

from bench.load.generator import LoadOrder
from bench.soak import ProcessSample, build_orders, find_growth
from tests.bench.load.canned import DIRECTORY, build_server


def samples(*megabytes: float, descriptors: int = 50) -> list[ProcessSample]:
    return [ProcessSample(figure, descriptors) for figure in megabytes]


def test_a_process_that_grows_while_it_warms_up_is_flat() -> None:
    assert find_growth("worker", samples(100, 200, 300, 300, 300, 301, 299, 302)) == []


def test_a_process_may_grow_by_5_percent_and_5_megabytes() -> None:
    assert find_growth("worker", samples(90, 100, 100, 110)) == []
    assert find_growth("worker", samples(90, 100, 100, 111)) == [
        "worker: memory grew from 100.0 to 111.0 MB"
    ]


def test_one_high_sample_is_no_growth() -> None:
    assert find_growth("worker", samples(*[100.0] * 11, 300)) == []


def test_descriptors_that_are_not_closed_are_growth() -> None:
    leaking = samples(100, 100, 100) + samples(100, descriptors=56)
    assert find_growth("worker", leaking) == ["worker: open descriptors grew from 50 to 56"]


def test_the_overload_has_the_requests_of_the_steady_load_over_more_connections() -> None:
    steady, overload = build_orders(build_server(), DIRECTORY, 60.0)
    assert isinstance(steady, LoadOrder)
    assert steady.requests == overload.requests
    assert (steady.seconds, overload.seconds) == (36.0, 12.0)
    assert overload.connections > 100 >= steady.connections
    assert {"/v1/openapi.json", "/graphql", "/health/ready"} <= {x.path for x in steady.requests}
