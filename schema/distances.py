"""Distances between waypoints of a map."""

import strawberry


@strawberry.type(description="Where a source leads, how far it is and how long it takes.")
class MatrixTarget:
    id: strawberry.ID | None
    name: str | None
    x: float
    y: float
    floor_id: strawberry.ID
    index: int = strawberry.field(description="Position in the request's list, from 0.")
    distance: float | None = strawberry.field(description="In feet; null where no path leads.")
    time: float | None = strawberry.field(description="In seconds; null where no path leads.")


@strawberry.type(description="A starting point with the way to every target.")
class MatrixSource:
    id: strawberry.ID | None
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
