"""Build the records that a plan adds to the catalog, as members of a bundle.

A map's existing locations keep their ids and positions when it is made routable.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from shapely import Point, Polygon
from shapely.geometry.base import BaseGeometry

from resolvers.locations import get_unit_id
from resolvers.plans.shapes import to_shape
from resolvers.plans.translation import LocationCandidate, TranslatedPlan
from resolvers.processing.build_task import RecordDict
from routing.plan import PlanLocation
from storage.catalog import Location


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


@dataclass(frozen=True, slots=True)
class _CandidatePair:
    candidate: LocationCandidate
    location: PlanLocation
    shape: BaseGeometry


def match_existing_locations(
    translated: TranslatedPlan, existing: Sequence[Location]
) -> TranslatedPlan:
    """Return the plan with existing locations in place of the candidates that they match.

    A location matches the candidate of its unit. A location without a unit matches the smallest
    candidate that contains it. Locations that match none are added to the plan. `candidates`
    of the result are those that no location matches: they become new locations.
    """
    scale = translated.drawing.feet_per_unit
    pairs = [
        _CandidatePair(candidate, location, to_shape(candidate.feature.geometry, scale))
        for candidate, location in zip(
            translated.candidates, translated.plan.locations, strict=True
        )
    ]
    levels = {level.id for level in translated.plan.levels}
    adopted: dict[str, PlanLocation] = {}
    added: list[PlanLocation] = []
    for old in existing:
        level = old.floors[0].id if old.floors else None
        if level not in levels:
            continue
        location = PlanLocation(old.id, level, old.x * scale, old.y * scale, old.name)
        # Two locations may stand for one unit; a candidate is adopted only by the first.
        free = (pair for pair in pairs if pair.candidate.id not in adopted)
        pair = _find_pair(get_unit_id(old), location, free)
        if pair is None:
            added.append(location)
        else:
            adopted[pair.candidate.id] = replace(location, space_id=pair.location.space_id)
    locations = [adopted.get(pair.candidate.id, pair.location) for pair in pairs] + added
    return replace(
        translated,
        plan=replace(translated.plan, locations=tuple(locations)),
        candidates=tuple(pair.candidate for pair in pairs if pair.candidate.id not in adopted),
    )


def _find_pair(
    unit_id: str | None, location: PlanLocation, pairs: Iterable[_CandidatePair]
) -> _CandidatePair | None:
    if unit_id is not None:
        return next((pair for pair in pairs if pair.candidate.unit_id == unit_id), None)
    point = Point(location.x, location.y)
    nearby = [
        pair
        for pair in pairs
        if pair.candidate.unit_id is None
        and pair.candidate.level == location.level_id
        # A location lies within an area; points and lines have no inside to be in.
        and pair.shape.distance(point) <= (0.0 if isinstance(pair.shape, Polygon) else 1.0)
    ]
    return min(nearby, key=lambda pair: pair.shape.area, default=None)
