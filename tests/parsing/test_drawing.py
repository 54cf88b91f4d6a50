import pickle

import pytest

from parsing.drawing import (
    MAX_EXAMPLES,
    MAX_MESSAGE_CHARS,
    AreaGeometry,
    Bounds,
    Geometry,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
    ReadingFault,
    ReadingNote,
    SourcePlace,
    compute_bounds,
)
from parsing.errors import DocumentRejectedError, InvalidPlanError, ParsingError
from parsing.limits import check_text_length

GEOMETRIES: list[Geometry] = [
    PointGeometry((1, 9)),
    LinesGeometry((((0, 0), (5, 0)), ((2, 2), (3, 3)))),
    AreaGeometry((((0, 0), (4, 0), (4, 7)),)),
]


def test_bounds_cover_all_geometries() -> None:
    assert compute_bounds(GEOMETRIES) == Bounds(west=0, north=0, east=5, south=9)


def test_notes_are_counted_by_message_in_order_of_first_occurrence() -> None:
    collector = NoteCollector()
    for number in range(MAX_EXAMPLES + 2):
        collector.add("without extent", f"wall-{number}")
    collector.add("without tags")
    without_extent, without_tags = collector.notes()
    assert without_extent.count == MAX_EXAMPLES + 2
    assert len(without_extent.examples) == MAX_EXAMPLES
    assert without_tags == ReadingNote("without tags", 1)


def test_a_note_shows_when_there_are_more_examples() -> None:
    assert str(ReadingNote("lost", 2, ("a", "b"))) == "lost: 2 (a, b)"
    assert str(ReadingNote("lost", 9, ("a", "b"))) == "lost: 9 (a, b, ...)"
    assert str(ReadingNote("lost", 9)) == "lost: 9"


def test_a_fault_is_counted_under_its_cause_with_its_part_or_its_place() -> None:
    collector = NoteCollector()
    collector.add_fault(ReadingFault("left out, duplicate id", "way/1 is there twice", "way/1"))
    collector.add_fault(ReadingFault("trailing comma", "a comma", file="a.json", line=10))
    collector.add_fault(ReadingFault("file missing", "none", file="b.json"))
    assert [str(note) for note in collector.notes()] == [
        "left out, duplicate id: 1 (way/1)",
        "trailing comma: 1 (a.json:10)",
        "file missing: 1 (b.json)",
    ]
    assert collector.describe_faults().splitlines() == [
        "way/1 is there twice",
        "a.json, line 10: a comma",
        "b.json: none",
    ]


def test_a_message_that_quotes_a_long_value_is_cut() -> None:
    collector = NoteCollector()
    collector.add_fault(ReadingFault("left out", "x" * 10_000))
    assert collector.faults[0].message == "x" * MAX_MESSAGE_CHARS + "..."


def test_a_fault_without_a_line_gets_that_of_its_part() -> None:
    collector = NoteCollector()
    collector.places["way/1"] = SourcePlace("plan.osm", 7)
    fault = ReadingFault("left out, ring not closed", "way/1 is not closed", "way/1", "plan.osm")
    collector.add_fault(fault)
    collector.add_fault(fault._replace(line=9))
    collector.add_fault(fault._replace(file="other.osm"))  # a way of the same id
    assert [(each.file, each.line) for each in collector.faults] == [
        ("plan.osm", 7),
        ("plan.osm", 9),
        ("other.osm", 0),
    ]


# Errors have a position, cross processes, and name the limits.


def test_the_message_starts_with_the_position_if_it_is_known() -> None:
    assert str(InvalidPlanError("no room")) == "no room"
    assert str(InvalidPlanError("no room").with_position((3, 14))) == "line 3, column 14: no room"


def test_an_error_survives_pickling_with_its_type_and_position() -> None:
    copy: ParsingError = pickle.loads(pickle.dumps(InvalidPlanError("no room", 3, 14)))
    assert type(copy) is InvalidPlanError
    assert (copy.message, copy.line, copy.column) == ("no room", 3, 14)


def test_text_up_to_the_limit_is_returned() -> None:
    assert check_text_length("abc", "id", 3) == "abc"


def test_longer_text_is_rejected_with_the_attribute_and_the_limit() -> None:
    with pytest.raises(DocumentRejectedError, match="id has 4 characters; at most 3 are read"):
        check_text_length("abcd", "id", 3)
