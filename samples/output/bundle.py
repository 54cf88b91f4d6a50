"""Build the catalog bundle of both properties, in the order and with the fields of an import."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from samples.buildings.apartments import APARTMENT_TYPES
from samples.buildings.plan import Apartment, Building, DrawnSpace, Storey, Tags
from samples.output.svg import FEET_PER_UNIT, UNITS_PER_FOOT, number_from, opaque_id, unit_id

# The attribute groups of the demo property and their assignment to apartments.

TYPE_GROUP, FINISH_GROUP, FEATURE_GROUP = "apartment-type", "finish-package", "views-and-features"


def build_group(
    group_id: str, name: str, one_per_unit: bool, attributes: dict[str, str]
) -> dict[str, Any]:
    """Return an attribute group; `attributes` maps keys to names."""
    items = [
        {"attribute_id": f"{group_id}-{key}", "attribute_name": name, "attribute_key": key}
        for key, name in attributes.items()
    ]
    fields = {"group_id": group_id, "group_name": name, "one_attribute_per_unit": one_per_unit}
    return {**fields, "attributes": items}


GROUPS = [
    build_group(
        TYPE_GROUP, "Apartment type", True, {kind.key: kind.name for kind in APARTMENT_TYPES}
    ),
    build_group(
        FINISH_GROUP,
        "Finish package",
        True,
        {"classic": "Classic", "modern": "Modern", "signature": "Signature"},
    ),
    build_group(
        FEATURE_GROUP,
        "Views & features",
        False,
        {
            "court-view": "Garden court view",
            "street-view": "Street view",
            "park-view": "Park view",
            "balcony": "Balcony",
            "bay-window": "Bay window",
            "corner": "Corner apartment",
            "top-floor": "Top floor",
        },
    ),
]


def assigned_attributes(storey: Storey, flat: Apartment) -> Iterator[tuple[str, str]]:
    """Iterate over the (group id, attribute id) pairs of an apartment."""
    yield TYPE_GROUP, f"{TYPE_GROUP}-{flat.kind}"
    yield FINISH_GROUP, f"{FINISH_GROUP}-{finish_of(storey, flat)}"
    for feature in flat.features:
        yield FEATURE_GROUP, f"{FEATURE_GROUP}-{feature}"


def finish_of(storey: Storey, flat: Apartment) -> str:
    if storey.number == 5 or flat.kind == "three-bedroom":
        return "signature"
    return "classic" if storey.number <= 2 else "modern"


CatalogMember = dict[str, Any]

TIMESTAMPS = {"created_at": "2026-03-02T09:00:00+00:00", "updated_at": "2026-03-02T09:00:00+00:00"}
SPACE_KEY, UNIT_KEY, SINGLE_KEY = "rentwell", "rentwell-unit-ids", "keyring"


def make_bundle(main: Building, other: Building) -> str:
    """Return the bundle as JSON, one member a line. Only `main` has locations and attributes."""
    both = (main, other)
    kinds: dict[str, list[CatalogMember]] = {
        "assets": [build_asset(building) for building in both],
        "floors": [build_floor(building, storey) for building, storey in iter_storeys(both)],
        "units": [build_unit(*flat) for flat in iter_flats(both)],
        "maps": [build_map(building) for building in both],
        "backgrounds": [
            build_background(building, name) for building in both for name in BACKGROUNDS
        ],
        "level_tags": [tag for building in both for tag in iter_level_tags(building)],
        "asset_references": [ref for building in both for ref in iter_asset_references(building)],
        "unit_references": [
            ref for flat in iter_flats(both) for ref in iter_unit_references(*flat)
        ],
        "attribute_groups": GROUPS,
        "attribute_assignments": [
            row for flat in iter_flats([main]) for row in iter_assignments(*flat)
        ],
        "locations": list(iter_locations(main)),
    }
    return format_members(kinds)


def format_members(kinds: dict[str, list[CatalogMember]]) -> str:
    def lines(members: list[CatalogMember]) -> str:
        return ",\n".join(f"    {json.dumps(member, ensure_ascii=False)}" for member in members)

    arrays = (f'  "{kind}": [\n{lines(members)}\n  ]' for kind, members in kinds.items())
    return "{\n" + ",\n".join(arrays) + "\n}\n"


def iter_storeys(buildings: Iterable[Building]) -> Iterator[tuple[Building, Storey]]:
    return ((building, storey) for building in buildings for storey in building.storeys)


def iter_flats(buildings: Iterable[Building]) -> Iterator[tuple[Building, Storey, Apartment]]:
    for building, storey in iter_storeys(buildings):
        for flat in sorted(storey.apartments, key=lambda flat: flat.number):
            yield building, storey, flat


def build_asset(building: Building) -> CatalogMember:
    return {"id": building.id, "market": "multifamily", "name": building.name, **TIMESTAMPS}


def build_floor(building: Building, storey: Storey) -> CatalogMember:
    return {
        "id": building.floor_id(storey),
        "asset_id": building.id,
        "name": storey.name,
        "label": storey.label,
        "short_label": "G" if storey.number == 1 else str(storey.number),
        "sort": storey.number,
        **TIMESTAMPS,
    }


def build_unit(building: Building, storey: Storey, flat: Apartment) -> CatalogMember:
    return {
        "id": unit_id(building.id, flat.number),
        "asset_id": building.id,
        "floor_id": building.floor_id(storey),
        "name": flat.number,
        **TIMESTAMPS,
    }


def build_map(building: Building) -> CatalogMember:
    return {
        "id": building.map_id,
        "asset_id": building.id,
        "background_id": background_id(building, "Daylight"),
        "name": "Floor plates",
        "style": "a",
        "style_type": "floor_plate",
        "tags": ["ils", "mls"],
        "routing_tier": "no_routing",
        "geojson_url": None,
        "feet_per_unit": FEET_PER_UNIT,
        "source": drawing_name(building),
        **TIMESTAMPS,
    }


def drawing_name(building: Building) -> str:
    return f"{building.id}.svg"


BACKGROUNDS = ("Daylight", "Print")


def background_id(building: Building, name: str) -> str:
    return f"{building.id}-{name.lower()}"


def build_background(building: Building, name: str) -> CatalogMember:
    return {
        "id": background_id(building, name),
        "unit_map_id": building.map_id,
        "name": name,
        **TIMESTAMPS,
    }


def iter_level_tags(building: Building) -> Iterator[CatalogMember]:
    main = [("Main building", f"{building.id}-main")]
    floors = [(storey.name, building.floor_id(storey)) for storey in building.storeys]
    for name, key, values in (("Building", "building", main), ("Floor", "floor", floors)):
        items = [{"name": label, "value": value, **TIMESTAMPS} for label, value in values]
        yield {"map_id": building.map_id, "name": name, "key": key, **TIMESTAMPS, "values": items}


def iter_asset_references(building: Building) -> Iterator[CatalogMember]:
    values = {
        SINGLE_KEY: f"KR-{number_from(building.id)}",
        SPACE_KEY: str(number_from(building.id, SPACE_KEY)),
    }
    for key, value in values.items():
        member_id = opaque_id("r", building.id, key)
        fields = {"id": member_id, "asset_id": building.id, "key": key, "value": value}
        yield {**fields, **TIMESTAMPS}


def iter_unit_references(
    building: Building, storey: Storey, flat: Apartment
) -> Iterator[CatalogMember]:
    """Iterate over a unit's ids at other systems; one system has a composite of unit and space."""
    identity = (building.id, flat.number)
    provider_unit = number_from(*identity, UNIT_KEY)
    values = {
        SPACE_KEY: f"{provider_unit}_{number_from(*identity, SPACE_KEY)}",
        UNIT_KEY: str(provider_unit),
        SINGLE_KEY: f"{building.id[:2].upper()}-{flat.number}",
    }
    for key, value in sorted(values.items()):
        yield {
            "group_id": opaque_id("g", building.id, key),
            "asset_id": building.id,
            "unit_id": unit_id(*identity),
            "key": key,
            "value": value,
            **TIMESTAMPS,
        }


