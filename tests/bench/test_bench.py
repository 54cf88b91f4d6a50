"""The benchmark works; nothing here looks at how fast anything is."""

import cProfile
import http.client
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from bench.data.directory import Directory
from bench.data.requests import LoadRequest
from bench.data.workloads import LIST, NESTED, NEW_MATRIX, NOT_MODIFIED, PERSISTED, UNIQUE, Workload
from bench.load.generator import percentile
from bench.load.servers import PeerError, PeerServer, Reply, check_same_answers
from bench.peers import node
from bench.peers.by_hand import BY_HAND
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.raw import RAW
from bench.peers.registry import all_peers
from bench.peers.strawberry_stock import STRAWBERRY
from bench.profiling import summarize_profile

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).parents[2]
NOWHERE = Directory("", 0, "", "", [], [], Path())


SOME_WORKLOADS = (
    LIST,
    NOT_MODIFIED,
    "locations",
    "matrix",
    NEW_MATRIX,
    *UNIQUE[:1],
    NESTED,
    PERSISTED[1],
)


def test_a_short_run_measures_every_workload_on_every_peer_that_serves_it(tmp_path: Path) -> None:
    """Peers that do not answer the same end the run with status 1, before any load."""
    output = tmp_path / "results.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench", "--units", "1100", "--rounds", "1", "--writes", "2"),
            *("--seconds", "0.1", "--starts", "1", "--alone", "0", "--output", str(output)),
            *("--peer", "by-hand", "--peer", "floorgate-cached", "--peer", "raw"),
            *(f"--workload={name}" for name in SOME_WORKLOADS),
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    results = orjson.loads(output.read_bytes())
    measured = {(each["workload"], each["peer"]) for each in results["samples"]}
    peers = (UNCACHED, CACHED, RAW, BY_HAND)
    assert measured == {
        (workload, peer.name)
        for workload in SOME_WORKLOADS
        for peer in peers
        if peer.serves(workload)
    }
    assert all(each["requests"] > 0 and each["cpu_ms"] >= 0 for each in results["samples"])
    assert len(results["starts"]) == 1
    assert {each["process"] for each in results["memory"]} == {
        *(peer.name for peer in peers),
        "mongod",
    }
    assert results["staleness"]["same"]["writes"] == 2
    assert "To reach" in done.stdout and "1,000 units" in done.stdout


def test_every_other_peer_answers_as_floorgate_does() -> None:
    """Every one that is installed; `make bench` installs the others."""
    peers, _ = all_peers([] if node.INSTALLED.exists() else [STRAWBERRY.name])
    others = [peer.name for peer in peers if peer not in (UNCACHED, CACHED, RAW, BY_HAND)]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench", "--units", "1100", "--rounds", "1", "--writes", "0"),
            *("--seconds", "0.1", "--starts", "0", "--alone", "0"),
            *(f"--workload={name}" for name in (LIST, NESTED, *UNIQUE, *PERSISTED)),
            *(f"--peer={name}" for name in others),
            *("--output", "/dev/null"),
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


class _Canned(PeerServer):
    """A server that answers what it was given."""

    def request(self, request: LoadRequest) -> Reply:
        return Reply(200, http.client.HTTPMessage(), self.headers["answer"].encode())


def _canned(answer: str) -> PeerServer:
    return _Canned(UNCACHED, 0, 0, {"answer": answer})


def _workload(*, is_conditional: bool = False) -> Workload:
    return Workload(
        "unit", "one unit", lambda _: [LoadRequest("/v1/units/a")], is_conditional=is_conditional
    )


def test_peers_that_answer_differently_are_not_compared() -> None:
    one, same, other = (_canned(text) for text in ('{"id":"a"}', '{ "id" : "a" }', '{"id":"b"}'))
    check_same_answers([one, same], _workload(), NOWHERE)
    with pytest.raises(PeerError, match="/v1/units/a"):
        check_same_answers([one, other], _workload(), NOWHERE)


def test_page_tokens_are_each_peers_own() -> None:
    pages = [f'{{"paging":{{"next_url":"https://a/v1?page=2&after={x}"}}}}' for x in ("aZ_-", "b")]
    check_same_answers([_canned(page) for page in pages], _workload(), NOWHERE)


def test_what_must_be_answered_304_is_not_compared_when_it_is_not() -> None:
    with pytest.raises(PeerError, match="status 200, not 304"):
        check_same_answers([_canned("{}")], _workload(is_conditional=True), NOWHERE)


def test_a_profile_is_reported_per_request(tmp_path: Path) -> None:
    profile = cProfile.Profile()
    for _ in range(6):
        profile.runcall(percentile, [1.0], 0.5)
    profile.dump_stats(tmp_path / "profile")
    sheet = summarize_profile(tmp_path / "profile", "Anything", requests=2, rows=99)
    calls = {row[0]: row[2] for row in sheet.rows}
    places = {row[0]: row[1].partition(":")[0] for row in sheet.rows}
    assert calls["percentile"] == "3.00"
    assert places["percentile"] == "bench/load/generator.py"
