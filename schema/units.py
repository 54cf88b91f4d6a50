"""Units."""

import strawberry

import resolvers.assets
import resolvers.attributes
import resolvers.floors
import resolvers.locations
import resolvers.maps
import resolvers.references
import resolvers.units
from schema.fields import resolved
from schema.lazy import (
    LazyAsset,
    LazyAssignment,
    LazyFloor,
    LazyLocation,
    LazyMap,
    LazyUnitReference,
)
from schema.paging import Page
from schema.permissions import READS_ATTRIBUTES, READS_LOCATIONS, READS_UNIT_REFERENCES
from schema.scalars import Timestamp


@strawberry.type(description="An apartment, a shop, an office.")
class Unit:
    id: strawberry.ID
    asset_id: strawberry.ID
    floor_id: strawberry.ID
    name: str
    created_at: Timestamp
    updated_at: Timestamp
    asset = resolved(resolvers.assets.of, LazyAsset | None)
    floor = resolved(resolvers.floors.of_unit, LazyFloor | None)
    maps = resolved(resolvers.maps.of_unit, Page[LazyMap])
    references = resolved(
        resolvers.references.of_unit, Page[LazyUnitReference], READS_UNIT_REFERENCES
    )
    attributes = resolved(resolvers.attributes.of_unit, Page[LazyAssignment], READS_ATTRIBUTES)
    location = resolved(resolvers.locations.of_unit, LazyLocation | None, READS_LOCATIONS)


@strawberry.type
class UnitQueries:
    units = resolved(resolvers.units.every, Page[Unit])
    unit = resolved(resolvers.units.by_id, Unit | None)
