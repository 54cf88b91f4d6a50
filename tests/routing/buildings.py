"""Plans to measure on: the demo building, and a real shopping centre where its file is there."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
from shapely import Polygon

from parsing import plans
from resolvers.plans.translation import translate_plan
from routing.plan import Connector, ConnectorKind, Door, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import ProcessedPlan, process_plan
from samples.buildings.alder_court import build_alder_court
from samples.buildings.plan import Storey

CASERNE = Path(os.environ.get("FLOORGATE_PLANS", "../shared/data")) / "caserne" / "caserne.osm"


@cache
def process_demo() -> ProcessedPlan:
    return process_plan(build_demo())


@cache
def process_caserne() -> ProcessedPlan:
    """The shopping centre; skips the test where its file is absent."""
    if not CASERNE.exists():
        pytest.skip(f"{CASERNE} is absent")
    drawing = plans.read_plan({CASERNE.name: CASERNE.read_bytes()})
    return process_plan(translate_plan(drawing, "caserne").plan)


def build_demo() -> Plan:
    """Alder Court as its generator lays it out, every apartment and amenity a location."""
    storeys = build_alder_court().storeys
    places: dict[str, dict[str, Polygon]] = {}
    kinds: dict[str, ConnectorKind] = {}
    for storey in storeys:
        for drawn in storey.connectors:
            kinds[drawn.tags["ref"]] = ConnectorKind(drawn.tags["highway"])
            places.setdefault(drawn.tags["ref"], {})[storey.name] = Polygon(drawn.outline)
    return Plan(
        tuple(Level(storey.name, storey.number - 1, storey.name) for storey in storeys),
        tuple(space for storey in storeys for space in spaces_of(storey)),
        (),
        tuple(door for storey in storeys for door in doors_of(storey)),
        tuple(Connector(ref, kinds[ref], own) for ref, own in places.items()),
        tuple(location for storey in storeys for location in locations_of(storey)),
    )


def spaces_of(storey: Storey) -> list[Space]:
    return [
        Space(
            f"{storey.number} {drawn.name}",
            storey.name,
            Polygon(drawn.outline),
            SpaceKind(drawn.tags["indoor"]),
            drawn.name,
        )
        for drawn in storey.spaces
        if "indoor" in drawn.tags
    ]


def doors_of(storey: Storey) -> list[Door]:
    return [
        Door(f"{storey.number} {at}", storey.name, Polygon(door.outline), door.width_feet)
        for at, door in enumerate(storey.doors)
    ]


def locations_of(storey: Storey) -> list[PlanLocation]:
    return [
        PlanLocation(f"{storey.number} {drawn.name}", storey.name, *drawn.anchor, drawn.name)
        for drawn in storey.spaces
        if drawn.is_amenity or drawn.tags.get("room") == "apartment"
    ]
