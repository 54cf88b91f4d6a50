"""Which style an element has by itself: attributes, rules over them, `style` over both."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple

from parsing.errors import Refused
from parsing.limits import Limits, bounded
from parsing.names import CONTROLS, KEPT
from parsing.styles import (
    Compound,
    Declarations,
    Element,
    Rule,
    merge,
    parse_declarations,
    parse_rules,
    parse_selector,
    specificity,
)

MEMO_ENTRIES: Final = 50_000
NOTHING: Final[dict[str, str]] = {}


class Style(NamedTuple):
    """What is kept in the output, and what decides on it: display, visibility, color."""

    kept: dict[str, str]
    controls: dict[str, str]

    def without(self, *controls: str) -> "Style":
        """The same style, silent about these controls."""
        left = {name: value for name, value in self.controls.items() if name not in controls}
        return Style(self.kept, left)


class Cascade:
    """The rules of a document's `style` elements, and what they make of its elements."""

    def __init__(self, sheet: str, limits: Limits) -> None:
        self._matches_left = limits.selector_matches
        self._rules: defaultdict[str, list[Rule]] = defaultdict(list)  # by part of what stands last
        self._ruled: dict[tuple[str | None, ...], Style] = {}
        self.has_combinators = False
        count = 0
        for selectors, body in parse_rules(sheet):
            count += 1 + selectors.count(",")
            if count > limits.style_rules:
                raise Refused(f"the drawing has more than {limits.style_rules:,} style rules")
            declarations = parse_declarations(body)
            for selector in filter(None, map(parse_selector, selectors.split(","))):
                self._add(Rule(specificity(selector), count, selector, declarations))
        self.has_rules = bool(self._rules)

    def concerns(self, name: str, attributes: Mapping[str, str]) -> bool:
        """Whether any rule could apply to an element that has neither `class` nor `style`."""
        rules = self._rules
        return name in rules or "*" in rules or f"#{attributes.get('id')}" in rules

    def style(self, name: str, attributes: dict[str, str], around: Element | None) -> Style:
        """The own style of an element; the dictionary of kept values is the caller's."""
        kept = {name: value for name, value in attributes.items() if name in KEPT}
        controls = NOTHING
        if not CONTROLS.isdisjoint(attributes):
            controls = {name: attributes[name] for name in CONTROLS if name in attributes}
        if self.has_rules or "style" in attributes:
            ruled = self._style_by_rules(name, attributes, around)
            kept.update(ruled.kept)
            controls = {**controls, **ruled.controls} if ruled.controls else controls
            if not kept.get("transform", "none"):
                del kept["transform"]
        return Style(kept, controls)

    def element(self, name: str, attributes: Mapping[str, str], around: Element | None) -> Element:
        """An element as selectors see it."""
        classes = frozenset(bounded(attributes.get("class", ""), "class").split())
        return Element(name, attributes.get("id"), classes, around)

    def _add(self, rule: Rule) -> None:
        last = rule.selector[0]
        key = f"#{last.id}" if last.id else f".{min(last.classes)}" if last.classes else last.tag
        self._rules[key or "*"].append(rule)
        self.has_combinators |= len(rule.selector) > 1

    def _style_by_rules(
        self, name: str, attributes: dict[str, str], around: Element | None
    ) -> Style:
        """What rules and `style` attribute say, remembered for elements that look the same."""
        if self.has_combinators:
            return self._computed(name, attributes, around)
        ruled_id = f"#{attributes.get('id')}"
        key = (
            name,
            attributes.get("class"),
            attributes.get("style"),
            ruled_id if ruled_id in self._rules else None,
        )
        style = self._ruled.get(key)
        if style is None:
            if len(self._ruled) >= MEMO_ENTRIES:
                self._ruled.clear()
            style = self._ruled[key] = self._computed(name, attributes, around)
        return style

    def _computed(self, name: str, attributes: dict[str, str], around: Element | None) -> Style:
        """CSS Cascade 4, section 6.1."""
        own = parse_declarations(attributes.get("style", ""))
        values = own.normal | own.important
        if self.has_rules:
            ruled = self._declared(self.element(name, attributes, around))
            values = ruled.normal | own.normal | ruled.important | own.important
        return Style(
            {name: value for name, value in values.items() if name in KEPT},
            {name: value for name, value in values.items() if name in CONTROLS},
        )

    def _declared(self, element: Element) -> Declarations:
        """What all rules for an element say, the weightiest last."""
        keys = ("*", element.tag, f"#{element.id}", *(f".{name}" for name in element.classes))
        candidates = [rule for key in keys for rule in self._rules.get(key, ())]
        matching = [rule for rule in candidates if self._applies(rule.selector, element)]
        matching.sort(key=lambda rule: rule[:2])
        return merge(rule.declarations for rule in matching)

    def _applies(self, selector: tuple[Compound, ...], element: Element) -> bool:
        """Whether compounds, from right to left, match an element and those around it."""
        self._matches_left -= 1
        if self._matches_left < 0:
            raise Refused("the style rules take too many comparisons; use plain class selectors")
        first, *rest = selector
        if not first.matches(element):
            return False
        if not rest:
            return True
        around = element.parent
        while around is not None:
            if self._applies(tuple(rest), around):
                return True
            around = None if first.child else around.parent
        return False
