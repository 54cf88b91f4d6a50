"""Detect the format of a floor plan and read it."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Literal, TypeAlias, get_args

from parsing.archives import GZIP_SIGNATURE, ZIP_SIGNATURES, read_gzip, unpack_gzip, unzip
from parsing.drawing import Drawing, NoteCollector
from parsing.errors import DocumentRejectedError, InvalidPlanError, NotWellFormedError, ParsingError
from parsing.geo.geojson import parse_collections
from parsing.imdf import reader
from parsing.osm import extracts, indoor_geojson
from parsing.osm.extracts import OSM_JSON_START
from parsing.svg import floor_plan

PlanFormat: TypeAlias = Literal["svg", "osm", "geojson", "imdf"]
PLAN_FORMATS: Final[tuple[PlanFormat, ...]] = get_args(PlanFormat)

ROOT_ELEMENT: Final = re.compile(r"<(?![?!])(?:[\w.-]+:)?(\w+)")
JSON_START: Final = re.compile(r"\x1e?\{|\[\s*\{")
FORMAT_BY_ROOT: Final[Mapping[str, PlanFormat]] = {"svg": "svg", "osm": "osm"}
# A file of a plan in a zip; not what an operating system adds to it.
PLAN_NAME: Final = re.compile(r"(?!__MACOSX|.*/\.|\.).*\.(?:geojson|json|osm|svg)", re.IGNORECASE)
HEAD_BYTES: Final = 4096
MAX_NAMED_FILES: Final = 8
EXPECTED_FORMATS: Final = (
    "expected a unit-map SVG, OpenStreetMap XML or JSON, GeoJSON with indoor tags, or an IMDF "
    "archive"
)


def detect_format(files: Mapping[str, bytes]) -> PlanFormat:
    """Return the format of a plan, detected from the contents of its files by name.

    Files of unknown formats, such as a licence, may be among them. Raises `InvalidPlanError` if
    there is no file, no known format, or more than one.

    >>> detect_format({"plan.xml": b"<?xml version='1.0'?><osm version='0.6'/>"})
    'osm'
    """
    if not files:
        raise InvalidPlanError(f"no file was given; {EXPECTED_FORMATS}")
    if any(name.rpartition("/")[2] == "manifest.json" for name in files):
        return "imdf"
    formats = _detect_known(files)
    if not formats:
        return _detect_file_format(*next(iter(files.items())))
    if len(set(formats.values())) > 1:
        listed = ", ".join(f"{name}: {kind}" for name, kind in formats.items())
        raise InvalidPlanError(f"the files have different formats ({listed}); a plan has one")
    return next(iter(formats.values()))


def read_plan(
    files: Mapping[str, bytes],
    plan_format: PlanFormat | None = None,
    feet_per_unit: float | None = None,
    *,
    strict: bool = False,
) -> Drawing:
    """Read a plan from a file, an archive, or several files that belong together.

    `files` maps names to contents; the members of a directory or an archive count as files.
    `feet_per_unit` is the scale of a unit-map SVG and required for it; the other formats are in
    degrees and are projected to feet. Faulty elements are left out and are the drawing's `faults`;
    if `strict`, they are an error. Raises `ParsingError`, which has all errors and faults.
    """
    files = unpack_gzip(files)
    kind = plan_format or detect_format(files)
    collector = NoteCollector()
    try:
        plan_files = _leave_out_others(files, kind, collector)
        drawing = _read(plan_files, kind, feet_per_unit, collector)
    except ParsingError as error:
        message = f"{_label(files, kind, collector)}{error}"
        if collector.faults and not isinstance(error, DocumentRejectedError):
            message = f"{message}\n{collector.describe_faults()}"
        raise type(error)(message) from error
    if strict and collector.faults:
        raise InvalidPlanError(collector.describe_faults())
    return drawing


def _label(files: Mapping[str, bytes], kind: PlanFormat, collector: NoteCollector) -> str:
    """Return the names of the files for an error that does not name its own."""
    if (kind == "imdf" and len(files) > 1) or (kind != "imdf" and collector.errors):
        return ""
    return f"{', '.join(files)}: " if len(files) <= MAX_NAMED_FILES else ""


def _detect_known(files: Mapping[str, bytes]) -> dict[str, PlanFormat]:
    formats = {}
    for name, content in files.items():
        with suppress(InvalidPlanError, NotWellFormedError):
            formats[name] = _detect_file_format(name, content)
    return formats


def _leave_out_others(
    files: Mapping[str, bytes], kind: PlanFormat, collector: NoteCollector
) -> Mapping[str, bytes]:
    """Return the files that look like the format, or all if none does."""
    formats = _detect_known(files)
    if kind == "imdf" or kind not in formats.values():
        return files
    for name in (name for name in files if formats.get(name) != kind):
        message = f"it is no file of {kind}, as the others are"
        collector.leave_out("other format", message, file=name)
    return {name: content for name, content in files.items() if formats.get(name) == kind}


def _read(
    files: Mapping[str, bytes],
    kind: PlanFormat,
    feet_per_unit: float | None,
    collector: NoteCollector,
) -> Drawing:
    if kind == "geojson":
        return _read_geojson(files, collector)
    if kind == "osm":
        return extracts.read_osm_xml(files, collector)
    if kind == "imdf" and len(files) > 1:
        return reader.read_imdf(files, collector)
    if len(files) > 1:
        raise InvalidPlanError(
            f"{len(files)} files of {kind}; this format takes one, with a Level for each storey"
        )
    ((name, content),) = files.items()
    if kind == "imdf":
        return _read_archive(content, feet_per_unit, collector)
    if feet_per_unit is None:
        raise InvalidPlanError("the scale is missing: give the map's feet_per_unit")
    return floor_plan.read_svg_plan(content, feet_per_unit, collector, file=name)


def _read_archive(archive: bytes, feet_per_unit: float | None, collector: NoteCollector) -> Drawing:
    """Read a zip of an IMDF archive, or of the files of a plan in another format."""
    members = unzip(archive)
    names = {name.rpartition("/")[2] for name in members}
    plans = {name: members[name] for name in members if PLAN_NAME.fullmatch(name)}
    if plans and names.isdisjoint(reader.EXPECTED_FILES):
        kind = detect_format(plans)
        return _read(_leave_out_others(plans, kind, collector), kind, feet_per_unit, collector)
    return reader.read_imdf(members, collector)


def _read_geojson(files: Mapping[str, bytes], collector: NoteCollector) -> Drawing:
    """Read GeoJSON; the features of an IMDF archive need not be in files of their own."""
    collections = []
    for name, content in files.items():
        with collector.reading_file(name):
            collections.append(parse_collections(content, name, collector))
    collector.raise_errors()
    features = [feature for collection in collections for feature in collection]
    if reader.is_imdf(features):
        if len(files) > 1:
            reader.note_missing_files({name.rpartition("/")[2] for name in files}, collector)
        return reader.read_imdf_features(features, collector)
    return indoor_geojson.read_features(collections, collector)


def _detect_file_format(name: str, content: bytes) -> PlanFormat:
    if content.startswith(ZIP_SIGNATURES):
        return "imdf"
    if content.startswith(GZIP_SIGNATURE):
        content = read_gzip(content, HEAD_BYTES, name)
    head = _decode_head(content[:HEAD_BYTES]).lstrip("\ufeff \t\r\n")
    if OSM_JSON_START.match(head):
        return "osm"
    if JSON_START.match(head):
        return "geojson"
    root = ROOT_ELEMENT.search(head) if head.startswith("<") else None
    kind = FORMAT_BY_ROOT.get(root[1]) if root else None
    if kind is None and not root and head.startswith("<"):
        kind = FORMAT_BY_ROOT.get(name.rpartition(".")[2].lower())
    if kind is None:
        reason = f"its root element is <{root[1]}>" if root else "it is none of the formats"
        raise InvalidPlanError(f"{name}: {reason}; {EXPECTED_FORMATS}")
    return kind


def _decode_head(head: bytes) -> str:
    """Decode enough of a document to see how it starts.

    Dropping NUL bytes makes ASCII characters readable in UTF-16 and UTF-32 alike.
    """
    return (
        head.replace(b"\0", b"")
        .removeprefix(b"\xff\xfe")
        .removeprefix(b"\xfe\xff")
        .decode("utf-8", "replace")
    )