def iter_assignments(
    building: Building, storey: Storey, flat: Apartment
) -> Iterator[CatalogMember]:
    for group_id, attribute_id in assigned_attributes(storey, flat):
        yield {
            "group_id": group_id,
            "attribute_id": attribute_id,
            "asset_id": building.id,
            "unit_id": unit_id(building.id, flat.number),
        }


def iter_locations(building: Building) -> Iterator[CatalogMember]:
    for _, storey, flat in iter_flats([building]):
        tags = {"svc:id": unit_id(building.id, flat.number), "svc:type": "unit"}
        yield build_location(building, storey, flat.space, tags | flat.space.tags)
    for storey in building.storeys:
        for space in storey.amenities:
            named = {key: value for key, value in space.tags.items() if key != "name"}
            yield build_location(building, storey, space, {"svc:amenity": "yes"} | named)


def build_location(
    building: Building, storey: Storey, space: DrawnSpace, tags: Tags
) -> CatalogMember:
    return {
        "id": opaque_id("l", building.id, "location", storey.number, space.name),
        "asset_id": building.id,
        "unit_map_id": building.map_id,
        "name": space.name,
        "x": round(space.anchor.x * UNITS_PER_FOOT, 1),
        "y": round(space.anchor.y * UNITS_PER_FOOT, 1),
        "floors": [{"id": building.floor_id(storey)}],
        "tags": [{"key": key, "value": value, **TIMESTAMPS} for key, value in tags.items()],
        **TIMESTAMPS,
    }
