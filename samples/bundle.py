"""The catalog bundle of both properties, in the order and with the fields that import takes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from samples.attributes import GROUPS, assigned_attributes
from samples.identity import number_from, opaque_id, unit_id
from samples.plan import Apartment, Building, Space, Storey, Tags
from samples.svg import FEET_PER_UNIT, UNITS_PER_FOOT

Member = dict[str, Any]

STAMPS = {"created_at": "2026-03-02T09:00:00+00:00", "updated_at": "2026-03-02T09:00:00+00:00"}
SPACE_KEY, UNIT_KEY, SINGLE_KEY = "rentwell", "rentwell-unit-ids", "keyring"


def make_bundle(main: Building, other: Building) -> str:
    """The bundle as JSON text, one member a line. Only `main` has locations and attributes."""
    both = (main, other)
    kinds: dict[str, list[Member]] = {
        "assets": [asset(building) for building in both],
        "floors": [floor(building, storey) for building, storey in storeys_of(both)],
        "units": [unit(*place) for place in flats_of(both)],
        "maps": [unit_map(building) for building in both],
        "backgrounds": [background(building, name) for building in both for name in BACKGROUNDS],
        "level_tags": [tag for building in both for tag in level_tags(building)],
        "asset_references": [ref for building in both for ref in asset_references(building)],
        "unit_references": [ref for place in flats_of(both) for ref in unit_references(*place)],
        "attribute_groups": GROUPS,
        "attribute_assignments": [row for place in flats_of([main]) for row in assignments(*place)],
        "locations": list(locations(main)),
    }
    return format_members(kinds)


def format_members(kinds: dict[str, list[Member]]) -> str:
    def lines(members: list[Member]) -> str:
        return ",\n".join(f"    {json.dumps(member, ensure_ascii=False)}" for member in members)

    arrays = (f'  "{kind}": [\n{lines(members)}\n  ]' for kind, members in kinds.items())
    return "{\n" + ",\n".join(arrays) + "\n}\n"


def storeys_of(buildings: Iterable[Building]) -> Iterator[tuple[Building, Storey]]:
    return ((building, storey) for building in buildings for storey in building.storeys)


def flats_of(buildings: Iterable[Building]) -> Iterator[tuple[Building, Storey, Apartment]]:
    for building, storey in storeys_of(buildings):
        for flat in sorted(storey.apartments, key=lambda flat: flat.number):
            yield building, storey, flat


def asset(building: Building) -> Member:
    return {"id": building.id, "market": "multifamily", "name": building.name, **STAMPS}


def floor(building: Building, storey: Storey) -> Member:
    return {
        "id": building.floor_id(storey),
        "asset_id": building.id,
        "name": storey.name,
        "label": storey.label,
        "short_label": "G" if storey.number == 1 else str(storey.number),
        "sort": storey.number,
        **STAMPS,
    }


def unit(building: Building, storey: Storey, flat: Apartment) -> Member:
    return {
        "id": unit_id(building.id, flat.number),
        "asset_id": building.id,
        "floor_id": building.floor_id(storey),
        "name": flat.number,
        **STAMPS,
    }


def unit_map(building: Building) -> Member:
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
        "source": source_name(building),
        **STAMPS,
    }


def source_name(building: Building) -> str:
    return f"{building.id}.svg"


BACKGROUNDS = ("Daylight", "Print")


def background_id(building: Building, name: str) -> str:
    return f"{building.id}-{name.lower()}"


def background(building: Building, name: str) -> Member:
    return {
        "id": background_id(building, name),
        "unit_map_id": building.map_id,
        "name": name,
        **STAMPS,
    }


def level_tags(building: Building) -> Iterator[Member]:
    main = [("Main building", f"{building.id}-main")]
    floors = [(storey.name, building.floor_id(storey)) for storey in building.storeys]
    for name, key, values in (("Building", "building", main), ("Floor", "floor", floors)):
        items = [{"name": label, "value": value, **STAMPS} for label, value in values]
        yield {"map_id": building.map_id, "name": name, "key": key, **STAMPS, "values": items}


def asset_references(building: Building) -> Iterator[Member]:
    values = {
        SINGLE_KEY: f"KR-{number_from(building.id)}",
        SPACE_KEY: str(number_from(building.id, SPACE_KEY)),
    }
    for key, value in values.items():
        member_id = opaque_id("r", building.id, key)
        fields = {"id": member_id, "asset_id": building.id, "key": key, "value": value}
        yield {**fields, **STAMPS}


def unit_references(building: Building, storey: Storey, flat: Apartment) -> Iterator[Member]:
    """One provider knows a unit and, as a composite of two ids, the space that is rented in it."""
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
            **STAMPS,
        }


def assignments(building: Building, storey: Storey, flat: Apartment) -> Iterator[Member]:
    for group_id, attribute_id in assigned_attributes(storey, flat):
        yield {
            "group_id": group_id,
            "attribute_id": attribute_id,
            "asset_id": building.id,
            "unit_id": unit_id(building.id, flat.number),
        }


def locations(building: Building) -> Iterator[Member]:
    for _, storey, flat in flats_of([building]):
        tags = {"svc:id": unit_id(building.id, flat.number), "svc:type": "unit"}
        yield location(building, storey, flat.space, tags | flat.space.tags)
    for storey in building.storeys:
        for space in storey.amenities:
            named = {key: value for key, value in space.tags.items() if key != "name"}
            yield location(building, storey, space, {"svc:amenity": "yes"} | named)


def location(building: Building, storey: Storey, space: Space, tags: Tags) -> Member:
    return {
        "id": opaque_id("l", building.id, "location", storey.number, space.name),
        "asset_id": building.id,
        "unit_map_id": building.map_id,
        "name": space.name,
        "x": round(space.anchor.x * UNITS_PER_FOOT, 1),
        "y": round(space.anchor.y * UNITS_PER_FOOT, 1),
        "floors": [{"id": building.floor_id(storey)}],
        "tags": [{"key": key, "value": value, **STAMPS} for key, value in tags.items()],
        **STAMPS,
    }
