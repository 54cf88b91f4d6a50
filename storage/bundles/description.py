"""What the fields of a bundle mean, with examples, for people and for programs."""

from typing import Any, NamedTuple, TypeAlias

import msgspec

from storage import catalog
from storage.bundles.json_bundles import SCHEMA_NAME
from storage.catalog import RECORD_TYPES
from storage.records.kinds import Record


class FieldDescription(NamedTuple):
    """The meaning of a field, and a value that it may have."""

    text: str
    example: Any


def describe_field(record: type[Record], field: str) -> FieldDescription:
    """Return the description of a record's field. Raises KeyError if there is none.

    >>> from storage.catalog import Unit
    >>> describe_field(Unit, "floor_id").example
    'oak-1'
    """
    own = FIELDS[record.__name__]
    return own[field] if field in own else SHARED[field]


def make_example(record: type[Record]) -> dict[str, Any]:
    """Return a member with the examples of its required fields."""
    fields = msgspec.structs.fields(record)
    return {
        field.name: describe_field(record, field.name).example for field in fields if field.required
    }


_D = FieldDescription

SHARED = {
    "asset_id": _D("The id of the asset that it belongs to.", "oak-street"),
    "name": _D("The name, as people read it.", "Oak Street"),
    "created_at": _D(
        "When it was created: ISO 8601 with an offset. The import sets it if it is not given.",
        "2026-01-31T12:00:00+00:00",
    ),
    "updated_at": _D(
        "When it was last changed: ISO 8601 with an offset. The import sets it if it is not given.",
        "2026-01-31T12:00:00+00:00",
    ),
}

RECORDS = {
    "Asset": "A property, such as an apartment complex. All other records belong to one.",
    "Floor": "A storey of an asset.",
    "Unit": "An apartment, a shop or an office on a floor.",
    "Map": "An interactive floor plan of an asset.",
    "Background": "A picture to show beneath a map.",
    "LevelTag": "A key by which clients tell the levels of a map apart, with its values.",
    "LevelTagValue": "One value of a level tag.",
    "AssetReference": "The id of an asset in another system.",
    "UnitReference": "The id of a unit in another system.",
    "AttributeGroup": "A group of attributes that units can have.",
    "Attribute": "An attribute that units can have.",
    "Assignment": "The fact that a unit has an attribute.",
    "Location": "A point of interest on a map.",
    "LocationFloor": "A floor that a location is on.",
    "LocationTag": "A key and a value that describe a location.",
}

FIELDS: dict[str, dict[str, FieldDescription]] = {
    "Asset": {
        "id": _D("The id: opaque text that no other asset has.", "oak-street"),
        "market": _D("The market that the property is in.", "multifamily"),
    },
    "Floor": {
        "id": _D("The id: opaque text that no other floor has.", "oak-1"),
        "name": _D("The name of the floor.", "First floor"),
        "label": _D("What a list of floors shows; the name by default.", "First floor"),
        "short_label": _D("What a button shows; the name by default.", "1"),
        "sort": _D("The order of the floors, from the lowest up.", 1),
    },
    "Unit": {
        "id": _D("The id: opaque text that no other unit has.", "oak-101"),
        "floor_id": _D("The id of the floor that the unit is on.", "oak-1"),
        "name": _D("The name or number of the unit.", "101"),
        "map_ids": _D(
            "The ids of the maps that show the unit; null for every map of its asset.",
            ["oak-plates"],
        ),
    },
    "Map": {
        "id": _D("The id: opaque text that no other map has.", "oak-plates"),
        "name": _D("The name of the map.", "Floor plates"),
        "background_id": _D("The id of the background that is shown first.", "oak-day"),
        "style": _D("The style in which clients draw the map.", "a"),
        "style_type": _D("The type of the style.", "floor_plate"),
        "tags": _D(
            "Words by which clients find maps, without commas. Processing adds `pathfinding`.",
            ["ils"],
        ),
        "routing_tier": _D("Who can use the routes of the map; processing sets it.", "no_routing"),
        "geojson_url": _D(
            "The address of the map as GeoJSON.", "https://maps.example.com/1.geojson"
        ),
        "url": _D("The address of the map.", "https://maps.example.com/1.json"),
        "feet_per_unit": _D("How many feet a unit of the drawing is.", 0.1),
        "source": _D(
            "The drawing: the path of an SVG file, relative to the bundle, or the SVG itself as"
            " data:image/svg+xml;base64,...",
            "oak.svg",
        ),
    },
    "Background": {
        "id": _D("The id: opaque text that no other background has.", "oak-day"),
        "unit_map_id": _D("The id of the map beneath which it is shown.", "oak-plates"),
        "name": _D("The name of the background.", "Daylight"),
    },
    "LevelTag": {
        "map_id": _D("The id of the map.", "oak-plates"),
        "key": _D("The key; together with the map it identifies the level tag.", "floor"),
        "name": _D("The name of the key, as people read it.", "Floor"),
        "values": _D("The values, in the order in which they are shown.", []),
    },
    "LevelTagValue": {
        "name": _D("The name of the value, as people read it.", "First floor"),
        "value": _D("The value: an id, such as a floor's.", "oak-1"),
    },
    "AssetReference": {
        "id": _D("The id: opaque text that no other reference of an asset has.", "ref-1"),
        "key": _D("The name of the other system.", "keyring"),
        "value": _D("The id in the other system.", "KR-97043"),
    },
    "UnitReference": {
        "group_id": _D("The id of the group of references that it belongs to.", "refs"),
        "unit_id": _D("The id of the unit.", "oak-101"),
        "key": _D("The name of the other system.", "keyring"),
        "value": _D("The id in the other system.", "OAK-101"),
    },
    "AttributeGroup": {
        "group_id": _D("The id: opaque text that no other group has.", "plan"),
        "group_name": _D("The name of the group.", "Floor plan"),
        "one_attribute_per_unit": _D("Whether a unit has at most one of the attributes.", True),
        "attributes": _D("The attributes of the group.", []),
    },
    "Attribute": {
        "attribute_id": _D("The id: opaque text that no other attribute has.", "studio"),
        "attribute_name": _D("The name of the attribute.", "Studio"),
        "attribute_key": _D("The name of the attribute for programs.", "studio"),
    },
    "Assignment": {
        "group_id": _D("The id of the group of attributes.", "plan"),
        "attribute_id": _D("The id of an attribute of the group.", "studio"),
        "unit_id": _D("The id of the unit.", "oak-101"),
    },
    "Location": {
        "id": _D("The id: opaque text that no other location has.", "loc-gym"),
        "unit_map_id": _D("The id of the map that it is on.", "oak-plates"),
        "name": _D("The name of the location.", "Gym"),
        "x": _D("The position on the map, to the right, in units of its drawing.", 1240),
        "y": _D("The position on the map, downwards, in units of its drawing.", 310.5),
        "floors": _D("The floors that it is on.", [{"id": "oak-1"}]),
        "tags": _D("What is there.", [{"key": "svc:amenity", "value": "yes"}]),
    },
    "LocationFloor": {"id": _D("The id of the floor.", "oak-1")},
    "LocationTag": {
        "key": _D("The key; it may have colons.", "leisure"),
        "value": _D("The value.", "fitness_centre"),
    },
}


