"""The benchmark works; nothing here looks at how fast anything is."""

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from bench.directory import Directory
from bench.load import due_times, percentile
from bench.peers.by_hand import BY_HAND
from bench.peers.floorgate import FLOORGATE
from bench.rates import Sample
from bench.report import Spread, ratios
from bench.serving import PeerError, Server, agree
from bench.shapes import SHAPES, Shape

CHECKOUT = Path(__file__).parents[2]
NOWHERE = Directory("", "", "", [])


def test_a_short_run_measures_every_shape_on_every_peer(tmp_path: Path) -> None:
    """Peers that do not answer the same bytes end the run with status 1, before any load."""
    output = tmp_path / "results.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench", "--units", "1100", "--rounds", "1"),
            *("--seconds", "0.3", "--starts", "1", "--output", str(output)),
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    results = orjson.loads(output.read_bytes())
    measured = {(each["shape"], each["peer"]) for each in results["samples"]}
    assert measured == {
        (shape.name, peer.name) for shape in SHAPES for peer in (FLOORGATE, BY_HAND)
    }
    assert all(each["requests"] > 0 and each["cpu_ms"] >= 0 for each in results["samples"])
    assert len(results["starts"]) == 1
    assert {each["process"] for each in results["memory"]} == {"floorgate", "by-hand", "mongod"}
    assert "1,000 units" in done.stdout


class _Canned(Server):
    """A server that answers what it was given."""

    def get(self, path: str) -> tuple[int, str, bytes]:
        return 200, "application/json", self.headers["answer"].encode()


def test_peers_that_answer_differently_are_not_compared() -> None:
    one = _Canned(FLOORGATE, 0, 0, {"answer": '{"id":"a"}'})
    other = _Canned(BY_HAND, 0, 0, {"answer": '{"id":"b"}'})
    shape = Shape("unit", "one unit", lambda _: ["/v1/units/a"])
    agree([one, one], shape, NOWHERE)
    with pytest.raises(PeerError, match="/v1/units/a"):
        agree([one, other], shape, NOWHERE)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 1), (0.5, 2), (0.51, 3), (0.75, 3), (0.99, 4), (1.0, 4)]
)
def test_percentiles_are_values_that_were_measured(share: float, expected: float) -> None:
    assert percentile([1, 2, 3, 4], share) == expected


def test_requests_fall_due_at_the_rate_and_not_after_the_end() -> None:
    due = list(due_times(1000, 10, clock=lambda: 5.0))
    assert due == sorted(due)
    assert due[0] > 5.0 and due[-1] < 15.0
    assert len(due) == pytest.approx(10_000, rel=0.05)


def test_without_a_rate_requests_fall_due_at_once_until_the_time_is_over() -> None:
    clock = iter([0.0, 0.1, 0.6, 1.0]).__next__
    assert list(due_times(None, 1.0, clock)) == [0.1, 0.6]


def test_ratios_compare_within_a_round() -> None:
    cpu_ms = {("mine", 0): 2.0, ("mine", 1): 12.0, ("theirs", 0): 1.0, ("theirs", 1): 4.0}
    samples = [_sample(peer, round, value) for (peer, round), value in cpu_ms.items()]
    assert ratios(samples, "unit", "mine", "theirs") == Spread(2.5, 2.0, 3.0)


def _sample(peer: str, round: int, cpu_ms: float) -> Sample:
    return Sample(
        round=round,
        shape="unit",
        peer=peer,
        requests=1,
        cpu_ms=cpu_ms,
        mongod_cpu_ms=0,
        requests_per_second=1,
        p50_ms=1,
        p99_ms=1,
        load_average=0,
    )
