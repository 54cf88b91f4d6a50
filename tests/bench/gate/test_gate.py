"""The gate fails for what is worse in both runs, and compares gateways of two revisions."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.gate.__main__ import build_table, find_worse
from bench.gate.intervals import Interval
from bench.gate.revision import RevisionError, describe_revision, extract_revision, find_previous
from bench.gate.shapes import SHAPES
from bench.load.servers import CHECKOUT

SAME, WORSE, BETTER = Interval(0.9, 1.0, 1.1), Interval(1.1, 1.2, 1.3), Interval(0.7, 0.8, 0.9)


def test_only_what_was_worse_both_times_fails() -> None:
    found = {"a": SAME, "b": WORSE, "c": WORSE, "d": BETTER}
    assert find_worse(found, {"b": SAME, "c": WORSE}) == ["c"]


def test_the_table_begins_with_the_worst_shape() -> None:
    found = {"a": SAME, "b": WORSE, "c": WORSE, "d": BETTER}
    again = {"b": SAME, "c": WORSE}
    assert build_table("HEAD", found, again).rows == [
        ("b", "1.200", "1.100 to 1.300", "0.900 to 1.100", "not confirmed"),
        ("c", "1.200", "1.100 to 1.300", "1.100 to 1.300", "worse"),
        ("a", "1.000", "0.900 to 1.100", "", ""),
        ("d", "0.800", "0.700 to 0.900", "", "better"),
    ]


def test_shapes_have_different_names() -> None:
    assert len({shape.name for shape in SHAPES}) == len(SHAPES)


@pytest.mark.skipif(not describe_revision("HEAD~1"), reason="This clone has no history.")
def test_the_files_of_a_revision_are_extracted(tmp_path: Path) -> None:
    assert describe_revision(find_previous())
    assert (extract_revision("HEAD~1", tmp_path) / "gateway" / "app.py").exists()


def test_a_revision_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(RevisionError, match="no-such-revision"):
        extract_revision("no-such-revision", tmp_path)


@pytest.mark.slow
def test_a_short_run_compares_a_shape_with_itself() -> None:
    """Whatever the figures are: noise may be anything here."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench.gate", "--self", "--units", "1000", "--starts", "2"),
            *("--rounds", "4", "--only", "mix, cache on"),
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "mix, cache on" in done.stdout
    assert "Worse: " in done.stdout, done.stderr
