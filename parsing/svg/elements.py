"""The parts of a drawing and the interface of their readers.

Readers implement `DrawingHandler` and are called back in document order, as SAX handlers are. The
unit-map writer prints the shapes that are visible; the floor-plan reader takes shapes with their
tags and level.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from parsing.errors import InvalidMarkupError
from parsing.limits import check_text_length
from parsing.svg.lengths import LENGTH_PATTERN, WHITESPACE, Number, check_magnitude, int_if_whole

# Parse and format the `data-tags` attribute: `key=value` pairs joined by `;`. A backslash before a
# semicolon makes it a part of the value.

UNESCAPED_SEMICOLON: Final = re.compile(r"(?<!\\);")


def parse_tags(text: str) -> dict[str, str]:
    """Parse the text of an attribute. Raises `InvalidMarkupError`.

    >>> parse_tags("building=1; floor=2")
    {'building': '1', 'floor': '2'}
    """
    tags: dict[str, str] = {}
    for part in UNESCAPED_SEMICOLON.split(check_text_length(text, "data-tags")):
        pair = part.strip(WHITESPACE).replace("\\;", ";")
        if not pair:
            continue
        key, equals, value = pair.partition("=")
        key = key.rstrip(WHITESPACE)
        if not equals or not key:
            raise InvalidMarkupError(
                f"data-tags has {pair!r}; expected key=value pairs joined by ;"
            )
        if key in tags:
            raise InvalidMarkupError(f"data-tags gives {key!r} twice")
        tags[key] = value.lstrip(WHITESPACE)
    return tags


def format_tags(tags: Mapping[str, str]) -> str:
    """Format tags so that `parse_tags` returns the same tags."""
    pairs = (f"{key}={value}".replace(";", "\\;") for key, value in tags.items())
    # A backslash before the separator would escape it.
    return ";".join(f"{pair} " if pair.endswith("\\") else pair for pair in pairs)


# Identify the unit that a shape represents by its `id` and `data-*` attributes.

ILLUSTRATOR_MARKER: Final = re.compile(rb"<!--\s*Generator: Adobe Illustrator|<!ENTITY\s+ns_ai\s")
COPY_SUFFIX: Final = re.compile(r"_[0-9]+_$")
ESCAPED_CHARACTER: Final = re.compile(r"_x([0-9A-Fa-f]{2,4})_")
# Figma adds a number to a name that is taken: 101_2.
COPY_NUMBER: Final = re.compile(r"(.+)_(?:[2-9]|[1-9][0-9]{1,4})")
EXPORT_SUFFIX: Final = re.compile(r"-[0-9]+$")
INKSCAPE_LABEL: Final = "{http://www.inkscape.org/namespaces/inkscape}label"
# Inkscape adds a number, and to those of copies more: rect847, path12-3.
GENERATED_ID: Final = re.compile(
    r"(?:rect|path|circle|ellipse|polygon|polyline|line|g|layer|use|text|image)[0-9]+(?:-[0-9]+)*"
)
# What Figma and Illustrator call an object until the designer names it.
DEFAULT_NAME: Final = re.compile(
    r"(?:Rectangle|Ellipse|Polygon|Star|Line|Arrow|Vector|Path|Compound Path|Clip path group"
    r"|Mask group|Union|Subtract|Intersect|Exclude|Group|Frame|Shape|Oval|XMLID|SVGID|Layer)"
    r"(?:[\s_-][0-9]+)*_?|<.*>|_[A-Z][A-Za-z]*_(?:-?[0-9]+)?"
)
IDENTITY_ATTRIBUTES: Final = frozenset(
    {"id", "data-id", "data-name", "data-target-id", "data-target-type", INKSCAPE_LABEL}
)
BETTER_NAMES: Final = frozenset({"data-id", "data-name", INKSCAPE_LABEL})
"""Attributes that may have a better name than the id."""
HIT_PREFIX: Final = "hit"


class Identity(NamedTuple):
    """The id of a Unit or HitArea and its target; a Unit is its own target."""

    id: str
    target_id: str
    target_type: str


def identify(layer: str, attributes: Mapping[str, str], illustrator: bool) -> Identity | None:
    """Return the identity of a shape in a UnitLayer or HitAreaLayer, or None if it names none.

    The target of a hit area is `data-target-id`, else the id without its prefix `hit`.
    """
    name = designer_name(attributes, illustrator)
    if layer == "UnitLayer":
        return Identity(name, name, "Unit") if name else None
    target = attributes.get("data-target-id")
    if not target and (name.startswith(HIT_PREFIX) or "data-id" in attributes):
        target = name.removeprefix(HIT_PREFIX)
    if not target:
        return None
    kind = attributes.get("data-target-type") or "Unit"
    return Identity(name or HIT_PREFIX + target, target, kind)


def designer_name(attributes: Mapping[str, str], illustrator: bool) -> str:
    """Return the name that the designer gave to an element, or "".

    Illustrator changes names on export; that is undone. Inkscape makes ids up, and has the names in
    its labels.
    """
    element_id = check_text_length(attributes.get("id", ""), "id")
    if not BETTER_NAMES.isdisjoint(attributes):
        if data_id := attributes.get("data-id", ""):
            return data_id
        if INKSCAPE_LABEL in attributes and (not element_id or is_generated_id(element_id)):
            return inkscape_label(attributes) or element_id
        layer_name = check_text_length(attributes.get("data-name", ""), "data-name")
        if layer_name and _is_derived_from(element_id, layer_name):
            return layer_name
    return _undo_illustrator_escapes(element_id) if illustrator else element_id


def inkscape_label(attributes: Mapping[str, str]) -> str:
    """Return the name of an element in Inkscape's panel of layers and objects, or ""."""
    return check_text_length(attributes.get(INKSCAPE_LABEL, ""), "inkscape:label").strip()


