"""Parse a unit-map SVG into its JSON description (E10), written while the drawing is walked."""

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

import orjson

from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.limits import DEFAULT_LIMITS, DocumentLimits
from parsing.svg.drawing_report import DrawingReport
from parsing.svg.elements import (
    DrawingHandler,
    DrawnGeoreference,
    DrawnGroup,
    DrawnShape,
    Identity,
    RejectedShape,
)
from parsing.svg.lengths import Number, parse_opacity
from parsing.svg.names import OUTLINE_ATTRIBUTES, SHAPE_KINDS, UNIT_LAYERS
from parsing.svg.outcome import MAX_PLACES, MapSummary, ParseWarning
from parsing.svg.walk_drawing import walk_drawing

UNIT_MAP_VERSION: Final = "1.2"
MEDIA_TYPE: Final = "application/vnd.map+json"
ELEMENT_BY_LAYER: Final = {"HitAreaLayer": "HitArea", "UnitLayer": "Unit"}
TYPE_SUFFIX: Final = {kind: f',"type":"{kind}"}}'.encode() for kind in SHAPE_KINDS}
ONLY_TYPE_SUFFIX: Final = {kind: f'"type":"{kind}"}}'.encode() for kind in SHAPE_KINDS}
OPACITIES: Final = frozenset({"opacity", "fill-opacity"})
LAYER_PREFIX: Final = {
    kind: f'{{"type":"{kind}","elements":['.encode() for kind in ("Layer", *UNIT_LAYERS)
}


@dataclass(frozen=True, slots=True)
class ParsedUnitMap:
    """A parsed map as JSON text in UTF-8, ready to be sent or stored."""

    json: bytes
    warnings: tuple[ParseWarning, ...] = ()
    summary: MapSummary = MapSummary(0, 0, 0, 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON as objects: version, type, width, height, elements."""
        parsed: dict[str, Any] = orjson.loads(self.json)
        return parsed


def parse_unit_map(
    svg: bytes,
    *,
    force: bool = False,
    max_places: int = MAX_PLACES,
    limits: DocumentLimits = DEFAULT_LIMITS,
) -> ParsedUnitMap:
    """Parse the SVG of a unit map. Raises `ParsingError`.

    A drawing that is mostly an image is rejected, unless `force` asks for what is left of it.
    Warnings have `max_places` places of each cause at most.

    The result is JSON text because half a million shapes take a tenth of the memory that objects
    would, and text crosses process borders at the cost of a copy.

    >>> svg = b'<svg viewBox="0 0 40 20"><rect width="9" height="5"/></svg>'
    >>> parse_unit_map(svg).to_dict()["elements"]
    [{'width': 9, 'height': 5, 'type': 'Rect'}]
    """
    writer = UnitMapWriter(limits)
    report = DrawingReport(max_places)
    warnings = walk_drawing(svg, writer, limits, report)
    if not force:
        report.check_image_share()
    return ParsedUnitMap(writer.to_bytes(), tuple(warnings), report.summary)


class UnitMapWriter(DrawingHandler):
    """Writes elements as JSON. A uid is `u` and the number of the element in document order."""

    def __init__(self, limits: DocumentLimits) -> None:
        self._max_bytes = limits.output_bytes
        self._buffer = BytesIO()
        self._written_bytes = 0
        self._elements = 0
        self._separator = b""

    def set_canvas_size(self, width: int, height: int) -> None:
        self._begin_object(
            {"version": UNIT_MAP_VERSION, "type": MEDIA_TYPE, "width": width, "height": height}
        )

    def start_group(self, group: DrawnGroup) -> None:
        self._elements += 1
        if group.kind == "Level":
            level = {"type": "Level", "uid": self._uid(), "id": group.id, "tags": group.tags}
            self._begin_object({name: value for name, value in level.items() if value})
        else:
            self._write(self._separator + LAYER_PREFIX[group.kind])
            self._separator = b""

    def end_group(self) -> None:
        self._write(b"]}")
        self._separator = b","

    def add_shape(self, shape: DrawnShape) -> None:
        if shape.identity is not None:
            self._elements += 1
            self._write_member(_identified_element(shape, shape.identity, self._uid()))
        elif shape.is_visible:
            self._elements += 1
            attributes = shape.attributes
            # Appending the type to the text is cheaper than copying the dictionary to add it.
            suffix = TYPE_SUFFIX[shape.kind] if attributes else ONLY_TYPE_SUFFIX[shape.kind]
            self._write(b"%b%b%b" % (self._separator, orjson.dumps(attributes)[:-1], suffix))
            self._separator = b","

    def add_georeference(self, georeference: DrawnGeoreference) -> None:
        self._elements += 1
        self._write_member({"type": "Georeference", "uid": self._uid(), **georeference._asdict()})

    def reject_shape(self, error: InvalidMarkupError, shape: RejectedShape) -> None:
        raise error

    def to_bytes(self) -> bytes:
        self._write(b"]}")
        return self._buffer.getvalue()

    def _uid(self) -> str:
        return f"u{self._elements}"

    def _begin_object(self, members: Mapping[str, object]) -> None:
        # The text of the object ends before its first child.
        self._write(self._separator + orjson.dumps({**members, "elements": []})[:-2])
        self._separator = b""

    def _write_member(self, members: Mapping[str, object]) -> None:
        self._write(self._separator + orjson.dumps(members))
        self._separator = b","

    def _write(self, text: bytes) -> None:
        self._written_bytes += len(text)
        if self._written_bytes > self._max_bytes:
            raise DocumentRejectedError(
                f"the parsed map would be over {self._max_bytes:,} bytes of JSON"
            )
        self._buffer.write(text)


def _identified_element(shape: DrawnShape, identity: Identity, uid: str) -> dict[str, object]:
    """Return the JSON object of a Unit or a HitArea."""
    layer = shape.container.layer
    members: dict[str, object] = {
        "shape": _outline(shape),
        "type": ELEMENT_BY_LAYER[layer],
        "uid": uid,
        "id": identity.id,
    }
    if layer == "HitAreaLayer":
        members["target"] = {"id": identity.target_id, "type": identity.target_type}
    return members


def _outline(shape: DrawnShape) -> dict[str, str | Number]:
    """Return what a Unit or a HitArea keeps of its shape.

    The format gives it no opacity, so an invisible one gets `fill` none instead.
    """
    attributes = shape.attributes
    outline = {name: value for name, value in attributes.items() if name in OUTLINE_ATTRIBUTES}
    if not shape.is_visible or (
        not OPACITIES.isdisjoint(attributes)
        and any(parse_opacity(str(attributes.get(name, 1))) == 0 for name in OPACITIES)
    ):
        outline["fill"] = "none"
    outline["type"] = shape.kind
    return outline
