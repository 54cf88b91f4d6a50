"""Unit attributes: groups, and which unit has which."""

import strawberry

import resolvers.assets
import resolvers.attributes
import resolvers.units
from schema.fields import resolved
from schema.lazy import LazyAsset, LazyUnit
from schema.paging import Page
from schema.permissions import READS_ATTRIBUTES, WRITES_ATTRIBUTES


@strawberry.type(description="An attribute that a unit can have.")
class Attribute:
    attribute_id: strawberry.ID
    attribute_name: str
    attribute_key: str


@strawberry.type(description="A unit has an attribute.")
class Assignment:
    group_id: strawberry.ID
    attribute_id: strawberry.ID
    asset_id: strawberry.ID
    unit_id: strawberry.ID
    attribute = resolved(resolvers.attributes.attribute_of, Attribute | None)
    asset = resolved(resolvers.assets.of, LazyAsset | None)
    unit = resolved(resolvers.units.of, LazyUnit | None)


@strawberry.type(description="Attributes that belong together.")
class AttributeGroup:
    group_id: strawberry.ID
    group_name: str
    one_attribute_per_unit: bool = strawberry.field(
        description="Whether a unit has at most one attribute of the group."
    )
    attributes: list[Attribute]
    assignments = resolved(resolvers.attributes.of_group, Page[Assignment])


@strawberry.type
class AttributeQueries:
    attribute_groups = resolved(resolvers.attributes.groups, Page[AttributeGroup], READS_ATTRIBUTES)
    attribute_group = resolved(
        resolvers.attributes.group_by_id, AttributeGroup | None, READS_ATTRIBUTES
    )


@strawberry.type
class AttributeMutations:
    assign_unit_attributes = resolved(
        resolvers.attributes.assign, list[Assignment], WRITES_ATTRIBUTES
    )
    unassign_unit_attributes = resolved(resolvers.attributes.unassign, bool, WRITES_ATTRIBUTES)
