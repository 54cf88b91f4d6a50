"""Inherit styles and transforms from groups to shapes, gradients and patterns."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from parsing.svg.cascade import OUTSIDE, ElementStyle, MatchState
from parsing.svg.colors import is_unknown_paint
from parsing.svg.elements import ShapeContainer
from parsing.svg.lengths import FontSizes, Viewport, format_number, parse_opacity
from parsing.svg.names import PAINT_PROPERTIES
from parsing.svg.transforms import concatenate_transforms
from parsing.svg.viewports import ClipBox, ViewportFrame

EMPTY: Final[dict[str, str]] = {}
HIDDEN_VISIBILITIES: Final = frozenset({"hidden", "collapse"})
VISIBLE_OVERFLOWS: Final = frozenset({"visible", "auto"})
EFFECTS: Final = frozenset({"paint-order", "stroke-dashoffset"})


class InheritedStyle(NamedTuple):
    """The inherited style at one point of the document, and the state of the walk there.

    Groups have no attributes in the output, so all of this ends up on the shapes.
    """

    viewport: Viewport
    paint: dict[str, str] = EMPTY
    color: str = ""
    opacity: float = 1.0
    transform: str = ""
    is_displayed: bool = True
    visibility: str = "visible"
    position: ShapeContainer = ShapeContainer()
    is_inner: bool = False  # in a nested viewport, which the output does not have
    open_uses: frozenset[str] = frozenset()
    match_state: MatchState = OUTSIDE
    switch_choice: list[bool] | None = None  # in a switch: not empty once a child is chosen
    is_plain: bool = True  # nothing to add to a shape's own attributes
    is_visible: bool = True
    own_values: dict[str, str] = EMPTY  # what the innermost group itself sets, for `inherit`
    variables: Mapping[str, str] = EMPTY
    font: FontSizes = FontSizes()
    effects: Mapping[str, str] = EMPTY
    context_paint: Mapping[str, str] = EMPTY  # what a `use` paints with
    overflow: str = ""  # of the innermost group
    clips: tuple[ClipBox, ...] = ()

    def is_shape_visible(self, controls: dict[str, str]) -> bool:
        """Return whether a shape that sets these rendering properties is visible."""
        return (
            self.is_displayed
            and controls.get("display") != "none"
            and controls.get("visibility", self.visibility) not in HIDDEN_VISIBILITIES
        )

    def enter_group(self, style: ElementStyle) -> "InheritedStyle":
        """Return the style inside a group that sets this style."""
        output, controls = style
        paint = self._drop_unknown_paints(
            drop_inherit({name: text for name, text in output.items() if name in PAINT_PROPERTIES})
        )
        color = controls.get("color", self.color)
        opacity = self.opacity * parse_opacity(output.get("opacity", "1"))
        is_displayed = self.is_displayed and controls.get("display") != "none"
        visibility = controls.get("visibility", self.visibility)
        effects = {name: value for name, value in controls.items() if name in EFFECTS}
        return self._replace(
            own_values={**output, **controls},
            effects={**self.effects, **effects} if effects else self.effects,
            overflow=controls.get("overflow", ""),
            paint=self.paint | paint,
            color=color,
            opacity=opacity,
            is_displayed=is_displayed,
            visibility=visibility,
            switch_choice=None,
            is_plain=self.is_plain and not (paint or color) and opacity == 1,
            is_visible=is_displayed and visibility not in HIDDEN_VISIBILITIES,
        ).with_transform(output.get("transform", ""))

    def with_transform(self, transform: str) -> "InheritedStyle":
        """Return this style with one more transform inside the others."""
        if not transform:
            return self
        return self._replace(
            transform=concatenate_transforms(self.transform, transform), is_plain=False
        )

    def only_inherited(self) -> "InheritedStyle":
        """Return this style for what is inside but drawn elsewhere, as patterns are."""
        return InheritedStyle(
            self.viewport,
            paint=self.paint,
            color=self.color,
            visibility=self.visibility,
            match_state=self.match_state,
            is_plain=not (self.paint or self.color),
            is_visible=self.visibility not in HIDDEN_VISIBILITIES,
            own_values=self.own_values,
            variables=self.variables,
            font=self.font,
            effects=self.effects,
        )

    def enter_viewport(self, frame: ViewportFrame) -> "InheritedStyle":
        """Return the style inside a nested `svg`."""
        inner = self.with_transform(frame.transform)
        clips = self.clips
        if not frame.is_drawn:
            return inner._replace(is_displayed=False, is_visible=False)
        if frame.box is not None and self.overflow not in VISIBLE_OVERFLOWS:
            x, y, width, height = frame.box
            clips += (ClipBox(x, y, x + width, y + height, self.transform),)
        return inner._replace(viewport=frame.viewport, is_inner=True, is_plain=False, clips=clips)

    def resolve_attributes(self, style: dict[str, str], color: str) -> dict[str, str]:
        """Return a shape's attributes: its own in their order, then the inherited ones."""
        own = self._drop_unknown_paints(drop_inherit(style))
        # Its own come first, in their order; where both have one, its own wins.
        attributes = own | self.paint | own if self.paint else own.copy()
        if color:
            for name in ("fill", "stroke"):
                if attributes.get(name, "").lower() == "currentcolor":
                    attributes[name] = color
        if self.opacity != 1:
            # The opacities of groups multiply. That is exact where their shapes do not overlap; see
            # docs/decisions/parsing/styling.md.
            opacity = self.opacity * parse_opacity(own.get("opacity", "1"))
            attributes["opacity"] = format_number(opacity)
        if self.transform:
            attributes["transform"] = concatenate_transforms(
                self.transform, own.get("transform", "")
            )
        return attributes

    def _drop_unknown_paints(self, style: dict[str, str]) -> dict[str, str]:
        """Drop paints in error where there are inherited ones, which browsers draw instead."""
        dropped = {
            name
            for name in ("fill", "stroke")
            if name in self.paint and name in style and is_unknown_paint(style[name])
        }
        return {n: text for n, text in style.items() if n not in dropped} if dropped else style


def drop_inherit(style: dict[str, str]) -> dict[str, str]:
    """Drop properties with the value `inherit`, which is the default of inherited ones."""
    if "inherit" not in style.values():
        return style
    return {name: value for name, value in style.items() if value != "inherit"}
