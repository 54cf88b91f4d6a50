"""One-way doors are passed in the direction that their tags name."""

import math

import pytest

from parsing.plans import read_plan
from resolvers.plans.door_directions import is_one_way, parse_direction
from resolvers.plans.translation import TranslatedPlan, translate_plan
from routing.processing import process_plan

SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 60">
<g data-type="Level" data-tags="building=1;floor=f1">
<rect x="0" y="30" width="40" height="20" data-tags="indoor=corridor"/>
<rect x="18" y="28" width="4" height="4" data-tags="barrier=turnstile;{tags}"/>
<g data-type="UnitLayer"><rect id="a" x="0" y="0" width="40" height="30"/></g></g></svg>"""


@pytest.mark.parametrize(
    ("direction", "expected"),
    [("0", (0, -1)), ("90", (1, 0)), ("S", (0, 1)), ("nw", (-math.sqrt(0.5), -math.sqrt(0.5)))],
)
def test_directions_are_clockwise_from_north_or_points_of_the_compass(
    direction: str, expected: tuple[float, float]
) -> None:
    assert parse_direction({"oneway": "yes", "direction": direction}) == pytest.approx(expected)
    against = parse_direction({"oneway": "-1", "direction": direction})
    assert against == pytest.approx([-part for part in expected])


@pytest.mark.parametrize("direction", ["", "up", "nan", "inf", "forward", "90;180"])
def test_other_directions_are_none(direction: str) -> None:
    assert parse_direction({"oneway": "yes", "direction": direction}) is None


@pytest.mark.parametrize(
    ("tags", "expected"),
    [({"oneway": "yes"}, True), ({"oneway:foot": "-1"}, True), ({"oneway": "no"}, False)],
)
def test_doors_are_one_way_if_they_say_so(tags: dict[str, str], expected: bool) -> None:
    assert is_one_way(tags) is expected


def test_a_turnstile_lets_people_out_and_not_back_in() -> None:
    plan = read_svg("oneway=yes;direction=S")
    assert plan.plan.doors[0].one_way == (0.0, 1.0)
    network = next(iter(process_plan(plan.plan).networks.values()))
    ways = [(network.portals[link.start].y, network.portals[link.end].y) for link in network.links]
    assert ways
    assert all(start < end for start, end in ways)


def test_a_one_way_door_without_direction_is_passed_both_ways_and_noted() -> None:
    plan = read_svg("oneway=yes")
    assert plan.plan.doors[0].one_way is None
    assert any("one-way door without a direction" in str(note) for note in plan.notes)


def read_svg(tags: str) -> TranslatedPlan:
    files = {"plan.svg": SVG.format(tags=tags).encode()}
    return translate_plan(read_plan(files, feet_per_unit=1.0), "m", None)
