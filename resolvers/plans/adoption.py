"""Locations that a map already has keep their ids and places when it is made routable."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from shapely import Point, Polygon
from shapely.geometry.base import BaseGeometry

from resolvers.plans.locations import LocationCandidate
from resolvers.plans.shapes import to_shape
from resolvers.plans.translation import TranslatedPlan
from routing.plan import PlanLocation


class ExistingLocation(NamedTuple):
    """A location of the map, in the map's units; `unit_id` is the unit that it stands for."""

    id: str
    name: str
    x: float
    y: float
    floor_id: str
    unit_id: str | None


@dataclass(frozen=True, slots=True)
class _CandidatePair:
    candidate: LocationCandidate
    location: PlanLocation
    shape: BaseGeometry


def adopt_locations(
    translated: TranslatedPlan, existing: Sequence[ExistingLocation]
) -> TranslatedPlan:
    """The reading with the given locations instead of those that it would make for the same.

    A location stands for the place of its unit, or for the place whose shape it lies in; one that
    stands for none is routed besides. What is left of `places` is to be written.
    """
    scale = translated.drawing.feet_per_unit
    pairs = [
        _CandidatePair(place, location, to_shape(place.feature.geometry, scale))
        for place, location in zip(translated.candidates, translated.plan.locations, strict=True)
    ]
    levels = {level.id for level in translated.plan.levels}
    adopted: dict[str, PlanLocation] = {}
    added: list[PlanLocation] = []
    for each in existing:
        if each.floor_id not in levels:
            continue
        at = PlanLocation(each.id, each.floor_id, each.x * scale, each.y * scale, each.name)
        pair = _find_pair(each, at, (pair for pair in pairs if pair.candidate.id not in adopted))
        if pair is None:
            added.append(at)
        else:
            adopted[pair.candidate.id] = replace(at, space_id=pair.location.space_id)
    locations = [adopted.get(pair.candidate.id, pair.location) for pair in pairs] + added
    return replace(
        translated,
        plan=replace(translated.plan, locations=tuple(locations)),
        candidates=tuple(pair.candidate for pair in pairs if pair.candidate.id not in adopted),
    )


def _find_pair(
    existing: ExistingLocation, at: PlanLocation, pairs: Iterable[_CandidatePair]
) -> _CandidatePair | None:
    if existing.unit_id is not None:
        return next((pair for pair in pairs if pair.candidate.unit_id == existing.unit_id), None)
    around = [
        pair
        for pair in pairs
        if pair.candidate.unit_id is None
        and pair.candidate.level == existing.floor_id
        and pair.shape.distance(Point(at.x, at.y)) <= _reach_feet(pair.shape)
    ]
    return min(around, key=lambda pair: pair.shape.area, default=None)


def _reach_feet(shape: BaseGeometry) -> float:
    """Within an outline, or as near to a point as a hand."""
    return 0.0 if isinstance(shape, Polygon) else 1.0
