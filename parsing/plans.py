"""Floor plans in any of the formats that are read: which one it is, and the drawing in it."""

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

from parsing.archives import ZIP_SIGNATURES, unzip
from parsing.drawing import Drawing
from parsing.errors import InvalidPlanError, ParsingError
from parsing.imdf import reader
from parsing.osm import geojson, osm_xml
from parsing.svg import floor_plan

PlanFormat: TypeAlias = Literal["svg", "osm", "geojson", "imdf"]
PLAN_FORMATS: Final[tuple[PlanFormat, ...]] = get_args(PlanFormat)

ROOT_ELEMENT: Final = re.compile(r"<(?![?!])(?:[\w.-]+:)?(\w+)")
FORMAT_BY_ROOT: Final[Mapping[str, PlanFormat]] = {"svg": "svg", "osm": "osm"}
HEAD_BYTES: Final = 4096
EXPECTED_FORMATS: Final = (
    "expected a unit-map SVG, OpenStreetMap XML or GeoJSON with indoor tags, or an IMDF archive"
)


def detect_format(files: Mapping[str, bytes]) -> PlanFormat:
    """The format of a plan in one file or several, by name. Raises `InvalidPlan`."""
    if not files:
        raise InvalidPlanError(f"no file was given; {EXPECTED_FORMATS}")
    if any(name.rpartition("/")[2] == "manifest.json" for name in files):
        return "imdf"
    found = {name: _detect_file_format(name, content) for name, content in files.items()}
    if len(set(found.values())) > 1:
        formats = ", ".join(f"{name}: {kind}" for name, kind in found.items())
        raise InvalidPlanError(f"the files have different formats ({formats}); a plan has one")
    return next(iter(found.values()))


def read_plan(
    files: Mapping[str, bytes],
    plan_format: PlanFormat | None = None,
    feet_per_unit: float | None = None,
) -> Drawing:
    """The drawing in a file, in an archive, or in several files that make one plan.

    `files` are contents by name, a directory's or an archive's members among them.
    `feet_per_unit` is the scale of a unit-map SVG; the other formats are in degrees, and are
    read into feet. Raises `ParsingError`.
    """
    kind = plan_format or detect_format(files)
    if kind == "geojson":
        return geojson.read_geojson(files)
    if kind == "imdf":
        return _read_imdf(files)
    if len(files) > 1:
        raise InvalidPlanError(f"{len(files)} files of {kind}; this format takes one")
    name, content = next(iter(files.items()))
    try:
        if kind == "osm":
            return osm_xml.read_osm_xml(content)
        if feet_per_unit is None:
            raise InvalidPlanError("the scale is missing: give the map's feet_per_unit")
        return floor_plan.read_svg_plan(content, feet_per_unit)
    except ParsingError as error:
        raise type(error)(f"{name}: {error}") from error


def _read_imdf(files: Mapping[str, bytes]) -> Drawing:
    if len(files) > 1:
        return reader.read_imdf(files)
    name, archive = next(iter(files.items()))
    try:
        return reader.read_imdf(unzip(archive))
    except ParsingError as error:
        raise type(error)(f"{name}: {error}") from error


def _detect_file_format(name: str, content: bytes) -> PlanFormat:
    if content.startswith(ZIP_SIGNATURES):
        return "imdf"
    head = _decode_head(content[:HEAD_BYTES]).lstrip("\ufeff \t\r\n")
    if head.startswith("{"):
        return "geojson"
    root = ROOT_ELEMENT.search(head) if head.startswith("<") else None
    kind = FORMAT_BY_ROOT.get(root[1]) if root else None
    if kind is None and not root and head.startswith("<"):
        kind = FORMAT_BY_ROOT.get(name.rpartition(".")[2].lower())
    if kind is None:
        found = f"its root element is <{root[1]}>" if root else "it is none of the formats"
        raise InvalidPlanError(f"{name}: {found}; {EXPECTED_FORMATS}")
    return kind


def _decode_head(head: bytes) -> str:
    """Enough of a document's text to see how it starts, whatever its encoding."""
    return (
        head.replace(b"\0", b"")
        .removeprefix(b"\xff\xfe")
        .removeprefix(b"\xfe\xff")
        .decode("utf-8", "replace")
    )
