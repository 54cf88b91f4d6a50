"""Inherit style to gradients and patterns: from around them, not from what they paint."""

from collections.abc import Callable
from typing import Final

from parsing.svg.definitions import OpenElement, PaintServer
from parsing.svg.geometry.lengths import Viewport
from parsing.svg.inheritance import InheritedStyle

MAX_KEPT: Final = 100_000
"""Ancestors of gradients and patterns of which the style is kept, and their variables."""

Inherit = Callable[[str, dict[str, str], InheritedStyle], InheritedStyle]
"""Returns the style inside an element, from its name, its attributes and the style around it."""


class AncestorStyles:
    """The styles inside the ancestors of gradients and patterns, each computed once.

    When they get too many, the others inherit from the root only.
    """

    def __init__(self, inherit: Inherit) -> None:
        self.inherit = inherit
        self._root = InheritedStyle(Viewport(1, 1))
        self._inside: dict[int, InheritedStyle] = {}
        self._kept = 0

    def set_root(self, root: InheritedStyle) -> None:
        """Receive the style inside the root element."""
        self._root = root.only_inherited()

    def enter(self, server: PaintServer) -> InheritedStyle:
        """Return the style inside a gradient or pattern."""
        around = self._enter_all(server.parent)
        return self.inherit(server.kind, dict(server.attributes), around).only_inherited()

    def _enter_all(self, element: OpenElement | None) -> InheritedStyle:
        """Return the style inside an element and its ancestors."""
        missing: list[OpenElement] = []
        while element is not None and element[2] is not None and id(element) not in self._inside:
            missing.append(element)
            element = element[2]
        style = self._inside.get(id(element), self._root)
        for each in reversed(missing):
            style = self._inside[id(each)] = self._enter_one(each, style)
        return style

    def _enter_one(self, element: OpenElement, outer: InheritedStyle) -> InheritedStyle:
        if self._kept > MAX_KEPT:
            return self._root
        tag, attributes, _ = element
        style = self.inherit(tag.rpartition("}")[2], dict(attributes), outer)
        new_variables = style.variables if style.variables is not outer.variables else ()
        self._kept += 1 + len(new_variables)
        return outer if style is outer else style.only_inherited()
