"""Features are classified by their tags, and tangles left out."""

import math
from typing import Any

import numpy as np
import pytest
import shapely

from parsing import plans
from parsing.drawing import AreaGeometry, Drawing, Feature, Geometry, LinesGeometry, PointGeometry
from parsing.errors import InvalidPlanError
from resolvers.plans import tag_classification
from resolvers.plans.tag_classification import (
    MAX_CROSSINGS,
    Segments,
    TagMatcher,
    find_tangled,
    leave_out_tangles,
)
from resolvers.plans.translation import is_used
from resolvers.processing.build_task import BuildTask, ProcessingRequest
from resolvers.processing.network_build import build_network
from routing.plan import ConnectorKind, SpaceKind
from routing.values import ignore_progress
from tests.resolvers.small_plans import rect

AREA = AreaGeometry((((0, 0), (9, 0), (9, 9)),))
LINE = LinesGeometry((((0, 0), (9, 0)),))
POINT = PointGeometry((0, 0))


def feature(geometry: Geometry, levels: tuple[str, ...] = ("0",), **tags: str) -> Feature:
    return Feature("way/1", levels, geometry, tags)


@pytest.mark.parametrize(
    ("value", "expected"), [("yes", True), ("books", True), ("no", False), ("vacant", False)]
)
def test_a_matcher_without_values_takes_all_but_no_and_vacancy(value: str, expected: bool) -> None:
    assert TagMatcher("shop").matches({"shop": value}) == expected


def test_only_areas_are_spaces() -> None:
    assert tag_classification.get_space_kind(feature(AREA, indoor="room")) is SpaceKind.ROOM
    assert tag_classification.get_space_kind(feature(AREA, highway="footway")) is SpaceKind.AREA
    assert tag_classification.get_space_kind(feature(LINE, indoor="room")) is None


def test_a_footway_on_several_levels_is_a_ramp() -> None:
    assert tag_classification.get_connector_kind(feature(LINE, ("0", "1"), highway="footway")) is (
        ConnectorKind.RAMP
    )
    assert tag_classification.get_connector_kind(feature(LINE, highway="footway")) is None


def test_points_and_passable_barriers_block_nothing() -> None:
    assert tag_classification.is_barrier(feature(LINE, indoor="wall"))
    assert not tag_classification.is_barrier(feature(POINT, barrier="bollard"))
    assert not tag_classification.is_barrier(feature(LINE, barrier="gate"))


def test_a_feature_is_named_after_what_it_is_but_not_after_its_vacancy() -> None:
    assert tag_classification.get_display_name(feature(AREA, name="Books", shop="books")) == "Books"
    assert tag_classification.get_display_name(feature(AREA, shop="books")) == "books"
    assert tag_classification.get_display_name(feature(AREA, shop="vacant")) == "way/1"


FLOOR = rect(0, 0, 100, 40, "indoor=corridor", 'id="hall"') + rect(0, 40, 50, 40, "indoor=room")


def star(corners: int, tags: str = "indoor=corridor") -> str:
    """An outline in which nearly all sides cross each other."""
    turns = [2 * math.pi * at * (corners // 2 - 1) / corners for at in range(corners)]
    points = " ".join(f"{50 + 40 * math.cos(a):.6f},{20 + 15 * math.sin(a):.6f}" for a in turns)
    return f'<polygon id="star" points="{points}" data-tags="{tags}"/>'


def grid(lines: int) -> str:
    """Walls across each other."""
    at = [f"{100 * (number + 0.5) / lines:.4f}" for number in range(lines)]
    rows = (f'<path d="M-1 {y} H101" data-tags="barrier=wall"/>' for y in at)
    columns = (f'<path id="x{x}" d="M{x} -1 V101" data-tags="barrier=wall"/>' for x in at)
    return "".join((*rows, *columns))


def svg_of(shapes: str) -> bytes:
    level = f'<g data-type="Level" data-tags="floor=f1">{shapes}</g>'
    return f'<svg viewBox="0 0 100 100">{level}</svg>'.encode()


def draw(shapes: str) -> Drawing:
    return plans.read_plan({"plan.svg": svg_of(shapes)}, feet_per_unit=1)


def report_on(shapes: str, **options: Any) -> dict[str, Any]:
    request = ProcessingRequest("m", {"plan.svg": svg_of(shapes)}, "svg", "a", 1.0, **options)
    return build_network(BuildTask(request, "a", None, {}, [], []), ignore_progress).report


@pytest.mark.parametrize("kind", ["indoor=corridor", "indoor=room", "highway=steps", "door=yes"])
def test_an_outline_that_crosses_itself_everywhere_is_left_out_with_its_place(kind: str) -> None:
    report = report_on(FLOOR + star(2_001, kind))
    assert report["problem_counts"]["element-left-out"] == 1
    [problem] = [
        problem
        for group in report["groups"]
        for problem in group["problems"]
        if problem["part"] == "star"
    ]
    assert "more than 20,000 crossings" in problem["message"]
    assert 10 <= problem["x"] <= 90
    assert 5 <= problem["y"] <= 35
    assert not any(note.startswith(tag_classification.CAUSE) for note in report["notes"])


def test_an_outline_that_crosses_itself_a_little_stays() -> None:
    drawing = draw(FLOOR + star(51))
    assert leave_out_tangles(drawing, is_used) is drawing


def test_of_walls_across_each_other_the_last_are_left_out() -> None:
    drawing = leave_out_tangles(draw(FLOOR + grid(200)), is_used)
    walls = [feature for feature in drawing.features if "barrier" in feature.tags]
    assert 295 <= len(walls) <= 300
    assert [fault.part for fault in drawing.faults][-1] == "x99.7500"
    assert "hall" in {feature.id for feature in drawing.features}


def test_spaces_have_precedence_over_walls_that_are_drawn_first() -> None:
    drawing = leave_out_tangles(draw(grid(200) + FLOOR), is_used)
    assert "hall" in {feature.id for feature in drawing.features}


def test_what_a_plan_does_not_use_may_cross() -> None:
    drawing = draw(FLOOR + star(2_001, "decoration=yes"))
    assert leave_out_tangles(drawing, is_used) is drawing


def test_a_strict_reader_rejects_such_plans() -> None:
    with pytest.raises(InvalidPlanError, match="'star' crosses itself"):
        report_on(FLOOR + star(2_001), strict=True)


@pytest.mark.parametrize("block_pairs", [1, 1_000, 10**9])
def test_crossings_are_counted_as_shapely_does(
    block_pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(3)
    shapes: list[Segments] = [random.uniform(0, 10, (3, 2, 2)).round() for _ in range(30)]
    lines = np.asarray(shapely.linestrings(np.concatenate(shapes)))
    first, second = shapely.STRtree(lines).query(lines, predicate="intersects")
    count = sum(
        bool(lines[i].crosses(lines[j]) and not lines[i].touches(lines[j]))
        for i, j in zip(first, second, strict=True)
        if i < j
    )
    assert 0 < count < MAX_CROSSINGS
    monkeypatch.setattr(tag_classification, "MAX_BLOCK_PAIRS", block_pairs)
    monkeypatch.setattr(tag_classification, "MAX_CROSSINGS", count)
    assert find_tangled(shapes) == {}
    monkeypatch.setattr(tag_classification, "MAX_CROSSINGS", count - 1)
    assert len(find_tangled(shapes)) == 1
