"""Measure an operation before it runs and before its variables are coerced.

One walk over the operation measures every fragment once and is linear in the document. A validation
rule that expands fragments would take exponential time on nested ones.
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
"""Assumed length of a nested list for which the operation gives no page size."""
WAYPOINT = "WaypointInput"
MAX_COUNTED_ITEMS = 20_000
"""Where counting the items of one variable stops; above the limit in `schema.query_limits`."""

LIMIT_MESSAGES = {
    "depth": "nests {} fields, over the limit of {}",
    "aliases": "has {} aliases, over the limit of {}",
    "breadth": "asks {} fields of one object, over the limit of {}",
    "cost": "may return {} records, over the limit of {}; ask for smaller pages with perPage",
    "items": "passes more than {1} list items and objects in arguments (arguments of nested "
    "fields count once per parent record)",
    "waypoints": "passes {} waypoints in one list, over the limit of {}",
}


class QuerySize(NamedTuple):
    """Size of a selection."""

    depth: int = 0
    aliases: int = 0
    field_count: int = 0
    """Its own fields, without nested ones."""
    breadth: int = 0
    """Maximum `field_count` of any selection in it."""
    cost: int = 0
    items: int = 0
    """Objects and list items in the arguments of all its fields."""
    waypoints: int = 0
    """Length of the longest list of waypoints."""

    def combine(self, other: "QuerySize") -> "QuerySize":
        """Return the size of two selections on the same object."""
        field_count = self.field_count + other.field_count
        return QuerySize(
            max(self.depth, other.depth),
            self.aliases + other.aliases,
            field_count,
            max(self.breadth, other.breadth, field_count),
            self.cost + other.cost,
            self.items + other.items,
            max(self.waypoints, other.waypoints),
        )


class LimitExceededError(Exception):
    """An operation exceeds a limit; the message names the limit and its value."""


def check_limits(size: QuerySize, query_limits: QueryLimits) -> None:
    """Raise LimitExceededError if a size exceeds a limit.

    >>> check_limits(QuerySize(depth=20), QueryLimits(depth=16))
    Traceback (most recent call last):
    schema.query_size.LimitExceededError: The operation nests 20 fields, over the limit of 16
    """
    for name, message in LIMIT_MESSAGES.items():
        limit, actual = getattr(query_limits, name), getattr(size, name)
        if actual > limit:
            raise LimitExceededError(f"The operation {message.format(actual, limit)}")


def measure_operation(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    variables: Mapping[str, Any],
) -> QuerySize:
    """Return the size of an operation. The document need not be valid."""
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
    """Return whether the size of a valid document's operations may vary with their variables."""
    finder = _SizingVariables(schema)
    visit(document, finder)
    return finder.found


def count_items(value: Any) -> int:
    """Count the objects and list items in a JSON value, up to just over `MAX_COUNTED_ITEMS`.

    >>> count_items([{"x": 1}, {"x": [2, 3]}])
    5
    """
    if not isinstance(value, (list, dict)):
        return 0
    # A stack and no recursion: JSON may be nested more deeply than Python's recursion limit.
    count, stack = 0, [*value] if isinstance(value, list) else [value]
    while stack and count <= MAX_COUNTED_ITEMS:
        item = stack.pop()
        count += 1
        if isinstance(item, list):
            stack += item
        elif isinstance(item, dict):
            stack += [member for member in item.values() if isinstance(member, (list, dict))]
    return count


