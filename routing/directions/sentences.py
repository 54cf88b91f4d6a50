"""The English sentences of steps: what to do, how far to walk, and what the walk leads past."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from routing.directions.turns import Modifier
from routing.plan import ConnectorKind, SpaceKind

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


def join_names(names: Sequence[str]) -> str:
    """Return names as a list in words.

    >>> join_names(["Lobby", "Bar", "Shop"])
    'Lobby, Bar and Shop'
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


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


def turn_phrase(modifier: Modifier) -> str:
    """Return the phrase of a turn."""
    return TURN_PHRASES[modifier]


def door_phrase(modifier: Modifier, door_count: int, room: str) -> str:
    """Return the phrase of a passage through doors into a room, if it has a name.

    >>> door_phrase(Modifier.LEFT, 1, "Suite 214")
    'turn left through the door into Suite 214'
    """
    action = "go" if modifier is Modifier.STRAIGHT else TURN_PHRASES[modifier]
    doors = "the door" if door_count == 1 else "the doors"
    return f"{action} through {doors}" + (f" into {clean(room)}" if room else "")


def exit_phrase(kind: ConnectorKind) -> str:
    """Return the phrase of leaving a connector."""
    return f"leave the {CONNECTOR_NOUNS[kind]}"


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
