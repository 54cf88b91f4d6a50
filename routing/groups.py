"""Group the problems of a plan by cause, those that cost the most locations first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from routing.costing import TravelMode
from routing.issues import CAUSES, IssueKind, PlanIssue

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
        """How many locations are out of reach as long as the problems last."""
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