def _values(operation: OperationDefinitionNode, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the variables that an operation declares, defaults included."""
    return {
        (name := node.variable.name.value): variables[name]
        if name in variables
        else node.default_value and value_from_ast_untyped(node.default_value)
        for node in operation.variable_definitions or ()
    }


class _SizingVariables(Visitor):
    """Finds variables that are page sizes, lists or input objects."""

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
            # The size that a cycle of fragments adds; validation rejects cycles later.
            self.measured[name] = QuerySize()
            if definition := self.fragments.get(name):
                fragment_type = self.schema.get_type(definition.type_condition.name.value)
                self.measured[name] = self.measure_selection(
                    definition.selection_set, fragment_type
                )
        return self.measured[name]

    def measure_field(self, node: FieldNode, parent_type: GraphQLNamedType | None) -> QuerySize:
        definition = (
            parent_type.fields.get(node.name.value)
            if isinstance(parent_type, GraphQLObjectType)
            else None
        )
        field_type = get_named_type(definition.type) if definition else None
        inner = (
            self.measure_selection(node.selection_set, field_type)
            if node.selection_set
            else QuerySize()
        )
        rows = self.count_rows(node, field_type, parent_type is self.root_type)
        arguments = node.arguments or ()
        return QuerySize(
            depth=inner.depth + 1,
            aliases=inner.aliases + (node.alias is not None),
            field_count=1,
            breadth=inner.breadth,
            cost=rows * inner.cost + self.record_cost(node, field_type, rows),
            items=rows * inner.items
            + sum(self.argument_items(argument.value) for argument in arguments),
            waypoints=max(inner.waypoints, self.count_waypoints(node, definition)),
        )

    def count_rows(
        self, node: FieldNode, field_type: GraphQLNamedType | None, is_root: bool
    ) -> int:
        """Return how often the selection inside a field may be resolved."""
        is_page = isinstance(field_type, GraphQLObjectType) and field_type.name.endswith("Page")
        return self.page_size(node, is_root) if is_page else 1

    def record_cost(self, node: FieldNode, field_type: GraphQLNamedType | None, rows: int) -> int:
        """Return the records that a field adds; a page's `data` were counted with the page."""
        is_record = isinstance(field_type, GraphQLObjectType) and field_type.name != "Paging"
        return rows if is_record and node.name.value != "data" else 0

    def argument_items(self, node: ValueNode) -> int:
        """Return the number of objects and list items in an argument."""
        if isinstance(node, VariableNode):
            name = node.name.value
            if name not in self.counted_items:
                self.counted_items[name] = count_items(self.variables.get(name))
            return self.counted_items[name]
        if isinstance(node, ListValueNode):
            return sum(self.argument_items(item) or 1 for item in node.values)
        if isinstance(node, ObjectValueNode):
            return 1 + sum(self.argument_items(field.value) for field in node.fields)
        return 0

    def count_waypoints(self, node: FieldNode, definition: GraphQLField | None) -> int:
        """Return the length of the longest list of waypoints in a field's arguments."""
        declared = definition.args if definition else {}
        return max(
            (
                self.list_length(argument.value)
                for argument in node.arguments or ()
                if (declaration := declared.get(argument.name.value))
                and get_named_type(declaration.type).name == WAYPOINT
            ),
            default=0,
        )

    def list_length(self, node: ValueNode) -> int:
        """Return the length of an argument's list; 1 for a single item (GraphQL, section 3.11)."""
        if isinstance(node, ListValueNode):
            return len(node.values)
        value = self.variables.get(node.name.value) if isinstance(node, VariableNode) else None
        return len(value) if isinstance(value, list) else 1

    def page_size(self, node: FieldNode, is_root: bool) -> int:
        page_size: Any = None
        for argument in node.arguments or ():
            if argument.name.value == PAGE_SIZE_ARGUMENT:
                value = argument.value
                if isinstance(value, IntValueNode):
                    page_size = int(value.value[:9])  # nine digits are above any page size
                elif isinstance(value, VariableNode):
                    page_size = self.variables.get(value.name.value)
        if isinstance(page_size, float) and page_size.is_integer():
            page_size = int(page_size)  # as graphql-core coerces it to Int
        if not isinstance(page_size, int):
            return DEFAULT_PER_PAGE if is_root else ASSUMED_PAGE_SIZE
        # Larger pages are served as MAX_PER_PAGE; a size below 1 is an error, but only when it
        # runs.
        return min(max(page_size, 1), MAX_PER_PAGE)
