"""The demo building as a plan has every space, door and link that its generator draws."""

from collections import Counter

import pytest
from shapely import Point

from bench.data.demo_plan import build_demo
from routing.plan import ConnectorKind, Plan, SpaceKind
from samples.buildings.alder_court import build_alder_court
from tests.bench.data.plans import assert_sound, assert_spaces_apart, spaces_at

STOREYS = build_alder_court().storeys


@pytest.fixture(scope="module")
def plan() -> Plan:
    return build_demo()


def test_it_is_a_plan_without_contradictions(plan: Plan) -> None:
    assert_sound(plan)
    assert_spaces_apart(plan)
    assert {space.kind for space in plan.spaces} >= {SpaceKind.ROOM, SpaceKind.CORRIDOR}


def test_levels_are_the_storeys_from_the_ground_up(plan: Plan) -> None:
    assert [level.id for level in plan.levels] == [storey.name for storey in STOREYS]
    assert [level.ordinal for level in plan.levels] == [*range(len(STOREYS))]


def test_every_apartment_and_amenity_is_a_location(plan: Plan) -> None:
    names = Counter((location.level_id, location.name) for location in plan.locations)
    apartments = {
        (storey.name, apartment.space.name) for storey in STOREYS for apartment in storey.apartments
    }
    amenities = {
        (storey.name, drawn.name)
        for storey in STOREYS
        for drawn in storey.spaces
        if drawn.is_amenity
    }
    assert apartments and amenities
    assert names == Counter(apartments | amenities)


def test_a_location_stands_in_the_space_that_it_is_named_after(plan: Plan) -> None:
    """The pool alone lies outdoors, where there are no spaces."""
    outdoors = []
    for location in plan.locations:
        spaces = spaces_at(plan, location.level_id, location.x, location.y)
        assert {space.name for space in spaces} <= {location.name}
        outdoors += [location.name] if not spaces else []
    assert outdoors == ["Pool"]


def test_every_door_is_at_the_edge_of_a_space(plan: Plan) -> None:
    assert len(plan.doors) == sum(len(storey.doors) for storey in STOREYS)
    for door in plan.doors:
        edges = [x.polygon.boundary for x in plan.spaces if x.level_id == door.level_id]
        assert min(edge.distance(door.geometry) for edge in edges) < 0.01
        assert door.width_feet is not None and door.width_feet > 2


def test_lifts_and_stairs_are_where_they_are_drawn_on_every_storey(plan: Plan) -> None:
    kinds = {connector.kind for connector in plan.connectors}
    assert kinds >= {ConnectorKind.ELEVATOR, ConnectorKind.STEPS}
    drawn = Counter(connector.tags["ref"] for storey in STOREYS for connector in storey.connectors)
    assert {x.id: len(x.entrances) for x in plan.connectors} == drawn
    for connector in plan.connectors:
        first, *others = connector.entrances.values()
        if connector.kind == ConnectorKind.ELEVATOR:
            centre = Point(first.centroid)
            assert all(other.contains(centre) for other in others)