def is_generated_id(element_id: str) -> bool:
    """Return whether an id looks like those that Inkscape makes up.

    >>> is_generated_id("rect847"), is_generated_id("path12-3"), is_generated_id("101")
    (True, True, False)
    """
    return GENERATED_ID.fullmatch(element_id) is not None


def is_made_up(name: str) -> bool:
    """Return whether a name looks like those that drawing programs give by themselves.

    >>> is_made_up("Rectangle 5"), is_made_up("rect847"), is_made_up("Gym")
    (True, True, False)
    """
    return is_generated_id(name) or DEFAULT_NAME.fullmatch(name) is not None


def _is_derived_from(element_id: str, layer_name: str) -> bool:
    """Return whether Illustrator's "Export As" made this id from this layer name."""
    derived = re.sub(r"\W", "_", layer_name)
    return re.sub(r"\W", "_", EXPORT_SUFFIX.sub("", element_id)) in (derived, f"_{derived}")


def _undo_illustrator_escapes(element_id: str) -> str:
    """Undo Illustrator's "Save As", which escapes characters and numbers copies.

    >>> _undo_illustrator_escapes("_x31_01_2_")
    '101'
    """
    return ESCAPED_CHARACTER.sub(_unescape, COPY_SUFFIX.sub("", element_id))


def _unescape(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return match[0] if code < 0x20 or 0xD800 <= code < 0xE000 else chr(code)


class DrawnGroup(NamedTuple):
    """A Level, Layer, HitAreaLayer or UnitLayer."""

    kind: str
    id: str = ""
    tags: dict[str, str] | None = None


class DrawnGeoreference(NamedTuple):
    """The geographic position of the drawing's centre in degrees, and the zoom of a web map."""

    latitude: Number
    longitude: Number
    zoom: Number
    bearing: Number
    pitch: Number


@dataclass(slots=True, eq=False)
class UnitGroup:
    """A group with the name of a unit: the first shape in it without a name is the unit's.

    `units` counts the units and hit areas in it, `numbered_units` those with a number in the id.
    """

    name: str
    is_drawn: bool = False
    ordinal: int = 0
    shapes_before: int = 0
    units: int = 0
    numbered_units: int = 0


class ShapeContainer(NamedTuple):
    """The Level around a shape and its layer: `HitAreaLayer`, `UnitLayer` or ""."""

    level: DrawnGroup | None = None
    layer: str = ""
    group: UnitGroup | None = None


# A msgspec struct takes a third of a NamedTuple's time to make, and there is one per shape.
class DrawnShape(msgspec.Struct, frozen=True, gc=False):
    """A shape with the styles and transforms of its groups resolved into it.

    `attributes` are those of the output, `source` those written on the element (with `data-tags`).
    `is_visible` is False where `display`, `visibility`, a condition or a viewport hides the shape.
    `ordinal` is the number of its start tag. `is_part` is True for one more part of the shape
    before, which is drawn in several.
    """

    kind: str
    attributes: Mapping[str, str | Number]
    source: Mapping[str, str]
    container: ShapeContainer
    identity: Identity | None
    is_visible: bool
    ordinal: int = 0
    is_part: bool = False


class RejectedShape(NamedTuple):
    """A shape that cannot be read, as far as it is known; `ordinal` numbers its start tag."""

    kind: str
    id: str
    level: DrawnGroup | None
    ordinal: int


class DrawingHandler:
    """Receives the parts of a drawing in document order, the canvas size first.

    Handlers override the methods for the parts that they need; all others are ignored.
    """

    def set_canvas_size(self, width: int, height: int) -> None:
        """Receive the size of the drawing in whole user units."""

    def start_group(self, group: DrawnGroup) -> None:
        """Receive the start of a group; what follows is in it until `end_group`."""

    def end_group(self) -> None:
        """Receive the end of the innermost open group."""

    def add_georeference(self, georeference: DrawnGeoreference) -> None:
        """Receive the geographic position of the drawing."""

    def add_shape(self, shape: DrawnShape) -> None:
        """Receive one shape."""

    def reject_shape(self, error: InvalidMarkupError, shape: RejectedShape) -> None:
        """Receive a shape that cannot be read. It is left out unless this raises the error."""


def parse_georeference(attributes: Mapping[str, str], magnitude: int) -> DrawnGeoreference:
    """Parse `data-*` attributes. Raises `InvalidMarkupError` for what is missing or no number."""

    def number(name: str, missing: str | None = None) -> Number:
        text = attributes.get(f"data-{name}", missing)
        if text is None:
            raise InvalidMarkupError(f"a Georeference needs data-{name}, a number")
        length = LENGTH_PATTERN.fullmatch(
            check_text_length(text.strip(WHITESPACE), f"data-{name}", 100)
        )
        if length is None or length[2]:
            raise InvalidMarkupError(f"data-{name} is {text!r}; expected a number")
        return int_if_whole(check_magnitude(float(length[1]), f"data-{name}", magnitude))

    return DrawnGeoreference(
        number("latitude"),
        number("longitude"),
        number("zoom", "0"),
        number("bearing", "0"),
        number("pitch", "0"),
    )
