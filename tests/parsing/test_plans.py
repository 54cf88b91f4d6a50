import gzip
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from parsing import plans
from parsing.errors import DocumentRejectedError, InvalidPlanError, NotWellFormedError, ParsingError
from parsing.plans import PlanFormat
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
