"""Locations on a unit map."""

import strawberry

import resolvers.assets
import resolvers.locations
from schema.fields import resolver_field
from schema.lazy import LazyAsset, LazyFloor, LazyMap, LazyUnit
from schema.scalars import Timestamp


@strawberry.type(description="A floor that a location is on.")
class LocationFloor:
    id: strawberry.ID = strawberry.field(name="floorId", description="The floor's id.")
    floor = resolver_field(resolvers.locations.floor_of_location, LazyFloor | None)


@strawberry.type(description="A fact about a location.")
class LocationTag:
    key: str
    value: str
    created_at: Timestamp
    updated_at: Timestamp


@strawberry.type(description="A point of interest on a map.")
class Location:
    id: strawberry.ID
    asset_id: strawberry.ID
    unit_map_id: strawberry.ID
    name: str
    x: float = strawberry.field(description="In the map's own coordinates.")
    y: float = strawberry.field(description="In the map's own coordinates.")
    floors: list[LocationFloor]
    tags: list[LocationTag]
    created_at: Timestamp
    updated_at: Timestamp
    asset = resolver_field(resolvers.assets.asset_of, LazyAsset | None)
    map = resolver_field(resolvers.locations.map_of_location, LazyMap | None)
    unit = resolver_field(resolvers.locations.unit_of_location, LazyUnit | None)
