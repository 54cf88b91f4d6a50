"""Resolver of a map as GeoJSON (RFC 7946): levels, units, hit areas, locations."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import orjson
import strawberry

from resolvers.directory import load_floors
from resolvers.drawings.drawing_levels import HIT_AREA, LEVEL, UNIT, ShownFloor
from resolvers.locations import get_unit_id
from resolvers.maps import load_drawing, load_stored_drawings, process_drawing
from resolvers.request.caller import READ_ATTRIBUTES, READ_LOCATIONS
from resolvers.request.context import (
    MAX_KEYS_PER_COMMAND,
    MAX_RECORDS_PER_REQUEST,
    Cache,
    Context,
    Info,
)
from resolvers.request.errors import InvalidInputError
from resolvers.request.inputs import ID, argument
from resolvers.request.threads import DRAWINGS, run_in_thread
from storage import catalog
from storage.records.kinds import Record, RecordType
from storage.store import StoredDrawing

if TYPE_CHECKING:
    from resolvers.drawings.drawn_features import DrawnFeature, DrawnFeatures

R = TypeVar("R", bound=Record)

MAX_GEOJSON_DRAWING_BYTES = 32_000_000
"""The JSON of a drawing that becomes GeoJSON has at most so many."""
MAX_DRAWN_FEATURES_BYTES = 32_000_000
"""Geometries of the drawings that are kept in memory."""
ATTRIBUTE_PREFIX = "attribute:"
"""The property with what a unit has of an attribute group begins so, before the group's id."""
TAG_PREFIX = "tag:"
"""The property with a tag of a location begins so. Tools such as MapLibre filter by flat ones."""

_drawn: "Cache[tuple[Any, ...], DrawnFeatures]" = Cache(
    max_bytes=MAX_DRAWN_FEATURES_BYTES, weigh=lambda _, drawn: drawn.size_bytes
)
"""Features by all that they depend on: they are never out of date."""


class _Records(NamedTuple):
    """Records of the directory on the features of a map."""

    unit_map: catalog.Map
    floors: Mapping[str, catalog.Floor]
    units: Mapping[str, catalog.Unit]
    attributes: Mapping[str, Mapping[str, Any]]
    """Values by unit, and by property."""
    locations: Sequence[catalog.Location]


async def get_geojson_of_map(
    parent: strawberry.Parent[catalog.Map],
    info: Info,
    level: Annotated[
        strawberry.ID | None,
        argument(
            "Only what is on the level that shows the floor with this id, or has it itself.",
            ID,
            example="alder-court-floor-1",
        ),
    ] = None,
    attributes: Annotated[
        bool | None,
        argument(
            "Whether units have their attributes: for each group a property "
            f"`{ATTRIBUTE_PREFIX}<group id>` with the name, or a list of names if a unit may have "
            "several.",
            example=True,
            requirement=READ_ATTRIBUTES,
        ),
    ] = None,
    locations: Annotated[
        bool | None,
        argument("Whether locations are features too.", example=True, requirement=READ_LOCATIONS),
    ] = None,
) -> bytes | None:
    """Get a georeferenced map as GeoJSON: a feature for each level, unit and hit area.

    It follows RFC 7946: longitude and latitude in degrees of WGS 84, valid polygons, outer rings
    counterclockwise. The property `feature_type` is `level`, `unit`, `hit_area` or `location`.
    Null for a map without a drawing.
    """
    context = info.context
    [drawing] = await load_stored_drawings(context, [parent.id])
    if drawing is None:
        return None
    floors = {floor.id: floor for floor in await load_floors(context, parent.asset_id)}
    await DRAWINGS.load()
    from resolvers.drawings.drawn_features import draw_features

    draw = partial(
        draw_features,
        georeference=_require_georeference(parent, drawing),
        feet_per_unit=parent.feet_per_unit,
        floor_ids=[*floors],
        level=level,
    )
    drawn = await _draw(context, parent, drawing.digest, draw)
    chosen = [shown for shown in drawn.levels if level is None or shown.is_called(level)]
    if not chosen and level is not None:
        raise InvalidInputError(
            level=f"{level!r} is neither a floor that the drawing shows nor one of its Levels"
        )
    unit_ids = {each.target_id for each in drawn.features if each.target_type == "Unit"}
    records = _Records(
        parent,
        floors,
        units := await _load_units(context, parent, [*filter(None, unit_ids)]),
        await _load_attributes(context, parent, units) if attributes else {},
        await _load_locations(context, parent, chosen, level) if locations else (),
    )
    content = await run_in_thread(_build_collection, drawn, records)
    context.budget.check_least(len(content))
    return content


