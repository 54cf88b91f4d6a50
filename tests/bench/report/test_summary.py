"""From samples to ratios, verdicts, pages and the chart."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from bench.data.workloads import LIST, UNIT
from bench.load.rounds import Sample
from bench.peers.by_hand import BY_HAND
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.node import SOFA_JIT, SOFA_JS
from bench.peers.raw import RAW
from bench.peers.strawberry_stock import STRAWBERRY
from bench.report import chart, pages, summary, targets
from bench.report.results import Results, Spread, cpu_ratios
from bench.report.staleness_table import Staleness, StalenessSample
from bench.report.tables import ReportTable, format_figure

PEERS = (UNCACHED, CACHED, RAW, BY_HAND, STRAWBERRY, SOFA_JS, SOFA_JIT)


def _sample(peer: str, cpu_ms: float, shape: str = UNIT, round: int = 0, **more: Any) -> Sample:
    given = {"busy": 1.0, "requests_per_second": 1.0} | more
    return Sample(
        round=round,
        shape=shape,
        peer=peer,
        requests=1,
        cpu_ms=cpu_ms,
        mongod_cpu_ms=0,
        p50_ms=1,
        p99_ms=1,
        load_average=0,
        **given,
    )


def _results(*samples: Sample, staleness: Staleness | None = None) -> Results:
    return Results(
        taken_at="2026-01-31T12:00:00+00:00",
        machine={"processor": "Any", "cores": 2, "python": "3.11", "packages": {"orjson": "3"}},
        units=1_000,
        rounds=1,
        seconds=1.0,
        titles={peer.name: peer.title for peer in PEERS},
        left_out=[],
        samples=list(samples),
        starts=[],
        memory=[],
        staleness=staleness,
    )


def test_ratios_compare_within_a_round() -> None:
    cpu_ms = {("mine", 0): 2.0, ("mine", 1): 12.0, ("theirs", 0): 1.0, ("theirs", 1): 4.0}
    samples = [_sample(peer, value, round=round) for (peer, round), value in cpu_ms.items()]
    assert cpu_ratios(samples, UNIT, "mine", "theirs") == Spread(2.5, 2.0, 3.0)


def test_there_is_no_ratio_to_a_peer_that_does_not_serve_the_shape() -> None:
    assert cpu_ratios([_sample("mine", 1.0)], UNIT, "mine", "theirs") is None


@pytest.mark.parametrize(
    ("measured", "most", "expected"),
    [
        (1.1, 1.15, "met"),
        (1.15, 1.15, "met"),
        (1.38, 1.15, "missed by 20 %"),
        (2.3, 1.15, "missed 2.0 times over"),
    ],
)
def test_a_missed_bound_says_by_how_much(measured: float, most: float, expected: str) -> None:
    assert targets.verdict(measured, most) == expected


def _row(results: Results, *begins: str) -> tuple[str, ...]:
    rows = [tuple(row) for row in targets.build_table(results).rows]
    return next(row for row in rows if row[: len(begins)] == begins)


def test_a_bound_below_one_is_shown_the_other_way_round() -> None:
    results = _results(_sample(UNCACHED.name, 1.0, LIST), _sample(STRAWBERRY.name, 10.0, LIST))
    assert _row(results, "list of 1,000 units", "off", "at least 8 x less than stock strawberry")[
        3:
    ] == ("10.0 x less", "met")


def test_of_every_shape_the_worst_counts() -> None:
    results = _results(
        _sample(UNCACHED.name, 1.0, UNIT),
        _sample(SOFA_JS.name, 2.0, UNIT),
        _sample(UNCACHED.name, 3.0, LIST),
        _sample(SOFA_JS.name, 2.0, LIST),
    )
    row = _row(results, "every shape", "off")
    assert row[3].startswith("1.50 x (1,000 units")
    assert row[4] == "missed by 50 %"


def test_what_was_not_measured_is_not_claimed() -> None:
    results = _results(_sample(UNCACHED.name, 1.0))
    assert _row(results, "304")[3:] == ("–", "not measured")


def test_a_peer_that_wins_is_named_with_what_it_takes() -> None:
    results = _results(
        _sample(UNCACHED.name, 4.0), _sample(CACHED.name, 0.5), _sample(SOFA_JIT.name, 1.0)
    )
    assert targets.build_rival_table(results).rows == [
        ("one unit", "off", SOFA_JIT.title, "0.25 x")
    ]


def test_a_limit_is_no_peer_to_win() -> None:
    results = _results(_sample(UNCACHED.name, 4.0), _sample(BY_HAND.name, 1.0))
    assert targets.build_rival_table(results).rows[0][0] == "nowhere"


FRESH = StalenessSample(writes=9, stale_reads=0, p50_ms=0, p99_ms=0, max_ms=0, finds=0)
LATE = StalenessSample(writes=9, stale_reads=3, p50_ms=1, p99_ms=70, max_ms=80, finds=0)
NOT_CACHED = StalenessSample(writes=9, stale_reads=0, p50_ms=0, p99_ms=0, max_ms=0, finds=2)


def _staleness_verdicts(
    uncached: StalenessSample, cached: StalenessSample, same: StalenessSample
) -> list[str]:
    results = _results(staleness=Staleness(uncached=uncached, cached=cached, same=same))
    rows = targets.build_table(results).rows
    return [row[-1] for row in rows if row[0] == "staleness after a write"]


def test_staleness_is_met_where_writes_show_in_time() -> None:
    assert _staleness_verdicts(NOT_CACHED, FRESH, FRESH) == ["met", "met", "met"]
    assert _staleness_verdicts(LATE, LATE, LATE) == ["missed", "missed", "missed"]


def test_a_read_that_is_not_kept_cannot_show_that_a_cache_is_exact() -> None:
    uncached, *cached = _staleness_verdicts(NOT_CACHED, NOT_CACHED, NOT_CACHED)
    assert uncached == "met"
    assert all(verdict.startswith("says nothing") for verdict in cached)


def test_a_rate_that_the_server_did_not_bound_is_marked() -> None:
    results = _results(
        _sample(UNCACHED.name, 1.0, requests_per_second=500.0),
        _sample(RAW.name, 1.0, requests_per_second=900.0, busy=0.5),
    )
    rates = next(sheet for sheet in summary.build_tables(results) if "saturation" in sheet.title)
    ((shape, *cells),) = rates.rows
    assert shape == "one unit"
    assert cells[:4] == ["500", "–", "900*", "–"]


def test_a_sheet_is_a_table_in_markdown() -> None:
    sheet = ReportTable("Title", ("", "a"), [("one", "1"), ("two", "2")], note="Why.")
    assert sheet.to_markdown() == "|  | a |\n| --- | --: |\n| one | 1 |\n| two | 2 |\n\nWhy."


@pytest.mark.parametrize(
    ("value", "expected"),
    [(12345.6, "12,346"), (12.345, "12.3"), (1.234, "1.23"), (0.0123, "0.012")],
)
def test_figures_have_three_digits_or_more(value: float, expected: str) -> None:
    assert format_figure(value) == expected


def test_figures_replace_what_stands_between_their_markers() -> None:
    text = "a\n<!-- measured: x -->\nold\n<!-- /measured: x -->\nb <!-- measured: y -->"
    expected = "a\n<!-- measured: x -->\nnew \\1\n<!-- /measured: x -->\nb <!-- measured: y -->"
    assert pages.replace_section(text, "x", "new \\1") == expected


def test_a_page_without_markers_is_not_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(pages.MissingMarkersError, match="measured: x"):
        pages.rewrite_section(page, "x", "new")
    assert page.read_text() == "nothing"


@pytest.mark.parametrize("name", ["ratios", "details", "staleness", "growth"])
def test_the_page_has_room_for_all_figures(name: str) -> None:
    pages.replace_section(pages.PERFORMANCE_PAGE.read_text(), name, "", pages.PERFORMANCE_PAGE.name)


def test_the_chart_has_a_bar_for_each_peer_the_quickest_first() -> None:
    results = _results(_sample(UNCACHED.name, 2.0), _sample(RAW.name, 0.02))
    groups = summary.build_bar_groups(results)
    assert [bar.title for bar in groups[0].bars] == [RAW.title, UNCACHED.title]
    drawn = ElementTree.fromstring(chart.draw_chart(groups))
    bars = [each for each in drawn.iter() if each.get("rx")]
    lengths = [float(bar.get("width", "")) for bar in bars]
    assert len(bars) == 2 and lengths == sorted(lengths)
