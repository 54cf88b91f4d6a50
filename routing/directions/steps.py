"""A route as steps, one instruction each, by the conventions of OSRM.

A step begins with something to do, and includes the walk or ride that follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, pairwise
from typing import NamedTuple

from shapely import LineString

from routing.diagnosis.names import join_names
from routing.directions.manoeuvres import (
    MIN_STAY_FEET,
    Landmarks,
    Manoeuvre,
    Modifier,
    find_landmarks,
    find_manoeuvres,
    find_side,
    list_unnamed_spaces,
)
from routing.network.network import Network
from routing.plan import ConnectorKind, SpaceKind
from routing.search.router import ComputedRoute, ConnectorLeg, Leg, WalkLeg
from routing.values import MAX_STEP_NAMES

MAX_SPOKEN_NAMES = 2
"""The last rooms before the next manoeuvre help most; more are hard to remember."""
MAX_EXACT_FEET = 100
"""Longer walks are rounded to ten feet."""

CONNECTOR_NOUNS = {
    ConnectorKind.ELEVATOR: "lift",
    ConnectorKind.STEPS: "stairs",
    ConnectorKind.ESCALATOR: "escalator",
    ConnectorKind.RAMP: "ramp",
}
OTHER_NOUNS = ("lift", "elevator", "stair", "escalator", "ramp")
TURN_PHRASES = {
    Modifier.STRAIGHT: "go straight on",
    Modifier.SLIGHT_LEFT: "turn slightly left",
    Modifier.LEFT: "turn left",
    Modifier.SHARP_LEFT: "turn sharp left",
    Modifier.SLIGHT_RIGHT: "turn slightly right",
    Modifier.RIGHT: "turn right",
    Modifier.SHARP_RIGHT: "turn sharp right",
    Modifier.UTURN: "turn around",
}


def join_phrases(phrases: Iterable[str]) -> str:
    """Return a sentence of phrases, some of which may be empty.

    >>> join_phrases(["go through the door", "turn left", "walk 9 ft"])
    'Go through the door, turn left and walk 9 ft.'
    """
    sentence = join_names([phrase for phrase in phrases if phrase])
    return f"{sentence[:1].upper()}{sentence[1:]}."


def clean(name: str) -> str:
    """Return a name on one line."""
    return " ".join(name.split())


def round_feet(feet: float) -> int:
    """Return feet as they are spoken.

    >>> round_feet(34.4), round_feet(127)
    (34, 130)
    """
    return round(feet) if feet < MAX_EXACT_FEET else 10 * round(feet / 10)


def walk_phrase(feet: float, spaces: Mapping[str, SpaceKind], passed: Sequence[str]) -> str:
    """Return the phrase of a walk in spaces and past rooms; empty if it is too short to mention.

    >>> walk_phrase(34.2, {"Corridor West": SpaceKind.CORRIDOR}, ["Suite 208", "Suite 210"])
    'walk 34 ft along Corridor West past Suite 208 and Suite 210'
    """
    if not round_feet(feet):
        return ""
    words = [f"walk {round_feet(feet)} ft"]
    along = [clean(name) for name, kind in spaces.items() if kind is SpaceKind.CORRIDOR]
    through = [clean(name) for name, kind in spaces.items() if kind is not SpaceKind.CORRIDOR]
    for preposition, names in (
        ("along", along),
        ("through", through),
        ("past", [*map(clean, passed[-MAX_SPOKEN_NAMES:])]),
    ):
        if names:
            words.append(f"{preposition} {join_names(names)}")
    return " ".join(words)


def door_phrase(modifier: Modifier, door_count: int, room: str) -> str:
    """Return the phrase of a passage through doors into a room, if it has a name.

    >>> door_phrase(Modifier.LEFT, 1, "Suite 214")
    'turn left through the door into Suite 214'
    """
    action = "go" if modifier is Modifier.STRAIGHT else TURN_PHRASES[modifier]
    doors = "the door" if door_count == 1 else "the doors"
    return f"{action} through {doors}" + (f" into {clean(room)}" if room else "")


def ride_phrase(kind: ConnectorKind, name: str, level_name: str, rise: float) -> str:
    """Return the phrase of a ride or climb by so many storeys, to a level with this name, if any.

    >>> ride_phrase(ConnectorKind.ELEVATOR, "", "Floor 3", 2)
    'take the lift to Floor 3'
    >>> ride_phrase(ConnectorKind.STEPS, "Staircase B", "", -1)
    'take Staircase B down'
    """
    noun, name = CONNECTOR_NOUNS[kind], clean(name)
    if name.casefold() == noun or not name:
        connector = f"the {noun}"
    elif any(word in name.casefold() for word in OTHER_NOUNS):
        connector = name
    else:
        connector = f"the {noun} {name}"
    words = ["take", connector]
    if kind is not ConnectorKind.ELEVATOR or not level_name:
        words.append("up" if rise > 0 else "down")
    if level_name:
        # A label such as 3 or B1 is no name by itself.
        label = clean(level_name)
        words += ["to", label if len(label) > 3 else f"floor {label}"]
    return " ".join(words)


def arrival_phrase(target_name: str, side: Modifier | None) -> str:
    """Return the phrase of the end of a route.

    >>> arrival_phrase("Suite 214", Modifier.LEFT)
    'arrive at Suite 214, on your left'
    """
    where = clean(target_name) or "your destination"
    return f"arrive at {where}" + (f", on your {side.value}" if side else "")


MIN_SPOKEN_SHARE = 1 / 3
"""Share of a walk that a space must have for the text to name it."""
END_FEET = 0.5
"""A walk ends in a space that it leaves by no more than this before its end."""


class StepCode(StrEnum):
    """A thing to do: types of OSRM's manoeuvres, and those that only buildings have."""

    DEPART = "depart"
    TURN = "turn"
    CONTINUE = "continue"
    DOOR = "door"
    CONNECTOR = "connector"
    ARRIVE = "arrive"


