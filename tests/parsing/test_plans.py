"""Plans in every format are recognised, unpacked and read, or end with an error for the user."""

import gzip
import json
import pickle
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from random import Random
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import orjson
import pytest

from parsing import archives, plans
from parsing.archives import unpack_gzip, unzip
from parsing.drawing import (
    MAX_EXAMPLES,
    MAX_MESSAGE_CHARS,
    AreaGeometry,
    Bounds,
    Drawing,
    Geometry,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
    ReadingFault,
    ReadingNote,
    SourcePlace,
    compute_bounds,
)
from parsing.errors import DocumentRejectedError, InvalidPlanError, NotWellFormedError, ParsingError
from parsing.limits import check_text_length
from parsing.plans import PlanFormat, read_plan
from samples.venue import make_archive, make_venue
from tests.parsing.geography import OsmPlanBuilder, box

SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg"><rect width="9" height="9" data-tags="indoor=room"/>'
    b"</svg>"
)


def builder() -> OsmPlanBuilder:
    drawn = OsmPlanBuilder()
    drawn.add_way(box(0, 0, 5, 5), indoor="room", level="0")
    return drawn


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"a.svg": SVG}, "svg"),
        ({"a": b"<?xml version='1.0'?><!DOCTYPE svg><!-- a < b -->\n<svg:svg/>"}, "svg"),
        ({"a.svg": b"\xef\xbb\xbf" + SVG}, "svg"),
        ({"a.svg": SVG.decode().encode("utf-16")}, "svg"),
        ({"a.osm": builder().to_osm()}, "osm"),
        ({"a.osm.gz": gzip.compress(builder().to_osm())}, "osm"),
        ({"a.json": b'{"version": 0.6, "osm3s": {"a": "[b]"}, "elements": [{}]}'}, "osm"),
        ({"a.json": b'{"type": "FeatureCollection", "features": [{"elements": [1]}]}'}, "geojson"),
        ({"a.json": b'[{"type": "Feature"}]'}, "geojson"),
        ({"a.json": builder().to_geojson()}, "geojson"),
        ({"a.zip": make_archive(make_venue())}, "imdf"),
        ({f"hall/{name}": content for name, content in make_venue().items()}, "imdf"),
    ],
)
def test_the_format_is_detected_by_content(files: dict[str, bytes], kind: PlanFormat) -> None:
    assert plans.detect_format(files) == kind


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no file was given; expected a unit-map SVG"),
        ({"a.gpx": b"<gpx/>"}, "a.gpx: its root element is <gpx>; expected"),
        ({"a.pbf": b"\0\0\0\x0dOSMHeader"}, "a.pbf: it is none of the formats; expected"),
        ({"a.svg": SVG, "b.osm": b"<osm/>"}, "different formats .a.svg: svg, b.osm: osm"),
    ],
)
def test_an_unknown_format_is_an_error_that_lists_the_known_ones(
    files: dict[str, bytes], message: str
) -> None:
    with pytest.raises(InvalidPlanError, match=message):
        plans.detect_format(files)


@pytest.mark.parametrize(
    ("files", "id_key"),
    [
        ({"a.svg": SVG}, None),
        ({"a.osm": builder().to_osm()}, "osm:id"),
        ({"a.geojson": builder().to_geojson()}, "osm:id"),
        ({"a.zip": make_archive(make_venue())}, "imdf:id"),
    ],
)
def test_every_format_reads_into_the_same_kind_of_drawing(
    files: dict[str, bytes], id_key: str | None
) -> None:
    drawing = plans.read_plan(files, feet_per_unit=0.5)
    assert drawing.id_key == id_key
    assert drawing.feet_per_unit == (1.0 if id_key else 0.5)
    assert drawing.features


@pytest.mark.parametrize(
    ("files", "plan_format", "message"),
    [
        ({"a.svg": SVG}, None, "a.svg: the scale is missing"),
        ({"a.osm": b"<osm>"}, None, "a.osm: line 1, column 6: not well-formed"),
        ({"a": b"{}"}, "osm", "a: elements is missing; expected a list"),
        ({"a": b"{}"}, "imdf", "a: not a zip archive"),
        ({"a": b"{}", "b": b"{}"}, "imdf", "level.geojson is missing"),
        ({"a.svg": SVG, "b.svg": SVG}, None, "2 files of svg; this format takes one"),
    ],
)
def test_errors_name_the_file(
    files: dict[str, bytes], plan_format: PlanFormat | None, message: str
) -> None:
    with pytest.raises(ParsingError, match=message):
        plans.read_plan(files, plan_format)


def test_a_file_of_no_known_format_is_left_out_and_named() -> None:
    files = {"LICENCE": b"MIT", "0.osm": builder().to_osm(), "empty.osm": b""}
    assert plans.detect_format(files) == "osm"
    drawing = plans.read_plan(files)
    assert drawing.features == plans.read_plan({"0.osm": files["0.osm"]}).features
    assert [str(fault) for fault in drawing.faults] == [
        "LICENCE: it is no file of osm, as the others are",
        "empty.osm: it is no file of osm, as the others are",
    ]


