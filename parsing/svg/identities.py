"""Which unit a shape stands for, from its `id` and `data-*` attributes."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from parsing.limits import check_text_length

ILLUSTRATOR_MARKER: Final = re.compile(rb"<!--\s*Generator: Adobe Illustrator|<!ENTITY\s+ns_ai\s")
COPY_SUFFIX: Final = re.compile(r"_[0-9]+_$")
ESCAPED_CHARACTER: Final = re.compile(r"_x([0-9A-Fa-f]{2,4})_")
EXPORT_SUFFIX: Final = re.compile(r"-[0-9]+$")
IDENTITY_ATTRIBUTES: Final = frozenset(
    {"id", "data-id", "data-name", "data-target-id", "data-target-type"}
)
HIT_PREFIX: Final = "hit"


class Identity(NamedTuple):
    """The id of a Unit or a HitArea, and what it points to (a Unit, to itself)."""

    id: str
    target_id: str
    target_type: str


def identify_unit(attributes: Mapping[str, str], illustrator: bool) -> Identity | None:
    """None for a shape that names no unit."""
    written = designer_name(attributes, illustrator)
    return Identity(written, written, "Unit") if written else None


def identify_hit_area(attributes: Mapping[str, str], illustrator: bool) -> Identity | None:
    """None for a shape that names no target: no `hit` before its id, no `data-*` for it."""
    written = designer_name(attributes, illustrator)
    target = attributes.get("data-target-id")
    if not target and (written.startswith(HIT_PREFIX) or "data-id" in attributes):
        target = written.removeprefix(HIT_PREFIX)
    if not target:
        return None
    kind = attributes.get("data-target-type") or "Unit"
    return Identity(written or HIT_PREFIX + target, target, kind)


def designer_name(attributes: Mapping[str, str], illustrator: bool) -> str:
    """The name that the designer gave, undoing what Illustrator makes of it; "" for none."""
    written = check_text_length(attributes.get("id", ""), "id")
    given = attributes.get("data-id", "")
    if given:
        return given
    name = check_text_length(attributes.get("data-name", ""), "data-name")
    if name and _is_derived_from(written, name):
        return name
    return _undo_illustrator_escapes(written) if illustrator else written


def _is_derived_from(written: str, name: str) -> bool:
    """Whether Illustrator's "Export As" made this id from this layer name."""
    made = re.sub(r"\W", "_", name)
    return re.sub(r"\W", "_", EXPORT_SUFFIX.sub("", written)) in (made, f"_{made}")


def _undo_illustrator_escapes(written: str) -> str:
    """`_x31_01_2_` -> `101`: Illustrator's "Save As" escapes characters and numbers copies."""
    return ESCAPED_CHARACTER.sub(_unescape, COPY_SUFFIX.sub("", written))


def _unescape(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return match[0] if code < 0x20 or 0xD800 <= code < 0xE000 else chr(code)
