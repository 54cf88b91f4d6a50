"""Count the elements that `use` elements expand to, before they are expanded."""

from collections.abc import Sequence
from typing import Final

from parsing.errors import DocumentRejectedError
from parsing.limits import DocumentLimits
from parsing.svg.conditions import choose_switch_child
from parsing.svg.definitions import Definitions
from parsing.svg.names import CONTAINER_TAGS, SYMBOL_TAGS, USE_TAGS, referenced_id
from parsing.xml.tokens import Token

MAX_NESTED_USES: Final = 64


class ExpansionCounter:
    """Counts for one document, within its limits.

    The count of a target is the sum of its elements and of the counts of the `use` elements in it,
    each computed once. Only targets that refer to each other in a circle are counted anew, because
    their counts depend on where the circle was entered. Either way the steps are at most twice the
    elements counted.
    """

    def __init__(self, definitions: Definitions, limits: DocumentLimits) -> None:
        self._definitions = definitions
        self._max_elements = limits.elements
        self.expanded_elements = 0
        self._steps = 0
        self._counts: dict[str, int] = {}
        self._counts_in_circles: dict[str, int] = {}
        self._uses: dict[str, list[str]] = {}

    def add_use(self, name: str) -> None:
        """Count a `use` that is not itself expanded from another.

        Raises `DocumentRejectedError` if it takes the drawing over its limits.
        """
        count = self._counts.get(name) or self._counts_in_circles.get(name)
        if count is None:
            count, _ = self._count(name, set())
            self._counts_in_circles[name] = count
        self.expanded_elements += count
        if self.expanded_elements > self._max_elements:
            raise DocumentRejectedError(
                f'use of "{name[:40]}" expands to {count:,} elements; '
                f"all uses of a drawing may expand to {self._max_elements:,} together"
            )

    def _count(self, name: str, open_names: set[str]) -> tuple[int, bool]:
        """Return the elements of an instance, and whether that holds outside of `open_names` too.

        A `use` of an element that is being expanded draws nothing.
        """
        if name in open_names:
            return 0, False
        if name in self._counts:
            return self._counts[name], True
        check_nested_uses(len(open_names))
        tokens = self._definitions.instance_tokens(name)
        count, holds_everywhere = len(tokens) // 2, True
        open_names.add(name)
        for used_name in self._find_uses(name, tokens):
            self._add_steps(1)
            inner_count, inner_holds = self._count(used_name, open_names)
            count += inner_count
            holds_everywhere &= inner_holds
        open_names.remove(name)
        if holds_everywhere:
            self._counts[name] = count
        return count, holds_everywhere

    def _find_uses(self, name: str, tokens: Sequence[Token]) -> list[str]:
        uses = self._uses.get(name)
        if uses is None:
            self._add_steps(len(tokens) // 2)
            uses = self._uses[name] = find_drawn_uses(tokens)
        return uses

    def _add_steps(self, steps: int) -> None:
        self._steps += steps
        if self._steps > 2 * self._max_elements:
            raise DocumentRejectedError(f"use expands to more than {self._max_elements:,} elements")


def check_nested_uses(open_uses: int) -> None:
    """Raise `DocumentRejectedError` if one more `use` in as many others is one too many."""
    if open_uses >= MAX_NESTED_USES:
        raise DocumentRejectedError(f"use elements refer to each other {MAX_NESTED_USES} deep")


def find_drawn_uses(tokens: Sequence[Token]) -> list[str]:
    """Return the ids to which the `use` elements in an instance refer, of those that are drawn."""
    names: list[str] = []
    groups: list[list[bool] | None] = []  # the choice of each open group that is a switch
    skip_depth = 0
    for position, token in enumerate(tokens):
        if token is None:
            if skip_depth:
                skip_depth -= 1
            else:
                groups.pop()
            continue
        tag, attributes = token
        choice = groups[-1] if groups else None
        if skip_depth or (choice is not None and not choose_switch_child(choice, attributes)):
            skip_depth += 1
        elif _is_group(tag, attributes) or (position == 0 and tag in SYMBOL_TAGS):
            groups.append([] if CONTAINER_TAGS.get(tag) == "switch" else None)
        else:
            skip_depth = 1
            if tag in USE_TAGS:
                names.append(referenced_id(attributes))
    return names


def _is_group(tag: str, attributes: dict[str, str]) -> bool:
    name = CONTAINER_TAGS.get(tag)
    return name is not None and (name != "g" or attributes.get("data-type") != "Georeference")
