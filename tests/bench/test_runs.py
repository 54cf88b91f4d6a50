"""A short run of each measurement works; nothing here looks at how fast anything is."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from bench.comparison import find_peers
from bench.data.workloads import LIST, NESTED, NEW_MATRIX, NOT_MODIFIED, PERSISTED, UNIQUE, UNIT
from bench.gate import RevisionError, describe_revision, extract_revision, find_previous
from bench.harness import read_results
from bench.load.servers import CHECKOUT
from bench.peers import node
from bench.peers.peer import CACHED, UNCACHED
from bench.peers.strawberry_stock import STRAWBERRY
from tests.bench.canned import build_record, build_sample

pytestmark = pytest.mark.slow

SOME_WORKLOADS = (LIST, NOT_MODIFIED, "locations", NEW_MATRIX, NESTED, PERSISTED[1], *UNIQUE)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=CHECKOUT, capture_output=True, text=True
    )


def test_every_workload_is_measured_on_every_peer_that_serves_it(tmp_path: Path) -> None:
    """Peers that do not answer as Floorgate does end the run with status 1, before any load.

    The peers are those that are installed; `make bench` installs the others.
    """
    output = tmp_path / "results.json"
    earlier = build_record(build_sample(UNCACHED.name, 1.0, UNIT))
    output.write_bytes(msgspec.json.encode({"peers": earlier}))
    peers, _ = find_peers([] if node.INSTALLED.exists() else [STRAWBERRY.name, CACHED.name])
    done = run(
        *("bench", "--units", "1100", "--rounds", "1", "--writes", "2", "--starts", "1"),
        *("--seconds", "0.1", "--alone", "0", "--add", "--output", str(output)),
        *(f"--peer={peer.name}" for peer in peers),
        *(f"--workload={name}" for name in SOME_WORKLOADS),
    )
    assert done.returncode == 0, done.stderr
    results = read_results(output)
    samples = [row for row in results["peers"].rows if "workload" in row]
    assert {(each["workload"], each["peer"]) for each in samples} == {
        (UNIT, UNCACHED.name),
        *((name, peer.name) for name in SOME_WORKLOADS for peer in peers if peer.serves(name)),
    }
    assert len(results["starts"].rows) == 1
    processes = {row["process"] for row in results["peers"].rows if "process" in row}
    assert processes == {*(peer.name for peer in peers), "mongod"}
    assert [row["writes"] for row in results["staleness"].rows] == [2, 2, 2]
    assert "To reach" in done.stdout and "1,000 units" in done.stdout


def test_peers_are_measured_alone_right_after_their_start(tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    done = run(
        *("bench", "--units", "1000", "--writes", "0", "--starts", "0", "--seconds", "0.1"),
        *("--alone", "1", "--workload", "none", "--peer", "floorgate-cached"),
        *("--output", str(output)),
    )
    assert done.returncode == 0, done.stderr
    rows = read_results(output)["alone"].rows
    peers = {UNCACHED.name, CACHED.name}
    for load in ("cold", "mix"):
        assert {row["peer"] for row in rows if row["load"] == load} == peers
    rates = {row["peer"]: row["hit_rate"] for row in rows if row["load"] == "mix"}
    assert rates[UNCACHED.name] is None
    assert 0 <= rates[CACHED.name] <= 1


def test_the_gate_compares_a_revision_with_itself() -> None:
    """Whatever the figures are: noise may be anything here."""
    done = run(
        *("bench.gate", "--self", "--units", "1000", "--starts", "2", "--rounds", "4"),
        *("--only", "mix, cache on"),
    )
    assert done.returncode in (0, 1), done.stderr
    assert "mix, cache on" in done.stdout
    assert "Worse: " in done.stdout, done.stderr


def test_the_run_of_invalidation_says_of_each_target_whether_it_is_met(tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    done = run(
        *("bench", "invalidation", "--units", "1000", "--seconds", "0.5", "--commits", "2"),
        *("--output", str(output)),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("│ met") + done.stdout.count("│ missed") == 4


@pytest.mark.skipif(not describe_revision("HEAD~1"), reason="This clone has no history.")
def test_the_files_of_a_revision_are_extracted(tmp_path: Path) -> None:
    assert describe_revision(find_previous())
    assert (extract_revision("HEAD~1", tmp_path) / "gateway" / "app.py").exists()
    with pytest.raises(RevisionError, match="no-such-revision"):
        extract_revision("no-such-revision", tmp_path)
