"""Ways between waypoints of a map."""

import strawberry

from schema.locations import Location


@strawberry.type(description="A walk on one floor along a line, or a passage by one connector.")
class RouteLeg:
    floor_id: strawberry.ID
    to_floor_id: strawberry.ID = strawberry.field(
        description="Where it ends: another floor after a passage."
    )
    feet: float
    seconds: float
    points: list[list[float]] = strawberry.field(
        description="The line of a walk: x, y in the map's own coordinates. A passage has none."
    )
    connector_id: strawberry.ID | None = strawberry.field(
        description="The lift, stairs, escalator or ramp of a passage."
    )
    connector_kind: str | None
    connector_name: str | None


@strawberry.type(description="The fastest way between two waypoints.")
class Route:
    mode: str
    feet: float
    seconds: float
    legs: list[RouteLeg]


@strawberry.type(description="A location, and how far it is by the fastest way.")
class NearLocation:
    location: Location
    distance: float = strawberry.field(description="In feet.")
    time: float = strawberry.field(description="In seconds.")
