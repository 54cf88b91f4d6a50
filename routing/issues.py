"""Issues that processing finds in a floor plan, as shown in the report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class IssueKind(StrEnum):
    """Kind of an issue; the value appears in the report."""

    SELF_CROSSING = "self-crossing"
    NO_AREA = "no-area"
    OVERLAPPING_ROOMS = "overlapping-rooms"
    DUPLICATE_LEVEL_NAME = "duplicate-level-name"
    IMPLAUSIBLE_SCALE = "implausible-scale"
    EMPTY_LEVEL = "empty-level"
    OUTLINE_GUESSED = "outline-guessed"
    DOOR_JOINS_NOTHING = "door-joins-no-two-spaces"
    DOOR_NOT_NEEDED = "door-in-open-space"
    DOOR_AMBIGUOUS = "door-at-corner"
    DOOR_MOVED = "door-moved"
    DOOR_INFERRED = "door-inferred"
    ROOM_ENCLOSED = "room-without-door"
    CONNECTOR_ONE_END = "connector-with-one-end"
    CONNECTOR_OUT_OF_REACH = "connector-out-of-reach"
    CONNECTOR_JOINED = "connector-joined"
    CONNECTOR_OUT_OF_SERVICE = "connector-out-of-service"
    UNROUTABLE_LOCATION = "unroutable-location"


@dataclass(frozen=True)
class PlanIssue:
    """`part` is the id of the feature; `message` is the issue and what was done about it."""

    kind: IssueKind
    part: str
    message: str
    level_id: str | None = None