def _require_georeference(unit_map: catalog.Map, drawing: StoredDrawing) -> catalog.Georeference:
    if drawing.georeference is None:
        raise InvalidInputError(
            map=f"the drawing of {unit_map.id!r} does not say where it is; add a "
            '<g data-type="Georeference" data-latitude="…" data-longitude="…"/> to the SVG, with '
            "degrees in their range, and import it again"
        )
    if not drawing.georeference.has_scale(unit_map.feet_per_unit):
        raise InvalidInputError(
            map=f"the scale of {unit_map.id!r} is unknown; give the map feet_per_unit, or the "
            "Georeference of its drawing data-zoom"
        )
    return drawing.georeference


async def _draw(
    context: Context, unit_map: catalog.Map, digest: str, draw: "partial[DrawnFeatures]"
) -> "DrawnFeatures":
    keywords = draw.keywords | {"floor_ids": tuple(draw.keywords["floor_ids"])}
    key = (digest, *keywords.values())
    drawn = _drawn.get(key)
    if drawn is not None:
        return drawn
    content = await load_drawing(context, unit_map.id, MAX_GEOJSON_DRAWING_BYTES, "GeoJSON")
    drawn = await process_drawing(context, draw, content)
    _drawn.put(key, drawn)
    return drawn


async def _load_units(
    context: Context, unit_map: catalog.Map, unit_ids: Sequence[str]
) -> dict[str, catalog.Unit]:
    context.budget.count_read(len(unit_ids))
    found = await _load_whole(context, catalog.UNITS, unit_ids)
    # A drawing may have the id of a unit of another asset.
    return {id: unit for id, unit in found.items() if unit.asset_id == unit_map.asset_id}


async def _load_whole(context: Context, kind: RecordType[R], keys: Sequence[str]) -> dict[str, R]:
    """Return records by key, without those that are damaged."""
    found = await context.load_in_order(kind, keys)
    pairs = zip(keys, found, strict=True)
    return {key: record for key, record in pairs if isinstance(record, kind.struct)}


async def _load_attributes(
    context: Context, unit_map: catalog.Map, units: Mapping[str, catalog.Unit]
) -> dict[str, dict[str, Any]]:
    assignments: list[catalog.Assignment] = []
    unit_ids = [*units]
    for start in range(0, len(unit_ids), MAX_KEYS_PER_COMMAND):
        where = {"unit_id": {"$in": unit_ids[start : start + MAX_KEYS_PER_COMMAND]}}
        keys = await context.list_ids(catalog.ASSIGNMENTS, where, MAX_RECORDS_PER_REQUEST + 1)
        context.budget.count_read(len(keys))
        assignments += (await _load_whole(context, catalog.ASSIGNMENTS, keys)).values()
    group_ids = [*{each.group_id for each in assignments}]
    groups = await _load_whole(context, catalog.ATTRIBUTE_GROUPS, group_ids)
    names = {
        (group.group_id, attribute.attribute_id): attribute.attribute_name
        for group in groups.values()
        for attribute in group.attributes
    }
    found: dict[str, dict[str, Any]] = {}
    for each in sorted(assignments, key=lambda each: (each.group_id, each.attribute_id)):
        name = names.get((each.group_id, each.attribute_id))
        if name is None or each.asset_id != unit_map.asset_id:
            continue
        properties = found.setdefault(each.unit_id, {})
        if groups[each.group_id].one_attribute_per_unit:
            properties[ATTRIBUTE_PREFIX + each.group_id] = name
        else:
            properties.setdefault(ATTRIBUTE_PREFIX + each.group_id, []).append(name)
    return found


