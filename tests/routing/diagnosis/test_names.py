"""Levels and rooms are called what their owner calls them."""

import pytest
from shapely import Point, box

from routing.diagnosis.names import label_levels, name_parts
from routing.issues import IssueKind, PlanIssue
from routing.plan import Door, Level, PartSource, Plan, PlanLocation, Space
from routing.processing import process_plan


def test_a_level_is_called_by_its_name_or_its_ordinal() -> None:
    names = name_parts(Plan((Level("a", 0), Level("b", 1, "Lobby"), Level("c", 2, "Level 3"))))
    assert [names.level(each) for each in "abc"] == ["level 0", "level 'Lobby'", "'Level 3'"]
    assert names.level_list("cba") == "levels 0, 'Lobby' and 'Level 3'"
    assert names.level_list("b") == "level 'Lobby'"


def test_levels_of_one_name_and_height_are_told_apart_by_their_ids() -> None:
    labels = label_levels([Level("a", 1, "Hall"), Level("b", 1, "Hall"), Level("c", 2, "Roof")])
    assert labels == {"a": "'Hall' (1) (a)", "b": "'Hall' (1) (b)", "c": "'Roof'"}


def test_a_room_without_a_name_has_that_of_its_location() -> None:
    rooms = (
        Space("features[1]", "0", box(0, 0, 9, 9)),
        Space("way/2", "0", box(9, 0, 18, 9), name="Lobby"),
        Space("way/3", "0", box(18, 0, 27, 9)),
    )
    place = PlanLocation("p", "0", 5, 5, "Room 110", "features[1]")
    names = name_parts(Plan((Level("0", 0),), rooms, locations=(place,)))
    assert [names.feature(room.id) for room in rooms] == ["'Room 110'", "'Lobby'", "'way/3'"]


def test_a_place_names_its_file_once() -> None:
    """Parts without an id of their own have one of their file and number."""
    part = "rooms.geojson features[26]"
    source = {part: PartSource(part, "", "rooms.geojson", 764)}
    room = Space(part, "0", box(0, 0, 9, 9))
    names = name_parts(Plan((Level("0", 0),), (room,), sources=source))
    assert names.place(part) == "'features[26]' (line 764 of rooms.geojson)"


@pytest.mark.parametrize(
    ("source", "place"),
    [
        (PartSource("way/5", "Gym", "plan.osm", 214), "'Gym' (line 214 of plan.osm)"),
        (PartSource("way/5", "", "plan.osm", 214), "'way/5' (line 214 of plan.osm)"),
        (PartSource("way/5", "Gym", "unit.geojson"), "'Gym' (way/5 of unit.geojson)"),
        (PartSource("way/5", "", "unit.geojson"), "'way/5' (unit.geojson)"),
        (PartSource("way/5", "Gym"), "'Gym'"),
    ],
)
def test_a_place_is_the_line_or_else_the_id_and_the_file(source: PartSource, place: str) -> None:
    room = Space("way/5", "0", box(0, 0, 9, 9))
    names = name_parts(Plan((Level("0", 0),), (room,), sources={"way/5": source}))
    assert names.place("way/5") == place


SOURCES = {
    "r1": PartSource("r1", "Gym", "plan.svg", 3),
    "r2": PartSource("r2", "O'Brien's (bar)", "plan.svg", 4),
    "d": PartSource("d", "", "plan.svg", 5),
}
PLAN = Plan(
    (Level("0", 0),),
    (
        Space("r1", "0", box(0, 0, 20, 20), name="Gym"),
        Space("r2", "0", box(15, 0, 40, 20), name="O'Brien's (bar)"),
    ),
    doors=(Door("d", "0", Point(90, 90)),),
    sources=SOURCES,
)


@pytest.mark.parametrize(
    ("message", "completed"),
    [
        ("room 'r1' has no door", "room 'Gym' (line 3 of plan.svg) has no door"),
        (
            "room 'r1' (Gym) and room 'x' (Gym)",
            "room 'Gym' (line 3 of plan.svg) and room 'x' (Gym)",
        ),
        ("'r1' (12 ft away)", "'Gym' (line 3 of plan.svg) (12 ft away)"),
        # only the part that it is about has its place
        ("'r1' meets 'd'", "'Gym' (line 3 of plan.svg) meets 'd'"),
        ("'unknown' meets 'Gym'", "'unknown' meets 'Gym'"),
    ],
)
def test_messages_call_parts_by_name(message: str, completed: str) -> None:
    issue = PlanIssue(IssueKind.NO_AREA, "r1", message, "0")
    assert name_parts(PLAN).complete(issue).message == completed
    of_reader = PlanIssue(IssueKind.ELEMENT_LEFT_OUT, "r1", message, "0")
    assert name_parts(PLAN).complete(of_reader) == of_reader


def test_every_problem_of_a_part_has_its_file_and_line() -> None:
    problems = process_plan(PLAN).report.problems
    found = {(each.part, each.file, each.line) for each in problems if each.part in SOURCES}
    assert found == {("r1", "plan.svg", 3), ("d", "plan.svg", 5)}
    overlap = next(each for each in problems if each.kind is IssueKind.OVERLAPPING_ROOMS)
    gym, bar = "room 'Gym' (line 3 of plan.svg)", "room \"O'Brien's (bar)\""
    assert overlap.message.startswith(f"{gym} and {bar} overlap by 100 square feet")
