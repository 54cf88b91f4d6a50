"""Pictures show the floor, the doors, the graph, what is cut off, and where problems are."""

import pytest
from lxml import etree
from shapely import Point, box

from routing.costing import TravelMode
from routing.issues import IssueKind, PlanIssue, ProblemGroup
from routing.picture import (
    CHARACTER_FEET,
    CUT_OFF_FILL,
    DOOR_FILLS,
    MAX_MARKERS,
    LevelProblems,
    draw_level,
    find_level_problems,
    lay_out,
    place_markers,
    title_problem,
    write_legend,
)
from routing.plan import Door, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import process_plan
from routing.space.doors import DoorOrigin
from tests.routing.ascii_plans import process_drawing

PROCESSED = process_drawing(
    """
    #######
    #A#B#C#
    #+#n###
    #,,,,e#
    #######
    """,
    "#,,,,e#",
)


def count(picture: str, path: str) -> int:
    root = etree.fromstring(picture.encode())
    found = root.xpath(path, namespaces={"s": "http://www.w3.org/2000/svg"})
    assert isinstance(found, list)
    return len(found)


def test_a_picture_shows_floor_doors_graph_portals_and_locations() -> None:
    picture = draw_level(PROCESSED, "0")
    levels = PROCESSED.networks[TravelMode.FOOT].levels
    assert count(picture, "//s:path[@class='floor']") == 1
    assert count(picture, f"//s:path[@fill='{DOOR_FILLS[DoorOrigin.AS_DRAWN]}']") == 2
    assert count(picture, "//s:circle[@class='vertex']") == len(levels.vertices(0))
    assert count(picture, "//s:circle[@class='portal']") == 1
    assert count(picture, "//s:circle[@class='location']") == 2


def test_a_route_is_drawn_on_its_levels() -> None:
    route = PROCESSED.router.route("A", "B")
    picture = draw_level(PROCESSED, "0", route=route)
    assert count(picture, "//s:polyline[@class='route']") == 1
    assert count(draw_level(PROCESSED, "1", route=route), "//s:polyline") == 0


def test_what_is_cut_off_stands_out() -> None:
    on_foot = draw_level(PROCESSED, "0")
    assert count(on_foot, "//s:path[@class='cut-off']") == 1
    assert count(on_foot, "//s:circle[@class='lost']") == 1
    on_wheels = draw_level(PROCESSED, "0", TravelMode.WHEELCHAIR)
    assert count(on_wheels, "//s:path[@class='cut-off']") == 2
    assert count(on_wheels, f"//s:path[@fill='{CUT_OFF_FILL}']") == 1


def test_a_plan_without_anything_is_drawn_with_its_problem_in_the_legend() -> None:
    picture = draw_level(process_plan(Plan((Level("0", 0),))), "0")
    assert "A level has no walkable floor" in picture


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(KeyError):
        draw_level(PROCESSED, "9")


def test_a_picture_of_a_huge_level_fits_a_screen_and_its_signs_grow() -> None:
    corridor = Space("hall", "0", box(0, 0, 3000, 20), SpaceKind.CORRIDOR, "Hall")
    places = (PlanLocation("a", "0", 5, 10, "West & co"), PlanLocation("b", "0", 2990, 10))
    plan = Plan((Level("0", 0),), (corridor,), locations=places)
    root = etree.fromstring(draw_level(process_plan(plan), "0").encode())
    assert root.get("width") == "1600"
    circles = [each for each in root.iter() if each.get("class") == "location"]
    assert [each.get("r") for each in circles] == ["7.03", "7.03"]
    assert [each[0].text for each in circles] == ["West & co (a)", "b (b)"]


# Markers of problems, and the legend


def find_markers(picture: str) -> list[tuple[str, etree._Element]]:
    """Return the markers with their numbers, the one on top first."""
    root = etree.fromstring(picture.encode())
    markers = [each for each in root.iter() if each.get("class") == "marker"]
    number = etree.XPath("string(*[@class='number'])")
    return [(str(number(each)), each) for each in reversed(markers)]


def marked(picture: str) -> list[str]:
    return [number for number, _ in find_markers(picture)]


