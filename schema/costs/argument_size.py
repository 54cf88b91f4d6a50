"""Count what the arguments of an operation hold, before any of it is coerced."""

from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from graphql import ListValueNode, ObjectValueNode, StringValueNode, ValueNode, VariableNode

TEXT_TYPES = {str, type(None)}


class ValueSize(NamedTuple):
    """Size of a JSON value."""

    items: int
    """Objects and list items."""
    characters: int
    """Characters of all texts; names of members do not count."""


@dataclass(slots=True)
class ArgumentSize:
    """Size of the arguments of some fields, counted as often as each field may be resolved.

    Variables differ from request to request, so only their uses are counted.
    """

    items: int = 0
    characters: int = 0
    uses: dict[str, int] = field(default_factory=dict)
    """How often each variable is used."""

    def add(self, other: "ArgumentSize", times: int = 1) -> None:
        """Add the arguments of fields that are resolved `times` times."""
        self.items += other.items * times
        self.characters += other.characters * times
        for name, count in other.uses.items():
            self.uses[name] = self.uses.get(name, 0) + count * times

    def add_argument(self, node: ValueNode) -> None:
        """Add an argument as it is written in the document."""
        if isinstance(node, VariableNode):
            self.uses[node.name.value] = self.uses.get(node.name.value, 0) + 1
        elif isinstance(node, StringValueNode):
            self.characters += len(node.value)
        elif isinstance(node, ListValueNode):
            for item in node.values:
                self.items += not isinstance(item, ObjectValueNode)
                self.add_argument(item)
        elif isinstance(node, ObjectValueNode):
            self.items += 1
            for member in node.fields:
                self.add_argument(member.value)


def measure_value(value: Any, max_items: int) -> ValueSize:
    """Count a JSON value, up to just over `max_items`.

    >>> measure_value([{"x": "one"}, {"x": [2, 3]}], max_items=100)
    ValueSize(items=4, characters=3)
    """
    if isinstance(value, str):
        return ValueSize(0, len(value))
    if not isinstance(value, (list, dict)):
        return ValueSize(0, 0)
    # A stack and no recursion: JSON may be nested more deeply than Python's recursion limit.
    items, characters = 0, 0
    stack: list[Any] = [value]
    if isinstance(value, dict):
        items = 1
    while stack and items <= max_items:
        container = stack.pop()
        members = container
        if isinstance(container, dict):
            members = container.values()
        else:
            items += len(container)
            if items > max_items:
                break
            texts = container
            if {*map(type, container)} == {dict}:  # at once, and not each from the stack
                texts = [*chain.from_iterable(map(dict.values, container))]
            if {*map(type, texts)} <= TEXT_TYPES:
                characters += sum(map(len, filter(None, texts)))
                continue
        for member in members:
            if member is None:
                continue
            if isinstance(member, str):
                characters += len(member)
            elif isinstance(member, list):
                stack.append(member)
            elif isinstance(member, dict):
                items += members is not container  # as a list item it is counted already
                stack.append(member)
    return ValueSize(items, characters)
