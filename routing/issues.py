"""Problems that processing finds in a floor plan: their causes, and what remedies each.

Reports show them in groups, one for each cause.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from shapely.geometry.base import BaseGeometry

from routing.costing import TravelMode


class IssueKind(StrEnum):
    """Cause of a problem; the value appears in the report."""

    LEVELS_NOT_JOINED = "levels-not-joined"
    BUILDINGS_NOT_JOINED = "buildings-not-joined"
    FLOOR_CUT_OFF = "floor-cut-off"
    GAP_TOO_NARROW = "gap-too-narrow"
    ONLY_PRIVATE_WAY = "only-private-way"
    DOORS_LOCKED = "doors-locked"
    ROOM_ENCLOSED = "room-without-door"
    EMPTY_LEVEL = "empty-level"
    LOCATION_OFF_FLOOR = "location-off-floor"
    NOT_STEP_FREE = "no-step-free-way"
    DOOR_TOO_NARROW = "door-too-narrow"
    ELEMENT_LEFT_OUT = "element-left-out"
    ERROR_WORKED_AROUND = "error-worked-around"
    SELF_CROSSING = "self-crossing"
    NO_AREA = "no-area"
    OVERLAPPING_ROOMS = "overlapping-rooms"
    DUPLICATE_LEVEL_NAME = "duplicate-level-name"
    IMPLAUSIBLE_SCALE = "implausible-scale"
    LEVEL_SIMPLIFIED = "level-simplified"
    OUTLINE_GUESSED = "outline-guessed"
    DOOR_JOINS_NOTHING = "door-joins-no-two-spaces"
    DOOR_TO_OUTSIDE = "door-to-outside"
    DOOR_NOT_NEEDED = "door-in-open-space"
    DOOR_AMBIGUOUS = "door-at-corner"
    DOOR_MOVED = "door-moved"
    DOOR_NOT_ONE_WAY = "door-not-one-way"
    DOOR_INFERRED = "door-inferred"
    CONNECTOR_ONE_END = "connector-with-one-end"
    CONNECTOR_OUT_OF_REACH = "connector-out-of-reach"
    CONNECTOR_JOINED = "connector-joined"
    CONNECTOR_OUT_OF_SERVICE = "connector-out-of-service"


FROM_FILES = (IssueKind.ELEMENT_LEFT_OUT, IssueKind.ERROR_WORKED_AROUND)
"""Readers of files find these; only they know the place."""


class CauseText(NamedTuple):
    """The sentence that states a cause, for one problem and for several, and the remedy.

    `mode` is the travel mode in which the cause keeps locations from being reached.
    """

    one: str
    many: str
    remedy: str
    mode: TravelMode = TravelMode.FOOT

    def state(self, count: int) -> str:
        """Return the sentence for a number of problems."""
        return self.one if count == 1 else self.many.format(f"{count:,}")


CAUSES = {
    IssueKind.LEVELS_NOT_JOINED: CauseText(
        "No stairs, lift or ramp joins a level with the rest",
        "No stairs, lift or ramp joins {} groups of levels with the rest",
        "draw stairs or a lift on both levels, with the same ref or one above the other, or with"
        " all their levels (level=0;1); put right what keeps those that are drawn from being used",
    ),
    IssueKind.BUILDINGS_NOT_JOINED: CauseText(
        "Nothing joins a building with the rest",
        "Nothing joins {} buildings with the rest",
        "draw the way from door to door (highway=footway, or indoor=area), with a door in either"
        " building; or make a map of each building",
    ),
    IssueKind.FLOOR_CUT_OFF: CauseText(
        "No door joins a part of the floor with the rest",
        "No door joins {} parts of the floor with the rest",
        "draw a door (door=yes) or an opening (door=no) in the wall at the point given; if there"
        " is no wall, draw the floor in between (indoor=corridor or area)",
    ),
    IssueKind.GAP_TOO_NARROW: CauseText(
        "A gap is too narrow to pass and was closed",
        "{} gaps are too narrow to pass and were closed",
        "draw the wall up to the other side; or, if people pass, draw the gap at least 0.25 m wide,"
        " or a door (door=yes) or an opening (door=no) in it",
    ),
    IssueKind.ONLY_PRIVATE_WAY: CauseText(
        "A part of the floor is reached through private space only",
        "{} parts of the floor are reached through private space only",
        "draw the way that visitors take; or make the private room a way through (access=yes)",
    ),
    IssueKind.DOORS_LOCKED: CauseText(
        "A room can be entered through locked doors only",
        "{} rooms can be entered through locked doors only",
        "remove access=no, foot=no, locked=yes or entrance=emergency (IMDF: the category or access"
        " control) from a door that people may use",
    ),
    IssueKind.ROOM_ENCLOSED: CauseText(
        "A room has no door",
        "{} rooms have no door",
        "draw a door (door=yes) or an opening (door=no) on the wall between the room and the"
        " corridor",
    ),
    IssueKind.EMPTY_LEVEL: CauseText(
        "A level has no walkable floor",
        "{} levels have no walkable floor",
        "draw its rooms and corridors (indoor=room, corridor or area), or its outline"
        " (indoor=level); or remove the level",
    ),
    IssueKind.LOCATION_OFF_FLOOR: CauseText(
        "A location is not on the floor",
        "{} locations are not on the floor",
        "move the location to where people stand, or draw the floor there (indoor=room, corridor"
        " or area)",
    ),
    IssueKind.NOT_STEP_FREE: CauseText(
        "No lift or ramp joins a part of the plan with the rest",
        "No lift or ramp joins {} parts of the plan with the rest",
        "draw the lift or ramp on all levels that it serves; if there is none, wheelchairs cannot"
        " get there",
        TravelMode.WHEELCHAIR,
    ),
    IssueKind.DOOR_TOO_NARROW: CauseText(
        "A door lets no wheelchair through",
        "{} doors let no wheelchair through",
        "check the door's width, which is the clear width (width=0.9, in metres), and its tag"
        " wheelchair",
        TravelMode.WHEELCHAIR,
    ),
    IssueKind.ELEMENT_LEFT_OUT: CauseText(
        "An element of the file was left out; what it would have joined is not known",
        "{} elements of the file were left out; what they would have joined is not known",
        "correct the element in the file, as its message says",
    ),
    IssueKind.ERROR_WORKED_AROUND: CauseText(
        "An error in the file was worked around",
        "{} errors in the file were worked around",
        "check that the plan was read as it is meant, and correct the file",
    ),
    IssueKind.SELF_CROSSING: CauseText(
        "An outline crosses itself and was repaired",
        "{} outlines cross themselves and were repaired",
        "redraw the outline at the point given",
    ),
    IssueKind.NO_AREA: CauseText(
        "A space has no area and was left out",
        "{} spaces have no area and were left out",
        "draw the outline through three or more corners, or remove it",
    ),
    IssueKind.OVERLAPPING_ROOMS: CauseText(
        "Two rooms overlap",
        "{} pairs of rooms overlap",
        "draw the rooms side by side, or one inside the other; remove one that is drawn twice",
    ),
    IssueKind.DUPLICATE_LEVEL_NAME: CauseText(
        "A level has the name of another",
        "{} levels have the name of another",
        "give each level a name of its own",
    ),
    IssueKind.IMPLAUSIBLE_SCALE: CauseText(
        "The plan is too small or too large for a building",
        "The plan is too small or too large for a building",
        "check the scale (feet per unit) of a drawing, or the coordinates of a map",
    ),
    IssueKind.LEVEL_SIMPLIFIED: CauseText(
        "A level has too many corners for exact distances",
        "{} levels have too many corners for exact distances",
        "leave out details that people walk past, such as furniture, or draw round pillars square",
    ),
    IssueKind.OUTLINE_GUESSED: CauseText(
        "A level has neither corridors nor an outline, so gaps between rooms count as corridors",
        "{} levels have neither corridors nor an outline, so gaps between rooms count as corridors",
        "draw the corridors (indoor=corridor), or the outline of the level (indoor=level)",
    ),
    IssueKind.DOOR_JOINS_NOTHING: CauseText(
        "A door joins no two spaces",
        "{} doors join no two spaces",
        "move the door onto the wall between two spaces, so that it touches both",
    ),
    IssueKind.DOOR_TO_OUTSIDE: CauseText(
        "A door leads to where no floor is drawn",
        "{} doors lead to where no floor is drawn",
        "nothing if it is an entrance of the building; otherwise draw the floor behind it",
    ),
    IssueKind.DOOR_NOT_NEEDED: CauseText(
        "A door stands in the open, in no wall",
        "{} doors stand in the open, in no wall",
        "draw the wall that it is in, move it onto its wall, or remove it",
    ),
    IssueKind.DOOR_AMBIGUOUS: CauseText(
        "A door stands where more than two spaces meet",
        "{} doors stand where more than two spaces meet",
        "move the door along its wall, clear of the corner",
    ),
    IssueKind.DOOR_MOVED: CauseText(
        "A door beside its wall was moved onto it",
        "{} doors beside their walls were moved onto them",
        "move the door onto the wall, if it is the right one",
    ),
    IssueKind.DOOR_NOT_ONE_WAY: CauseText(
        "A one-way door is passed both ways, because there are too many",
        "{} one-way doors are passed both ways, because there are too many",
        "draw neighbouring turnstiles as one, or make a map of each part of the building",
    ),
    IssueKind.DOOR_INFERRED: CauseText(
        "A room without a door was given one by guess",
        "{} rooms without a door were given one by guess",
        "draw the door (door=yes) where it is",
    ),
    IssueKind.CONNECTOR_JOINED: CauseText(
        "Stairs or a lift of several levels were taken for one because of where they are",
        "{} stairs and lifts of several levels were taken for one because of where they are",
        "give the parts of one the same ref",
    ),
    IssueKind.CONNECTOR_ONE_END: CauseText(
        "Stairs or a lift are drawn on one level only",
        "{} stairs and lifts are drawn on one level only",
        "draw them on the other levels too, with the same ref or one above the other, or give all"
        " their levels (level=0;1)",
    ),
    IssueKind.CONNECTOR_OUT_OF_REACH: CauseText(
        "Stairs or a lift have no floor near them on a level that they serve",
        "{} stairs and lifts have no floor near them on a level that they serve",
        "draw the floor (indoor=corridor or area) up to the point where people get on and off",
    ),
    IssueKind.CONNECTOR_OUT_OF_SERVICE: CauseText(
        "Stairs or a lift are out of service",
        "{} stairs and lifts are out of service",
        "remove access=no, disused or operational_status once they work, and process the plan"
        " again",
    ),
}


@dataclass(frozen=True)
class PlanIssue:
    """A problem: `part` is the id of the feature; `message` is what is wrong and what was done.

    `at` is its position in feet. `locations` is how many locations are out of reach as long as it
    lasts, in the mode of its cause. `name` is the name of the part, if it has one. `count` is more
    than 1 for what stands for problems that are not listed one by one. `file` and `line` are where
    the part stands, "" and 0 if that is unknown.
    """

    kind: IssueKind
    part: str
    message: str
    level_id: str | None = None
    at: tuple[float, float] | None = None
    locations: int = 0
    name: str = ""
    count: int = 1
    file: str = ""
    line: int = 0

    @property
    def place(self) -> str:
        """The file of the part, and the line in it, if they are known."""
        return f"line {self.line} of {self.file}" if self.line and self.file else self.file


def point_in(geometry: BaseGeometry) -> tuple[float, float] | None:
    """Return a point of a geometry, to mark it on a picture; None for an empty one."""
    point = geometry.representative_point()
    return None if point.is_empty else (point.x, point.y)


MAX_LISTED_PROBLEMS = 100
"""Problems of a group that are listed; the group's count has the others too."""
MAX_TEXT_CHARS = 300
"""Longer messages and ids are cut: a plan may have names of any length."""
REACHED_BY = {TravelMode.FOOT: "", TravelMode.WHEELCHAIR: " by wheelchair"}
CAUSE_ORDER = {cause: number for number, cause in enumerate(IssueKind)}

