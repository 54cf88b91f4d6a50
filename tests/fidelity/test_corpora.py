"""Drawings of others look the same after parsing as before.

The files are not in this repository; `python -m tests.fidelity --fetch` downloads them.
"""

from __future__ import annotations

import pytest

from tests.fidelity.corpora import CORPORA, Corpus, list_real_drawings
from tests.fidelity.measuring import Comparison, compare_drawings, summarize
from tests.parsing.browser import CHROMIUM

MIN_SAME_SHARE = 0.95
"""Of drawings without gradients and patterns, which a parsed map draws as one colour."""


def same_share(comparisons: list[Comparison]) -> float:
    return sum(comparison.is_same for comparison in comparisons) / len(comparisons)


def test_there_are_a_hundred_plans_and_each_is_named_once() -> None:
    drawings = list_real_drawings()
    assert len({drawing.path for drawing in drawings}) == len(drawings) >= 100
    assert all(len(drawing.commit) == 40 for drawing in drawings)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@pytest.mark.xdist_group("chromium")
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_a_corpus_looks_the_same(corpus: Corpus) -> None:
    paths = corpus.find()
    if not paths:
        pytest.skip(f"no drawings of the {corpus.name}; python -m tests.fidelity --fetch")
    compared = list(compare_drawings(paths))
    plain = [one for one in compared if not one.has_paint_servers]
    assert same_share(plain) >= MIN_SAME_SHARE, summarize(plain)
    assert same_share(compared) >= corpus.min_same_share, summarize(compared)
    on_average = [one.is_same or one.is_same_on_average for one in compared]
    assert sum(on_average) / len(compared) >= corpus.min_average_share, summarize(compared)
    assert all(comparison.keeps_round_trip for comparison in compared)
