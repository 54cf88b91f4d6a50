"""Relationships of IMDF join lifts, stairs and escalators, and make doors one-way."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from parsing.drawing import AreaGeometry, Geometry, LinesGeometry, NoteCollector, PointGeometry
from parsing.imdf.records import ImdfRecord
from parsing.imdf.relationships import derive_connector_tags, derive_door_tags
from parsing.plans import read_plan
from samples.venue import feature_id, make_venue
from tests.parsing.geography import box, lon_lat

ORDINALS = {"ground": 0.0, "first": 1.0}


def record(kind: str, name: str, geometry: Geometry | None = None, **properties: Any) -> ImdfRecord:
    return ImdfRecord(f"{kind}.geojson", kind, name, properties, geometry)


def unit(name: str, category: str, level: str) -> ImdfRecord:
    return record("unit", name, category=category, level_id=level)


def relate(category: str, direction: str, *units: str, through: str = "") -> ImdfRecord:
    ends = [{"id": unit, "feature_type": "unit"} for unit in units]
    return record(
        "relationship",
        " to ".join(units),
        category=category,
        direction=direction,
        origin=ends[0],
        intermediary=[{"id": through, "feature_type": "opening"}] if through else [],
        destination=ends[-1],
    )


UNITS = {
    record.id: record
    for record in (
        unit("a", "elevator", "ground"),
        unit("b", "elevator", "first"),
        unit("c", "elevator", "first"),
        unit("up", "escalator", "ground"),
        unit("top", "escalator", "first"),
        unit("shop", "room", "ground"),
    )
}


def derive_connectors(
    *relationships: ImdfRecord,
) -> tuple[Mapping[str, Mapping[str, str]], list[str]]:
    collector = NoteCollector()
    records = {"unit": UNITS, "relationship": {record.id: record for record in relationships}}
    tags = derive_connector_tags(records, ORDINALS, collector)
    return tags, [note.message for note in collector.notes()]


def test_relationships_with_a_common_unit_make_one_connector() -> None:
    tags, _ = derive_connectors(
        relate("elevator", "undirected", "b", "c"), relate("elevator", "undirected", "a", "b")
    )
    assert tags == {name: {"ref": "a"} for name in "abc"}


def test_a_directed_escalator_has_the_incline_of_its_levels() -> None:
    up, _ = derive_connectors(relate("escalator", "directed", "up", "top"))
    down, _ = derive_connectors(relate("escalator", "directed", "top", "up"))
    assert up["up"] == {"ref": "top", "incline": "up", "conveying": "forward"}
    assert down["up"]["incline"] == "down"


def test_a_relationship_that_joins_no_two_connectors_is_noted() -> None:
    assert derive_connectors(relate("elevator", "undirected", "a", "shop")) == (
        {},
        ["elevator that joins no two units"],
    )


def test_a_relationship_with_an_unknown_unit_is_left_out() -> None:
    assert derive_connectors(relate("elevator", "undirected", "a", "x")) == (
        {},
        ["left out, reference to nothing"],
    )


HALL = AreaGeometry((tuple(lon_lat(at) for at in box(0, 0, 10, 10)[:-1]),))
SHOP = AreaGeometry((tuple(lon_lat(at) for at in box(10.5, 0, 20, 10)[:-1]),))
"""East of the hall, behind a wall."""


DOOR = LinesGeometry(((lon_lat((10.2, 4)), lon_lat((10.2, 6))),))
SLANTED = LinesGeometry(((lon_lat((10, 4)), lon_lat((10.5, 6))),))


def traverse(*ends: tuple[str, str], direction: str = "directed", through: str = "door") -> Any:
    """Return a traversal for each pair of units."""
    return [relate("traversal", direction, *pair, through=through) for pair in ends]


def derive_doors(
    relationships: list[ImdfRecord], door: Geometry = DOOR
) -> tuple[dict[str, dict[str, str]], list[str]]:
    collector = NoteCollector()
    records = {
        "unit": {"hall": record("unit", "hall", HALL), "shop": record("unit", "shop", SHOP)},
        "opening": {"door": record("opening", "door", door)},
        "relationship": {each.id: each for each in relationships},
    }
    return derive_door_tags(records, collector), [note.message for note in collector.notes()]


@pytest.mark.parametrize(
    ("ends", "door", "bearing"),
    [
        (("hall", "shop"), DOOR, "90.0"),
        (("shop", "hall"), DOOR, "270.0"),
        (("hall", "shop"), SLANTED, "104.0"),
    ],
)
def test_the_direction_leads_away_from_the_origin(
    ends: tuple[str, str], door: Geometry, bearing: str
) -> None:
    tags, notes = derive_doors(traverse(ends), door)
    assert tags == {"door": {"oneway": "yes", "direction": bearing}}
    assert notes == []


def test_a_door_that_is_traversed_both_ways_is_no_one_way_door() -> None:
    both = [("hall", "shop"), ("shop", "hall")]
    assert derive_doors(traverse(*both)) == ({}, [])
    assert derive_doors(traverse(both[0], direction="undirected")) == ({}, [])
    undirected = traverse(both[1], direction="undirected")
    assert derive_doors([*traverse(both[0]), *undirected]) == ({}, [])


@pytest.mark.parametrize(
    ("relationships", "door", "note"),
    [
        (traverse(("hall", "shop"), through="no door"), DOOR, "traversal without an opening"),
        (
            traverse(("hall", "shop")),
            PointGeometry(lon_lat((10.2, 5))),
            "one-way traversal, read as one in both ways",
        ),
        (traverse(("cellar", "shop")), DOOR, "one-way traversal, read as one in both ways"),
    ],
)
def test_a_traversal_of_unknown_direction_is_noted(
    relationships: list[ImdfRecord], door: Geometry, note: str
) -> None:
    assert derive_doors(relationships, door) == ({}, [note])


def test_the_door_of_an_archive_has_the_direction() -> None:
    members = make_venue()
    relationships = json.loads(members["relationship.geojson"])
    [added] = traverse((feature_id("unit", "bakery"), feature_id("unit", "concourse")))
    door = feature_id("opening", "bakery-door")
    added.properties["intermediary"][0]["id"] = door
    relationships["features"].append(
        {
            "type": "Feature",
            "feature_type": "relationship",
            "id": "8a7c3f4e-0000-4000-8000-000000000001",
            "geometry": None,
            "properties": added.properties,
        }
    )
    members["relationship.geojson"] = json.dumps(relationships).encode()
    [tags] = [feature.tags for feature in read_plan(members, "imdf").features if feature.id == door]
    assert (tags["oneway"], tags["direction"]) == ("yes", "180.0")
