"""Which unit a shape stands for, from its `id` and `data-*` attributes."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from parsing.limits import bounded

ILLUSTRATOR: Final = re.compile(rb"<!--\s*Generator: Adobe Illustrator|<!ENTITY\s+ns_ai\s")
COPY_SUFFIX: Final = re.compile(r"_[0-9]+_$")
ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{2,4})_")
EXPORT_SUFFIX: Final = re.compile(r"-[0-9]+$")
NAMES: Final = frozenset({"id", "data-id", "data-name", "data-target-id", "data-target-type"})
HIT: Final = "hit"


class Identity(NamedTuple):
    """The id of a Unit or a HitArea, and what it points to (a Unit, to itself)."""

    id: str
    target_id: str
    target_type: str


def of_unit(attributes: Mapping[str, str], illustrator: bool) -> Identity | None:
    """None for a shape that names no unit."""
    written = name_of(attributes, illustrator)
    return Identity(written, written, "Unit") if written else None


def of_hit_area(attributes: Mapping[str, str], illustrator: bool) -> Identity | None:
    """None for a shape that names no target: no `hit` before its id, no `data-*` for it."""
    written = name_of(attributes, illustrator)
    target = attributes.get("data-target-id")
    if not target and (written.startswith(HIT) or "data-id" in attributes):
        target = written.removeprefix(HIT)
    if not target:
        return None
    kind = attributes.get("data-target-type") or "Unit"
    return Identity(written or HIT + target, target, kind)


def name_of(attributes: Mapping[str, str], illustrator: bool) -> str:
    """The name that the designer gave, undoing what Illustrator makes of it; "" for none."""
    written = bounded(attributes.get("id", ""), "id")
    given = attributes.get("data-id", "")
    if given:
        return given
    name = bounded(attributes.get("data-name", ""), "data-name")
    if name and _is_made_from(written, name):
        return name
    return _from_illustrator(written) if illustrator else written


def _is_made_from(written: str, name: str) -> bool:
    """Whether Illustrator's "Export As" made this id from this layer name."""
    made = re.sub(r"\W", "_", name)
    return re.sub(r"\W", "_", EXPORT_SUFFIX.sub("", written)) in (made, f"_{made}")


def _from_illustrator(written: str) -> str:
    """`_x31_01_2_` -> `101`: Illustrator's "Save As" escapes characters and numbers copies."""
    return ESCAPED.sub(_unescaped, COPY_SUFFIX.sub("", written))


def _unescaped(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return match[0] if code < 0x20 or 0xD800 <= code < 0xE000 else chr(code)
