"""Unit attributes, in groups, and their assignment to units."""

from storage.records.fields import Id, Record, Text
from storage.records.kinds import ForeignKey, RecordType
from storage.units import SAME_ASSET


class Attribute(Record, frozen=True, kw_only=True):
    """An attribute that units of any asset can have."""

    attribute_id: Id
    attribute_name: Text
    attribute_key: Text


class AttributeGroup(Record, frozen=True, kw_only=True):
    """A group of attributes; a unit has any number of them, or at most one."""

    group_id: Id
    group_name: Text
    one_attribute_per_unit: bool = False
    attributes: list[Attribute] = []


class Assignment(Record, frozen=True, kw_only=True):
    """The fact that a unit has an attribute."""

    group_id: Id
    attribute_id: Id
    asset_id: Id
    unit_id: Id


ATTRIBUTE_GROUPS = RecordType(
    "attribute_groups",
    "attribute_group",
    AttributeGroup,
    key_fields=("group_id",),
    immutable_fields=(),
    scope_field="",
    unique_items=("attributes", "attribute_id"),
)

ASSIGNMENTS = RecordType(
    "attribute_assignments",
    "attribute_assignment",
    Assignment,
    key_fields=("group_id", "unit_id", "attribute_id"),
    foreign_keys=(
        ForeignKey(
            "group_id",
            "attribute_groups",
            value_in=("attribute_id", "attributes.attribute_id"),
            copied_fields=("one_attribute_per_unit",),
        ),
        ForeignKey("asset_id", "assets"),
        ForeignKey("unit_id", "units", equal_fields=SAME_ASSET),
    ),
    single_valued_flag="one_attribute_per_unit",
    indexes=(
        ("group_id", "_id"),
        ("group_id", "asset_id", "_id"),
        ("unit_id", "_id"),
        ("group_id", "attribute_id", "_id"),
        ("group_id", "attribute_id", "asset_id", "_id"),
    ),
)
