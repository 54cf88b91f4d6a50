"""Small geographic plans: `.osm` and GeoJSON written from the same few lines."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from parsing.drawing import Drawing, Feature
from parsing.plans import read_plan

CASERNE = Path(os.environ.get("FLOORGATE_PLANS", "../shared/data")) / "caserne"
METRE_DEGREES = 1 / 111_412
"""About a metre of latitude at 56 degrees north."""

Tags = Mapping[str, str]
Metres = tuple[float, float]


def lon_lat(metres: Metres) -> tuple[float, float]:
    """Return the longitude and latitude so many metres east and north of a corner in Aarhus."""
    return round(10 + metres[0] * METRE_DEGREES / 0.5592, 7), round(
        56 + metres[1] * METRE_DEGREES, 7
    )


def read_osm(xml: bytes, *, strict: bool = False) -> Drawing:
    return read_plan({"plan.osm": xml}, "osm", strict=strict)


def read_geojson(files: Mapping[str, bytes], *, strict: bool = False) -> Drawing:
    return read_plan(files, "geojson", strict=strict)


def box(west: float, south: float, east: float, north: float) -> list[Metres]:
    return [(west, south), (east, south), (east, north), (west, north), (west, south)]


class OsmPlanBuilder:
    """Ways and nodes, in metres."""

    def __init__(self) -> None:
        self._places: dict[Metres, int] = {}
        self._tagged: dict[int, Tags] = {}
        self._ways: list[tuple[list[int], Tags]] = []

    def add_node(self, at: Metres, **tags: str) -> str:
        number = self._node(at)
        self._tagged[number] = tags
        return f"node/{number}"

    def add_way(self, line: list[Metres], **tags: str) -> str:
        self._ways.append(([self._node(at) for at in line], tags))
        return f"way/{len(self._ways)}"

    def _node(self, at: Metres) -> int:
        return self._places.setdefault(at, len(self._places) + 1)

    def to_osm(self, more: str = "") -> bytes:
        nodes = "".join(
            f"<node id='{number}' lon='{lon_lat(at)[0]}' lat='{lon_lat(at)[1]}'>"
            f"{_tags(self._tagged.get(number, {}))}</node>\n"
            for at, number in self._places.items()
        )
        ways = "".join(
            f"<way id='{number}'>"
            + "".join(f"<nd ref='{node}'/>" for node in nodes)
            + f"{_tags(tags)}</way>\n"
            for number, (nodes, tags) in enumerate(self._ways, 1)
        )
        return f"<osm version='0.6'>\n{nodes}{ways}{more}</osm>\n".encode()

    def to_geojson(self) -> bytes:
        at = {number: lon_lat(metres) for metres, number in self._places.items()}
        points = [
            _feature(f"node/{number}", tags, "Point", at[number])
            for number, tags in self._tagged.items()
        ]
        lines = [
            _feature(f"way/{number}", tags, *_shape([at[node] for node in nodes]))
            for number, (nodes, tags) in enumerate(self._ways, 1)
        ]
        return collection([*points, *lines])


def collection(features: list[Any]) -> bytes:
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def _feature(name: str, tags: Tags, kind: str, coordinates: Any) -> dict[str, Any]:
    return {
        "type": "Feature",
        "id": name,
        "properties": dict(tags),
        "geometry": {"type": kind, "coordinates": coordinates},
    }


def _shape(line: list[tuple[float, float]]) -> tuple[str, Any]:
    if len(line) > 3 and line[0] == line[-1]:
        return "Polygon", [line[::-1]]  # as converters do, the other way round
    return "LineString", line


def _tags(tags: Tags) -> str:
    return "".join(f"<tag k='{key}' v='{value}'/>" for key, value in tags.items())


def read_caserne(kind: str) -> bytes:
    """Return the real shopping centre; skip the test where it is absent."""
    file = CASERNE / f"caserne.{kind}"
    if not file.exists():
        pytest.skip(f"{file} is absent: a real plan in OpenStreetMap's terms is not tested")
    return file.read_bytes()


# Features of a drawing, for tests.


def features_of(drawing: Drawing) -> dict[str, Feature]:
    return {feature.id: feature for feature in drawing.features}