async def _load_locations(
    context: Context, unit_map: catalog.Map, chosen: Sequence[ShownFloor], level: str | None
) -> list[catalog.Location]:
    """Return the locations of a map, or those that are on a floor that the level shows."""
    where = {"unit_map_id": unit_map.id}
    keys = await context.list_ids(catalog.LOCATIONS, where, MAX_RECORDS_PER_REQUEST + 1)
    context.budget.count_read(len(keys))
    found = await _load_whole(context, catalog.LOCATIONS, keys)
    floor_ids = {shown.floor_id for shown in chosen}
    return [
        found[key]
        for key in keys
        if key in found
        and (level is None or any(floor.id in floor_ids for floor in found[key].floors))
    ]


def _build_collection(drawn: "DrawnFeatures", records: _Records) -> bytes:
    features = [
        {
            "type": "Feature",
            "id": each.uid,
            "geometry": orjson.Fragment(each.geometry),
            "properties": _PROPERTIES[each.feature_type](each, drawn.levels, records),
        }
        for each in drawn.features
    ]
    features += _describe_locations(drawn, records)
    # GDAL takes the name for that of the layer.
    name = records.unit_map.name
    return orjson.dumps({"type": "FeatureCollection", "name": name, "features": features})


def _describe_level(
    feature: "DrawnFeature", levels: Sequence[ShownFloor], records: _Records
) -> dict[str, Any]:
    assert feature.level is not None
    shown = levels[feature.level]
    floor = records.floors.get(shown.floor_id or "")
    return {
        "feature_type": LEVEL,
        "level_id": shown.level_id,
        "floor_id": shown.floor_id,
        "name": floor.name if floor else shown.level_id,
        "short_label": floor.short_label if floor else None,
        "sort": floor.sort if floor else None,
    }


def _describe_unit(
    feature: "DrawnFeature", levels: Sequence[ShownFloor], records: _Records
) -> dict[str, Any]:
    shown = None if feature.level is None else levels[feature.level]
    unit = records.units.get(feature.target_id or "")
    floor_id = unit.floor_id if unit else shown and shown.floor_id
    floor = records.floors.get(floor_id or "")
    return {
        "feature_type": UNIT,
        "unit_id": feature.target_id,
        "name": unit and unit.name,
        "asset_id": records.unit_map.asset_id,
        "floor_id": floor_id,
        "floor_short_label": floor and floor.short_label,
        "level_id": shown and shown.level_id,
        **records.attributes.get(feature.target_id or "", {}),
    }


def _describe_hit_area(
    feature: "DrawnFeature", levels: Sequence[ShownFloor], records: _Records
) -> dict[str, Any]:
    shown = None if feature.level is None else levels[feature.level]
    return {
        "feature_type": HIT_AREA,
        "unit_id": feature.target_id if feature.target_type == "Unit" else None,
        "target_id": feature.target_id,
        "target_type": feature.target_type,
        "floor_id": shown and shown.floor_id,
        "level_id": shown and shown.level_id,
    }


_PROPERTIES = {LEVEL: _describe_level, UNIT: _describe_unit, HIT_AREA: _describe_hit_area}


def _describe_locations(drawn: "DrawnFeatures", records: _Records) -> Iterator[dict[str, Any]]:
    import numpy as np

    from resolvers.drawings.drawn_features import DECIMALS

    near = [each for each in records.locations if drawn.placement.has_near([(each.x, each.y)])]
    positions = np.array([(each.x, each.y) for each in near], dtype=np.float64).reshape(-1, 2)
    degrees = np.round(drawn.placement.to_degrees(positions), DECIMALS).tolist()
    for location, position in zip(near, degrees, strict=True):
        yield {
            "type": "Feature",
            "id": f"location:{location.id}",
            "geometry": {"type": "Point", "coordinates": position},
            "properties": {
                "feature_type": "location",
                "location_id": location.id,
                "name": location.name,
                "unit_id": get_unit_id(location),
                "floor_ids": [floor.id for floor in location.floors],
                **{TAG_PREFIX + tag.key: tag.value for tag in location.tags},
            },
        }
