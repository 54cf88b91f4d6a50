"""Units."""

import strawberry

import resolvers.assets
import resolvers.attributes
import resolvers.floors
import resolvers.locations
import resolvers.maps
import resolvers.references
import resolvers.units
from schema.fields import resolver_field
from schema.lazy import (
    LazyAsset,
    LazyAssignment,
    LazyFloor,
    LazyLocation,
    LazyMap,
    LazyUnitReference,
)
from schema.paging import Page
from schema.permissions import CAN_READ_ATTRIBUTES, CAN_READ_LOCATIONS, CAN_READ_UNIT_REFERENCES
from schema.scalars import Timestamp


@strawberry.type(description="An apartment, a shop, an office.")
class Unit:
    id: strawberry.ID
    asset_id: strawberry.ID
    floor_id: strawberry.ID
    name: str
    created_at: Timestamp
    updated_at: Timestamp
    asset = resolver_field(resolvers.assets.asset_of, LazyAsset | None)
    floor = resolver_field(resolvers.floors.floor_of_unit, LazyFloor | None)
    maps = resolver_field(resolvers.maps.list_maps_of_unit, Page[LazyMap])
    references = resolver_field(
        resolvers.references.list_references_of_unit,
        Page[LazyUnitReference],
        CAN_READ_UNIT_REFERENCES,
    )
    attributes = resolver_field(
        resolvers.attributes.list_assignments_of_unit, Page[LazyAssignment], CAN_READ_ATTRIBUTES
    )
    location = resolver_field(
        resolvers.locations.location_of_unit, LazyLocation | None, CAN_READ_LOCATIONS
    )


@strawberry.type
class UnitQueries:
    units = resolver_field(resolvers.units.list_units, Page[Unit])
    unit = resolver_field(resolvers.units.get_unit, Unit | None)