class Ride(NamedTuple):
    """The connector of a step, and the level that it leads to."""

    connector_id: str
    kind: ConnectorKind
    name: str
    to_level_id: str


@dataclass(frozen=True)
class Step:
    """An instruction at (x, y) in feet, and the length of the walk or ride that follows it.

    `door_ids` are the doors that it leads through first, `spaces` the names of those that the walk
    is in, `passed` of the rooms whose doors it passes.
    """

    code: StepCode
    modifier: Modifier | None
    text: str
    feet: float
    seconds: float
    level_id: str
    x: float
    y: float
    door_ids: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    ride: Ride | None = None


def build_steps(
    network: Network,
    route: ComputedRoute,
    level_names: Mapping[str, str] | None = None,
    target_name: str = "",
    space_names: Mapping[str, str] | None = None,
) -> tuple[Step, ...]:
    """Return the steps of a route of this network: the first departs, the last arrives.

    Their feet and seconds add up to those of the route. A target without a name has that of its
    room, if any; a level without one is only said to be up or down. `space_names` are those of
    spaces that have none on the plan: `list_spaces_to_name` returns which.
    """
    steps: list[Step] = []
    side: Modifier | None = None
    exited: ConnectorKind | None = None
    legs = merge_rides(route.legs)
    for leg in legs:
        if isinstance(leg, ConnectorLeg):
            if not steps:
                steps.append(stand(StepCode.DEPART, "start here", leg.from_level_id, leg.start))
            steps.append(ride_step(network, leg, level_names or {}))
            exited = leg.kind
        elif len({*leg.points}) < 2:
            code, phrase = begin_walk(exited)
            still = stand(code, phrase, leg.level_id, leg.points[0])
            steps.append(replace(still, feet=leg.feet, seconds=leg.seconds))
        else:
            walk = Walk(network, leg, space_names or {}, is_last=leg is legs[-1])
            steps += walk.steps(exited)
            if leg is legs[-1]:
                side, target_name = walk.side, target_name or walk.end_name
    last = legs[-1]
    level_id, end = (
        (last.to_level_id, last.end)
        if isinstance(last, ConnectorLeg)
        else (last.level_id, last.points[-1])
    )
    arrival = stand(StepCode.ARRIVE, arrival_phrase(target_name, side), level_id, end)
    return (*steps, replace(arrival, modifier=side))


def list_spaces_to_name(network: Network, route: ComputedRoute) -> list[str]:
    """Return the ids of spaces without a name that the steps of a route may name, in its order."""
    walks = [leg for leg in route.legs if isinstance(leg, WalkLeg) and len(leg.points) > 1]
    found = [
        list_unnamed_spaces(network, network.level_index[walk.level_id], LineString(walk.points))
        for walk in walks
    ]
    return [*dict.fromkeys(chain.from_iterable(found))]


def stand(code: StepCode, phrase: str, level_id: str, place: tuple[float, float]) -> Step:
    """Return a step without a walk."""
    return Step(code, None, join_phrases([phrase]), 0.0, 0.0, level_id, *place)


def begin_walk(exited: ConnectorKind | None) -> tuple[StepCode, str]:
    """Return the code and the phrase of where a walk begins: at the start, or at a connector."""
    if exited is None:
        return StepCode.DEPART, "start here"
    return StepCode.CONTINUE, f"leave the {CONNECTOR_NOUNS[exited]}"


def merge_rides(legs: Iterable[Leg]) -> list[Leg]:
    """Join consecutive rides by one connector: people stay in the lift."""
    merged: list[Leg] = []
    for leg in legs:
        last = merged[-1] if merged else None
        if (
            isinstance(leg, ConnectorLeg)
            and isinstance(last, ConnectorLeg)
            and leg.connector_id == last.connector_id
        ):
            feet, seconds = last.feet + leg.feet, last.seconds + leg.seconds
            merged[-1] = replace(
                leg, from_level_id=last.from_level_id, start=last.start, feet=feet, seconds=seconds
            )
        else:
            merged.append(leg)
    return merged


