"""What is wrong with a venue is named with its place, and the rest is read."""

import json
import re
from typing import Any

import pytest

from parsing.drawing import iter_coordinates
from parsing.errors import InvalidPlanError
from samples.venue import make_venue
from tests.parsing.imdf.venues import (
    Change,
    changed,
    make_feature,
    read_imdf,
    set_member,
    set_property,
)

NOWHERE = {"id": "nowhere", "feature_type": "unit"}


@pytest.mark.parametrize(
    ("kind", "change", "note"),
    [
        ("unit", set_property(1, "category", "ballroom"), "unit category ballroom, read as a room"),
        ("unit", set_property(1, "category", None), "unit category missing, read as a room"),
        ("opening", set_property(2, "category", "hatch"), "opening category hatch, read as a door"),
        ("amenity", set_property(0, "unit_ids", []), "amenity on no unit"),
        ("occupant", set_property(0, "anchor_id", None), "occupant without anchor"),
        ("relationship", set_property(0, "category", "slide"), "relationship slide"),
    ],
)
def test_unknown_terms_are_noted_with_their_id(kind: str, change: Change, note: str) -> None:
    members = changed(kind, change)
    ids = {feature["id"] for feature in json.loads(members[f"{kind}.geojson"])["features"]}
    (found,) = read_imdf(members).notes
    assert found.message == note
    assert ids.issuperset(found.examples)


def test_files_that_are_not_read_are_named() -> None:
    drawing = read_imdf(make_venue() | {"section.geojson": b"", "readme.txt": b""})
    assert [str(note) for note in drawing.notes] == [
        "file not read: 2 (readme.txt, section.geojson)"
    ]


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("unit", set_property(0, "level_id", "attic"), "level_id is 'attic', which no level has"),
        ("unit", set_member(0, "geometry", None), "geometry is missing; a unit has one"),
        ("unit", lambda units: units.clear(), "refers to unit '.*', which is not there"),
        ("level", set_property(0, "ordinal", "first"), "ordinal is 'first'; expected a number"),
        ("opening", set_property(0, "level_id", "attic"), "level_id is 'attic'"),
        ("amenity", set_property(0, "unit_ids", ["x"]), "refers to unit 'x', which is not there"),
        ("occupant", set_property(0, "anchor_id", "x"), "refers to anchor 'x', which is not there"),
        ("anchor", set_property(0, "unit_id", "x"), "refers to unit 'x', which is not there"),
        ("anchor", set_member(0, "geometry", None), "geometry is missing; expected a Point"),
        ("relationship", set_property(0, "origin", NOWHERE), "refers to unit 'nowhere'"),
    ],
)
def test_a_broken_venue_is_an_error_with_file_and_feature(
    kind: str, change: Change, message: str
) -> None:
    members = changed(kind, change)
    with pytest.raises(InvalidPlanError, match=message) as error:
        read_imdf(members, strict=True)
    assert re.match(r".*\.geojson(, line \d+)?: ", str(error.value), re.DOTALL)


def test_a_broken_feature_does_not_end_the_reading() -> None:
    members = changed("occupant", set_property(0, "anchor_id", "x"))
    whole, drawing = read_imdf(make_venue()), read_imdf(members)
    (lost,) = {f.id for f in whole.features} - {f.id for f in drawing.features}
    (fault,) = drawing.faults
    assert (fault.part, fault.file) == (lost, "occupant.geojson")
    assert fault.message == f"occupant {lost} refers to anchor 'x', which is not there"
    assert [str(note) for note in drawing.notes] == [f"left out, reference to nothing: 1 ({lost})"]


def test_a_fault_has_the_position_and_the_level_of_its_feature() -> None:
    whole = read_imdf(make_venue())
    without_level = read_imdf(changed("opening", set_property(0, "level_id", "attic")))
    (fault,) = without_level.faults
    opening = next(feature for feature in whole.features if feature.id == fault.part)
    assert fault.position in list(iter_coordinates(opening.geometry))
    assert fault.levels == ()
    unit = make_feature("unit", 0)
    (fault,) = read_imdf(changed("unit", set_member(0, "geometry", None))).faults[:1]
    assert fault.levels == (unit["properties"]["level_id"],)


def test_the_fault_of_what_is_in_a_unit_has_the_level_of_the_unit() -> None:
    whole, drawing = (
        read_imdf(each)
        for each in (make_venue(), changed("anchor", set_member(0, "geometry", None)))
    )
    (lost,) = (feature for feature in whole.features if feature not in drawing.features)
    assert {fault.part: fault.levels for fault in drawing.faults} == {lost.id: lost.levels}


def test_all_that_is_on_a_level_that_is_left_out_is_one_fault() -> None:
    def disorder(levels: list[Any]) -> None:
        levels[0]["properties"] |= {"ordinal": None, "name": {"en": "Hall"}, "short_name": None}

    whole, drawing = (read_imdf(each) for each in (make_venue(), changed("level", disorder)))
    level = make_feature("level", 0)
    first, second = drawing.faults
    assert first.message == f"level {level['id']} (Hall): ordinal is None; expected a number"
    lost = {feature.id for feature in whole.features} - {feature.id for feature in drawing.features}
    assert second.elements == len(lost - {level["id"]}) > 2
    assert second.message == (
        f"unit {second.part} ({second.name}) and {second.elements - 1} more: level_id is "
        f"{level['id']!r}, but level {level['id']} (Hall) is left out"
    )
    [_, note] = [note for note in drawing.notes if note.message.startswith("left out")]
    assert note.count == second.elements


@pytest.mark.parametrize("name", ["level.geojson", "unit.geojson"])
def test_a_missing_member_is_an_error_that_names_it(name: str) -> None:
    members = make_venue()
    del members[name]
    with pytest.raises(InvalidPlanError, match=f"{name} is missing; an IMDF archive has"):
        read_imdf(members)


@pytest.mark.parametrize("name", ["manifest.json", "venue.geojson"])
def test_a_missing_member_that_is_not_needed_is_named(name: str) -> None:
    members = make_venue()
    del members[name]
    assert [str(fault) for fault in read_imdf(members).faults] == [f"{name} is missing"]


def test_two_venues_in_one_archive_are_an_error() -> None:
    one = {f"a/{name}": content for name, content in make_venue().items()}
    with pytest.raises(InvalidPlanError, match="is there twice; an archive holds one venue"):
        read_imdf(one | {"b/unit.geojson": b""})


@pytest.mark.parametrize("name", ["manifest.json", "venue.geojson", "amenity.geojson"])
def test_a_broken_file_that_archives_may_lack_is_left_out(name: str) -> None:
    drawing = read_imdf(make_venue() | {name: b'{"type": "Feat'})
    (fault,) = drawing.faults
    assert (fault.cause, fault.file) == ("left out, broken file", name)
    assert drawing.features


def test_all_files_that_are_missing_or_broken_are_named_at_once() -> None:
    members = make_venue() | {"unit.geojson": b"{"}
    del members["level.geojson"]
    with pytest.raises(InvalidPlanError) as error:
        read_imdf(members)
    assert re.match(r"(?s)level.geojson is missing.*\nunit.geojson: not JSON", str(error.value))
