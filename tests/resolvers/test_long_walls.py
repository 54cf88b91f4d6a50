"""Distances along walls that are straight but for a hair, from the drawing to the answer."""

from math import hypot

import pytest

from parsing import plans
from resolvers.plans.translation import translate_plan
from routing.processing import process_plan
from routing.search.router import Position


def measure(hall: str, wall: str, start: tuple[float, float], end: tuple[float, float]) -> float:
    """Feet around `wall`, which stands in the corridor `hall` in front of two rooms."""
    svg = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 400">
      <g data-type="Level" data-tags="building=1;floor=f1">
        <polygon points="{hall}" data-tags="indoor=corridor"/>
        <polygon points="{wall}" data-tags="indoor=wall;area=yes"/>
        <rect x="48" y="38" width="4" height="4" data-tags="door=yes;width=0.9"/>
        <rect x="248" y="38" width="4" height="4" data-tags="door=yes;width=0.9"/>
        <g data-type="UnitLayer">
          <rect id="a" x="0" y="0" width="100" height="40"/>
          <rect id="b" x="200" y="0" width="100" height="40"/>
        </g>
      </g>
    </svg>"""
    plan = translate_plan(plans.read_plan({"plan.svg": svg.encode()}, feet_per_unit=1), "m").plan
    processed = process_plan(plan)
    assert processed.report.modes
    level_id = plan.levels[0].id
    ends = [Position(level_id, *start)], [Position(level_id, *end)]
    return float(processed.router.matrix(*ends).feet[0, 0])


def test_three_posts_of_one_wall_are_passed_although_the_last_stands_back() -> None:
    feet = measure(
        "0,40 300,40 300,200 0,200",
        "95,100 100,100 100,110 140,110 140,100 150,100 150,110 200,110 200,99.999996 "
        "205,99.999996 205,190 95,190",
        (80, 120),
        (220, 120),
    )
    assert feet == pytest.approx(25 + 110 + 25, abs=1e-5)


def test_a_wall_that_bends_by_a_fifth_of_an_inch_is_followed() -> None:
    feet = measure(
        "0,40 900,40 900,400 0,400",
        "100,100 450,99.9835 800,100 800,390 100,390",
        (80, 120),
        (820, 120),
    )
    assert feet == pytest.approx(2 * hypot(20, 20) + 2 * hypot(350, 0.0165), abs=1e-5)
