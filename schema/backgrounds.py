"""Backgrounds of a unit map."""

import strawberry

import resolvers.maps
from schema.fields import resolver_field
from schema.lazy import LazyMap
from schema.scalars import Timestamp


@strawberry.type(description="A picture that can be shown beneath a unit map.")
class Background:
    id: strawberry.ID
    unit_map_id: strawberry.ID
    name: str
    created_at: Timestamp
    updated_at: Timestamp
    map = resolver_field(resolvers.maps.map_of_background, LazyMap | None)