# The JSON Schema accepts what the importer accepts of a bundle by itself. It does not express: that
# JSON names may not be repeated, nor attributes of a group, that a date must exist, that a whole
# number may not be written as `1.0`, the length of a member, and that a bundle of nothing but
# `$schema` is empty.

JsonSchema: TypeAlias = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DEFS_PREFIX = "#/$defs/"


def build_bundle_schema() -> JsonSchema:
    """Return the schema of a bundle in the form of arrays; `$defs` has one of each member.

    >>> schema = build_bundle_schema()
    >>> schema["properties"]["floors"]["items"], schema["$defs"]["Floor"]["required"]
    ({'$ref': '#/$defs/Floor'}, ['id', 'asset_id', 'name'])
    """
    _, components = msgspec.json.schema_components(
        [kind.struct for kind in RECORD_TYPES], ref_template=DEFS_PREFIX + "{name}"
    )
    arrays = {
        kind.name: {
            "type": "array",
            "description": RECORDS[kind.struct.__name__],
            "items": {"$ref": DEFS_PREFIX + kind.struct.__name__},
        }
        for kind in RECORD_TYPES
    }
    definitions = {
        name: _complete(getattr(catalog, name), schema)
        for name, schema in sorted(components.items())
    }
    for kind in RECORD_TYPES:
        if kind.reserved_ids:
            id_schema = definitions[kind.struct.__name__]["properties"]["id"]
            id_schema["not"] = {"enum": sorted(kind.reserved_ids)}
    return {
        "$schema": DIALECT,
        "title": "Floorgate bundle",
        "description": "The buildings, floors, units and maps that a Floorgate service has.",
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "properties": {
            SCHEMA_NAME: {"type": "string", "description": "The address of this schema."},
            **arrays,
        },
        "$defs": definitions,
    }


def _complete(record: type[Record], schema: JsonSchema) -> JsonSchema:
    """Return the schema of a record with descriptions, examples and patterns of JSON Schema."""
    properties = {}
    for name, rule in schema["properties"].items():
        description = describe_field(record, name)
        properties[name] = {
            "description": description.text,
            **_translate_patterns(rule),
            "examples": [description.example],
        }
    return {
        "description": RECORDS[record.__name__],
        **{key: value for key, value in schema.items() if key not in {"title", "description"}},
        "properties": properties,
        "examples": [make_example(record)],
    }


def _translate_patterns(rule: Any) -> Any:
    """Return a rule with patterns as ECMAScript knows them.

    UTF-8 cannot encode the surrogates that the patterns exclude.
    """
    if isinstance(rule, list):
        return [_translate_patterns(item) for item in rule]
    if not isinstance(rule, dict):
        return rule
    translated = {key: _translate_patterns(value) for key, value in rule.items()}
    if pattern := rule.get("pattern"):
        pattern = pattern.replace(r"\A", "^").replace(r"\Z", "$")
        translated["pattern"] = pattern.replace(r"\ud800-\udfff", "")
    return translated
