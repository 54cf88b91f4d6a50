"""What an operation may ask for, known before it runs and before its variables are coerced.

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
    GraphQLField,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    ListValueNode,
    NonNullTypeNode,
    ObjectValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValueNode,
    VariableDefinitionNode,
    VariableNode,
    Visitor,
    get_named_type,
    is_leaf_type,
    type_from_ast,
    value_from_ast_untyped,
    visit,
)

from resolvers.request.arguments import DEFAULT_PER_PAGE, MAX_PER_PAGE
from schema.query_limits import QueryLimits

PAGE_SIZE_ARGUMENT = "perPage"
ASSUMED_PAGE_SIZE = 10
"""How long a nested list is taken to be when the operation gives no page size."""
WAYPOINT = "WaypointInput"
MAX_COUNTED_ITEMS = 20_000
"""How far the items of one variable are counted; the limit in `schema.query_limits` is less."""

LIMIT_MESSAGES = {
    "depth": "nests {} fields, over the limit of {}",
    "aliases": "has {} aliases, over the limit of {}",
    "breadth": "asks {} fields of one object, over the limit of {}",
    "cost": "may return {} records, over the limit of {}; ask for smaller pages with perPage",
    "items": "passes more list items in arguments than the limit of {1}, "
    "each counted as often as its field may be resolved",
    "waypoints": "passes {} waypoints in one list, over the limit of {}",
}


class QuerySize(NamedTuple):
    """How much a selection asks for."""

    depth: int = 0
    aliases: int = 0
    field_count: int = 0
    """Its own fields."""
    breadth: int = 0
    """The most fields of any selection in it."""
    cost: int = 0
    items: int = 0
    """In the arguments of all its fields."""
    waypoints: int = 0
    """The most in one list."""

    def combine(self, other: "QuerySize") -> "QuerySize":
        """The size of two selections on the same object."""
        width = self.field_count + other.field_count
        return QuerySize(
            max(self.depth, other.depth),
            self.aliases + other.aliases,
            width,
            max(self.breadth, other.breadth, width),
            self.cost + other.cost,
            self.items + other.items,
            max(self.waypoints, other.waypoints),
        )


class LimitExceededError(Exception):
    """An operation passes a limit; the message names the limit and its value."""


def check_limits(size: QuerySize, query_limits: QueryLimits) -> None:
    """Raises TooLarge."""
    for name, what in LIMIT_MESSAGES.items():
        most, actual = getattr(query_limits, name), getattr(size, name)
        if actual > most:
            raise LimitExceededError(f"The operation {what.format(actual, most)}")


def measure_operation(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    variables: Mapping[str, Any],
) -> QuerySize:
    """The size of an operation; the document need not be valid."""
    fragments = {
        node.name.value: node
        for node in document.definitions
        if isinstance(node, FragmentDefinitionNode)
    }
    root = schema.get_root_type(operation.operation)
    values = _values(operation, variables)
    return _SizeMeasurer(schema, fragments, values, root).measure_selection(
        operation.selection_set, root
    )


def size_depends_on_variables(schema: GraphQLSchema, document: DocumentNode) -> bool:
    """Whether an operation of the valid document may have another size with other variables."""
    finder = _SizingVariables(schema)
    visit(document, finder)
    return finder.found


def count_items(value: Any) -> int:
    """The objects and list items in a JSON value, counted no further than `ENOUGH_ITEMS`."""
    if not isinstance(value, (list, dict)):
        return 0
    found, left = 0, [*value] if isinstance(value, list) else [value]
    while left and found <= MAX_COUNTED_ITEMS:
        each = left.pop()
        found += 1
        if isinstance(each, list):
            left += each
        elif isinstance(each, dict):
            left += [member for member in each.values() if isinstance(member, (list, dict))]
    return found


def _values(operation: OperationDefinitionNode, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the variables that an operation declares, defaults included."""
    return {
        (name := node.variable.name.value): variables[name]
        if name in variables
        else node.default_value and value_from_ast_untyped(node.default_value)
        for node in operation.variable_definitions or ()
    }


class _SizingVariables(Visitor):
    """Looks for variables that page sizes, lists or input objects come from."""

    def __init__(self, schema: GraphQLSchema) -> None:
        super().__init__()
        self.schema = schema
        self.found = False

    def enter_argument(self, node: ArgumentNode, *_: Any) -> None:
        self.found |= node.name.value == PAGE_SIZE_ARGUMENT and isinstance(node.value, VariableNode)

    def enter_variable_definition(self, node: VariableDefinitionNode, *_: Any) -> None:
        node_type = node.type.type if isinstance(node.type, NonNullTypeNode) else node.type
        self.found |= not is_leaf_type(type_from_ast(self.schema, node_type))


