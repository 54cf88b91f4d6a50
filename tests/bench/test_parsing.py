"""Parsers are compared with usvg, on drawings that all of them can read."""

from bench.data.unit_map_svg import draw_unit_map
from bench.parsing import build_table, measure
from bench.peers.parsers import FLOORGATE, USVG
from parsing.svg.unit_map import parse_unit_map


def fail(svg: bytes) -> object:
    raise ValueError(svg)


def test_a_parser_that_fails_has_no_figure() -> None:
    parsers = {FLOORGATE: parse_unit_map, USVG: fail, "other": len}
    figures = measure(parsers, draw_unit_map(1), rounds=2)
    assert figures[USVG] is None and figures[FLOORGATE] and figures["other"]
    (row,) = build_table({"a unit": figures}, parsers).rows
    assert row[0] == "a unit" and row[2:4] == ["–", "–"]


def test_the_time_of_usvg_is_the_measure() -> None:
    figures = {FLOORGATE: 30.0, USVG: 20.0, "other": 40.0}
    parsers = dict.fromkeys(figures, parse_unit_map)
    assert build_table({"a": figures}, parsers).rows == [["a", "30.0", "20.0", "1.5", "40.0"]]
