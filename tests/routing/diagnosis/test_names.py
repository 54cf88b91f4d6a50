"""Levels and rooms are called what their owner calls them."""

from shapely import box

from routing.diagnosis.names import join_names, label_levels, name_parts
from routing.plan import Level, Plan, PlanLocation, Space


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


def test_long_names_and_lists_are_cut() -> None:
    plan = Plan((Level("0", 0),), locations=(PlanLocation("p", "0", 0, 0, "x" * 999),))
    assert len(name_parts(plan).feature("p")) < 70
    assert join_names([*"abcdef"]) == "a, b, c and 3 more"
