"""The kinds of records in the schema."""

from enum import StrEnum

from resolvers.request.enums import graphql_enum


class RecordKind(StrEnum):
    """The kinds of records, in the order of `RECORD_TYPES`."""

    ASSETS = "assets"
    FLOORS = "floors"
    BACKGROUNDS = "backgrounds"
    MAPS = "maps"
    UNITS = "units"
    LEVEL_TAGS = "level_tags"
    ASSET_REFERENCES = "asset_references"
    UNIT_REFERENCES = "unit_references"
    ATTRIBUTE_GROUPS = "attribute_groups"
    ATTRIBUTE_ASSIGNMENTS = "attribute_assignments"
    LOCATIONS = "locations"


graphql_enum(
    RecordKind,
    "A kind of records: an array of a bundle, and a collection.",
    assets="Properties.",
    floors="Storeys of assets.",
    backgrounds="Pictures that can be shown beneath maps.",
    maps="Unit maps.",
    units="Apartments, shops, offices.",
    level_tags="Tags that distinguish the levels of maps.",
    asset_references="Ids of assets in third-party systems.",
    unit_references="Ids of units in third-party systems.",
    attribute_groups="Groups of attributes, with these.",
    attribute_assignments="Which unit has which attribute.",
    locations="Points of interest on maps.",
)