def test_problems_are_marked_with_the_numbers_of_their_groups_and_explained() -> None:
    processed = process_drawing("A,,B,n.D#.C")
    groups = processed.report.groups
    assert [group.cause.value for group in groups] == ["room-without-door", "door-too-narrow"]
    on_foot, on_wheels = (draw_level(processed, "0", mode) for mode in TravelMode)
    assert marked(on_foot) == ["1"]
    assert marked(on_wheels) == ["1", "2"]  # what stops people on foot stops all
    assert groups[0].statement in on_foot
    assert groups[1].statement not in on_foot
    assert groups[1].statement in on_wheels
    [(_, marker)] = find_markers(on_foot)
    assert marker[0].text == "room 'C' has no door"


def test_problems_at_one_place_share_a_marker_or_stand_side_by_side() -> None:
    hall = Space("hall", "0", box(0, 0, 100, 100), SpaceKind.CORRIDOR)
    doors = tuple(Door(f"d{n}", "0", Point(50, 50 + n / 9)) for n in range(3))
    lost = PlanLocation("lost", "0", 50, 150)
    beside = Door("beside", "0", Point(50, 150))
    plan = Plan((Level("0", 0),), (hall,), (), (*doors, beside), (), (lost,))
    picture = draw_level(process_plan(plan), "0")
    (_, off_floor), (_, shared), (_, joins_nothing) = find_markers(picture)
    assert "×3" in etree.tostring(shared, encoding="unicode")
    assert "door 'd0' stands within open floor" in (shared[0].text or "")
    assert off_floor.get("transform") != joins_nothing.get("transform")


def test_the_legend_is_above_the_plan_and_every_marker_in_the_picture() -> None:
    hall = Space("hall", "0", box(0, 0, 400, 100), SpaceKind.CORRIDOR)
    far = tuple(Door(f"d{n}", "0", Point(1e4 * n, -1e4 * n)) for n in (-1, 1, 2))
    processed = process_plan(Plan((Level("0", 0),), (hall,), (), far))
    found = find_level_problems(processed.report.groups, "0", TravelMode.FOOT)
    extent, _ = lay_out(processed.networks[TravelMode.FOOT], 0, found)
    left, top, right, bottom = extent.plan_bounds
    assert top <= 0 and extent.top < top - 10
    for marker in place_markers(found, extent.plan_bounds, extent.symbol_scale):
        assert left < marker.x < right and top < marker.y < bottom


def test_a_level_without_anything_is_drawn_around_its_problems() -> None:
    processed = process_plan(Plan((Level("0", 0),), (), (), (Door("d", "0", Point(500, 700)),)))
    found = find_level_problems(processed.report.groups, "0", TravelMode.FOOT)
    left, top, right, bottom = lay_out(processed.networks[TravelMode.FOOT], 0, found)[0].plan_bounds
    assert left < 500 < right and top < 700 < bottom


def test_a_picture_of_thousands_of_problems_is_bounded() -> None:
    hall = Space("hall", "0", box(0, 0, 3000, 3000), SpaceKind.CORRIDOR)
    doors = tuple(Door(str(n), "0", Point(50 * (n % 60), 50 * (n // 60))) for n in range(3_600))
    picture = draw_level(process_plan(Plan((Level("0", 0),), (hall,), (), doors)), "0")
    assert 100 < len(marked(picture)) <= MAX_MARKERS


def test_a_long_statement_is_wrapped_to_the_width_of_the_picture() -> None:
    group = ProblemGroup(1, IssueKind.EMPTY_LEVEL, "word " * 60, ())
    lines = write_legend([LevelProblems(group, [])], 150.0)
    assert len(lines) > 2
    assert max(len(text) for _, text in lines) * CHARACTER_FEET < 150
    assert [bool(badge) for badge, _ in lines] == [True, *[False] * (len(lines) - 1)]


def test_a_marker_says_the_name_and_the_line_that_its_message_does_not() -> None:
    issue = PlanIssue(IssueKind.DOOR_MOVED, "d", "stands in no wall", "0", file="a.osm", line=9)
    assert title_problem(issue) == "stands in no wall (line 9 of a.osm)"
    named = PlanIssue(IssueKind.NO_AREA, "r", "room 'Gym' has no area", "0", name="Gym")
    assert title_problem(named) == "room 'Gym' has no area"
