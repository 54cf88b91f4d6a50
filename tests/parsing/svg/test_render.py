"""Parsed maps drawn as SVG again."""

from pathlib import Path

import pytest

from parsing.svg.render import to_svg
from parsing.svg.unit_map import parse_unit_map
from tests.parsing.sources import DEMO, MADE, REAL, REAL_FOLDER
from tests.parsing.tree import elements_of, parse_drawing


def test_a_map_is_drawn_in_the_dialect_it_was_read_from() -> None:
    parsed = parse_drawing(
        '<g data-type="Georeference" data-latitude="1" data-longitude="2.5"/>'
        '<g data-type="Level" id="L" data-tags="a=1;b=x\\;y"><g fill="red"><rect x="1"/></g>'
        '<g data-type="HitAreaLayer"><path id="hit1"/>'
        '<path id="b" data-target-id="2" data-target-type="Pool"/></g>'
        '<g data-type="UnitLayer"><path id="&quot;&lt;1&#10;"/></g></g>'
    )
    assert to_svg(parsed) == (
        '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100" viewBox="0 0 200 100">\n'
        '<g data-type="Georeference" data-latitude="1" data-longitude="2.5" data-zoom="0"'
        ' data-bearing="0" data-pitch="0"/>\n'
        '<g data-type="Level" id="L" data-tags="a=1;b=x\\;y">\n'
        '<g>\n<rect x="1" fill="red"/>\n</g>\n'
        '<g data-type="HitAreaLayer">\n<path id="hit1"/>\n'
        '<path id="b" data-target-id="2" data-target-type="Pool"/>\n</g>\n'
        '<g data-type="UnitLayer">\n<path id=\'"&lt;1&#10;\'/>\n</g>\n'
        "</g>\n</svg>\n"
    )
    assert parse_unit_map(to_svg(parsed).encode()).to_dict() == parsed


@pytest.mark.parametrize("path", [*MADE, *DEMO], ids=lambda path: path.stem)
def test_parsing_the_drawn_map_gives_the_same_map(path: Path) -> None:
    assert_round_trip(path.read_bytes())


@pytest.mark.skipif(not REAL, reason=f"no real drawings at {REAL_FOLDER}")
def test_real_drawings_survive_the_round_trip() -> None:
    for path in REAL:
        assert_round_trip(path.read_bytes())


def assert_round_trip(svg: bytes) -> None:
    """Drawn and parsed again, a drawing gives the same map, and not an empty one."""
    parsed = parse_unit_map(svg)
    assert len(list(elements_of(parsed.to_dict()))) > 1
    assert parse_unit_map(to_svg(parsed.to_dict()).encode()).json == parsed.json
