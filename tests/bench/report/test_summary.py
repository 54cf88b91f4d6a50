"""All tables of a run, and its chart."""

from bench.data.workloads import LIST, UNIT
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.raw import RAW
from bench.report import summary
from tests.bench.report.measured import PEERS, build_results, build_sample


def test_tables_of_figures_have_a_row_for_each_measured_workload_and_a_cell_for_each_peer() -> None:
    results = build_results(
        build_sample(UNCACHED.name, 1.0, LIST),
        build_sample(UNCACHED.name, 2.0, UNIT),
        build_sample(CACHED.name, 4.0, UNIT, round=0),
        build_sample(CACHED.name, 6.0, UNIT, round=1),
    )
    tables = [
        table for table in summary.build_tables(results) if len(table.header) == 1 + len(PEERS)
    ]
    assert len(tables) == 4  # CPU, rate, latency, CPU of mongod
    for table in tables:
        assert [row[0] for row in table.rows] == ["one unit", "1,000 units"]
        assert {len(row) for row in table.rows} == {1 + len(PEERS)}
    [cpu] = [table for table in tables if table.title == "Server CPU, ms per request"]
    assert [row[1:3] for row in cpu.rows] == [["2.00", "5.00"], ["1.00", "–"]]


def test_a_rate_that_the_server_did_not_bound_is_marked() -> None:
    results = build_results(
        build_sample(UNCACHED.name, 1.0, requests_per_second=500.0),
        build_sample(RAW.name, 1.0, requests_per_second=900.0, busy=0.5),
    )
    rates = next(sheet for sheet in summary.build_tables(results) if "saturation" in sheet.title)
    ((workload, *cells),) = rates.rows
    assert workload == "one unit"
    assert cells[:4] == ["500", "–", "900*", "–"]


def test_the_chart_shows_the_quickest_peer_first() -> None:
    results = build_results(build_sample(UNCACHED.name, 2.0), build_sample(RAW.name, 0.02))
    groups = summary.build_bar_groups(results)
    assert [bar.title for bar in groups[0].bars] == [RAW.title, UNCACHED.title]


def test_cpu_time_below_a_tick_of_the_clock_still_has_a_bar() -> None:
    [group] = summary.build_bar_groups(build_results(build_sample(RAW.name, 0.0)))
    assert group.bars[0].cpu_ms > 0
