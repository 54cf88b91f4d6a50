"""Match elements with the selectors of all style rules at once, from the root to the leaves.

See docs/decisions/parsing/selector-matching.md.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from parsing.errors import DocumentRejectedError
from parsing.limits import DocumentLimits, check_text_length
from parsing.svg.style.selectors import CompoundSelector, SelectedElement, Selector, specificity
from parsing.svg.style.styles import NO_DECLARATIONS, Declarations, merge_declarations

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
    """What an element and its ancestors match: all that selectors ask of them further inside.

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