ToSource = Callable[[float, float], tuple[float, float]]
"""Converts a position in feet to the coordinates of the plan's file."""


@dataclass(frozen=True)
class ProblemGroup:
    """All problems of one cause. `number` counts groups from 1, and marks them in pictures."""

    number: int
    cause: IssueKind
    statement: str
    problems: tuple[PlanIssue, ...]

    @property
    def mode(self) -> TravelMode:
        return CAUSES[self.cause].mode

    @property
    def remedy(self) -> str:
        return CAUSES[self.cause].remedy

    @cached_property
    def count(self) -> int:
        return count_problems(self.problems)

    @cached_property
    def locations(self) -> int:
        """The number of locations that are out of reach as long as the problems last."""
        return sum(problem.locations for problem in self.problems)

    def to_dict(
        self, to_source: ToSource | None = None, feet_per_unit: float = 1.0
    ) -> dict[str, Any]:
        """Return the group as JSON values."""
        levels = dict.fromkeys(problem.level_id for problem in self.problems)
        return {
            "number": self.number,
            "cause": self.cause.value,
            "statement": self.statement,
            "remedy": self.remedy,
            "mode": self.mode.value,
            "count": self.count,
            "locations": self.locations,
            "levels": [level_id for level_id in levels if level_id is not None],
            "problems": [
                describe_problem(problem, to_source, feet_per_unit)
                for problem in self.problems[:MAX_LISTED_PROBLEMS]
            ],
        }


