"""Goodput, rejections, memory and recovery are measured at 4 and 8 times the peak."""

import math
import os
from dataclasses import replace

import pytest
from msgspec import structs

from bench import overload
from bench.data.workloads import UNIT, WORKLOADS
from bench.overload import PATIENT_CLIENTS, OverloadSample, measure_gateway, summarize_rounds
from tests.bench.load.canned import DIRECTORY, CannedLoad, build_outcome, build_server

[WORKLOAD] = [workload for workload in WORKLOADS if workload.name == UNIT]
MET = OverloadSample(
    peer="Floorgate", factor=4, peak=1000.0, goodput=800.0, goodput_share=0.8, efficiency=1.0,
    p99_ms=300.0, refused=3000.0, refused_p99_ms=9.9, rss_mb=(100.0, 101.0), recovered_seconds=5.0,
)  # fmt: skip


def test_each_factor_of_the_peak_before_it_is_due_whatever_is_answered() -> None:
    load = CannedLoad(
        build_outcome(1.0, 500), build_outcome(1.0, 450, 1550), build_outcome(0.5, 250),
        build_outcome(1.0, 600), build_outcome(1.0, 420, 3580), build_outcome(0.5, 300),
    )  # fmt: skip
    server = replace(build_server(*map(float, range(20))), pid=os.getpid())
    patient = CannedLoad(build_outcome(1.0, 5, 15), build_outcome(1.0, 4, 16))
    samples = list(measure_gateway(server, WORKLOAD, DIRECTORY, load, patient, 1.0))
    assert [order.rate for order in patient.orders] == [PATIENT_CLIENTS] * 2
    assert [sample.refused_p99_ms for sample in samples] == [19.0, 20.0]
    assert [order.rate for order in load.orders] == [None, 2000.0, None, None, 4800.0, None]
    assert [(sample.peak, sample.goodput_share, sample.refused) for sample in samples] == [
        (500.0, 0.9, 1550.0), (600.0, 0.7, 3580.0),
    ]  # fmt: skip


def test_a_gateway_that_does_not_recover_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overload, "RECOVERY_SECONDS", 0.0)
    load = CannedLoad(*[build_outcome(1.0, 10)] * 6)
    server = replace(build_server(*map(float, range(20))), pid=os.getpid())
    patient = CannedLoad(*[build_outcome(1.0, 20)] * 2)
    samples = list(measure_gateway(server, WORKLOAD, DIRECTORY, load, patient, 1.0))
    assert [sample.recovered_seconds for sample in samples] == [math.inf, math.inf]
    assert not samples[0].meets_targets


def test_rounds_are_summed_up_by_their_medians() -> None:
    rounds = [
        structs.replace(MET, goodput_share=share, rss_mb=(megabytes, megabytes + 1))
        for share, megabytes in ((0.9, 100.0), (0.1, 101.0), (0.8, 102.0))
    ]
    assert summarize_rounds(rounds) == structs.replace(MET, rss_mb=(100.0, 103.0))


@pytest.mark.parametrize(
    ("missed", "value"),
    [("goodput_share", 0.79), ("refused_p99_ms", 10.0), ("recovered_seconds", 5.1)],
)
def test_each_target_counts(missed: str, value: float) -> None:
    figures = {name: getattr(MET, name) for name in MET.__struct_fields__}
    assert MET.meets_targets
    assert not OverloadSample(**{**figures, missed: value}).meets_targets
