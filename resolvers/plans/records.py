"""What a plan adds to the catalog, as members of a bundle."""

from typing import Any

from resolvers.plans.translation import TranslatedPlan

RecordDict = dict[str, Any]


def build_location_records(translated: TranslatedPlan, asset_id: str) -> list[RecordDict]:
    """The locations of a plan, each with its floors, the one it stands on first."""
    return [
        {
            "id": place.id,
            "asset_id": asset_id,
            "unit_map_id": translated.map_id,
            "name": place.name,
            "x": place.x,
            "y": place.y,
            "floors": [{"id": level} for level in place.levels],
            "tags": [{"key": key, "value": value} for key, value in place.tags.items()],
        }
        for place in translated.candidates
    ]


def build_directory(translated: TranslatedPlan, asset_id: str) -> dict[str, list[RecordDict]]:
    """Asset, map, floors and units for a plan that brings no map of its own.

    One floor a level, one unit a room. `feet_per_unit` is 1: the map's coordinates are feet.
    """
    name = translated.drawing.name or translated.map_id
    return {
        "assets": [{"id": asset_id, "name": name}],
        "floors": _build_floor_records(translated, asset_id),
        "maps": [
            {
                "id": translated.map_id,
                "asset_id": asset_id,
                "name": name,
                "feet_per_unit": translated.drawing.feet_per_unit,
            }
        ],
        "units": [
            {
                "id": place.unit_id,
                "asset_id": asset_id,
                "floor_id": place.level,
                "name": place.name,
                "map_ids": [translated.map_id],
            }
            for place in translated.candidates
            if place.unit_id is not None
        ],
    }


def _build_floor_records(translated: TranslatedPlan, asset_id: str) -> list[RecordDict]:
    """`sort` is the level's number where all levels are whole ones, else their order."""
    ordinals = [level.ordinal or 0.0 for level in translated.drawing.levels]
    ranks = {ordinal: rank for rank, ordinal in enumerate(sorted(set(ordinals)))}
    is_whole = all(ordinal == int(ordinal) for ordinal in ordinals)
    return [
        {
            "id": level.id,
            "asset_id": asset_id,
            "name": level.name or f"Level {ordinal:g}",
            "short_label": f"{ordinal:g}",
            "sort": int(ordinal) if is_whole else ranks[ordinal],
        }
        for level, ordinal in zip(translated.drawing.levels, ordinals, strict=True)
    ]
