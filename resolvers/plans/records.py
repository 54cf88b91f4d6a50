"""Build the records that a plan adds to the catalog, as members of a bundle."""

from resolvers.plans.catalog_records import RecordDict
from resolvers.plans.translation import TranslatedPlan


def build_location_records(translated: TranslatedPlan, asset_id: str) -> list[RecordDict]:
    """Return the locations of a plan's candidates; the first floor is their own."""
    return [
        {
            "id": candidate.id,
            "asset_id": asset_id,
            "unit_map_id": translated.map_id,
            "name": candidate.name,
            "x": candidate.x,
            "y": candidate.y,
            "floors": [{"id": level} for level in candidate.levels],
            "tags": [{"key": key, "value": value} for key, value in candidate.tags.items()],
        }
        for candidate in translated.candidates
    ]


def build_directory(translated: TranslatedPlan, asset_id: str) -> dict[str, list[RecordDict]]:
    """Return asset, map, floors and units for a plan that is not the map's own drawing.

    Each level becomes a floor and each room a unit.
    """
    unit_map = build_map_record(translated, asset_id)
    return {
        "assets": [{"id": asset_id, "name": unit_map["name"]}],
        "floors": _build_floor_records(translated, asset_id),
        "maps": [unit_map],
        "units": [
            {
                "id": candidate.unit_id,
                "asset_id": asset_id,
                "floor_id": candidate.level,
                "name": candidate.name,
                "map_ids": [translated.map_id],
            }
            for candidate in translated.candidates
            if candidate.unit_id is not None
        ],
    }


def build_map_record(translated: TranslatedPlan, asset_id: str) -> RecordDict:
    """Build the map of a plan."""
    return {
        "id": translated.map_id,
        "asset_id": asset_id,
        "name": translated.drawing.name or translated.map_id,
        "feet_per_unit": translated.drawing.feet_per_unit,
    }


def _build_floor_records(translated: TranslatedPlan, asset_id: str) -> list[RecordDict]:
    # `sort` is an integer: the ordinal if all are whole numbers, else the rank.
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
