"""Problems of a plan are found, explained by cause, and named as the owner names the parts."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import LineString, Point, Polygon, box

from routing.costing import TravelMode
from routing.diagnosis import unreached
from routing.diagnosis.names import label_levels, name_parts
from routing.diagnosis.survey import Survey, survey_network
from routing.issues import IssueKind, PlanIssue
from routing.network.components import find_components, find_cut_off_areas
from routing.plan import (
    Barrier,
    Connector,
    ConnectorKind,
    Door,
    Level,
    PartSource,
    Plan,
    PlanLocation,
    Space,
    SpaceKind,
)
from routing.processing import process_plan
from routing.report import UNKNOWN, ProcessingReport
from tests.routing.ascii_plans import draw_plan, groups_drawn, groups_of, messages, process_drawing
from tests.routing.random_plans import draw_fewer, plans

# Levels


HALL = "A,B,C,,,"
ABOVE = "D,E,,,,,"


def lift(**entrances: tuple[float, float, float, float]) -> Connector:
    boxes = {level_id.strip("_"): box(*at) for level_id, at in entrances.items()}
    return Connector("lift", ConnectorKind.ELEVATOR, boxes, "Lift 1")


def with_connectors(*connectors: Connector) -> dict[str, list[str]]:
    plan = replace(draw_plan(HALL, ABOVE), connectors=connectors)
    return {cause: messages(group) for cause, group in groups_of(plan).items()}


def test_all_locations_of_levels_that_nothing_joins_are_one_problem() -> None:
    groups = groups_drawn(HALL, ABOVE)
    assert [*groups] == ["levels-not-joined"]
    group = groups["levels-not-joined"]
    assert group.statement == (
        "No stairs, lift or ramp joins level 1 with level 0: 2 of 5 locations cannot be reached"
    )
    [problem] = group.problems
    assert (problem.part, problem.level_id, problem.locations) == ("1", "1", 2)
    assert problem.at is not None


def test_levels_that_are_joined_with_each_other_only_are_one_problem() -> None:
    groups = groups_drawn(HALL, "D,E,,,s", "F,,,,,s")
    [problem] = groups["levels-not-joined"].problems
    assert problem.message == "No stairs, lift or ramp joins levels 1 and 2 with level 0"
    assert problem.locations == 3


def test_several_levels_without_a_join_are_stated_together() -> None:
    group = groups_drawn(HALL, ABOVE, "F,,")["levels-not-joined"]
    assert group.statement.startswith("No stairs, lift or ramp joins levels 1 and 2 with the rest:")


def test_stairs_that_are_drawn_on_one_of_the_levels_only_are_named_and_not_repeated() -> None:
    groups = with_connectors(lift(_1=(8, 0, 12, 4)))
    assert groups == {
        "levels-not-joined": [
            "No stairs, lift or ramp joins level 1 with level 0: lift 'Lift 1' serves no other"
        ]
    }


def test_a_lift_that_is_drawn_on_both_levels_says_why_it_is_of_no_use() -> None:
    far = with_connectors(lift(_0=(8, 0, 12, 4), _1=(8, 90, 12, 94)))
    missing = "No stairs, lift or ramp that can be used joins level 1 with level 0: lift 'Lift 1'"
    assert far == {"levels-not-joined": [f"{missing} has no floor near it on level 1"]}
    plan = replace(draw_plan(HALL, ABOVE), connectors=(lift(_0=(8, 0, 12, 4), _1=(8, 90, 12, 94)),))
    [problem] = groups_of(plan)["levels-not-joined"].problems
    assert (problem.level_id, problem.at) == ("1", (10, 92))
    broken = replace(lift(_0=(8, 0, 12, 4), _1=(8, 0, 12, 4)), is_in_service=False)
    assert with_connectors(broken) == {"levels-not-joined": [f"{missing} is out of service"]}


def test_the_lift_that_serves_both_levels_is_named_first_with_what_it_lacks_on_these() -> None:
    at, far = box(16, 0, 20, 4), box(16, 90, 20, 94)
    stairs = [Connector(f"n{n}", ConnectorKind.STEPS, {"0": at, "2": far}) for n in range(3)]
    lower = Connector("n3", ConnectorKind.STEPS, {"0": at, "1": at})
    lift = Connector("n4", ConnectorKind.ELEVATOR, {"0": far, "1": at, "2": far}, "Lift 1")
    plan = replace(draw_plan(HALL, ABOVE, "F,,,,,,"), connectors=(*stairs, lower, lift))
    [message] = messages(groups_of(plan)["levels-not-joined"])
    assert message.startswith(
        "No stairs, lift or ramp that can be used joins level 2 with level 1: lift 'Lift 1' has no"
        " floor near it on level 2; staircase 'n0' has no floor near it on level 2; "
    )
    assert message.endswith("and 1 more")


def test_a_shaft_that_ends_on_floor_that_is_cut_off_does_not_join_the_level() -> None:
    groups = groups_drawn("A,B,C,s#######", "s#D,E,")
    [problem] = groups["levels-not-joined"].problems
    assert problem.level_id == "1"
    two_ends = with_connectors(lift(_0=(8, 0, 12, 4), _1=(8, 0, 12, 4)))
    assert two_ends == {}


# Lifts and stairs


JOINED = draw_plan("A,,,s", "B,,,s")
NEAR, FAR = box(8, 0, 12, 4), box(8, 90, 12, 94)


def with_lift(lift: Connector) -> dict[str, list[str]]:
    plan = replace(JOINED, connectors=(*JOINED.connectors, lift))
    found = groups_of(plan)
    return {cause: messages(each) for cause, each in found.items() if cause != "no-step-free-way"}


def test_one_without_floor_near_it_is_not_also_said_to_have_one_end() -> None:
    lift = Connector("way/1", ConnectorKind.ELEVATOR, {"0": NEAR, "1": FAR})
    assert with_lift(lift) == {
        "connector-out-of-reach": ["lift 'way/1' has no floor within 6 ft on level 1"]
    }


def test_one_that_was_joined_by_position_says_which_levels_and_where() -> None:
    at, sure = {"0": NEAR, "1": NEAR}, 0.9
    lift, other = (
        Connector(ref, ConnectorKind.ELEVATOR, at, confidence=confidence)
        for ref, confidence in (("way/1", 0.7), ("way/2", sure))
    )
    plan = replace(JOINED, connectors=(*JOINED.connectors, lift, other))
    [problem] = groups_of(plan)["connector-joined"].problems
    assert problem.message == (
        "lift 'way/1': taken to join levels 0 and 1 with confidence 0.7; list its levels, or give"
        " its drawings one ref"
    )
    assert (problem.level_id, problem.at) == ("0", (10, 2))


# Wheelchairs


def test_a_building_without_a_lift_says_which_levels_wheelchairs_do_not_reach() -> None:
    groups = groups_drawn("A,B,C,s", "D,E,,,s")
    assert [*groups] == ["no-step-free-way"]
    assert groups["no-step-free-way"].statement == (
        "No lift or ramp joins level 1 with level 0:"
        " 2 of 5 locations cannot be reached by wheelchair"
    )


def test_a_lift_that_is_not_for_wheelchairs_is_named() -> None:
    plan = draw_plan("A,B,e", "C,,,e")
    forbidden = replace(plan.connectors[0], wheelchair=False)
    [message] = messages(groups_of(replace(plan, connectors=(forbidden,)))["no-step-free-way"])
    assert message.endswith("lift 'e4,0' is not for a wheelchair")


def test_the_widest_door_of_a_part_that_wheelchairs_do_not_reach_is_named() -> None:
    groups = groups_drawn("A,Bn.C")
    assert [*groups] == ["door-too-narrow"]
    [problem] = groups["door-too-narrow"].problems
    assert (problem.part, problem.locations) == ("0:3,0", 1)
    assert problem.message == "the widest door of room 'C' is 2.50 ft; wheelchairs need 2.62 ft"
    assert messages(groups_drawn("A,B?.C")["door-too-narrow"]) == [
        "the door of room 'C' is not for wheelchairs (wheelchair=no)"
    ]


def test_a_lift_behind_a_narrow_door_is_a_matter_of_the_door() -> None:
    groups = groups_drawn("A,B,+e", "C,D,ne")
    assert [*groups] == ["door-too-narrow"]
    assert groups["door-too-narrow"].locations == 2


def test_rooms_behind_narrow_doors_on_a_level_without_a_lift_are_counted_once() -> None:
    groups = groups_drawn("s,A,B,C", "s,D,En.F")
    lost = {cause: group.locations for cause, group in groups.items()}
    assert lost == {"no-step-free-way": 2, "door-too-narrow": 1}


def test_steps_that_part_the_floor_of_a_level_are_named() -> None:
    plan = draw_plan("A,B,,,,,,s,,C")
    across = replace(plan.connectors[0], entrances={"0": box(36, -1, 40, 5)})
    groups = groups_of(replace(plan, connectors=(across,)))
    assert [*groups] == ["no-step-free-way", "connector-with-one-end"]
    assert messages(groups["no-step-free-way"]) == ["only stairs lead to a part of level 0"]
    assert groups["no-step-free-way"].locations == 1
    assert messages(groups["connector-with-one-end"]) == [
        "staircase 's9,0' is drawn on level 0 only, and stops wheelchairs there"
    ]


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


CORRIDOR = Space("hall", "0", box(0, 44, 60, 60), SpaceKind.CORRIDOR)
ROOM = Space("features[1]", "0", box(0, 0, 20, 40), name="Lobby")
OTHERS = tuple(Space(f"r{x}", "0", box(x, 0, x + 15, 44)) for x in (22, 40))
DOORS = tuple(Door(f"d{x}", "0", Point(x + 8, 44)) for x in (22, 40))
PLACES = tuple(PlanLocation(f"p{x}", "0", x, 20) for x in (10, 30, 48))


def with_door(shape: Polygon, **changes: object) -> Plan:
    door = Door("door", "0", shape, **changes)  # type: ignore[arg-type]
    return Plan((Level("0", 0),), (CORRIDOR, ROOM, *OTHERS), (), (*DOORS, door), (), PLACES)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        # Inside the room: once called "in the open, not needed", beside "room without door".
        (box(8, 37, 11, 38.1), "room 'Lobby' has no door; door 'door' is 1.9 ft from its wall"),
        (box(8, 41.9, 11, 42), "room 'Lobby' has no door; door 'door' is 1.9 ft from its wall"),
        # In its wall, but the corridor begins farther away.
        (
            box(8, 39.5, 11, 40.5),
            "room 'Lobby' has no door; door 'door' is at its wall, but other floor is 3.5 ft away",
        ),
    ],
)
def test_a_door_beside_the_wall_of_a_room_without_door_is_a_hint_there(
    shape: Polygon, message: str
) -> None:
    groups = groups_of(with_door(shape))
    assert [*groups] == ["room-without-door"]
    [problem] = groups["room-without-door"].problems
    assert (problem.message, problem.name) == (message, "Lobby")
    assert problem.at is not None
    assert shape.covers(Point(problem.at))


def test_a_door_far_from_any_room_without_door_is_a_problem_of_its_own() -> None:
    groups = groups_of(with_door(box(40, 52, 42, 53)))
    assert [*groups] == ["room-without-door", "door-in-open-space"]
    assert messages(groups["door-in-open-space"]) == [
        "door 'door' stands within open floor, in no wall"
    ]


def test_a_door_with_floor_on_one_side_only_leads_outside() -> None:
    groups = groups_drawn("+,A,B")
    assert messages(groups["door-to-outside"]) == [
        "door '0:0,0' leads out of open floor to where no floor is drawn"
    ]


def test_a_door_that_fits_into_no_wall_says_what_is_beside_it() -> None:
    yard = Space("yard", "0", box(0, 0, 60, 39), SpaceKind.AREA)
    door = Door("d", "0", Point(30, 41))
    groups = groups_of(Plan((Level("0", 0),), (CORRIDOR, yard), (), (door,)))
    assert messages(groups["door-joins-no-two-spaces"]) == [
        "door 'd' fits into no wall between open floor (2.0 ft away) and open floor (3.0 ft away)"
    ]


def test_a_room_with_a_locked_door_is_not_said_to_have_none() -> None:
    groups = groups_drawn("A.+,B,x.C")
    assert [*groups] == ["doors-locked"]
    group = groups["doors-locked"]
    assert group.statement == "1 of 2 doors is locked: 1 of 3 locations cannot be reached"
    assert messages(group) == ["the door '0:6,0' of room 'C' is locked, and it has no other"]


# Floor


def test_floor_that_is_cut_off_says_what_is_on_it_and_where_the_rest_is_nearest() -> None:
    groups = groups_drawn("A,B,C#,,D+E.")
    assert [*groups] == ["floor-cut-off"]
    [problem] = groups["floor-cut-off"].problems
    assert problem.locations == 2
    assert problem.message == (
        "no door joins a part of level 0 of 79 ft² with room 'E' with the rest;"
        " here, the rest is 4.0 ft away"
    )
    assert problem.at == pytest.approx((22, 2), abs=2)  # in the wall between C and D


def test_rooms_that_only_a_wall_parts_from_the_rest_say_so() -> None:
    hall = Space("hall", "0", box(0, 0, 40, 10), SpaceKind.CORRIDOR)
    ends = PlanLocation("a", "0", 5, 5), PlanLocation("b", "0", 9, 5), PlanLocation("c", "0", 35, 5)
    wall = Barrier("0", LineString([(20, -5), (20, 15)]))
    plan = Plan((Level("0", 0),), (hall,), (wall,), locations=ends)
    [problem] = groups_of(plan)["floor-cut-off"].problems
    assert problem.message.endswith("here, the rest is right behind the wall")
    assert problem.at is not None and problem.at[0] == pytest.approx(20, abs=0.1)


def test_a_door_that_was_meant_to_join_floor_is_part_of_that() -> None:
    hall = Space("hall", "0", box(0, 0, 60, 16), SpaceKind.CORRIDOR)
    yard = Space("yard", "0", box(0, 21, 60, 40), SpaceKind.AREA)
    places = tuple(PlanLocation(f"p{y}", "0", 9, y) for y in (5, 9, 30))
    door = Door("gate", "0", Point(30, 18))
    groups = groups_of(Plan((Level("0", 0),), (hall, yard), (), (door,), (), places))
    assert [*groups] == ["floor-cut-off"]
    [problem] = groups["floor-cut-off"].problems
    assert problem.message == (
        "no door joins a part of level 0 of 1,140 ft² with the rest: door 'gate' fits into no wall"
        " between open floor (2.0 ft away) and open floor (3.0 ft away)"
    )
    assert problem.at == (30, 18)


def test_a_room_that_walls_divide_is_not_said_to_have_no_door() -> None:
    plan = draw_plan("A,,+..B..C")
    wall = Barrier("0", LineString([(28, -5), (28, 9)]))
    groups = groups_of(replace(plan, barriers=(wall,)))
    assert [*groups] == ["floor-cut-off"]
    [problem] = groups["floor-cut-off"].problems
    assert problem.part == "room B"
    assert problem.message.startswith("no door joins a part of room 'B' of ")


def test_floor_behind_other_floor_that_is_cut_off_is_told_to_join_that() -> None:
    groups = groups_drawn("A,B,C#,,D#,E,")
    problems = groups["floor-cut-off"].problems
    near, far = sorted(problems, key=lambda problem: problem.at or ())
    assert near.message.endswith("here, the rest is 4.0 ft away")
    assert near.at == pytest.approx((26, 2), abs=4)
    assert far.message.endswith("here, a part of level 0 of 48 ft² is 4.0 ft away, cut off as well")
    assert far.at == pytest.approx((42, 2), abs=4)


def test_floor_is_told_to_join_its_neighbour_rather_than_what_lies_across_a_yard() -> None:
    spaces = [("hall", 0, 40, 0, 20), ("wing", 40, 60, 30, 80), ("end", 62, 80, 22, 80)]
    rooms = [
        Space(name, "0", box(west, north, east, south), SpaceKind.CORRIDOR)
        for name, west, east, north, south in spaces
    ]
    places = [("a", 5, 5), ("b", 9, 5), ("c", 15, 5), ("d", 50, 40), ("e", 70, 40)]
    locations = tuple(PlanLocation(name, "0", x, y) for name, x, y in places)
    groups = groups_of(Plan((Level("0", 0),), tuple(rooms), locations=locations))
    wing, end = sorted(groups["floor-cut-off"].problems, key=lambda problem: problem.at or ())
    assert wing.message.endswith("here, the rest is 10.0 ft away")
    assert wing.at == pytest.approx((40, 25))
    assert end.message.endswith(
        "here, a part of level 0 of 1,000 ft² is 2.0 ft away, cut off as well"
    )
    assert end.at == pytest.approx((61, end.at[1] if end.at else 0))


# Locations


def test_locations_on_a_level_without_floor_are_part_of_that() -> None:
    plan = draw_plan("A,B,e", "C,,,e")
    on_0 = tuple(space for space in plan.spaces if space.level_id == "0")
    groups = groups_of(replace(plan, spaces=on_0))
    assert [*groups] == ["empty-level"]
    [problem] = groups["empty-level"].problems
    assert problem.locations == 1
    assert problem.message == (
        "level 1 has no room, corridor or area to walk on (stairs and lifts to it: 1)"
    )


def test_a_location_beside_the_floor_says_how_far() -> None:
    plan = draw_plan("A,B")
    lost = replace(plan.locations[0], id="lost", x=-50.0, name="Bench")
    groups = groups_of(replace(plan, locations=(*plan.locations, lost)))
    [problem] = groups["location-off-floor"].problems
    assert problem.message == (
        "location 'Bench' lies 50.0 ft (more than 6 ft) from the nearest floor"
    )
    assert (problem.part, problem.at) == ("lost", (-50.0, 2.0))


def test_only_the_first_locations_beside_the_floor_say_how_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unreached, "MAX_MEASURED_PARTS", 1)
    plan = draw_plan("A,B")
    lost = [replace(plan.locations[0], id=f"lost {x}", x=x) for x in (-50.0, -60.0)]
    problems = groups_of(replace(plan, locations=(*plan.locations, *lost)))
    assert [
        " ft (more than" in each.message for each in problems["location-off-floor"].problems
    ] == [
        True,
        False,
    ]


def test_each_location_that_is_cut_off_has_the_problem_that_is_the_reason() -> None:
    plan = draw_plan("A,B,+.C#.D#E,F", "G,,")
    lost = PlanLocation("lost", "0", -50, 2)
    report = process_plan(replace(plan, locations=(*plan.locations, lost))).report
    causes = {cut.location_id: cut.cause.value for cut in report.reachability[0].cut_off}
    assert causes == {
        "D": "room-without-door",
        "E": "floor-cut-off",
        "F": "floor-cut-off",
        "G": "levels-not-joined",
        "lost": "location-off-floor",
    }
    assert sum(group.locations for group in report.groups) == len(causes)


# The survey of levels that this begins with


def survey(*storeys: str) -> Survey:
    processed = process_drawing(*storeys)
    components = processed.components[TravelMode.FOOT]
    network = processed.networks[TravelMode.FOOT]
    return survey_network(processed.walkable_levels, network, components, components.main)


def test_the_home_of_a_level_is_the_main_component_or_the_one_with_the_most_locations() -> None:
    found = survey("A,B,C,s", "D,####s", "E,,,,,#F,G")
    homes = [level.home for level in found.levels]
    assert homes[0] == homes[1] == found.main  # the shaft of the stairs, though D is elsewhere
    assert found.locations_of[homes[2]] == 2
    assert [found.locations_of[each] for each in found.apart] == [2, 1, 1]


def test_locations_without_a_path_are_in_different_components() -> None:
    network = process_drawing("A,,B,,C#D,").networks[TravelMode.FOOT]
    components = find_components(network)
    one, *same, other = components.location_components.tolist()
    assert same == [one, one] and other != one
    assert (components.count, components.main) == (2, one)
    assert components.locations_in_main.tolist() == [True, True, True, False]
    (area,) = find_cut_off_areas(network, components, 0)
    assert area.bounds[0] > 28  # what is behind the wall


few = draw_fewer(3)


@st.composite
def faulty_plans(draw: st.DrawFn) -> Plan:
    """Plans without some of their doors and connectors, others locked, narrow or out of service."""
    plan = draw(plans(max_levels=3))
    chance = st.sampled_from(["as it is", "gone", "shut"])
    doors = [(door, draw(chance)) for door in plan.doors]
    lifts = [(lift, draw(chance)) for lift in plan.connectors]
    return replace(
        plan,
        doors=tuple(
            replace(door, is_locked=fate == "shut", width_feet=draw(st.sampled_from([2.0, 4.0])))
            for door, fate in doors
            if fate != "gone"
        ),
        connectors=tuple(
            replace(lift, is_in_service=fate != "shut") for lift, fate in lifts if fate != "gone"
        ),
    )


def lost_by(report: ProcessingReport, mode: TravelMode) -> list[int]:
    """How many locations each cause keeps from being reached in a mode."""
    return [group.locations for group in report.groups if group.mode is mode]


@given(faulty_plans())
@few
def test_each_location_that_is_not_reached_has_a_cause_and_no_other_location_has(
    plan: Plan,
) -> None:
    processed = process_plan(plan)
    report, components = processed.report, processed.components
    foot, wheelchair = report.reachability
    reached = components[TravelMode.FOOT].locations_in_main
    lost = report.locations - foot.reached
    assert max(lost_by(report, TravelMode.FOOT), default=0) <= lost
    assert sum(lost_by(report, TravelMode.FOOT)) >= lost
    by_wheelchair = components[TravelMode.WHEELCHAIR].location_components[reached]
    lost = len(by_wheelchair) - max((by_wheelchair == c).sum() for c in by_wheelchair)
    assert sum(lost_by(report, TravelMode.WHEELCHAIR)) == lost
    for check in (foot, wheelchair):
        assert len(check.cut_off) == report.locations - check.reached
        assert UNKNOWN.message not in {cut.reason for cut in check.cut_off}


@given(faulty_plans())
@few
def test_every_problem_has_a_place_and_is_listed_once_and_in_order(plan: Plan) -> None:
    report = process_plan(plan).report
    assert all(problem.at is not None for problem in report.problems)
    assert len({identify(problem) for problem in report.problems}) == len(report.problems)
    on_foot = lost_by(report, TravelMode.FOOT)
    assert on_foot == sorted(on_foot, reverse=True)
    assert [group.number for group in report.groups] == list(range(1, len(report.groups) + 1))
    json.dumps(report.to_dict())


@given(faulty_plans())
@few
def test_no_door_and_no_connector_has_two_problems_on_foot(plan: Plan) -> None:
    report = process_plan(plan).report
    parts = {door.id for door in plan.doors} | {lift.id for lift in plan.connectors}
    named = [
        problem.part
        for group in report.groups
        if group.mode is TravelMode.FOOT
        for problem in group.problems
        if problem.part in parts
    ]
    assert len(named) == len(set(named))


def identify(problem: PlanIssue) -> tuple[object, ...]:
    return problem.kind, problem.part, problem.level_id, problem.at, problem.message
