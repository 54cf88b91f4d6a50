from collections.abc import Mapping

from parsing.drawing import NoteCollector
from parsing.imdf.links import derive_connector_tags
from parsing.imdf.records import ImdfRecord

ORDINALS = {"ground": 0.0, "first": 1.0}


def unit(unit_id: str, category: str, level_id: str) -> ImdfRecord:
    return ImdfRecord(
        "unit.geojson", "unit", unit_id, {"category": category, "level_id": level_id}, None
    )


def relationship(category: str, direction: str, *unit_ids: str) -> ImdfRecord:
    ends = [{"id": unit_id, "feature_type": "unit"} for unit_id in unit_ids]
    properties = {
        "category": category,
        "direction": direction,
        "origin": ends[0],
        "intermediary": ends[1:-1],
        "destination": ends[-1],
    }
    return ImdfRecord("relationship.geojson", "relationship", "-".join(unit_ids), properties, None)


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


def derive(*relationships: ImdfRecord) -> tuple[Mapping[str, Mapping[str, str]], list[str]]:
    collector = NoteCollector()
    records = {"unit": UNITS, "relationship": {record.id: record for record in relationships}}
    tags = derive_connector_tags(records, ORDINALS, collector)
    return tags, [note.message for note in collector.notes()]


def test_relationships_with_a_common_unit_make_one_connector() -> None:
    tags, _ = derive(
        relationship("elevator", "undirected", "b", "c"),
        relationship("elevator", "undirected", "a", "b"),
    )
    assert tags == {name: {"ref": "a"} for name in "abc"}


def test_a_directed_escalator_has_the_incline_of_its_levels() -> None:
    up, _ = derive(relationship("escalator", "directed", "up", "top"))
    down, _ = derive(relationship("escalator", "directed", "top", "up"))
    assert up["up"] == {"ref": "top", "incline": "up", "conveying": "forward"}
    assert down["up"]["incline"] == "down"


def test_a_relationship_that_joins_no_two_connectors_is_noted() -> None:
    assert derive(relationship("elevator", "undirected", "a", "shop")) == (
        {},
        ["elevator that joins no two units"],
    )


def test_a_relationship_with_an_unknown_unit_is_left_out() -> None:
    assert derive(relationship("elevator", "undirected", "a", "x")) == (
        {},
        ["left out, reference to nothing"],
    )