@dataclass(slots=True)
class _SizeMeasurer:
    schema: GraphQLSchema
    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, Any]
    root_type: GraphQLNamedType | None
    measured: dict[str, QuerySize] = field(default_factory=dict)
    counted_items: dict[str, int] = field(default_factory=dict)

    def measure_selection(
        self, node: SelectionSetNode, parent_type: GraphQLNamedType | None
    ) -> QuerySize:
        size = QuerySize()
        for selection in node.selections:
            if isinstance(selection, FieldNode):
                size = size.combine(self.measure_field(selection, parent_type))
            elif isinstance(selection, InlineFragmentNode):
                size = size.combine(self.measure_selection(selection.selection_set, parent_type))
            elif isinstance(selection, FragmentSpreadNode):
                size = size.combine(self.measure_fragment(selection.name.value))
        return size

    def measure_fragment(self, name: str) -> QuerySize:
        if name not in self.measured:
            self.measured[name] = QuerySize()  # what a cycle adds; validation refuses it
            if definition := self.fragments.get(name):
                on = self.schema.get_type(definition.type_condition.name.value)
                self.measured[name] = self.measure_selection(definition.selection_set, on)
        return self.measured[name]

    def measure_field(self, node: FieldNode, parent_type: GraphQLNamedType | None) -> QuerySize:
        definition = (
            parent_type.fields.get(node.name.value)
            if isinstance(parent_type, GraphQLObjectType)
            else None
        )
        of = get_named_type(definition.type) if definition else None
        inner = (
            self.measure_selection(node.selection_set, of) if node.selection_set else QuerySize()
        )
        rows = self.count_rows(node, of, parent_type is self.root_type)
        arguments = node.arguments or ()
        return QuerySize(
            depth=inner.depth + 1,
            aliases=inner.aliases + (node.alias is not None),
            field_count=1,
            breadth=inner.breadth,
            cost=rows * inner.cost + self.record_cost(node, of, rows),
            items=rows * inner.items + sum(self.argument_items(each.value) for each in arguments),
            waypoints=max(inner.waypoints, self.count_waypoints(node, definition)),
        )

    def count_rows(self, node: FieldNode, of: GraphQLNamedType | None, is_root: bool) -> int:
        """How often what is selected beneath a field may be resolved."""
        is_page = isinstance(of, GraphQLObjectType) and of.name.endswith("Page")
        return self.page_size(node, is_root) if is_page else 1

    def record_cost(self, node: FieldNode, of: GraphQLNamedType | None, rows: int) -> int:
        is_record = isinstance(of, GraphQLObjectType) and of.name != "Paging"
        return rows if is_record and node.name.value != "data" else 0

    def argument_items(self, node: ValueNode) -> int:
        """The objects and list items that an argument comes to."""
        if isinstance(node, VariableNode):
            name = node.name.value
            if name not in self.counted_items:
                self.counted_items[name] = count_items(self.variables.get(name))
            return self.counted_items[name]
        if isinstance(node, ListValueNode):
            return sum(self.argument_items(each) or 1 for each in node.values)
        if isinstance(node, ObjectValueNode):
            return 1 + sum(self.argument_items(each.value) for each in node.fields)
        return 0

    def count_waypoints(self, node: FieldNode, definition: GraphQLField | None) -> int:
        """The most waypoints in one argument of a field."""
        arguments = definition.args if definition else {}
        return max(
            (
                self.list_length(each.value)
                for each in node.arguments or ()
                if (argument := arguments.get(each.name.value))
                and get_named_type(argument.type).name == WAYPOINT
            ),
            default=0,
        )

    def list_length(self, node: ValueNode) -> int:
        """How long the list is that an argument comes to."""
        if isinstance(node, ListValueNode):
            return len(node.values)
        value = self.variables.get(node.name.value) if isinstance(node, VariableNode) else None
        return len(value) if isinstance(value, list) else 1

    def page_size(self, node: FieldNode, is_root: bool) -> int:
        given: Any = None
        for argument in node.arguments or ():
            if argument.name.value == PAGE_SIZE_ARGUMENT:
                value = argument.value
                if isinstance(value, IntValueNode):
                    given = int(value.value[:9])
                elif isinstance(value, VariableNode):
                    given = self.variables.get(value.name.value)
        if isinstance(given, float) and given.is_integer():
            given = int(given)  # as Int coerces it
        if not isinstance(given, int):
            return DEFAULT_PER_PAGE if is_root else ASSUMED_PAGE_SIZE
        return min(max(given, 1), MAX_PER_PAGE)