def group_problems(
    issues: Iterable[PlanIssue], locations: int, statements: Mapping[IssueKind, str]
) -> tuple[ProblemGroup, ...]:
    """Return problems by cause, the costliest cause first; `locations` is the number of all.

    What keeps people on foot from a location precedes what keeps only wheelchairs from it. Of
    causes that cost the same, the one that comes first in `IssueKind` does: levels that nothing
    joins, before their rooms. What was left out comes before all that costs nothing: what it would
    have joined is not known. `statements` replace those of the table of causes.
    """
    by_cause: dict[IssueKind, list[PlanIssue]] = defaultdict(list)
    for issue in issues:
        by_cause[issue.kind].append(issue)

    def rank(cause: IssueKind) -> tuple[int, int, int, int]:
        problems = by_cause[cause]
        lost = sum(problem.locations for problem in problems)
        on_foot = lost if CAUSES[cause].mode is TravelMode.FOOT else 0
        order = CAUSE_ORDER[cause] if lost or cause is IssueKind.ELEMENT_LEFT_OUT else len(CAUSES)
        return -on_foot, -lost, order, -count_problems(problems)

    groups: list[ProblemGroup] = []
    for number, cause in enumerate(sorted(by_cause, key=rank), 1):
        problems = sorted(by_cause[cause], key=lambda problem: -problem.locations)
        lost = sum(problem.locations for problem in problems)
        statement = statements.get(cause) or CAUSES[cause].state(count_problems(problems))
        if lost:
            by_mode = REACHED_BY[CAUSES[cause].mode]
            statement += f": {lost} of {locations} locations cannot be reached{by_mode}"
        groups.append(ProblemGroup(number, cause, cut(statement), tuple(problems)))
    return tuple(groups)


def count_problems(problems: Iterable[PlanIssue]) -> int:
    """Return the number of problems, with those that others stand for."""
    return sum(problem.count for problem in problems)


def describe_problem(
    problem: PlanIssue, to_source: ToSource | None, feet_per_unit: float
) -> dict[str, Any]:
    """Return one problem as JSON values: positions in feet, on the map, and in the plan's file."""
    x, y = problem.at or (None, None)
    described = {
        "part": cut(problem.part),
        "name": problem.name,
        "file": problem.file or None,
        "line": problem.line or None,
        "level_id": problem.level_id,
        "x": None if x is None else round(x, 2),
        "y": None if y is None else round(y, 2),
        "map_x": None if x is None else round(x / feet_per_unit, 3),
        "map_y": None if y is None else round(y / feet_per_unit, 3),
        "locations": problem.locations,
        "message": cut(problem.message),
    }
    if to_source is not None and problem.at is not None:
        described["source_x"], described["source_y"] = to_source(*problem.at)
    return described


def cut(text: str) -> str:
    """Return a text of at most MAX_TEXT_CHARS."""
    return text if len(text) <= MAX_TEXT_CHARS else text[: MAX_TEXT_CHARS - 1] + "…"