def ride_step(network: Network, leg: ConnectorLeg, level_names: Mapping[str, str]) -> Step:
    """Return the step of a ride or climb."""
    ordinals = {level: network.levels.ordinals[at] for level, at in network.level_index.items()}
    rise = ordinals[leg.to_level_id] - ordinals[leg.from_level_id]
    level_name = level_names.get(leg.to_level_id, "")
    return Step(
        StepCode.CONNECTOR,
        None,
        join_phrases([ride_phrase(leg.kind, leg.name, level_name, rise)]),
        leg.feet,
        leg.seconds,
        leg.from_level_id,
        *leg.start,
        ride=Ride(leg.connector_id, leg.kind, leg.name, leg.to_level_id),
    )


class Walk:
    """A walk on one level and what it meets. `side` is that of the route's end."""

    def __init__(
        self, network: Network, leg: WalkLeg, space_names: Mapping[str, str], *, is_last: bool
    ) -> None:
        self._leg = leg
        self._line = LineString(leg.points)
        number = network.level_index[leg.level_id]
        self._landmarks: Landmarks = find_landmarks(network, number, self._line, space_names)
        crossings = self._landmarks.crossings
        self.side = find_side(self._line, crossings) if is_last else None
        # A target beside the walk needs no turn.
        scanned = self._line if self.side is None else LineString(leg.points[:-1])
        self._manoeuvres = find_manoeuvres(scanned, crossings)

    @property
    def end_name(self) -> str:
        """The name of the room in which it ends, empty if there is none."""
        last = next(reversed(self._landmarks.stays), None)
        is_inside = last is not None and last.end_feet >= self._line.length - END_FEET
        return last.name if last and is_inside and last.kind is SpaceKind.ROOM else ""

    def steps(self, exited: ConnectorKind | None) -> list[Step]:
        """Return its steps; it begins the route, or where people leave a connector."""
        ends = [0.0, *(each.at_feet for each in self._manoeuvres), self._line.length]
        return [
            self._step(manoeuvre, start, end, exited)
            for manoeuvre, (start, end) in zip(
                (None, *self._manoeuvres), pairwise(ends), strict=True
            )
        ]

    def _step(
        self, manoeuvre: Manoeuvre | None, start: float, end: float, exited: ConnectorKind | None
    ) -> Step:
        share = (end - start) / self._line.length
        after_doors = max(start, manoeuvre.doors_end_feet if manoeuvre else 0.0)
        passed = self._landmarks.names_passed_between(after_doors, end)
        room = self._room_behind(manoeuvre) if manoeuvre else ""
        # People know what they leave: the shaft, or the stairwell.
        left = self._start_room() if exited is not None and manoeuvre is None else ""
        stays = {
            stay: feet
            for stay, feet in self._landmarks.stays_between(start, end).items()
            if stay.name and feet >= MIN_STAY_FEET
        }
        spoken = {
            stay.name: stay.kind
            for stay, feet in stays.items()
            if feet >= MIN_SPOKEN_SHARE * (end - start) and stay.name not in (room, left)
        }
        walk = walk_phrase(share * self._leg.feet, spoken, passed)
        if manoeuvre is not None:
            code, phrases = phrase_manoeuvre(manoeuvre, room)
        else:
            code, phrase = begin_walk(exited)
            phrases = [] if walk and code is StepCode.DEPART else [phrase]
        place = self._line.interpolate(start)
        return Step(
            code,
            manoeuvre.modifier if manoeuvre else None,
            join_phrases([*phrases, walk]),
            share * self._leg.feet,
            share * self._leg.seconds,
            self._leg.level_id,
            place.x,
            place.y,
            manoeuvre.door_ids if manoeuvre else (),
            tuple(dict.fromkeys(stay.name for stay in stays))[-MAX_STEP_NAMES:],
            tuple(passed[-MAX_STEP_NAMES:]),
        )

    def _start_room(self) -> str:
        first = next(iter(self._landmarks.stays), None)
        is_room = first and first.kind is SpaceKind.ROOM and first.start_feet <= END_FEET
        return first.name if first and is_room else ""

    def _room_behind(self, manoeuvre: Manoeuvre) -> str:
        """Return the name of the room into which the doors of a manoeuvre lead, empty if none."""
        if not manoeuvre.door_ids:
            return ""
        end = manoeuvre.doors_end_feet + MIN_STAY_FEET
        stay = next((stay for stay in self._landmarks.stays_between(end, end)), None)
        return stay.name if stay and stay.kind is SpaceKind.ROOM else ""


def phrase_manoeuvre(manoeuvre: Manoeuvre, room: str) -> tuple[StepCode, list[str]]:
    """Return the code and the phrases of a manoeuvre, of which doors lead into a room, if any."""
    modifier, count = manoeuvre.modifier, len(manoeuvre.door_ids)
    if not count:
        return StepCode.TURN, [TURN_PHRASES[modifier]]
    if modifier is Modifier.STRAIGHT:
        return StepCode.DOOR, [door_phrase(modifier, count, room)]
    if manoeuvre.is_turn_last:
        door = door_phrase(Modifier.STRAIGHT, count, room)
        return StepCode.TURN, [door, TURN_PHRASES[modifier]]
    return StepCode.TURN, [door_phrase(modifier, count, room)]
