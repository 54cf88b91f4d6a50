"""Names of a plan's levels and features, as its owner knows them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from routing.issues import FROM_FILES, PlanIssue
from routing.plan import ConnectorKind, Level, PartSource, Plan

MAX_NAME_CHARS = 60
MAX_LISTED_NAMES = 4
CONNECTOR_NAMES = {
    ConnectorKind.ELEVATOR: "lift",
    ConnectorKind.STEPS: "staircase",
    ConnectorKind.ESCALATOR: "escalator",
    ConnectorKind.RAMP: "ramp",
}


QUOTED = re.compile(r"'([^']+)'")


@dataclass(frozen=True)
class PlanNames:
    """Labels of levels by id, from the lowest up, and the names of the features that have one.

    `sources` says what parts are made from.
    """

    levels: dict[str, str]
    features: dict[str, str]
    sources: Mapping[str, PartSource] = field(default_factory=dict)

    def level(self, level_id: str) -> str:
        """Return a level as in `level 0`, `level 'Lobby'` or `'Level 1'`."""
        label = self.levels[level_id]
        return label if label.lower().startswith("'level") else f"level {label}"

    def level_list(self, level_ids: Iterable[str]) -> str:
        """Return levels as in `levels -1, 0 and 1`, from the lowest up."""
        chosen = set(level_ids)
        if len(chosen) == 1:
            return self.level(*chosen)
        return "levels " + join_names([self.levels[each] for each in self.levels if each in chosen])

    def feature(self, part: str) -> str:
        """Return the name of a feature, else its id, in quotes."""
        return repr(self.features.get(part, part))

    def place(self, part: str) -> str:
        """Return a feature as `feature` does, and where it stands in its file, if that is known.

        >>> source = PartSource("way/5", "Gym", "a.osm", 214)
        >>> names = PlanNames({}, {"way/5": "Gym"}, {"way/5": source})
        >>> names.place("way/5")
        "'Gym' (line 214 of a.osm)"
        """
        source = self.sources.get(part)
        if source is None or not source.file:
            return self.feature(part)
        if part not in self.features:
            place = f"line {source.line} of {source.file}" if source.line else source.file
            return f"{part.removeprefix(source.file).lstrip()!r} ({place})"
        return f"{self.feature(part)} ({source})"

    def complete(self, issue: PlanIssue) -> PlanIssue:
        """Return an issue whose message calls parts by their ids with their names instead.

        The part that it is about has its place too. What readers have found is as they say it.
        """
        if issue.kind in FROM_FILES:
            return issue

        def name(found: re.Match[str]) -> str:
            part = found[1]
            if part not in self.sources:
                return found[0]
            return self.place(part) if part == issue.part else self.feature(part)

        message = issue.message
        for part in QUOTED.findall(message):
            if part in self.sources:  # such as `room 'r1' (Lobby)`
                message = message.replace(f"{part!r} ({self.sources[part].name})", repr(part))
        return replace(issue, message=QUOTED.sub(name, message))


def name_parts(plan: Plan) -> PlanNames:
    """Return the names in a plan. A level is called by its name, else by its ordinal.

    If two share it, the ordinal is added, or else the id.
    """
    features = {part: source.name for part, source in plan.sources.items()}
    features |= {location.id: location.name for location in plan.locations}
    features |= {
        location.space_id: location.name for location in plan.locations if location.space_id
    }
    features |= {connector.id: connector.name for connector in plan.connectors}
    features |= {space.id: space.name for space in plan.spaces if space.name}
    names = {part: shorten(name.strip()) for part, name in features.items() if name != part}
    return PlanNames(
        label_levels(plan.levels),
        {part: name for part, name in names.items() if name},
        plan.sources,
    )


def label_levels(levels: Iterable[Level]) -> dict[str, str]:
    """Return a label for each level that no other has, from the lowest up.

    >>> label_levels([Level("a", 1, "Hall"), Level("b", 2, "Hall"), Level("c", 0)])
    {'c': '0', 'a': "'Hall' (1)", 'b': "'Hall' (2)"}
    """
    ordered = sorted(levels, key=lambda level: level.ordinal)
    labels = [repr(shorten(each.name)) if each.name else f"{each.ordinal:g}" for each in ordered]
    for details in ([f"{each.ordinal:g}" for each in ordered], [each.id for each in ordered]):
        times = Counter(labels)
        labels = [
            label if times[label] == 1 else f"{label} ({detail})"
            for label, detail in zip(labels, details, strict=True)
        ]
    return dict(zip((each.id for each in ordered), labels, strict=True))


def shorten(name: str) -> str:
    """Return a name, cut if it is long."""
    return name if len(name) <= MAX_NAME_CHARS else name[: MAX_NAME_CHARS - 1] + "…"


def join_names(names: list[str]) -> str:
    """Return names as in a sentence.

    >>> join_names(["a", "b", "c"]), join_names(list("abcdefg"))
    ('a, b and c', 'a, b, c and 4 more')
    """
    if len(names) > MAX_LISTED_NAMES:
        names = [*names[: MAX_LISTED_NAMES - 1], f"{len(names) - MAX_LISTED_NAMES + 1} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
