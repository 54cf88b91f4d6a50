"""Compute an element's own style: presentation attributes, style rules, `style` attribute."""

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
    """Properties of the output, and those that decide on rendering: display, visibility, color."""

    output: dict[str, str]
    controls: dict[str, str]

    def without_controls(self, *controls: str) -> "ElementStyle":
        """Return the style without these rendering properties."""
        others = {name: value for name, value in self.controls.items() if name not in controls}
        return ElementStyle(self.output, others)


class Cascade:
    """Applies the rules of a document's `style` elements to its elements."""

    def __init__(self, style_sheet: str, limits: DocumentLimits) -> None:
        self._matches_left = limits.selector_matches
        # Indexed by one part of the last compound, so that few rules are compared.
        self._rules: defaultdict[str, list[StyleRule]] = defaultdict(list)
        self._style_cache: dict[tuple[str | None, ...], ElementStyle] = {}
        self.has_combinators = False
        count = 0
        for selectors, body in parse_rules(style_sheet):
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
        """Return whether a rule could apply to an element without `class` and `style`."""
        rules = self._rules
        return name in rules or "*" in rules or f"#{attributes.get('id')}" in rules

    def compute_style(
        self, name: str, attributes: dict[str, str], parent: StyledElement | None
    ) -> ElementStyle:
        """Return the style of an element itself; the caller may change its `output`."""
        output = {name: value for name, value in attributes.items() if name in OUTPUT_ATTRIBUTES}
        controls = NO_CONTROLS
        if not RENDERING_PROPERTIES.isdisjoint(attributes):
            controls = {
                name: attributes[name] for name in RENDERING_PROPERTIES if name in attributes
            }
        if self.has_rules or "style" in attributes:
            ruled = self._cached_style(name, attributes, parent)
            output.update(ruled.output)
            controls = {**controls, **ruled.controls} if ruled.controls else controls
            if not output.get("transform", "none"):
                del output["transform"]
        return ElementStyle(output, controls)

    def to_styled_element(
        self, name: str, attributes: Mapping[str, str], parent: StyledElement | None
    ) -> StyledElement:
        """Return an element as selectors see it."""
        classes = frozenset(check_text_length(attributes.get("class", ""), "class").split())
        return StyledElement(name, attributes.get("id"), classes, parent)

    def _index_rule(self, rule: StyleRule) -> None:
        subject = rule.selector[0]
        if subject.id:
            key = f"#{subject.id}"
        elif subject.classes:
            key = f".{min(subject.classes)}"
        else:
            key = subject.tag or "*"
        self._rules[key].append(rule)
        self.has_combinators |= len(rule.selector) > 1

    def _cached_style(
        self, name: str, attributes: dict[str, str], parent: StyledElement | None
    ) -> ElementStyle:
        """Return the style from rules and `style` attribute, cached by what selectors look at."""
        if self.has_combinators:
            return self._cascade_style(name, attributes, parent)
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
            style = self._style_cache[key] = self._cascade_style(name, attributes, parent)
        return style

    def _cascade_style(
        self, name: str, attributes: dict[str, str], parent: StyledElement | None
    ) -> ElementStyle:
        """Combine rules and `style` attribute in cascade order (CSS Cascade 4, section 6.1)."""
        own = parse_declarations(attributes.get("style", ""))
        values = own.normal | own.important
        if self.has_rules:
            ruled = self._matching_declarations(self.to_styled_element(name, attributes, parent))
            values = ruled.normal | own.normal | ruled.important | own.important
        return ElementStyle(
            {name: value for name, value in values.items() if name in OUTPUT_ATTRIBUTES},
            {name: value for name, value in values.items() if name in RENDERING_PROPERTIES},
        )

    def _matching_declarations(self, element: StyledElement) -> Declarations:
        """Merge the declarations of all rules for an element in order of precedence."""
        keys = ("*", element.tag, f"#{element.id}", *(f".{name}" for name in element.classes))
        candidates = [rule for key in keys for rule in self._rules.get(key, ())]
        matching = [rule for rule in candidates if self._selector_matches(rule.selector, element)]
        matching.sort(key=lambda rule: rule[:2])
        return merge_declarations(rule.declarations for rule in matching)

    def _selector_matches(
        self, selector: tuple[CompoundSelector, ...], element: StyledElement
    ) -> bool:
        """Match compounds from right to left against an element and its ancestors."""
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
        ancestor = element.parent
        while ancestor is not None:
            if self._selector_matches(tuple(rest), ancestor):
                return True
            ancestor = None if first.is_child else ancestor.parent
        return False
