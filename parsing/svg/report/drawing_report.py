"""Collect the warnings of one drawing and the summary of its map while it is walked."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Final, NamedTuple

from parsing.errors import DocumentRejectedError
from parsing.svg.elements import Georeference, Group, Shape
from parsing.svg.geometry.matrices import AffineTransform, parse_transform
from parsing.svg.geometry.outlines import find_start
from parsing.svg.identities import HIT_PREFIX, is_generated_id
from parsing.svg.naming.layer_names import GROUP_TYPES, suggest_type
from parsing.svg.report.clips import find_canvas_clips
from parsing.svg.report.pictures import find_picture_patterns
from parsing.svg.report.warnings import (
    MAX_PLACES,
    ParseWarning,
    WarningCollector,
    ignore_faults,
    quote,
)
from parsing.xml.decoding import XmlDocument

MAX_CHECKED_IDS: Final = 100_000
"""Ids of Levels, of units and of hit areas that are compared."""
MAX_CHECKED_STARTS: Final = 2_000
"""Units, and hit areas, of which it is checked whether they begin on the canvas."""
MAX_ID_CHARACTERS: Final = 255
MAX_IMAGE_SHARE: Final = 0.5
"""Share of the canvas that images may cover in a drawing of few shapes."""
FEW_SHAPES: Final = 10

LEFT_OUT_CAUSES: Final = {"text": "text", "image": "image", "foreignObject": "foreign-object"}
REFERENCE_CAUSES: Final = {
    "clip-path": "clip",
    "mask": "mask",
    "filter": "filter",
    "marker": "marker",
    "marker-start": "marker",
    "marker-mid": "marker",
    "marker-end": "marker",
}
REFERENCE_ATTRIBUTES: Final = frozenset({*REFERENCE_CAUSES, "style"})
DECLARED_REFERENCE: Final = re.compile(
    r"(?:^|[\s;{])(clip-path|mask|filter|marker(?:-start|-mid|-end)?)\s*:\s*(url\([^;{}]{1,80})"
)
INKSCAPE_NAMESPACE: Final = b"http://www.inkscape.org/namespaces/inkscape"
IDENTITY: Final = AffineTransform()
GEOREFERENCE_RANGES: Final = {
    "latitude": (-90, 90),
    "longitude": (-180, 180),
    "zoom": (0, 24),
    "bearing": (-360, 360),
    "pitch": (0, 90),
}


class MapSummary(NamedTuple):
    """How many parts of each kind a map has; `shapes` are the others."""

    levels: Annotated[int, "How many Levels."]
    units: Annotated[int, "How many Units."]
    hit_areas: Annotated[int, "How many HitAreas."]
    shapes: Annotated[int, "How many other shapes."]


class DrawingReport:
    """What is told about a drawing in addition to its parts."""

    def __init__(self) -> None:
        self._warnings = WarningCollector()
        self.canvas = (0.0, 0.0)
        self.has_references = False
        """Whether the drawing refers to any gradient, clip or the like."""
        self._is_from_inkscape = False
        self._level_ids: set[str] = set()
        # The start tag of the first of each id.
        self._unit_ordinals: dict[str, int] = {}
        self._hit_area_ordinals: dict[str, int] = {}
        self._target_ordinals: dict[str, int] = {}
        self._clips: list[tuple[int, str, str, str, str]] = []
        self._georeferences = 0
        self._misspelt_types = 0
        self._image_area = 0.0
        self._painted: list[tuple[str, float]] = []  # what Rects are painted with, and their areas
        self._levels = self._units = self._hit_areas = 0
        self._outside_ordinals: list[int] = []
        self.shapes = 0
        """Visible shapes that are neither units nor hit areas."""

    def begin(self, text: bytes, style_sheet: str) -> None:
        """Receive the text of the drawing and the rules in it."""
        self.has_references = b"url(" in text
        self._is_from_inkscape = INKSCAPE_NAMESPACE in text
        for name, _ in DECLARED_REFERENCE.findall(style_sheet):
            self._warnings.add(REFERENCE_CAUSES[name], 0, detail=f"{name} of a rule in <style>")

    @property
    def summary(self) -> MapSummary:
        """Return the counts so far."""
        return MapSummary(self._levels, self._units, self._hit_areas, self.shapes)

    def add_name(self, name: str, kind: str, ordinal: int) -> None:
        """Report that a name of a group is read as its type."""
        detail = f"read as {kind}: group named {quote(name)!r}"
        self._warnings.add("read-as", ordinal, "g", name, detail=detail)

    def suggest_name(self, name: str, suggestion: str, ordinal: int) -> None:
        """Report a name of a group that is almost markup."""
        detail = f"{quote(name)!r}; did you mean {suggestion!r}?"
        self._warnings.add("misspelt-name", ordinal, "g", name, detail=detail)

    def ignore_name(self, name: str, kind: str, ordinal: int) -> None:
        """Report a name that would be markup if the drawing had no attributes for it."""
        detail = f"{quote(name)!r} would be a {kind}"
        self._warnings.add("name-not-read", ordinal, "g", name, detail=detail)

    def check_type(self, kind: str, element_id: str, ordinal: int) -> None:
        """Report a `data-type` of a group that is no type."""
        if kind in GROUP_TYPES:
            return
        self._misspelt_types += 1
        suggestion = suggest_type(kind[:40]) if self._misspelt_types <= MAX_PLACES else ""
        hint = f"; did you mean {suggestion!r}?" if suggestion else ""
        detail = f"{quote(kind)!r}{hint}"
        self._warnings.add("misspelt-type", ordinal, "g", element_id, detail=detail)

    def add_level(self, level: Group, ordinal: int) -> None:
        """Count a Level and check its id."""
        self._levels += 1
        if level.id and self._levels <= MAX_CHECKED_IDS:
            self._check_id(level.id, level.id in self._level_ids, "g", None, ordinal)
            self._level_ids.add(level.id)

    def add_layer(self, level: Group | None, ordinal: int) -> None:
        """Note a UnitLayer or HitAreaLayer that is outside of every Level."""
        if level is None and len(self._outside_ordinals) < MAX_CHECKED_IDS:
            self._outside_ordinals.append(ordinal)

    def add_georeference(self, georeference: Georeference, ordinal: int) -> None:
        """Check the ranges of a Georeference."""
        self._georeferences += 1
        if self._georeferences > 1:
            self._warnings.add("georeferences", ordinal, "g")
        for name, value in georeference._asdict().items():
            low, high = GEOREFERENCE_RANGES[name]
            if not low <= value <= high:
                detail = f"{name} is {value}"
                self._warnings.add("georeference-range", ordinal, "g", detail=detail)

    def leave_out(
        self, element: str, attributes: Mapping[str, str], level: Group | None, ordinal: int
    ) -> None:
        """Report an element that a unit map cannot have."""
        code, name = LEFT_OUT_CAUSES[element], attributes.get("id", "")
        self._warnings.add(code, ordinal, element, name, _level_id(level))

    def add_image(self, width: float, height: float, transform: str) -> None:
        """Add the part of the canvas that an image covers."""
        self._image_area += self._covered_area(width, height, transform)

    def check_references(
        self, element: str, attributes: Mapping[str, str], level: Group | None, ordinal: int
    ) -> None:
        """Report clips, masks, filters and markers of a shape or group."""
        if REFERENCE_ATTRIBUTES.isdisjoint(attributes):
            return
        found = [
            (name, value)
            for name in REFERENCE_CAUSES
            if "url(" in (value := attributes.get(name, ""))
        ]
        found += DECLARED_REFERENCE.findall(attributes.get("style", ""))
        for name, value in found:
            code, place = REFERENCE_CAUSES[name], (attributes.get("id", ""), _level_id(level))
            if code == "clip":
                # Whether it cuts anything off is known once the clip path itself is.
                if len(self._clips) < MAX_CHECKED_IDS:
                    self._clips.append((ordinal, value, element, *place))
            else:
                self._warnings.add(code, ordinal, element, *place)

    def check_shape(self, shape: Shape, ordinal: int, specified: Mapping[str, str]) -> None:
        """Check the paint of a shape as it is specified, and its identity if it is in a layer."""
        if self.has_references and shape.is_visible:
            self._check_paint(shape, ordinal, specified)
            self.check_references(shape.kind.lower(), shape.source, shape.container.level, ordinal)
        if layer := shape.container.layer:
            self._check_in_layer(shape, layer, ordinal)

    def finish(self, document: XmlDocument) -> list[ParseWarning]:
        """Check the drawing as a whole; return the warnings with their places."""
        if not self._levels:
            self._warnings.add("no-level", 0)
        else:
            for ordinal in self._outside_ordinals:
                self._warnings.add("outside-level", ordinal, "g")
        self._compare_layers()
        if self._clips:
            harmless = find_canvas_clips(document.text, self.canvas)
            for ordinal, value, *place in self._clips:
                if _referenced_id(value) not in harmless:
                    self._warnings.add("clip", ordinal, *place)
        if self._painted:
            pictures = find_picture_patterns(document.text)
            self._image_area += sum(area for name, area in self._painted if name in pictures)
        return self._warnings.locate(document)

    def check_image_share(self) -> None:
        """Reject a drawing that is a picture. Raises `DocumentRejectedError`."""
        share = self._image_area / ((self.canvas[0] * self.canvas[1]) or 1)
        summary = self.summary
        drawn = summary.units + summary.hit_areas + summary.shapes
        if share > MAX_IMAGE_SHARE and drawn < FEW_SHAPES:
            raise DocumentRejectedError(
                f"images cover {min(share, 1):.0%} of the canvas, and images are left out: the map "
                f"would have {drawn} shapes; trace the plan as shapes, or force it"
            )

    def _check_paint(self, shape: Shape, ordinal: int, specified: Mapping[str, str]) -> None:
        for name in ("fill", "stroke"):
            value = specified.get(name) or ""
            if "url(" not in value:
                continue
            element, level = shape.kind.lower(), _level_id(shape.container.level)
            self._warnings.add("paint", ordinal, element, shape.source.get("id", ""), level)
            if name == "fill" and shape.kind == "Rect" and len(self._painted) < MAX_CHECKED_IDS:
                self._painted.append((_referenced_id(value), self._area_of(shape)))

    def _area_of(self, rect: Shape) -> float:
        width, height = (rect.attributes.get(name, 0) for name in ("width", "height"))
        transform = str(rect.attributes.get("transform", ""))
        return self._covered_area(float(width), float(height), transform)

    def _covered_area(self, width: float, height: float, transform: str) -> float:
        matrix = _matrix(transform)
        if matrix is None:
            return 0.0
        scale = abs(matrix.a * matrix.d - matrix.b * matrix.c)
        return min(abs(width * height) * scale, self.canvas[0] * self.canvas[1])

    def _check_in_layer(self, shape: Shape, layer: str, ordinal: int) -> None:
        identity = shape.identity
        if identity is None:
            self._add_unidentified(shape, layer, ordinal)
            return
        id = identity.id
        if layer == "UnitLayer":
            self._units += 1
            ordinals = self._unit_ordinals
        else:
            self._hit_areas += 1
            ordinals = self._hit_area_ordinals
            if identity.target_type == "Unit" and len(self._target_ordinals) < MAX_CHECKED_IDS:
                self._target_ordinals.setdefault(identity.target_id, ordinal)
        is_second = id in ordinals
        if is_second or len(id) > MAX_ID_CHARACTERS or id.isspace():
            self._check_id(id, is_second, shape.kind, shape.container.level, ordinal)
        elif len(ordinals) < MAX_CHECKED_IDS:
            ordinals[id] = ordinal
            if len(ordinals) <= MAX_CHECKED_STARTS:
                self._check_start(shape, id, ordinal)
        written = shape.source.get("id", "")
        if id != written and "data-id" not in shape.source:
            detail = f"read as {quote(id)!r}: a <{shape.kind.lower()}> with id {quote(written)!r}"
            self._warnings.add("unit-by-name", ordinal, shape.kind.lower(), id, detail=detail)
        elif self._is_from_inkscape and id == written and is_generated_id(id):
            level = _level_id(shape.container.level)
            self._warnings.add("generated-id", ordinal, shape.kind.lower(), id, level)

    def _check_id(
        self, id: str, is_second: bool, kind: str, level: Group | None, ordinal: int
    ) -> None:
        causes = {
            "duplicate-id": is_second,
            "long-id": len(id) > MAX_ID_CHARACTERS,
            "blank-id": id.isspace(),
        }
        for code, applies in causes.items():
            if applies:
                self._warnings.add(code, ordinal, kind.lower(), id, _level_id(level))

    def _add_unidentified(self, shape: Shape, layer: str, ordinal: int) -> None:
        written, hint = shape.source.get("id", ""), ""
        if layer == "HitAreaLayer" and written.lower().startswith(HIT_PREFIX):
            meant = HIT_PREFIX + written[len(HIT_PREFIX) :].lstrip(" -_")
            hint = f"{quote(written)!r}; did you mean {quote(meant)!r}?"
        code = "generated-id" if is_generated_id(written) else "no-id"
        level = _level_id(shape.container.level)
        self._warnings.add(code, ordinal, shape.kind.lower(), written, level, hint)

    def _check_start(self, shape: Shape, id: str, ordinal: int) -> None:
        attributes, start = shape.attributes, None
        with ignore_faults():
            start = find_start(shape.kind, attributes)
        matrix = _matrix(str(attributes["transform"])) if "transform" in attributes else IDENTITY
        if matrix is None or start is None:
            return
        x, y = matrix.apply(start)
        width, height = self.canvas
        if not (-1 <= x <= width + 1 and -1 <= y <= height + 1):
            detail, level = f"{quote(id)!r} begins at {x:.5g},{y:.5g}", shape.container.level
            self._warnings.add(
                "outside-canvas", ordinal, shape.kind.lower(), id, _level_id(level), detail
            )

    def _compare_layers(self) -> None:
        """Report units without hit areas, if the drawing has any, and the reverse."""
        units, targets = self._unit_ordinals, self._target_ordinals
        if max(len(units), len(targets)) == MAX_CHECKED_IDS:
            return  # the others are not known
        for id, ordinal in units.items():
            if targets and id not in targets:
                self._warnings.add("unit-without-hit-area", ordinal, name=id)
        for id, ordinal in targets.items():
            if id not in units:
                self._warnings.add("hit-area-without-unit", ordinal, name=id)


def _level_id(level: Group | None) -> str:
    return level.id if level else ""


def _referenced_id(value: str) -> str:
    return value.partition("url(")[2].partition(")")[0].strip("'\" #")


@lru_cache(maxsize=1_000)
def _matrix(transform: str) -> AffineTransform | None:
    matrix = None
    with ignore_faults():
        matrix = parse_transform(transform)
    return matrix
