"""Keep the ids and positions of a map's existing locations when it is made routable."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from shapely import Point, Polygon
from shapely.geometry.base import BaseGeometry

from resolvers.plans.catalog_records import ExistingLocation
from resolvers.plans.locations import LocationCandidate
from resolvers.plans.shapes import to_shape
from resolvers.plans.translation import TranslatedPlan
from routing.plan import PlanLocation


@dataclass(frozen=True, slots=True)
class _CandidatePair:
    candidate: LocationCandidate
    location: PlanLocation
    shape: BaseGeometry


def match_existing_locations(
    translated: TranslatedPlan, existing: Sequence[ExistingLocation]
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
        if old.floor_id not in levels:
            continue
        location = PlanLocation(old.id, old.floor_id, old.x * scale, old.y * scale, old.name)
        # Two locations may stand for one unit; a candidate is adopted only by the first.
        free = (pair for pair in pairs if pair.candidate.id not in adopted)
        pair = _find_pair(old, location, free)
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
    existing: ExistingLocation, location: PlanLocation, pairs: Iterable[_CandidatePair]
) -> _CandidatePair | None:
    if existing.unit_id is not None:
        return next((pair for pair in pairs if pair.candidate.unit_id == existing.unit_id), None)
    nearby = [
        pair
        for pair in pairs
        if pair.candidate.unit_id is None
        and pair.candidate.level == existing.floor_id
        and pair.shape.distance(Point(location.x, location.y)) <= _max_distance_feet(pair.shape)
    ]
    return min(nearby, key=lambda pair: pair.shape.area, default=None)


def _max_distance_feet(shape: BaseGeometry) -> float:
    # A location lies within an area; points and lines have no inside to be in.
    return 0.0 if isinstance(shape, Polygon) else 1.0
