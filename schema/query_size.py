"""Count what the arguments of an operation hold, before any of it is coerced."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter, gt
from typing import Any, NamedTuple

import graphql

from resolvers.request.errors import LimitExceededError
from resolvers.request.inputs import DEFAULT_PER_PAGE, MAX_PER_PAGE, Items, find_cursor_page_size
from schema import definitions
from schema.compiler.coercion import measure_value
from schema.compiler.selection import fragments_by_name
from schema.query_limits import QueryLimits


@dataclass(slots=True)
class ArgumentSize:
    """Size of the arguments of some fields, counted as often as each field may be resolved.

    Variables differ from request to request, so only their uses are counted.
    """

    items: int = 0
    characters: int = 0
    uses: dict[str, int] = field(default_factory=dict)
    """Counts of the uses of each variable."""

    def add(self, other: "ArgumentSize", times: int = 1) -> None:
        """Add the arguments of fields that are resolved `times` times."""
        self.items += other.items * times
        self.characters += other.characters * times
        for name, count in other.uses.items():
            self.uses[name] = self.uses.get(name, 0) + count * times

    def add_argument(self, node: graphql.ValueNode) -> None:
        if isinstance(node, graphql.VariableNode):
            self.uses[node.name.value] = self.uses.get(node.name.value, 0) + 1
        elif isinstance(node, graphql.StringValueNode):
            self.characters += len(node.value)
        elif isinstance(node, graphql.ListValueNode):
            for item in node.values:
                self.items += not isinstance(item, graphql.ObjectValueNode)
                self.add_argument(item)
        elif isinstance(node, graphql.ObjectValueNode):
            self.items += 1
            for member in node.fields:
                self.add_argument(member.value)


# Measure an operation before it runs and before its variables are coerced.
#
# One walk over the operation measures every fragment once and is linear in the document. A
# validation rule that expands fragments would take exponential time on nested ones. The walk is
# repeated only for page sizes that the operation has not had before.


PAGE_SIZE_ARGUMENTS = ("perPage", "first")
CURSOR_ARGUMENT = "after"
"""Argument with a cursor, which holds the page size if no argument does."""
LENGTH_ARGUMENT = "limit"
"""Argument of lists without pages, which says how long they may be."""
SOURCES_ARGUMENT = "sources"
"""Argument of lists that have as many items, and in each a list of the length of `limit`."""
KEYS_ARGUMENT = "ids"
"""Argument of lists without pages that have an object for each of its items."""
ASSUMED_PAGE_SIZE = 10
"""Assumed length of a nested list for which the operation gives no page size."""
MAX_REMEMBERED_WALKS = 10
"""Sizes that an operation caches, one for each combination of page sizes."""

LIMIT_MESSAGES = {
    "depth": "nests {} fields, over the limit of {}",
    "aliases": "has {} aliases, over the limit of {}",
    "breadth": "asks {} fields of one object, over the limit of {}",
    "cost": "may return {} records, or costs as much, over the limit of {}; ask for smaller pages "
    "with perPage, or for fewer fields that have a @cost",
    "items": "passes more than {1} list items and objects in arguments (arguments of nested "
    "fields count once per parent record)",
    "text": "passes {} characters of text in arguments, over the limit of {} (arguments of nested "
    "fields count once per parent record)",
}
_read_limited = attrgetter(*LIMIT_MESSAGES)


class QuerySize(NamedTuple):
    """Size of an operation, or of a selection in it."""

    depth: int = 0
    aliases: int = 0
    field_count: int = 0
    """Its own fields, without nested ones."""
    breadth: int = 0
    """Maximum `field_count` of any selection in it."""
    cost: int = 0
    page_cost: int = 0
    """The cost of what a page has once, such as a count, however many records are in it."""
    items: int = 0
    """Objects and list items in the arguments of all its fields."""
    text: int = 0
    """Characters in these arguments."""

    def combine(self, other: "QuerySize") -> "QuerySize":
        """Return the size of two selections on the same object."""
        field_count = self.field_count + other.field_count
        return QuerySize(
            max(self.depth, other.depth),
            self.aliases + other.aliases,
            field_count,
            max(self.breadth, other.breadth, field_count),
            self.cost + other.cost,
            self.page_cost + other.page_cost,
        )


def check_limits(size: QuerySize, query_limits: QueryLimits) -> None:
    """Raise LimitExceededError if a size exceeds a limit.

    >>> check_limits(QuerySize(depth=20), QueryLimits(depth=16))
    Traceback (most recent call last):
    resolvers.request.errors.LimitExceededError: The operation nests 20 fields, over the limit of 16
    """
    if not any(map(gt, _read_limited(size), _read_limited(query_limits))):
        return
    for name, message in LIMIT_MESSAGES.items():
        limit, actual = getattr(query_limits, name), getattr(size, name)
        if actual > limit:
            raise LimitExceededError(
                f"The operation {message.format(actual, limit)}",
                limit=name,
                maximum=limit,
                requested=actual,
            )


def _check_length(rule: Items, length: int) -> None:
    """Raise LimitExceededError for a longer list than a rule allows."""
    if length > rule.maximum:
        raise LimitExceededError(
            f"The operation passes {length} {rule.noun} in one list, over the limit of "
            f"{rule.maximum}",
            limit="list_length",
            maximum=rule.maximum,
            requested=length,
        )


class OperationMeasure:
    """Measures one operation of a document, which need not be valid, for any variables."""

    def __init__(
        self,
        schema: graphql.GraphQLSchema,
        document: graphql.DocumentNode,
        operation: graphql.OperationDefinitionNode,
    ) -> None:
        self._schema = schema
        self._document = document
        self._operation = operation
        self._defaults = {
            node.variable.name.value: graphql.value_from_ast_untyped(node.default_value)
            for node in operation.variable_definitions or ()
            if node.default_value
        }
        self._walks: dict[tuple[Any, ...], _Walk] = {}
        self._page_size_variables: tuple[str, ...] | None = None

    def check(self, variables: Mapping[str, Any], limits: QueryLimits) -> QuerySize:
        """Return the size with some variables. Raises LimitExceededError if it is over a limit."""
        values = {**self._defaults, **variables} if self._defaults else variables
        walk = self._walk(values)
        size, arguments = walk.size, walk.arguments
        for path, rule in walk.list_rules.items():
            value = _find_member(values, path)
            if isinstance(value, list):
                _check_length(rule, len(value))
        items, text = arguments.items, arguments.characters
        for name, uses in arguments.uses.items():
            # Counting ends where the limit is exceeded, so a request pays for no more.
            counted = measure_value(values.get(name), (limits.items - items) // uses)
            items += uses * counted.items
            text += uses * counted.characters
            if items > limits.items:
                break
        size = size._replace(items=items, text=text)
        check_limits(size, limits)
        return size

    def _walk(self, values: Mapping[str, Any]) -> "_Walk":
        names = self._page_size_variables
        key = () if names is None else tuple(_to_page_size(values.get(name)) for name in names)
        if names is not None and (walk := self._walks.get(key)):
            return walk
        walk = _Walk(self._schema, self._document, self._operation, values)
        self._page_size_variables = tuple(walk.page_size_variables)
        if len(self._walks) >= MAX_REMEMBERED_WALKS:
            self._walks.clear()
        self._walks[tuple(_to_page_size(values.get(name)) for name in walk.page_size_variables)] = (
            walk
        )
        return walk


def _to_page_size(value: Any) -> int | None:
    """Return the page size that a value is coerced to, None for the default; a list's length.

    A size below 1 or a value of another type is an error, but only when the operation runs. Larger
    pages are served as MAX_PER_PAGE. A text is a cursor, which has a page size too.
    """
    if isinstance(value, str):
        return find_cursor_page_size(value) if value else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # as graphql-core coerces it to Int
    if isinstance(value, list):
        value = len(value)
    return min(max(value, 1), MAX_PER_PAGE) if isinstance(value, int) else None


@dataclass(slots=True)
class _Selection:
    """Size of a selection, and of the arguments in it."""

    size: QuerySize = QuerySize()
    arguments: ArgumentSize = field(default_factory=ArgumentSize)

    def add(self, other: "_Selection") -> None:
        self.size = self.size.combine(other.size)
        self.arguments.add(other.arguments)


class _Walk:
    """One walk over an operation, for some page sizes."""

    def __init__(
        self,
        schema: graphql.GraphQLSchema,
        document: graphql.DocumentNode,
        operation: graphql.OperationDefinitionNode,
        values: Mapping[str, Any],
    ) -> None:
        self._schema = schema
        self._fragments = fragments_by_name(document)
        self._values = values
        self._root_type = schema.get_root_type(operation.operation)
        self._measured: dict[str, _Selection] = {}
        self.page_size_variables: dict[str, None] = {}
        """The variables that are page sizes, in the order of their first use."""
        self.list_rules: dict[tuple[str, ...], Items] = {}
        """The strictest rule for each variable that is a list, or for such a member of one."""
        selection = self.measure_selection(operation.selection_set, self._root_type)
        self.size, self.arguments = selection.size, selection.arguments

    def measure_selection(
        self, node: graphql.SelectionSetNode, parent_type: graphql.GraphQLNamedType | None
    ) -> _Selection:
        measured = _Selection()
        for selection in node.selections:
            if isinstance(selection, graphql.FieldNode):
                measured.add(self.measure_field(selection, parent_type))
            elif isinstance(selection, graphql.InlineFragmentNode):
                condition = selection.type_condition
                inner_type = self._schema.get_type(condition.name.value) if condition else None
                measured.add(
                    self.measure_selection(selection.selection_set, inner_type or parent_type)
                )
            elif isinstance(selection, graphql.FragmentSpreadNode):
                measured.add(self.measure_fragment(selection.name.value))
        return measured

    def measure_fragment(self, name: str) -> _Selection:
        if name not in self._measured:
            # The size that a cycle of fragments adds; validation rejects cycles later.
            self._measured[name] = _Selection()
            if definition := self._fragments.get(name):
                fragment_type = self._schema.get_type(definition.type_condition.name.value)
                self._measured[name] = self.measure_selection(
                    definition.selection_set, fragment_type
                )
        return self._measured[name]

    def measure_field(
        self, node: graphql.FieldNode, parent_type: graphql.GraphQLNamedType | None
    ) -> _Selection:
        definition = (
            parent_type.fields.get(node.name.value)
            if isinstance(parent_type, (graphql.GraphQLObjectType, graphql.GraphQLInterfaceType))
            else None
        )
        field_type = graphql.get_named_type(definition.type) if definition else None
        inner = (
            self.measure_selection(node.selection_set, field_type)
            if node.selection_set
            else _Selection()
        )
        rows = self.count_rows(node, definition, parent_type is self._root_type)
        if definitions.is_page(field_type):
            cost = rows * max(inner.size.cost, 1)  # read, even if its `data` are not selected
            cost += inner.size.page_cost
        else:
            is_record = (
                graphql.is_composite_type(field_type)
                and field_type.name not in definitions.UNCOUNTED_TYPES
            )
            cost = rows * (inner.size.cost + is_record)
        arguments = ArgumentSize()
        for argument in node.arguments or ():
            arguments.add_argument(argument.value)
            declared = definition.args.get(argument.name.value) if definition else None
            self.check_list(argument.value, declared)
        if parent_type is self._schema.mutation_type:
            arguments.items -= 1  # the object of its `input`
        arguments.add(inner.arguments, rows)
        own_cost = definitions.cost_of(definitions.strawberry_field_of(definition))
        is_of_page = definitions.is_page(parent_type)
        size = QuerySize(
            depth=inner.size.depth + 1,
            aliases=inner.size.aliases + (node.alias is not None),
            field_count=1,
            breadth=inner.size.breadth,
            cost=cost if is_of_page else cost + own_cost,
            page_cost=own_cost if is_of_page else 0,
        )
        return _Selection(size, arguments)

    def count_rows(
        self, node: graphql.FieldNode, definition: graphql.GraphQLField | None, is_root: bool
    ) -> int:
        """Return how often the selection inside a field may be resolved."""
        declared = definition.args if definition else {}
        if PAGE_SIZE_ARGUMENTS[0] in declared:
            sizes = [self.get_size(node, name) for name in PAGE_SIZE_ARGUMENTS]
            size = max(filter(None, sizes), default=self.get_size(node, CURSOR_ARGUMENT))
            return size or (DEFAULT_PER_PAGE if is_root else ASSUMED_PAGE_SIZE)
        if LENGTH_ARGUMENT in declared:
            default = declared[LENGTH_ARGUMENT].default_value
            size = self.get_size(node, LENGTH_ARGUMENT)
            rows = size or (1 if default is graphql.Undefined else int(default))
            is_each = SOURCES_ARGUMENT in declared
            return rows * (self.get_size(node, SOURCES_ARGUMENT) or 1 if is_each else 1)
        if KEYS_ARGUMENT in declared:
            return self.get_size(node, KEYS_ARGUMENT) or 1
        return 1

    def get_size(self, node: graphql.FieldNode, name: str) -> int | None:
        """Return the value of an argument that is a size, None for the default."""
        for argument in node.arguments or ():
            value = argument.value
            if argument.name.value != name:
                continue
            if isinstance(value, graphql.IntValueNode):
                return _to_page_size(int(value.value[:9]))  # nine digits are above any page size
            if isinstance(value, graphql.ListValueNode):
                return len(value.values)
            if isinstance(value, graphql.StringValueNode):
                return _to_page_size(value.value)
            if isinstance(value, graphql.VariableNode):
                self.page_size_variables[value.name.value] = None
                return _to_page_size(self._values.get(value.name.value))
        return None

    def check_list(
        self,
        node: graphql.ValueNode,
        definition: graphql.GraphQLArgument | graphql.GraphQLInputField | None,
    ) -> None:
        """Check the lengths of the lists in a value, or note the rules if a variable holds it."""
        if definition is None:
            return
        object_type = graphql.get_nullable_type(definition.type)
        if isinstance(node, graphql.VariableNode):
            for path, rule in _iter_list_rules((node.name.value,), definition):
                both = (self.list_rules.get(path, rule), rule)
                self.list_rules[path] = min(both, key=attrgetter("maximum"))
        elif isinstance(node, graphql.ListValueNode):
            for _, rule in _iter_list_rules((), definition):
                _check_length(rule, len(node.values))
        elif isinstance(node, graphql.ObjectValueNode) and isinstance(
            object_type, graphql.GraphQLInputObjectType
        ):
            for member in node.fields:
                self.check_list(member.value, object_type.fields.get(member.name.value))


def _iter_list_rules(
    path: tuple[str, ...], definition: graphql.GraphQLArgument | graphql.GraphQLInputField
) -> Iterator[tuple[tuple[str, ...], Items]]:
    for rule in definitions.definition_of(definition).rules:
        if isinstance(rule, Items):
            yield path, rule
    object_type = graphql.get_nullable_type(definition.type)
    if isinstance(object_type, graphql.GraphQLInputObjectType):
        for name, member in object_type.fields.items():
            yield from _iter_list_rules((*path, name), member)


def _find_member(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


SAMPLE_SIZE = 16
"""Items of a list that are looked at after its first; a quarter as many in lists inside it, and so
on."""
PUNCTUATION_BYTES = 4
"""Quotes, colon and comma of one member of an object."""
SCALAR_BYTES = 6
"""Typical length of a number, a boolean or null, with its comma."""
SCALAR_TYPES = frozenset({int, float, bool, type(None)})


def estimate_bytes(data: Any, sample_size: int = SAMPLE_SIZE) -> int:
    """Estimate the bytes of JSON data from samples of its lists; drawings count as nothing.

    It takes much less time and memory than writing a large result to measure it.

    >>> data = {"units": [{"id": "unit-1", "name": "12"}] * 10_000}
    >>> import orjson
    >>> estimate_bytes(data) / len(orjson.dumps(data))
    1.0...
    """
    if isinstance(data, str):
        return len(data) + 3
    if isinstance(data, dict):
        size = 2 + sum(map(len, data)) + PUNCTUATION_BYTES * len(data)
        for value in data.values():
            kind = type(value)
            if kind is str:
                size += len(value) + 3
            elif kind in SCALAR_TYPES:  # without a call
                size += SCALAR_BYTES
            else:
                size += estimate_bytes(value, sample_size)
        return size
    if isinstance(data, list):
        if not data:
            return 2
        inner = max(1, sample_size // 4)
        size = estimate_bytes(data[0], inner)  # for itself: it is often unlike the others
        others = len(data) - 1
        if sample := data[1 :: max(1, -(-others // sample_size))]:
            size += sum(estimate_bytes(item, inner) for item in sample) * others // len(sample)
        return 2 + size
    return SCALAR_BYTES
