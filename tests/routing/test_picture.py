"""Pictures show the floor, the doors, the graph, what is cut off, and where problems are."""

import pytest
from lxml import etree
from shapely import box

from routing.costing import TravelMode
from routing.picture import CUT_OFF_FILL, DOOR_FILLS, draw_level
from routing.plan import Level, Plan, PlanLocation, Space, SpaceKind
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


def test_what_is_cut_off_stands_out() -> None:
    on_foot = draw_level(PROCESSED, "0")
    assert count(on_foot, "//s:path[@class='cut-off']") == 1
    assert count(on_foot, "//s:circle[@class='lost']") == 1
    on_wheels = draw_level(PROCESSED, "0", TravelMode.WHEELCHAIR)
    assert count(on_wheels, "//s:path[@class='cut-off']") == 2
    assert count(on_wheels, f"//s:path[@fill='{CUT_OFF_FILL}']") == 1


def test_a_route_is_drawn_on_its_levels() -> None:
    route = PROCESSED.router.route("A", "B")
    picture = draw_level(PROCESSED, "0", route=route)
    assert count(picture, "//s:polyline[@class='route']") == 1
    assert count(draw_level(PROCESSED, "1", route=route), "//s:polyline") == 0


def test_a_level_without_anything_has_a_picture() -> None:
    assert draw_level(process_drawing("A.", "##"), "1").startswith("<svg")


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
