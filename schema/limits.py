"""What an operation may ask for, known before it runs.

One walk over the operation, with every fragment measured once: linear in the document, where a rule
that expands fragments takes exponential time on nested ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphql import (
    ArgumentNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
    Visitor,
    get_named_type,
    visit,
)

from resolvers.arguments import DEFAULT_PER_PAGE, MOST_PER_PAGE
from schema.bounds import Limits

PAGE_SIZE = "perPage"
ASSUMED_PAGE_SIZE = 10
"""How long a nested list is taken to be when the operation gives no page size."""


MEANINGS = {
    "depth": "nests {} fields, over the limit of {}",
    "aliases": "has {} aliases, over the limit of {}",
    "breadth": "asks {} fields of one object, over the limit of {}",
    "cost": "may return {} records, over the limit of {}; ask for smaller pages with perPage",
}


class Size(NamedTuple):
    """How much a selection asks for."""

    depth: int = 0
    aliases: int = 0
    width: int = 0
    """Its own fields."""
    breadth: int = 0
    """The most fields of any selection in it."""
    cost: int = 0

    def beside(self, other: "Size") -> "Size":
        """The size of two selections on the same object."""
        width = self.width + other.width
        return Size(
            max(self.depth, other.depth),
            self.aliases + other.aliases,
            width,
            max(self.breadth, other.breadth, width),
            self.cost + other.cost,
        )


class TooLarge(Exception):
    """An operation passes a limit; the message names the limit and its value."""


def check(size: Size, limits: Limits) -> None:
    """Raises TooLarge."""
    for name, what in MEANINGS.items():
        most, actual = getattr(limits, name), getattr(size, name)
        if actual > most:
            raise TooLarge(f"The operation {what.format(actual, most)}")


def measure(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    variables: Mapping[str, Any],
) -> Size:
    """The size of an operation; the document need not be valid."""
    fragments = {
        node.name.value: node
        for node in document.definitions
        if isinstance(node, FragmentDefinitionNode)
    }
    root = schema.get_root_type(operation.operation)
    return _Walk(schema, fragments, variables, root).selection(operation.selection_set, root)


def depends_on_variables(document: DocumentNode) -> bool:
    """Whether an operation of the document may have another size with other variables."""
    finder = _VariablePageSizes()
    visit(document, finder)
    return finder.found


class _VariablePageSizes(Visitor):
    found = False

    def enter_argument(self, node: ArgumentNode, *_: Any) -> None:
        self.found |= node.name.value == PAGE_SIZE and isinstance(node.value, VariableNode)


@dataclass(slots=True)
class _Walk:
    schema: GraphQLSchema
    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, Any]
    root: GraphQLNamedType | None
    measured: dict[str, Size] = field(default_factory=dict)

    def selection(self, node: SelectionSetNode, on: GraphQLNamedType | None) -> Size:
        size = Size()
        for selection in node.selections:
            if isinstance(selection, FieldNode):
                size = size.beside(self.field(selection, on))
            elif isinstance(selection, InlineFragmentNode):
                size = size.beside(self.selection(selection.selection_set, on))
            elif isinstance(selection, FragmentSpreadNode):
                size = size.beside(self.fragment(selection.name.value))
        return size

    def fragment(self, name: str) -> Size:
        if name not in self.measured:
            self.measured[name] = Size()  # what a cycle adds; validation refuses it
            if definition := self.fragments.get(name):
                on = self.schema.get_type(definition.type_condition.name.value)
                self.measured[name] = self.selection(definition.selection_set, on)
        return self.measured[name]

    def field(self, node: FieldNode, on: GraphQLNamedType | None) -> Size:
        of = self.type_of(node, on)
        inner = self.selection(node.selection_set, of) if node.selection_set else Size()
        return Size(
            depth=inner.depth + 1,
            aliases=inner.aliases + (node.alias is not None),
            width=1,
            breadth=inner.breadth,
            cost=self.cost(node, of, inner.cost, on is self.root),
        )

    def type_of(self, node: FieldNode, on: GraphQLNamedType | None) -> GraphQLNamedType | None:
        definition = on.fields.get(node.name.value) if isinstance(on, GraphQLObjectType) else None
        return get_named_type(definition.type) if definition else None

    def cost(self, node: FieldNode, of: GraphQLNamedType | None, inner: int, is_root: bool) -> int:
        if not isinstance(of, GraphQLObjectType):
            return 0
        if of.name == "Paging" or node.name.value == "data":
            return inner
        if of.name.endswith("Page"):
            return self.page_size(node, is_root) * (1 + inner)
        return 1 + inner

    def page_size(self, node: FieldNode, is_root: bool) -> int:
        given: Any = None
        for argument in node.arguments or ():
            if argument.name.value == PAGE_SIZE:
                value = argument.value
                if isinstance(value, IntValueNode):
                    given = int(value.value[:9])
                elif isinstance(value, VariableNode):
                    given = self.variables.get(value.name.value)
        if not isinstance(given, int):
            return DEFAULT_PER_PAGE if is_root else ASSUMED_PAGE_SIZE
        return min(max(given, 1), MOST_PER_PAGE)
