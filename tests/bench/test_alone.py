"""Each peer is measured alone: right after its start, and while attributes are assigned."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from bench.alone import COLD_PAGES, COLD_UNITS, list_cold_requests
from bench.data.directory import Directory
from bench.data.workloads import UNIT
from bench.load.servers import CHECKOUT
from bench.peers.by_hand import BY_HAND
from bench.peers.floorgate import CACHED, UNCACHED
from bench.report.results import Results
from tests.bench.report.measured import build_results, build_sample

UNITS = [f"unit-{number}" for number in range(20_000)]
DIRECTORY = Directory("", 0, "", "", UNITS, [], Path())


def test_no_address_is_sent_twice_while_caches_are_cold() -> None:
    paths = [request.path for request in list_cold_requests(DIRECTORY)]
    assert len({*paths}) == len(paths) == COLD_UNITS + COLD_PAGES - 1
    assert paths == [request.path for request in list_cold_requests(DIRECTORY)]


@pytest.mark.slow
def test_a_run_without_workloads_keeps_those_of_an_earlier_one(tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    earlier = build_results(build_sample(UNCACHED.name, 1.0, UNIT))
    output.write_bytes(msgspec.json.encode(earlier))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench", "--units", "1000", "--writes", "0", "--starts", "0"),
            *("--seconds", "0.1", "--alone", "1", "--workload", "none", "--add"),
            *("--peer", "by-hand", "--peer", "floorgate-cached", "--output", str(output)),
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    results = msgspec.json.decode(output.read_bytes(), type=Results)
    assert results.samples == earlier.samples
    peers = {peer.name for peer in (UNCACHED, CACHED, BY_HAND)}
    for load in ("cold", "mix"):
        assert {sample.peer for sample in results.alone if sample.load == load} == peers
    rates = {sample.peer: sample.hit_rate for sample in results.alone if sample.load == "mix"}
    assert rates[UNCACHED.name] is rates[BY_HAND.name] is None
    rate = rates[CACHED.name]
    assert rate is not None and 0 <= rate <= 1