def test_a_compressed_file_is_read_like_the_file() -> None:
    xml = builder().to_osm()
    drawing = plans.read_plan({"a.osm.gz": gzip.compress(xml)}, strict=True)
    assert drawing == plans.read_plan({"a.osm": xml})
    with pytest.raises(NotWellFormedError, match=r"^a.osm.gz: compressed with gzip, but cannot be"):
        plans.read_plan({"a.osm.gz": gzip.compress(xml)[:-20]})


@pytest.mark.parametrize(
    ("change", "instead"),
    [
        (lambda whole: whole["features"], "read the features of a list"),
        (lambda whole: whole["features"][0], "read the only feature"),
        (lambda whole: {"features": whole["features"]}, "read one without type"),
        (lambda whole: {"data": whole}, "read from inside: data"),
    ],
)
def test_features_are_read_that_are_in_no_collection(
    change: Callable[[Any], Any], instead: str
) -> None:
    whole = builder().to_geojson()
    drawing = plans.read_plan({"a.json": orjson.dumps(change(orjson.loads(whole)))})
    assert drawing.features == plans.read_plan({"a.json": whole}).features
    assert [fault.message for fault in drawing.faults] == [
        f"expected a GeoJSON FeatureCollection; {instead}"
    ]


@pytest.mark.parametrize("separator", [b"\n", b"\n\x1e"])
def test_a_feature_on_each_line_is_read(separator: bytes) -> None:
    drawn = builder()
    drawn.add_way(box(5, 0, 9, 5), indoor="corridor", level="0")
    whole = drawn.to_geojson()
    lines = separator.join(map(orjson.dumps, orjson.loads(whole)["features"]))
    drawing = plans.read_plan({"a.geojsonl": separator[1:] + lines})
    assert drawing.features == plans.read_plan({"a.json": whole}).features


def test_a_zip_of_other_files_than_imdf_is_read_like_a_folder() -> None:
    members = {
        "hall/0.geojson": builder().to_geojson(),
        "hall/readme.txt": b"the hall",
        "__MACOSX/hall/._0.geojson": b"\0",
    }
    drawing = plans.read_plan({"hall.zip": make_archive(members)})
    assert drawing.features == plans.read_plan({"a": builder().to_geojson()}).features


def test_a_zip_without_any_plan_says_what_it_needs() -> None:
    with pytest.raises(InvalidPlanError, match=r"^a.zip: level.geojson is missing; an IMDF arch"):
        plans.read_plan({"a.zip": make_archive({"readme.txt": b"the hall"})})


def osm_with_faults(count: int) -> bytes:
    more = "".join(f"<node id='{900 + n}' lon='10'/>\n" for n in range(count))
    drawn = builder()
    return drawn.to_osm(more)


def test_faults_are_left_out_and_named_unless_strict() -> None:
    files = {"a.osm": osm_with_faults(2)}
    drawing = plans.read_plan(files)
    assert [str(note) for note in drawing.notes] == [
        "left out, invalid coordinate: 2 (node/900, node/901)"
    ]
    with pytest.raises(InvalidPlanError) as error:
        plans.read_plan(files, strict=True)
    assert str(error.value).splitlines() == [str(fault) for fault in drawing.faults]
    assert str(error.value).splitlines()[1].endswith(": node/901 has no lat")


def test_the_first_faults_are_listed_and_the_rest_counted() -> None:
    with pytest.raises(InvalidPlanError) as error:
        plans.read_plan({"a.osm": osm_with_faults(2_000)}, strict=True)
    lines = str(error.value).splitlines()
    assert (len(lines), lines[-1]) == (51, "and 1,950 more")
    drawing = plans.read_plan({"a.osm": osm_with_faults(2_000)})
    assert len(drawing.faults) == 1_000
    assert [note.count for note in drawing.notes] == [2_000]


def test_an_error_that_ends_the_reading_comes_with_the_faults() -> None:
    broken = "<osm>\n<node id='1' lon='10'/></osm>"
    with pytest.raises(InvalidPlanError, match=r"(?s)no feature has .*\na.osm, line 2: node/1 has"):
        plans.read_plan({"a.osm": broken.encode()})


def test_a_limit_ends_the_reading_in_any_mode() -> None:
    external = b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><osm>&b;</osm>"
    with pytest.raises(DocumentRejectedError, match=r"^b.osm: line 1"):
        plans.read_plan({"a.osm": builder().to_osm(), "b.osm": external})


JUNK: tuple[Any, ...] = (None, True, 3, -1.5, 1e308, "x", "", {}, ((),), "0,5", {"type": "level"})
PLANS_PER_SEED = 60


def break_somewhere(value: Any, random: Random) -> Any:
    """Return JSON with one value removed, repeated or replaced."""
    if not value or not isinstance(value, dict | list) or random.random() < 0.1:
        return random.choice(JUNK)
    items: dict[Any, Any] = dict(enumerate(value)) if isinstance(value, list) else dict(value)
    key = random.choice([*items])
    choice = random.random()
    if choice < 0.15:
        del items[key]
    elif choice < 0.3 and isinstance(value, list):
        items[len(items)] = items[key]
    else:
        items[key] = break_somewhere(items[key], random)
    return [*items.values()] if isinstance(value, list) else items


