"""Which style an element has by itself: attributes, rules over them, `style` over both."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple

from parsing.errors import DocumentRejectedError
from parsing.limits import DocumentLimits, check_text_length
from parsing.svg.names import OUTPUT_ATTRIBUTES, RENDERING_PROPERTIES
from parsing.svg.style.styles import (
    CompoundSelector,
    Declarations,
    StyledElement,
    StyleRule,
    merge_declarations,
    parse_declarations,
    parse_rules,
    parse_selector,
    specificity,
)

MAX_CACHED_STYLES: Final = 50_000
NO_CONTROLS: Final[dict[str, str]] = {}


class ElementStyle(NamedTuple):
    """What is kept in the output, and what decides on it: display, visibility, color."""

    output: dict[str, str]
    controls: dict[str, str]

    def without_controls(self, *controls: str) -> "ElementStyle":
        """The same style, silent about these controls."""
        left = {name: value for name, value in self.controls.items() if name not in controls}
        return ElementStyle(self.output, left)


class Cascade:
    """The rules of a document's `style` elements, and what they make of its elements."""

    def __init__(self, sheet: str, limits: DocumentLimits) -> None:
        self._matches_left = limits.selector_matches
        self._rules: defaultdict[str, list[StyleRule]] = defaultdict(
            list
        )  # by part of what stands last
        self._style_cache: dict[tuple[str | None, ...], ElementStyle] = {}
        self.has_combinators = False
        count = 0
        for selectors, body in parse_rules(sheet):
            count += 1 + selectors.count(",")
            if count > limits.style_rules:
                raise DocumentRejectedError(
                    f"the drawing has more than {limits.style_rules:,} style rules"
                )
            declarations = parse_declarations(body)
            for selector in filter(None, map(parse_selector, selectors.split(","))):
                self._index_rule(StyleRule(specificity(selector), count, selector, declarations))
        self.has_rules = bool(self._rules)

    def may_apply(self, name: str, attributes: Mapping[str, str]) -> bool:
        """Whether any rule could apply to an element that has neither `class` nor `style`."""
        rules = self._rules
        return name in rules or "*" in rules or f"#{attributes.get('id')}" in rules

    def compute_style(
        self, name: str, attributes: dict[str, str], around: StyledElement | None
    ) -> ElementStyle:
        """The own style of an element; the dictionary of kept values is the caller's."""
        kept = {name: value for name, value in attributes.items() if name in OUTPUT_ATTRIBUTES}
        controls = NO_CONTROLS
        if not RENDERING_PROPERTIES.isdisjoint(attributes):
            controls = {
                name: attributes[name] for name in RENDERING_PROPERTIES if name in attributes
            }
        if self.has_rules or "style" in attributes:
            ruled = self._cached_style(name, attributes, around)
            kept.update(ruled.output)
            controls = {**controls, **ruled.controls} if ruled.controls else controls
            if not kept.get("transform", "none"):
                del kept["transform"]
        return ElementStyle(kept, controls)

    def to_styled_element(
        self, name: str, attributes: Mapping[str, str], around: StyledElement | None
    ) -> StyledElement:
        """An element as selectors see it."""
        classes = frozenset(check_text_length(attributes.get("class", ""), "class").split())
        return StyledElement(name, attributes.get("id"), classes, around)

    def _index_rule(self, rule: StyleRule) -> None:
        last = rule.selector[0]
        key = f"#{last.id}" if last.id else f".{min(last.classes)}" if last.classes else last.tag
        self._rules[key or "*"].append(rule)
        self.has_combinators |= len(rule.selector) > 1

    def _cached_style(
        self, name: str, attributes: dict[str, str], around: StyledElement | None
    ) -> ElementStyle:
        """What rules and `style` attribute say, remembered for elements that look the same."""
        if self.has_combinators:
            return self._cascade_style(name, attributes, around)
        ruled_id = f"#{attributes.get('id')}"
        key = (
            name,
            attributes.get("class"),
            attributes.get("style"),
            ruled_id if ruled_id in self._rules else None,
        )
        style = self._style_cache.get(key)
        if style is None:
            if len(self._style_cache) >= MAX_CACHED_STYLES:
                self._style_cache.clear()
            style = self._style_cache[key] = self._cascade_style(name, attributes, around)
        return style

    def _cascade_style(
        self, name: str, attributes: dict[str, str], around: StyledElement | None
    ) -> ElementStyle:
        """CSS Cascade 4, section 6.1."""
        own = parse_declarations(attributes.get("style", ""))
        values = own.normal | own.important
        if self.has_rules:
            ruled = self._matching_declarations(self.to_styled_element(name, attributes, around))
            values = ruled.normal | own.normal | ruled.important | own.important
        return ElementStyle(
            {name: value for name, value in values.items() if name in OUTPUT_ATTRIBUTES},
            {name: value for name, value in values.items() if name in RENDERING_PROPERTIES},
        )

    def _matching_declarations(self, element: StyledElement) -> Declarations:
        """What all rules for an element say, the weightiest last."""
        keys = ("*", element.tag, f"#{element.id}", *(f".{name}" for name in element.classes))
        candidates = [rule for key in keys for rule in self._rules.get(key, ())]
        matching = [rule for rule in candidates if self._selector_matches(rule.selector, element)]
        matching.sort(key=lambda rule: rule[:2])
        return merge_declarations(rule.declarations for rule in matching)

    def _selector_matches(
        self, selector: tuple[CompoundSelector, ...], element: StyledElement
    ) -> bool:
        """Whether compounds, from right to left, match an element and those around it."""
        self._matches_left -= 1
        if self._matches_left < 0:
            raise DocumentRejectedError(
                "the style rules take too many comparisons; use plain class selectors"
            )
        first, *rest = selector
        if not first.matches(element):
            return False
        if not rest:
            return True
        around = element.parent
        while around is not None:
            if self._selector_matches(tuple(rest), around):
                return True
            around = None if first.is_child else around.parent
        return False
