"""Compute the style that an element has of its own: attributes, style rules, `style`.

All style rules are matched at once; see docs/decisions/parsing/styling.md.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from parsing.errors import DocumentRejectedError
from parsing.limits import DocumentLimits, check_text_length
from parsing.svg.names import (
    BOX_PROPERTIES,
    EFFECT_PROPERTIES,
    OUTPUT_ATTRIBUTES,
    RENDERING_ATTRIBUTES,
    RENDERING_PROPERTIES,
)
from parsing.svg.style_sheets import (
    MAX_STYLE_CHARS,
    NO_DECLARATIONS,
    CompoundSelector,
    Declarations,
    SelectedElement,
    Selector,
    merge_declarations,
    parse_declarations,
    parse_rules,
    parse_selector,
    specificity,
    split_selectors,
    squeeze_blanks,
)
from parsing.svg.transforms import (
    CSS_TRANSFORMS,
    TRANSFORM_PROPERTIES,
    css_transform_to_attribute,
    is_css_transform,
    to_css_transform,
)
from parsing.svg.values import WIDE_KEYWORDS

MAX_CACHED_MATCHES: Final = 20_000


class StyleRule(NamedTuple):
    """The declarations for one selector, sortable by precedence."""

    specificity: tuple[int, int, int]
    order: int
    declarations: Declarations


class SelectorPrefix:
    """The first compounds of a selector, the last of which is `compound`.

    Selectors that begin alike share it. `rules` are those of the selectors that end with it.
    """

    __slots__ = ("compound", "is_before_child", "is_before_descendant", "previous", "rules")

    def __init__(self, compound: CompoundSelector, previous: "SelectorPrefix | None") -> None:
        self.compound = compound
        self.previous = previous
        self.rules: list[StyleRule] = []
        self.is_before_child = False
        self.is_before_descendant = False

    def matches(self, element: SelectedElement, outer: "MatchState") -> bool:
        """Return whether the compounds match the element and its ancestors."""
        if self.previous is not None and self.previous not in (
            outer.parent if self.compound.is_child else outer.ancestors
        ):
            return False
        return self.compound.matches(element)


class MatchState(NamedTuple):
    """The selectors that an element and its ancestors match in part, and elements inside may end.

    `parent` has the prefixes that the element matches and a `>` continues, `ancestors` those that
    it or an ancestor matches and a descendant combinator continues.
    """

    parent: frozenset[SelectorPrefix] = frozenset()
    ancestors: frozenset[SelectorPrefix] = frozenset()


class RuleMatch(NamedTuple):
    """The declarations that rules have for an element, and the state for the elements inside it."""

    declarations: Declarations
    inside: MatchState


OUTSIDE: Final = MatchState()
"""The state around the root element."""


class RuleMatcher:
    """Matches elements with rules.

    What an element matches follows from its tag, id and classes and from the state of its parent.
    Nothing is searched, and elements that are alike are matched once. Each comparison of a prefix
    with an element, each prefix in a new state and each merged declaration is a step; their number
    is limited.
    """

    def __init__(self, limits: DocumentLimits) -> None:
        self._limits = limits
        self.steps = 0
        self._prefixes: dict[tuple[SelectorPrefix | None, CompoundSelector], SelectorPrefix] = {}
        # By one part of the compound, so that few are compared with an element.
        self._index: defaultdict[str, list[SelectorPrefix]] = defaultdict(list)
        self._ids: set[str] = set()
        self._classes: set[str] = set()
        self._cache: dict[tuple[object, ...], RuleMatch] = {}
        self._states = {OUTSIDE: OUTSIDE}
        """States by themselves: of equal ones only one is kept, so that most compare fast."""

    def __bool__(self) -> bool:
        return bool(self._prefixes)

    def add_rule(self, selector: Selector, order: int, declarations: Declarations) -> None:
        """Add a rule. Raises `DocumentRejectedError` if it is too much."""
        prefix: SelectorPrefix | None = None
        for compound in selector:
            prefix = self._get_or_add_prefix(prefix, compound)
        assert prefix is not None, "a selector has a compound"
        prefix.rules.append(StyleRule(specificity(selector), order, declarations))

    def names_id(self, element_id: str | None) -> bool:
        """Return whether a selector has this id."""
        return element_id in self._ids

    def match(
        self, tag: str, element_id: str | None, class_names: str, outer: MatchState
    ) -> RuleMatch:
        """Match an element. Raises `DocumentRejectedError` if all took too many steps."""
        known_id = element_id if element_id in self._ids else None
        match = self._cache.get((tag, known_id, class_names, outer))
        if match is None:
            if len(self._cache) >= MAX_CACHED_MATCHES:
                self._cache.clear()
                self._states = {OUTSIDE: OUTSIDE}
            match = self._match_known(tag, known_id, class_names, outer)
            self._cache[tag, known_id, class_names, outer] = match
        return match

    def _match_known(
        self, tag: str, known_id: str | None, class_names: str, outer: MatchState
    ) -> RuleMatch:
        """Match an element by what selectors name: without its other classes, more are alike."""
        classes = check_text_length(class_names, "class").split()
        element = SelectedElement(tag, known_id, frozenset(self._classes.intersection(classes)))
        match = self._cache.get((element, outer))
        if match is None:
            match = self._cache[element, outer] = self._match(element, outer)
        return match

    def _get_or_add_prefix(
        self, previous: SelectorPrefix | None, compound: CompoundSelector
    ) -> SelectorPrefix:
        prefix = self._prefixes.get((previous, compound))
        if prefix is not None:
            return prefix
        if len(self._prefixes) >= self._limits.selector_parts:
            raise DocumentRejectedError(
                f"the selectors of the style rules have more than {self._limits.selector_parts:,} "
                "different parts"
            )
        prefix = self._prefixes[previous, compound] = SelectorPrefix(compound, previous)
        self._index[compound.index_key].append(prefix)
        if compound.id:
            self._ids.add(compound.id)
        self._classes |= compound.classes
        if previous is not None and compound.is_child:
            previous.is_before_child = True
        elif previous is not None:
            previous.is_before_descendant = True
        return prefix

    def _match(self, element: SelectedElement, outer: MatchState) -> RuleMatch:
        # A compound is indexed by one of its parts, so an element is compared with few.
        keys = ("*", element.tag, f"#{element.id}", *(f".{name}" for name in element.classes))
        indexed = [self._index[key] for key in keys if key in self._index]
        self._count_steps(1 + sum(map(len, indexed)))
        matched = [
            prefix for prefixes in indexed for prefix in prefixes if prefix.matches(element, outer)
        ]
        return RuleMatch(self._merge_declarations(matched), self._enter(matched, outer))

    def _merge_declarations(self, matched: Iterable[SelectorPrefix]) -> Declarations:
        rules = [rule for prefix in matched for rule in prefix.rules]
        if not rules:
            return NO_DECLARATIONS
        self._count_steps(sum(1 + sum(map(len, rule.declarations)) for rule in rules))
        rules.sort(key=lambda rule: rule[:2])
        return merge_declarations(rule.declarations for rule in rules)

    def _enter(self, matched: Iterable[SelectorPrefix], outer: MatchState) -> MatchState:
        """Return the state inside an element that matches these prefixes."""
        parent = frozenset(prefix for prefix in matched if prefix.is_before_child)
        ancestors = outer.ancestors
        added = {prefix for prefix in matched if prefix.is_before_descendant} - ancestors
        if added:
            self._count_steps(len(added) + len(ancestors))
            ancestors |= added
        state = MatchState(parent, ancestors)
        return self._states.setdefault(state, state)

    def _count_steps(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self._limits.selector_matches:
            raise DocumentRejectedError(
                "the style rules take too many comparisons; use plain class selectors"
            )


MAX_CACHED_STYLES: Final = 50_000
PLACING_PROPERTIES: Final = BOX_PROPERTIES | {"d", "transform"}
NO_CONTROLS: Final[dict[str, str]] = {}
UNMATCHED: Final = RuleMatch(NO_DECLARATIONS, OUTSIDE)


class ElementStyle(NamedTuple):
    """Properties of the output, and those that decide on rendering, such as `display`.

    The latter have the custom properties (`--name`) too.
    """

    output: dict[str, str]
    controls: dict[str, str]


class StyleReport:
    """Receives the styles that are read, and the rules that are not; this one ignores both."""

    def rule_unread(self, prelude: str) -> None:
        """Receive the selector or at-rule of a rule that is skipped, or a declaration."""

    def see_style(self, style: str) -> None:
        """Receive a `style` attribute, or a rule with effects, before an element has it."""


SILENT: Final = StyleReport()


class Cascade:
    """Applies the rules of a document's `style` elements to its elements.

    Elements are matched with rules by their parent's `MatchState`, `OUTSIDE` for the root.
    """

    def __init__(
        self,
        style_sheet: str,
        limits: DocumentLimits,
        report: StyleReport = SILENT,
    ) -> None:
        self._matcher = RuleMatcher(limits)
        self._report = report
        self._style_cache: dict[tuple[object, ...], ElementStyle] = {}
        self._has_effects = False
        count = 0
        for selectors, body in parse_rules(style_sheet, report.rule_unread):
            count += 1 + selectors.count(",")
            if count > limits.style_rules:
                raise DocumentRejectedError(
                    f"the drawing has more than {limits.style_rules:,} style rules"
                )
            declarations = parse_declarations(body)
            if any(_has_effects(each) for each in declarations):
                self._has_effects = True
                report.see_style(body)
            if len(squeeze_blanks(body)) > MAX_STYLE_CHARS:
                report.rule_unread(selectors)
            for text in split_selectors(selectors):
                if selector := parse_selector(text):
                    self._matcher.add_rule(selector, count, declarations)
                elif declarations != NO_DECLARATIONS:
                    report.rule_unread(text)
        self.has_rules = bool(self._matcher)

    def match_rules(self, name: str, attributes: Mapping[str, str], outer: MatchState) -> RuleMatch:
        """Match an element with all rules."""
        if not self.has_rules:
            return UNMATCHED
        return self._matcher.match(name, attributes.get("id"), attributes.get("class", ""), outer)

    def compute_style(
        self, name: str, attributes: dict[str, str], outer: MatchState
    ) -> ElementStyle:
        """Return the style of an element itself; the caller may change its `output`."""
        if "%" in attributes.get("transform", ""):  # only style has percentages there
            attributes = {n: text for n, text in attributes.items() if n != "transform"}
        output = {name: value for name, value in attributes.items() if name in OUTPUT_ATTRIBUTES}
        controls = NO_CONTROLS
        if not RENDERING_ATTRIBUTES.isdisjoint(attributes):
            controls = {
                name: attributes[name] for name in RENDERING_ATTRIBUTES if name in attributes
            }
        if self.has_rules or "style" in attributes:
            ruled = self._cached_style(name, attributes, outer)
            if "class" in attributes and ruled.output:
                output = _replace_class(attributes, ruled.output)
            else:
                output.update(ruled.output)
            controls = {**controls, **ruled.controls} if ruled.controls else controls
        return ElementStyle(output, controls)

    def match_effects(
        self, name: str, attributes: Mapping[str, str], outer: MatchState
    ) -> Mapping[str, str]:
        """Return the values that rules have for an element, if any rule has effects."""
        if not self._has_effects:
            return NO_CONTROLS
        normal, important = self.match_rules(name, attributes, outer).declarations
        return {**normal, **important}

    def names_id(self, element_id: str | None) -> bool:
        """Return whether a selector has this id."""
        return self._matcher.names_id(element_id)

    def sets_geometry(self, name: str, attributes: dict[str, str], outer: MatchState) -> bool:
        """Return whether rules or the `style` attribute say where an element is."""
        if not (self.has_rules or "style" in attributes):
            return False
        return not PLACING_PROPERTIES.isdisjoint(self._cached_style(name, attributes, outer).output)

    def _cached_style(
        self, name: str, attributes: dict[str, str], outer: MatchState
    ) -> ElementStyle:
        """Return the style from rules and `style` attribute, cached by what selectors look at."""
        element_id = attributes.get("id")
        key = (
            name,
            attributes.get("class"),
            attributes.get("style"),
            element_id if self._matcher.names_id(element_id) else None,
            outer,
        )
        style = self._style_cache.get(key)
        if style is None:
            if len(self._style_cache) >= MAX_CACHED_STYLES:
                self._style_cache.clear()
            style = self._style_cache[key] = self._cascade_style(name, attributes, outer)
        return style

    def _cascade_style(
        self, name: str, attributes: dict[str, str], outer: MatchState
    ) -> ElementStyle:
        """Combine rules and `style` attribute in cascade order (CSS Cascade 4, section 6.1)."""
        own = NO_DECLARATIONS
        if style := attributes.get("style"):
            self._report.see_style(style)
            own = parse_declarations(style)
        ruled = self.match_rules(name, attributes, outer).declarations
        # Normal before important, and in each the attribute over the rules.
        declared = (ruled.normal, own.normal, ruled.important, own.important)
        values: dict[str, str] = {}
        for layer in declared:
            values |= layer
        output = {name: value for name, value in values.items() if name in OUTPUT_ATTRIBUTES}
        controls = {
            name: value
            for name, value in values.items()
            if name in RENDERING_PROPERTIES or name.startswith("--")
        }
        if transform := controls.get("transform"):
            # In output is the syntax of the attribute, which this replaces; it is computed later.
            output["transform"] = ""
            if transform.lower() in WIDE_KEYWORDS:
                output["transform"] = controls.pop("transform")
        if not TRANSFORM_PROPERTIES.isdisjoint(controls):
            self._report_depth(controls)
        return ElementStyle(output, controls)

    def _report_depth(self, controls: Mapping[str, str]) -> None:
        """Report transforms in three dimensions, which are not applied."""
        for name in CSS_TRANSFORMS:
            text = to_css_transform(name, controls.get(name, "none"))
            if is_css_transform(text) and css_transform_to_attribute(text) is None:
                self._report.rule_unread(f"{name}: {controls[name]}")


def is_calculated(value: str) -> bool:
    """Return whether a value has a function that is not read."""
    return "calc(" in value or "clamp(" in value


def _has_effects(values: Mapping[str, str]) -> bool:
    return not EFFECT_PROPERTIES.isdisjoint(values) or any(map(is_calculated, values.values()))


def _replace_class(attributes: Mapping[str, str], ruled: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes of the output, with values of rules where `class` is written.

    So a drawing has the same order whether its program writes classes or attributes.
    """
    output: dict[str, str] = {}
    for name, value in attributes.items():
        if name == "class":
            output |= {each: ruled[each] for each in ruled if each not in attributes}
        elif name in OUTPUT_ATTRIBUTES:
            output[name] = ruled.get(name, value)
    return output
