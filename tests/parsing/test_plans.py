from typing import Any

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
        ({"a.xml": b"<osm></osm>"}, "osm"),
        ({"a.json": builder().to_geojson()}, "geojson"),
        ({"0.geojson": builder().to_geojson(), "1.geojson": builder().to_geojson()}, "geojson"),
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
        ({"a": b""}, "a: it is none of the formats; expected"),
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
        (make_venue(), "imdf:id"),
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
    ("files", "arguments", "error", "message"),
    [
        (
            {"a.svg": SVG},
            {},
            InvalidPlanError,
            "a.svg: the scale is missing: give the map's feet_per",
        ),
        ({"a.osm": b"<osm>"}, {}, NotWellFormedError, "a.osm: line 1, column 6: not well-formed"),
        (
            {"a": b"{}"},
            {"plan_format": "osm"},
            NotWellFormedError,
            "a: line 1, column 1: not well-formed",
        ),
        ({"a": b"{}"}, {"plan_format": "imdf"}, NotWellFormedError, "a: not a zip archive"),
        (
            {"a": b"{}", "b": b"{}"},
            {"plan_format": "imdf"},
            InvalidPlanError,
            "manifest.json is missing",
        ),
        (
            {"a.svg": SVG, "b.svg": SVG},
            {},
            InvalidPlanError,
            "2 files of svg; this format takes one",
        ),
        (
            {"a.osm": b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><osm>&b;</osm>"},
            {},
            DocumentRejectedError,
            "a.osm: line 1, column .* is outside the document",
        ),
    ],
)
def test_errors_name_the_file(
    files: dict[str, bytes], arguments: dict[str, Any], error: type[ParsingError], message: str
) -> None:
    with pytest.raises(error, match=message):
        plans.read_plan(files, **arguments)
