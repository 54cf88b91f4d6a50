"""Read names of groups and shapes as markup, in drawings without `data-type`."""

import html
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from parsing.svg.elements import ShapeContainer, UnitGroup
from parsing.svg.identities import (
    COPY_NUMBER,
    HIT_PREFIX,
    INKSCAPE_LABEL,
    Identity,
    designer_name,
    identify_hit_area,
    identify_unit,
    inkscape_label,
    is_made_up,
)
from parsing.svg.naming.layer_names import (
    MAX_NAME_CHARACTERS,
    NAME_START,
    NamedType,
    read_layer_name,
    suggest_name,
)

TYPED_GROUP: Final = re.compile(
    rb"<(?:[^\s<>/!?:]+:)?g(?:\s+[^\s=<>/]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*?"
    rb"\s+data-type\s*=\s*[\"'](?:Level|UnitLayer|HitAreaLayer)[\"']"
)
NOT_MARKUP: Final = {b"<!--": b"-->", b"<![CDATA[": b"]]>"}
NOT_MARKUP_START: Final = re.compile(rb"<!--|<!\[CDATA\[")
ID_ATTRIBUTE: Final = re.compile(rb"\sid\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
MAX_SUGGESTIONS: Final = 500
"""Names that resemble markup for which it is looked up which markup was meant."""
INKSCAPE_LAYER: Final = "{http://www.inkscape.org/namespaces/inkscape}groupmode"
HIT_NAME: Final = re.compile(r"hit[\s_-]*(.+)", re.IGNORECASE | re.DOTALL)
IDENTITY_BY_LAYER: Final = {"HitAreaLayer": identify_hit_area, "UnitLayer": identify_unit}
NAME_ATTRIBUTES: Final = (INKSCAPE_LABEL, "data-name", "id")
"""Where the name of a group is looked for, in this order."""
OTHER_NAMES: Final = frozenset({INKSCAPE_LABEL, "data-name"})


class NameReader:
    """Reads the names of one drawing."""

    def __init__(self, text: bytes, illustrator: bool) -> None:
        self._text = text
        self._illustrator = illustrator
        self._other_names = 0  # that begin like markup
        self._taken: dict[str, set[str]] = {}  # names of units, by layer

    @cached_property
    def are_markup(self) -> bool:
        """Whether no group has a `data-type` that makes it a part of the map."""
        text = self._text
        return b"data-type" not in text or not any(
            map(TYPED_GROUP.search, _split_at_comments(text))
        )

    def read_group(self, attributes: Mapping[str, str]) -> tuple[str, NamedType | str] | None:
        """Return the first name of a group that names a type, and the type.

        If a name only resembles markup, return that name and the markup; if none does, None.
        """
        # Most groups have no name, or one that is no markup.
        if OTHER_NAMES.isdisjoint(attributes) and not NAME_START.match(attributes.get("id", "")):
            return None
        names = [*self._group_names(attributes)]
        for name in names:
            if named := read_layer_name(name, self._illustrator):
                return name, named
        self._other_names += 1
        for name in names if self._other_names <= MAX_SUGGESTIONS else ():
            if suggestion := suggest_name(name):
                return name, suggestion
        return None

    def enter_unit_group(
        self, attributes: Mapping[str, str], position: ShapeContainer
    ) -> ShapeContainer:
        """Return the position inside a group of a layer, which may have the name of a unit."""
        if attributes.get(INKSCAPE_LAYER) == "layer":
            return position
        name, outer = self._unit_name(attributes, position), position.group
        if not name or (outer is not None and outer.name == name):
            return position
        self._take(name, position)
        return position._replace(group=UnitGroup(name))

    def identify(self, attributes: Mapping[str, str], position: ShapeContainer) -> Identity | None:
        """Return the identity of a shape in a layer, by its own name or that of its group."""
        if not self.are_markup:
            return IDENTITY_BY_LAYER[position.layer](attributes, self._illustrator)
        name, group = self._unit_name(attributes, position), position.group
        if group is not None and name in ("", group.name):
            if group.is_drawn:
                return None
            group.is_drawn = True
            name = group.name
        elif name:
            self._take(name, position)
        if not name:
            return None
        named = {**attributes, "data-id": name}
        if position.layer == "HitAreaLayer" and not attributes.get("data-target-id"):
            prefixed = HIT_NAME.fullmatch(name)
            named["data-id"] = HIT_PREFIX + (prefixed[1] if prefixed else name)
        return IDENTITY_BY_LAYER[position.layer](named, self._illustrator)

    def find_name(self, attributes: Mapping[str, str]) -> str:
        """Return the name that the designer gave to an element, or ""."""
        return designer_name(attributes, self._illustrator)

    def _group_names(self, attributes: Mapping[str, str]) -> Iterator[str]:
        for attribute in NAME_ATTRIBUTES:
            if 0 < len(name := attributes.get(attribute, "")) <= MAX_NAME_CHARACTERS:
                yield name if attribute != "id" else designer_name(attributes, self._illustrator)

    def _unit_name(self, attributes: Mapping[str, str], position: ShapeContainer) -> str:
        """Return the name of an object, or "" for one that its program made up."""
        if data_id := attributes.get("data-id", "").strip():
            return data_id
        label = inkscape_label(attributes)
        if label and not is_made_up(label):
            return label
        name = designer_name(attributes, self._illustrator).strip()
        if not name or is_made_up(name):
            return ""
        copy = COPY_NUMBER.fullmatch(name)
        if copy and self._is_of_another(copy[1], attributes.get("id", ""), position):
            return copy[1]
        return name

    def _is_of_another(self, name: str, numbered: str, position: ShapeContainer) -> bool:
        """Return whether an id is that of a label or a group around it, and of no other unit.

        Figma numbers what comes later, so only an id before the one with the number counts.
        """
        if position.group is not None and position.group.name == name:
            return True
        if name in self._taken.get(position.layer, ()) or name not in self._ids:
            return False
        return numbered not in self._ids or self._ids[name] < self._ids[numbered]

    def _take(self, name: str, position: ShapeContainer) -> None:
        self._taken.setdefault(position.layer, set()).add(name)

    @cached_property
    def _ids(self) -> dict[str, int]:
        """All ids of the drawing in order. Figma adds a number to an id that is taken: 101_2."""
        ids: dict[str, int] = {}
        for double, single in ID_ATTRIBUTE.findall(self._text):
            ids.setdefault(html.unescape((double or single).decode()), len(ids))
        return ids


def _split_at_comments(text: bytes) -> Iterator[bytes]:
    """Yield the parts of a text that are no comments or CDATA, in time linear in its length."""
    start = 0
    while opening := NOT_MARKUP_START.search(text, start):
        yield text[start : opening.start()]
        closing = NOT_MARKUP[opening[0]]
        end = text.find(closing, opening.end())
        if end < 0:
            return
        start = end + len(closing)
    yield text[start:]
