"""Distances between waypoints of a map."""

import strawberry

LOCATION_ID = "The id in the request's waypoint."
# Not `id`: clients keep objects by type and id, and one location is in many rows of a matrix.


@strawberry.type(description="Where a source leads, how far it is and how long it takes.")
class MatrixTarget:
    location_id: strawberry.ID | None = strawberry.field(description=LOCATION_ID)
    name: str | None
    x: float
    y: float
    floor_id: strawberry.ID
    index: int = strawberry.field(description="Position in the request's list, from 0.")
    distance: float | None = strawberry.field(description="In feet; null where no path leads.")
    time: float | None = strawberry.field(description="In seconds; null where no path leads.")


@strawberry.type(description="A starting point with the way to every target.")
class MatrixSource:
    location_id: strawberry.ID | None = strawberry.field(description=LOCATION_ID)
    name: str | None
    x: float
    y: float
    floor_id: strawberry.ID
    index: int = strawberry.field(description="Position in the request's list, from 0.")
    targets: list[MatrixTarget]


@strawberry.type(description="Distances from every source to every target.")
class DistanceMatrix:
    distance_method: str = strawberry.field(
        description="The method that was used: `pathfinding` or `euclidean`."
    )
    sources: list[MatrixSource]
