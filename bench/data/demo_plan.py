"""The plan of Alder Court, the demo building, with a location for every apartment and amenity."""

from __future__ import annotations

from shapely import Polygon

from routing.plan import Connector, ConnectorKind, Door, Level, Plan, PlanLocation, Space, SpaceKind
from samples.buildings.alder_court import build_alder_court
from samples.buildings.plan import Storey


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
