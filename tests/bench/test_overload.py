"""Goodput, rejections, memory and recovery are measured at 4 and 8 times the peak."""

import os
from dataclasses import replace

import pytest

from bench import overload
from bench.data.workloads import UNIT, WORKLOADS
from bench.overload import OverloadSample, measure_gateway
from tests.bench.load.canned import DIRECTORY, CannedLoad, build_outcome, build_server

[WORKLOAD] = [workload for workload in WORKLOADS if workload.name == UNIT]
MET = OverloadSample(
    peer="Floorgate", factor=4, peak=1000.0, goodput=800.0, efficiency=1.0, p99_ms=300.0,
    refused=3000.0, refused_p99_ms=9.9, rss_mb=(100.0, 101.0), recovered_seconds=5.0,
)  # fmt: skip


def test_each_factor_of_the_peak_is_due_whatever_is_answered() -> None:
    peaks = [build_outcome(1.0, 400), build_outcome(1.0, 500)]
    overloads = [build_outcome(1.0, 450, 1550), build_outcome(1.0, 420, 3580)]
    load = CannedLoad(
        *peaks, overloads[0], build_outcome(0.5, 250), overloads[1], build_outcome(0.5, 250)
    )
    server = replace(build_server(*map(float, range(20))), pid=os.getpid())
    patient = CannedLoad(build_outcome(1.0, 5, 15), build_outcome(1.0, 4, 16))
    samples = list(measure_gateway(server, WORKLOAD, DIRECTORY, load, patient, 1.0))
    assert [order.rate for order in patient.orders] == [20, 20]
    assert [sample.refused_p99_ms for sample in samples] == [19.0, 20.0]
    assert [order.rate for order in load.orders] == [None, None, 2000.0, None, 4000.0, None]
    assert [(sample.peak, sample.goodput, sample.refused) for sample in samples] == [
        (500.0, 450.0, 1550.0), (500.0, 420.0, 3580.0),
    ]  # fmt: skip


def test_a_gateway_that_does_not_recover_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overload, "RECOVERY_SECONDS", 0.0)
    load = CannedLoad(*[build_outcome(1.0, 10)] * 6)
    server = replace(build_server(*map(float, range(20))), pid=os.getpid())
    patient = CannedLoad(*[build_outcome(1.0, 20)] * 2)
    samples = list(measure_gateway(server, WORKLOAD, DIRECTORY, load, patient, 1.0))
    assert [sample.recovered_seconds for sample in samples] == [None, None]
    assert not samples[0].meets_targets


@pytest.mark.parametrize(
    ("missed", "value"),
    [("goodput", 799.0), ("refused_p99_ms", 10.0), ("recovered_seconds", 5.1)],
)
def test_each_target_counts(missed: str, value: float) -> None:
    figures = {name: getattr(MET, name) for name in MET.__struct_fields__}
    assert MET.meets_targets
    assert not OverloadSample(**{**figures, missed: value}).meets_targets
