"""A short run of each measurement works; nothing here looks at how fast anything is."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.comparison import find_peers
from bench.data.workloads import (
    LIST,
    NESTED,
    NEW_MATRIX,
    NOT_MODIFIED,
    PERSISTED,
    UNIQUE,
    WORKLOADS,
)
from bench.gate import describe_revision, find_previous
from bench.load.servers import CHECKOUT
from bench.peers import node
from bench.peers.peer import CACHED
from bench.peers.strawberry_stock import STRAWBERRY
from bench.report import COST_TITLE, NO_VALUE, read_records
from bench.response_cache import STALENESS_TITLE
from tools.revisions import RevisionError, extract_revision

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
    peers, _ = find_peers([] if node.INSTALLED.exists() else [STRAWBERRY.name, CACHED.name])
    done = run(
        *("bench", "peers", "--units", "1100", "--rounds", "1", "--writes", "2", "--starts", "1"),
        *("--seconds", "0.1", "--alone", "1", "--output", str(output)),
        *(f"--peer={peer.name}" for peer in peers),
        *(f"--workload={name}" for name in SOME_WORKLOADS),
    )
    assert done.returncode == 0, done.stderr
    tables = {table.title: table for table in read_records(output)["peers"].tables}
    costs = tables[COST_TITLE]
    titles = {workload.title: workload.name for workload in WORKLOADS}
    assert {
        (titles[row[0]], peer)
        for row in costs.rows
        for peer, cell in zip(costs.header[1:], row[1:], strict=True)
        if cell != NO_VALUE
    } == {(name, x.title) for name in SOME_WORKLOADS for x in peers if x.serves(name)}
    for title, others in (("Resident memory", ["mongod"]), ("Right after the start", [])):
        [table] = [table for name, table in tables.items() if name.startswith(title)]
        named = {peer.title for peer in peers if others or peer.name != "raw"}
        assert {row[0] for row in table.rows} == {*named, *others}
    commands = tables["From the start of a command to its first answer"].rows
    assert commands[0][0] == "floorgate --help" and len(commands) == 3
    assert [row[1] for row in tables[STALENESS_TITLE].rows] == ["2", "2", "2"]
    assert "To reach" in done.stdout and "1,000 units" in done.stdout


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
