"""The committed drawings as shapely polygons in feet, read without the generator."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lxml import etree
from shapely import Polygon

DEMO = Path(__file__).parents[2] / "samples" / "demo"
BUNDLE: dict[str, list[dict[str, Any]]] = json.loads((DEMO / "bundle.json").read_bytes())


@dataclass(frozen=True)
class SampleShape:
    polygon: Polygon
    tags: dict[str, str] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class SampleLevel:
    tags: dict[str, str]
    units: list[SampleShape]
    hit_areas: list[SampleShape]
    tagged: list[SampleShape]

    def having(self, key: str, *values: str) -> list[SampleShape]:
        return [s for s in self.tagged if key in s.tags and (not values or s.tags[key] in values)]

    @property
    def rooms(self) -> list[SampleShape]:
        return [*self.units, *self.having("indoor", "room")]

    @property
    def circulation(self) -> list[SampleShape]:
        return self.having("indoor", "corridor", "area")


def read_tags(element: etree._Element) -> dict[str, str]:
    text = str(element.get("data-tags", ""))
    return dict(pair.split("=", 1) for pair in text.split(";")) if text else {}


def read_shape(element: etree._Element, feet_per_unit: float) -> SampleShape:
    pairs = (pair.split(",") for pair in str(element.attrib["points"]).split())
    points = [(float(x) * feet_per_unit, float(y) * feet_per_unit) for x, y in pairs]
    return SampleShape(Polygon(points), read_tags(element), element.get("id", ""))


def read_levels(unit_map: dict[str, Any]) -> list[SampleLevel]:
    root = etree.parse(DEMO / unit_map["source"]).getroot()
    scale = unit_map["feet_per_unit"]

    def shapes(parent: etree._Element, path: str) -> list[SampleShape]:
        found = parent.iterfind(path, {"": "http://www.w3.org/2000/svg"})
        return [read_shape(element, scale) for element in found]

    return [
        SampleLevel(
            read_tags(level),
            shapes(level, "g[@data-type='UnitLayer']/polygon"),
            shapes(level, "g[@data-type='HitAreaLayer']/polygon"),
            shapes(level, ".//polygon[@data-tags]"),
        )
        for level in root.iterfind("{*}g[@data-type='Level']")
    ]


DRAWINGS = {unit_map["asset_id"]: read_levels(unit_map) for unit_map in BUNDLE["maps"]}
LEVELS = [level for levels in DRAWINGS.values() for level in levels]
