"""Problems are grouped by cause, those that cost the most locations first."""

from routing.groups import MAX_LISTED_PROBLEMS, MAX_TEXT_CHARS, group_problems
from routing.issues import CAUSES, IssueKind, PlanIssue


def issue(kind: IssueKind, locations: int = 0, part: str = "p") -> PlanIssue:
    return PlanIssue(kind, part, "is wrong", "0", (1.234, 5.678), locations)


def test_causes_are_in_the_order_of_what_they_cost() -> None:
    issues = [
        issue(IssueKind.NO_AREA),
        issue(IssueKind.OVERLAPPING_ROOMS),
        issue(IssueKind.OVERLAPPING_ROOMS),
        issue(IssueKind.DOOR_TOO_NARROW, 9),
        issue(IssueKind.ROOM_ENCLOSED, 1),
        issue(IssueKind.ROOM_ENCLOSED, 1),
        issue(IssueKind.LEVELS_NOT_JOINED, 3),
    ]
    groups = group_problems(issues, 20, {})
    assert [(group.number, group.cause, group.locations) for group in groups] == [
        (1, IssueKind.LEVELS_NOT_JOINED, 3),
        (2, IssueKind.ROOM_ENCLOSED, 2),
        (3, IssueKind.DOOR_TOO_NARROW, 9),  # wheelchairs only
        (4, IssueKind.OVERLAPPING_ROOMS, 0),
        (5, IssueKind.NO_AREA, 0),
    ]


def test_of_causes_that_cost_the_same_the_root_comes_first() -> None:
    issues = [
        issue(IssueKind.NO_AREA),
        issue(IssueKind.NO_AREA),
        issue(IssueKind.ROOM_ENCLOSED, 1),
        issue(IssueKind.ROOM_ENCLOSED, 1),
        issue(IssueKind.LEVELS_NOT_JOINED, 2),
        issue(IssueKind.ELEMENT_LEFT_OUT),
    ]
    assert [group.cause for group in group_problems(issues, 20, {})] == [
        IssueKind.LEVELS_NOT_JOINED,
        IssueKind.ROOM_ENCLOSED,
        IssueKind.ELEMENT_LEFT_OUT,
        IssueKind.NO_AREA,
    ]


def test_a_statement_has_what_the_cause_costs_and_in_which_mode() -> None:
    doors = [issue(IssueKind.DOOR_TOO_NARROW, 1), issue(IssueKind.DOOR_TOO_NARROW, 2)]
    [wheelchair, harmless] = group_problems([*doors, issue(IssueKind.NO_AREA)], 20, {})
    assert wheelchair.statement == (
        "2 doors let no wheelchair through: 3 of 20 locations cannot be reached by wheelchair"
    )
    assert harmless.statement == CAUSES[IssueKind.NO_AREA].one


def test_a_statement_of_the_diagnosis_replaces_that_of_the_table() -> None:
    statements = {IssueKind.DOORS_LOCKED: "7 of 8 doors are locked"}
    [group] = group_problems([issue(IssueKind.DOORS_LOCKED, 2)], 5, statements)
    assert group.statement == "7 of 8 doors are locked: 2 of 5 locations cannot be reached"


def test_the_costliest_problems_are_listed_and_all_are_counted() -> None:
    issues = [issue(IssueKind.ROOM_ENCLOSED, n, f"r{n}") for n in range(MAX_LISTED_PROBLEMS + 50)]
    [group] = group_problems(issues, 10_000, {})
    listed = group.to_dict()["problems"]
    assert (len(listed), listed[0]["part"]) == (MAX_LISTED_PROBLEMS, "r149")
    assert group.to_dict()["count"] == len(issues)


def test_names_of_any_length_are_cut() -> None:
    [group] = group_problems([issue(IssueKind.NO_AREA, part="x" * 9_999)], 1, {})
    [problem] = group.to_dict()["problems"]
    assert len(problem["part"]) == MAX_TEXT_CHARS


def test_positions_are_in_hundredths_of_a_foot_and_in_units_of_the_source() -> None:
    [group] = group_problems([issue(IssueKind.NO_AREA)], 1, {})
    [problem] = group.to_dict(lambda x, y: (x * 10, y * 10))["problems"]
    assert (problem["x"], problem["y"]) == (1.23, 5.68)
    assert (problem["source_x"], problem["source_y"]) == (12.34, 56.78)


def test_positions_are_in_units_of_the_map_too() -> None:
    [group] = group_problems([issue(IssueKind.NO_AREA)], 1, {})
    [problem] = group.to_dict(feet_per_unit=0.5)["problems"]
    assert (problem["map_x"], problem["map_y"]) == (2.468, 11.356)
    [nowhere] = group_problems([PlanIssue(IssueKind.NO_AREA, "a", "b")], 1, {})
    [problem] = nowhere.to_dict()["problems"]
    assert (problem["map_x"], problem["map_y"]) == (None, None)
