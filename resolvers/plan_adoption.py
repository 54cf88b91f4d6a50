"""Locations that a map already has keep their ids and places when it is made routable."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from shapely import Point, Polygon
from shapely.geometry.base import BaseGeometry

from resolvers.plan_places import Place
from resolvers.plan_shapes import shape_of
from resolvers.plans import PlanReading
from routing.plan import Location


class Given(NamedTuple):
    """A location of the map, in the map's units; `unit_id` is the unit that it stands for."""

    id: str
    name: str
    x: float
    y: float
    floor_id: str
    unit_id: str | None


@dataclass(frozen=True, slots=True)
class _Pair:
    place: Place
    location: Location
    shape: BaseGeometry


def adopt(reading: PlanReading, given: Sequence[Given]) -> PlanReading:
    """The reading with the given locations instead of those that it would make for the same.

    A location stands for the place of its unit, or for the place whose shape it lies in; one that
    stands for none is routed besides. What is left of `places` is to be written.
    """
    scale = reading.drawing.feet_per_unit
    pairs = [
        _Pair(place, location, shape_of(place.feature.geometry, scale))
        for place, location in zip(reading.places, reading.plan.locations, strict=True)
    ]
    levels = {level.id for level in reading.plan.levels}
    adopted: dict[str, Location] = {}
    added: list[Location] = []
    for each in given:
        if each.floor_id not in levels:
            continue
        at = Location(each.id, each.floor_id, each.x * scale, each.y * scale, each.name)
        pair = _find(each, at, (pair for pair in pairs if pair.place.id not in adopted))
        if pair is None:
            added.append(at)
        else:
            adopted[pair.place.id] = replace(at, space_id=pair.location.space_id)
    locations = [adopted.get(pair.place.id, pair.location) for pair in pairs] + added
    return replace(
        reading,
        plan=replace(reading.plan, locations=tuple(locations)),
        places=tuple(pair.place for pair in pairs if pair.place.id not in adopted),
    )


def _find(given: Given, at: Location, pairs: Iterable[_Pair]) -> _Pair | None:
    if given.unit_id is not None:
        return next((pair for pair in pairs if pair.place.unit_id == given.unit_id), None)
    around = [
        pair
        for pair in pairs
        if pair.place.unit_id is None
        and pair.place.level == given.floor_id
        and pair.shape.distance(Point(at.x, at.y)) <= _reach(pair.shape)
    ]
    return min(around, key=lambda pair: pair.shape.area, default=None)


def _reach(shape: BaseGeometry) -> float:
    """Within an outline, or as near to a point as a hand."""
    return 0.0 if isinstance(shape, Polygon) else 1.0