def read_all(files: dict[str, bytes]) -> Drawing | None:
    with suppress(ParsingError):
        read_plan(files, strict=True)
    with suppress(ParsingError):
        return read_plan(files)
    return None


@pytest.mark.parametrize("seed", range(2))
def test_a_venue_with_any_value_changed(seed: int) -> None:
    random, read = Random(seed), 0
    venue = {name: json.loads(content) for name, content in make_venue().items()}
    for _ in range(PLANS_PER_SEED):
        name = random.choice([*venue])
        broken = {**venue, name: break_somewhere(venue[name], random)}
        drawing = read_all({name: json.dumps(value).encode() for name, value in broken.items()})
        read += drawing is not None
    assert read > PLANS_PER_SEED / 2


@pytest.mark.parametrize("seed", range(2))
def test_an_extract_without_any_of_its_lines(seed: int) -> None:
    builder = OsmPlanBuilder()
    builder.add_way(box(0, 0, 5, 5), indoor="room", level="0", name="Hall")
    builder.add_way(box(5, 0, 9, 5), indoor="corridor", level="0;1")
    builder.add_way([(6, 1), (6, 4)], highway="steps", level="0;1")
    builder.add_way(box(-9, -9, 50, 50), shop="mall")
    builder.add_node((5, 3), door="yes")
    relation = (
        "<relation id='7'>\n<member type='way' ref='1' role='outer'/>\n"
        "<tag k='type' v='multipolygon'/><tag k='indoor' v='area'/><tag k='level' v='1'/>"
        "</relation>"
    )
    lines = builder.to_osm(relation).splitlines(keepends=True)
    random = Random(seed)
    for _ in range(PLANS_PER_SEED):
        inner = [line for line in lines[1:-1] if random.random() < 0.9]
        drawing = read_all({"plan.osm": b"".join([lines[0], *inner, lines[-1]])})
        if drawing is not None:
            named = {fault.part for fault in drawing.faults if "left out" in fault.cause}
            assert named.isdisjoint(feature.id for feature in drawing.features)


def zipped(*members: tuple[str, bytes]) -> bytes:
    archive = BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as opened:
        for name, content in members:
            opened.writestr(name, content)
    return archive.getvalue()


def test_members_come_by_path_without_folders_of_their_own() -> None:
    assert unzip(zipped(("hall/", b""), ("hall/a.json", b"{}"))) == {"hall/a.json": b"{}"}


def test_an_archive_that_unpacks_to_too_much_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 100_000)
    bomb = zipped(("a", bytes(60_000)), ("b", bytes(60_000)))
    assert len(bomb) < 1_000
    with pytest.raises(DocumentRejectedError, match="unpacks to more than 100,000 bytes"):
        unzip(bomb)


def test_a_gzip_bomb_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 100_000)
    half = gzip.compress(bytes(60_000))
    with pytest.raises(DocumentRejectedError, match="b: unpacks to over 100,000 bytes"):
        unpack_gzip({"a": half, "b": half})
    assert unpack_gzip({"a": half, "b": b"plain"}) == {"a": bytes(60_000), "b": b"plain"}


def test_a_false_size_in_the_archive_does_not_evade_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 100_000)
    honest = zipped(("a", bytes(600_000)))
    lying = honest.replace((600_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lying != honest
    with pytest.raises((DocumentRejectedError, NotWellFormedError)):
        unzip(lying)


def test_an_archive_of_too_many_members_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 2)
    with pytest.raises(DocumentRejectedError, match="has 3 members; at most 2"):
        unzip(zipped(("a", b""), ("b", b""), ("c", b"")))


def encrypted() -> bytes:
    """Return an archive with headers that say that its member is encrypted."""
    plain = bytearray(zipped(("a", b"secret")))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        plain[plain.index(signature) + offset] |= 1
    return bytes(plain)


def damaged() -> bytes:
    archive = bytearray(zipped(("a", bytes(range(256)) * 40)))
    archive[60] ^= 0xFF
    return bytes(archive)


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (b"", "not a zip archive"),
        (b"PK\x03\x04 and then nothing", "not a zip archive"),
        (zipped(("a", b"x" * 1000))[:-30], "not a zip archive"),
        (damaged(), "not a zip archive that can be read"),
        (encrypted(), "a is encrypted; make the archive without a password"),
    ],
    ids=[
        "empty",
        "a signature alone",
        "cut off",
        "damaged",
        "encrypted",
    ],  # the bytes hold the time
)
def test_an_unreadable_archive_is_an_error(archive: bytes, message: str) -> None:
    with pytest.raises(NotWellFormedError, match=message):
        unzip(archive)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_an_error() -> None:
    with pytest.raises(NotWellFormedError, match="has a twice"):
        unzip(zipped(("a", b"1"), ("a", b"2")))


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
