"""The sample venue with changes, for tests."""

import json
from collections.abc import Callable
from typing import Any

from parsing.drawing import Drawing, Feature
from parsing.plans import read_plan
from samples.venue import feature_id, make_venue

VenueFiles = dict[str, bytes]
VenueChange = Callable[[list[Any]], object]


def read_imdf(members: VenueFiles, *, strict: bool = False) -> Drawing:
    return read_plan(members, "imdf", strict=strict)


def changed(kind: str, change: VenueChange) -> VenueFiles:
    """Return the sample venue with a change made to the features of one type."""
    members = make_venue()
    collection = json.loads(members[f"{kind}.geojson"])
    change(collection["features"])
    return members | {f"{kind}.geojson": json.dumps(collection).encode()}


def make_feature(kind: str, index: int) -> dict[str, Any]:
    feature: dict[str, Any] = json.loads(make_venue()[f"{kind}.geojson"])["features"][index]
    return feature


def feature_of(drawing: Drawing, kind: str, name: str) -> Feature:
    return next(f for f in drawing.features if f.id == feature_id(kind, name))


def set_property(position: int, key: str, value: Any) -> VenueChange:
    return lambda features: features[position]["properties"].__setitem__(key, value)


def set_member(position: int, key: str, value: Any) -> VenueChange:
    return lambda features: features[position].__setitem__(key, value)
