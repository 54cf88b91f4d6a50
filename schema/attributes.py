"""Unit attributes: groups, and which unit has which."""

import strawberry

import resolvers.assets
import resolvers.attributes
import resolvers.units
from schema.fields import resolver_field
from schema.lazy import LazyAsset, LazyUnit
from schema.paging import Page
from schema.permissions import CAN_READ_ATTRIBUTES, CAN_WRITE_ATTRIBUTES


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
    attribute = resolver_field(resolvers.attributes.attribute_of_assignment, Attribute | None)
    asset = resolver_field(resolvers.assets.asset_of, LazyAsset | None)
    unit = resolver_field(resolvers.units.unit_of, LazyUnit | None)


@strawberry.type(description="Attributes that belong together.")
class AttributeGroup:
    group_id: strawberry.ID
    group_name: str
    one_attribute_per_unit: bool = strawberry.field(
        description="Whether a unit has at most one attribute of the group."
    )
    attributes: list[Attribute]
    assignments = resolver_field(resolvers.attributes.list_assignments_of_group, Page[Assignment])


@strawberry.type
class AttributeQueries:
    attribute_groups = resolver_field(
        resolvers.attributes.list_attribute_groups, Page[AttributeGroup], CAN_READ_ATTRIBUTES
    )
    attribute_group = resolver_field(
        resolvers.attributes.get_attribute_group, AttributeGroup | None, CAN_READ_ATTRIBUTES
    )


@strawberry.type
class AttributeMutations:
    assign_unit_attributes = resolver_field(
        resolvers.attributes.assign_attributes, list[Assignment], CAN_WRITE_ATTRIBUTES
    )
    unassign_unit_attributes = resolver_field(
        resolvers.attributes.unassign_attributes, bool, CAN_WRITE_ATTRIBUTES
    )
