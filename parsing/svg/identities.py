"""Identify the unit that a shape represents by its `id` and `data-*` attributes."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from parsing.limits import check_text_length

ILLUSTRATOR_MARKER: Final = re.compile(rb"<!--\s*Generator: Adobe Illustrator|<!ENTITY\s+ns_ai\s")
COPY_SUFFIX: Final = re.compile(r"_[0-9]+_$")
ESCAPED_CHARACTER: Final = re.compile(r"_x([0-9A-Fa-f]{2,4})_")
COPY_NUMBER: Final = re.compile(r"(.+)_(?:[2-9]|[1-9][0-9]{1,4})")
"""What Figma makes of a name that is taken."""
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


def identify_unit(attributes: Mapping[str, str], illustrator: bool) -> Identity | None:
    """Return the identity of a shape in a UnitLayer, or None if it names no unit."""
    name = designer_name(attributes, illustrator)
    return Identity(name, name, "Unit") if name else None


def identify_hit_area(attributes: Mapping[str, str], illustrator: bool) -> Identity | None:
    """Return the identity of a shape in a HitAreaLayer, or None if it names no target.

    The target is `data-target-id`, else the id without its prefix `hit`.
    """
    name = designer_name(attributes, illustrator)
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
