"""The report on a floor plan as text: what to put right first, how, and where."""

from dataclasses import replace
from typing import Any

import pytest

from gateway.cli.plan_report import print_report
from routing.issues import IssueKind, PlanIssue
from routing.plan import Level, PartSource, Plan
from routing.processing import process_plan
from tests.routing.ascii_plans import draw_plan, process_drawing

TWO_LEVELS = (
    """
    ###########
    #A#B#C#D#E#
    #+#######+#
    #,,,,,,,,,#
    ###########
    """,
    """
    ###########
    #,,,F,,G,,#
    ###########
    """,
)


def report_on(*storeys: str) -> dict[str, Any]:
    report = process_drawing(*storeys).report.to_dict()
    return report | {"notes": [], "published": True, "refusal": None}


def printed(capsys: pytest.CaptureFixture[str], **options: bool) -> list[str]:
    print_report(report_on(*TWO_LEVELS), **options)
    return capsys.readouterr().out.splitlines()


def test_the_costliest_cause_comes_first_with_its_remedy_and_where_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = printed(capsys)
    start = lines.index("1. 3 rooms have no door: 3 of 7 locations cannot be reached")
    assert lines[start + 1].startswith("   Remedy: draw a door (door=yes)")
    assert lines[start + 2] == "   - room 'B' has no door (level 0; 14.0, 6.0 ft; room B)"
    second = (
        "2. No stairs, lift or ramp joins level 1 with level 0: 2 of 7 locations cannot be reached"
    )
    assert second in lines


def test_the_place_in_the_file_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    plan = draw_plan(*TWO_LEVELS)
    sources = {space.id: PartSource(space.id, "", "a.osm", 7) for space in plan.spaces}
    sources |= {door.id: PartSource(door.id, "", "a.osm", 8) for door in plan.doors}
    report = process_plan(replace(plan, sources=sources)).report.to_dict()
    print_report(report | {"notes": [], "published": True, "refusal": None}, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert "   - room 'B' (line 7 of a.osm) has no door (level 0; 14.0, 6.0 ft; room B)" in lines
    assert not any(line.count("a.osm") > 1 for line in lines)


def test_only_the_first_parts_are_shown_unless_all_are_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.cli.plan_report.SHOWN_PROBLEMS", 1)
    assert "   - and 2 more; --verbose lists them" in printed(capsys)
    verbose = printed(capsys, verbose=True)
    assert sum("has no door (" in line for line in verbose) == 3
    assert not any("more" in line for line in verbose)


def test_of_what_was_left_out_it_is_not_said_that_it_costs_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kind = IssueKind.ELEMENT_LEFT_OUT
    left_out = PlanIssue(kind, "way/1", "way/1 has no node", "0", (4, 2), name="Lobby")
    report = process_plan(draw_plan("A,B#.."), reading_issues=[left_out]).report.to_dict()
    print_report(report | {"notes": [], "published": True, "refusal": None})
    lines = capsys.readouterr().out.splitlines()
    heading = lines.index("What follows keeps no location from being reached.")
    assert lines[heading - 4].startswith("1. An element of the file was left out; what it would")
    assert lines[heading - 2] == "   - way/1 has no node (level 0; 4.0, 2.0 ft; Lobby)"
    assert lines[heading + 2] == "2. A room has no door"


def test_a_level_is_called_by_its_name_or_its_number_or_its_id_if_two_share_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.cli.plan_report.SHOWN_LEVELS", 4)
    levels = (
        Level("m-0", -1),
        Level("m-1", 1, "[/b] :smile:"),  # shown as it is
        Level("m-2", 2, "Up"),
        Level("m-3", 3, "Up"),
    )
    report = process_plan(Plan(levels)).report.to_dict()
    print_report(report | {"notes": ["[/i]"], "published": False, "refusal": "[b]few[/b]"})
    output = capsys.readouterr().out
    assert "[/i]" in output
    assert "[b]few[/b]" in output
    lines = output.splitlines()
    assert "   Levels: -1, [/b] :smile:, m-2, m-3" in lines
    rows = [line.split()[1] for line in lines if line.startswith("│")]
    assert rows[:4] == ["-1", "[/b]", "m-2", "m-3"]
