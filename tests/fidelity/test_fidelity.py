"""Drawings look the same in a real browser after parsing as before.

The files of others are not in this repository; `python -m tests.fidelity --fetch` downloads them.
"""

import pytest

from tests.fidelity.measuring import CORPORA, Comparison, Corpus, compare_drawings, summarize
from tests.parsing.browser import CHROMIUM
from tests.parsing.parsed_maps import DEMO, MADE, REAL

MIN_SAME_SHARE = 0.95
"""Of drawings without gradients and patterns, which a parsed map draws as one colour."""


pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("chromium"),
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]


def same_share(comparisons: list[Comparison]) -> float:
    return sum(comparison.is_same for comparison in comparisons) / len(comparisons)


def test_our_drawings_look_the_same() -> None:
    compared = list(compare_drawings([*MADE, *DEMO, *REAL], strictly=True, tolerance=1))
    assert [str(one.path) for one in compared if one.is_blank or not one.is_same] == []
    assert all(one.keeps_round_trip for one in compared)


@pytest.mark.timeout(1_200)
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
