"""Style shapes that are written alike only once.

Most shapes of a drawing differ from their neighbours in geometry only.
"""

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Final, NamedTuple

from parsing.svg.geometry.lengths import LengthCache, Number
from parsing.svg.inheritance import InheritedStyle
from parsing.svg.names import (
    GEOMETRY_ATTRIBUTES,
    PAINT_PROPERTIES,
    RECT_LENGTHS,
    STYLING_ATTRIBUTES,
)
from parsing.svg.style.transforms import concatenate_transforms

MAX_TEMPLATES: Final = 10_000
PLACED_ATTRIBUTES: Final = GEOMETRY_ATTRIBUTES | {"transform"}
STYLED_ATTRIBUTES: Final = PAINT_PROPERTIES | STYLING_ATTRIBUTES | {"opacity"}
# What ends otherwise may be a keyword or a relative length, which are not drawn as written.
DIGITS: Final = frozenset("0123456789")
ENDINGS: Final = {
    **dict.fromkeys(GEOMETRY_ATTRIBUTES, DIGITS),
    "points": DIGITS | {" ", "\n"},
    "d": DIGITS | {" ", "\n", "z", "Z"},
    "transform": frozenset({")"}),
}
NO_LENGTHS: Final[frozenset[str]] = frozenset()


class ShapeTemplate(NamedTuple):
    """The output of visible shapes that are written alike, with the geometry of one of them.

    `texts` are its attributes that are drawn as they are written, and what they may end with;
    `lengths` become numbers. `transform` goes in front of the shape's own.
    """

    values: Mapping[str, str | Number]
    texts: tuple[tuple[str, frozenset[str]], ...]
    lengths: tuple[str, ...]
    transform: str


class ShapeTemplates:
    """The templates of one document, for one context at a time."""

    def __init__(self, numbers: LengthCache) -> None:
        self._numbers = numbers
        self._context: InheritedStyle | None = None
        self._templates: dict[tuple[object, ...], ShapeTemplate] = {}
        self._getters: dict[tuple[str, ...], Callable[[Mapping[str, str]], object]] = {}
        """Functions that return what shapes must have in common, by kind and attribute names."""

    def fill_in(
        self, kind: str, attributes: Mapping[str, str], context: InheritedStyle
    ) -> Mapping[str, str | Number] | None:
        """Return the output of a shape, or None if there is no template for it."""
        key = self._make_key(kind, attributes, context)  # which may begin a new context
        template = self._templates.get(key)
        if template is None:
            return None
        original, texts, lengths, transform = template
        values = {**original}
        for name, endings in texts:
            values[name] = text = attributes[name]
            if text[-1:] not in endings:
                return None
        for name in lengths:
            number = self._numbers[attributes[name]]
            if number is None:
                return None
            values[name] = number
        if "%" in attributes.get("transform", ""):
            return None
        if transform:
            values["transform"] = concatenate_transforms(transform, attributes["transform"])
        return values

    def add(
        self,
        kind: str,
        attributes: Mapping[str, str],
        context: InheritedStyle,
        drawn: Mapping[str, str | Number],
    ) -> None:
        """Add the template of a shape that is drawn where it is written."""
        placed = PLACED_ATTRIBUTES & attributes.keys()
        transform = attributes.get("transform", "")
        if not placed <= drawn.keys() or not str(drawn.get("transform", "")).endswith(transform):
            return  # one that is in error has no place in the order of the others
        if len(self._templates) >= MAX_TEMPLATES:
            self._templates.clear()
        lengths = RECT_LENGTHS if kind == "Rect" else NO_LENGTHS
        key = self._make_key(kind, attributes, context)
        self._templates[key] = ShapeTemplate(
            drawn,
            tuple((name, ENDINGS[name]) for name in placed - lengths),
            tuple(placed & lengths),
            context.transform if "transform" in placed else "",
        )

    def _make_key(
        self, kind: str, attributes: Mapping[str, str], context: InheritedStyle
    ) -> tuple[object, ...]:
        if context is not self._context:
            self._context, self._templates = context, {}
        names = (kind, *attributes)
        get_style = self._getters.get(names)
        if get_style is None:
            if len(self._getters) >= MAX_TEMPLATES:
                self._getters.clear()
            styled = [name for name in attributes if name in STYLED_ATTRIBUTES]
            get_style = itemgetter(*styled) if styled else _get_nothing
            self._getters[names] = get_style
        return names, get_style(attributes)


def _get_nothing(_: Mapping[str, str]) -> None:
    return None
