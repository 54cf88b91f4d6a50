"""Drawings become GeoJSON geometries: valid ones, in bounded work."""

import json
from typing import Any

import pytest
import shapely

from parsing.errors import DocumentRejectedError
from parsing.svg.unit_map import parse_unit_map
from resolvers.drawings import drawn_features
from resolvers.drawings.areas import AreaBuilder
from resolvers.drawings.drawn_features import DrawnFeature, draw_features
from storage.catalog import Georeference

PLACE = Georeference(latitude=56.0, longitude=10.0)


def draw(shapes: str, level: str | None = None, scale: float = 1.0) -> list[DrawnFeature]:
    layer = f'<g data-type="Level" id="one"><g data-type="UnitLayer">{shapes}</g></g>'
    parsed = parse_unit_map(f'<svg viewBox="0 0 400 400">{layer}</svg>'.encode()).json
    return draw_features(parsed, PLACE, scale, ["one"], level).features


def units(features: list[DrawnFeature]) -> dict[str | None, Any]:
    return {
        each.target_id: shapely.from_geojson(each.geometry)
        for each in features
        if each.feature_type == "unit"
    }


def test_curves_are_within_a_centimetre() -> None:
    circle = units(draw('<circle id="a" cx="200" cy="200" r="100"/>', scale=0.1))["a"]
    metres = shapely.transform(circle, lambda xy: (xy - (10, 56)) * (62_392.75, 111_341.82))
    radii = shapely.distance(shapely.points(shapely.get_coordinates(metres)), shapely.Point(0, 0))
    assert radii == pytest.approx(10 * 0.3048, abs=0.006)
    inner = shapely.minimum_clearance_line(metres)
    assert inner is not None
    assert metres.exterior.distance(shapely.Point(0, 0)) > 10 * 0.3048 - 0.016


@pytest.mark.parametrize(
    "shape",
    [
        '<rect id="a" width="0" height="3"/>',
        '<line id="a" x2="3" y2="4"/>',
        '<polygon id="a" points="1,2 3"/>',
        '<rect id="a" x="300000" width="9" height="9"/>',  # 91 kilometres away
        '<rect id="a" width="0.01" height="0.01" transform="scale(0.1)"/>',  # below a decimal
    ],
)
def test_what_has_no_area_there_is_left_out(shape: str) -> None:
    assert units(draw(f'<rect id="b" width="9" height="9"/>{shape}')).keys() == {"b"}


def test_shapes_that_cross_themselves_become_valid_in_bounded_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    zigzag = " ".join(f"{x % 397},{x * 151 % 389}" for x in range(3_000))
    builders = []

    class Builder(AreaBuilder):
        def __init__(self) -> None:
            super().__init__(max_meeting_edges=20_000)
            builders.append(self)

    monkeypatch.setattr(drawn_features, "AreaBuilder", Builder)
    bow = '<polygon id="bow" points="0,0 9,9 9,0 0,9"/>'
    found = units(draw(bow + "".join(f'<polygon id="z{n}" points="{zigzag}"/>' for n in range(9))))
    assert len(found) == 10
    assert all(shape.is_valid for shape in found.values())
    [builder] = builders
    assert 0 <= builder.remaining_edges < 20_000


def test_twenty_thousand_units_are_drawn() -> None:
    """None of them takes repair work, and their level is their hull."""
    shapes = "".join(
        f'<rect id="u{n}" x="{n % 200 * 2}" y="{n // 200 * 4}" width="2" height="4"/>'
        for n in range(20_000)
    )
    features = draw(shapes)
    assert len(units(features)) == 20_000
    [level] = [each for each in features if each.feature_type == "level"]
    assert len(json.loads(level.geometry)["coordinates"][0]) == 5


def test_too_many_positions_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_features, "MAX_POSITIONS", 7)
    shapes = '<rect id="a" width="9" height="9"/><rect id="b" width="9" height="9"/>'
    with pytest.raises(DocumentRejectedError, match="over 7 positions; ask for one level"):
        draw(shapes)
    assert draw('<rect id="a" width="9" height="9"/>', level="two") == []
