"""Count what a field returns, in the same way whether the operation is compiled or interpreted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, TypeAlias

import graphql
from graphql.execution.executor_throwing_on_incremental import ExecutorThrowingOnIncremental

from resolvers.request.context import Budget
from schema.definitions import (
    EDGE_NODE_FIELD,
    PAGE_DATA_FIELD,
    PAGE_EDGES_FIELD,
    is_edge,
    is_loaded,
    is_page,
    strawberry_field_of,
)

Weights: TypeAlias = Sequence[int] | None
"""How often each object of a level is in the response; None if each is there once.

Siblings may share an object, which is then resolved once and written for each of them.
"""

DRAWING_TYPES = frozenset({"ParsedMap", "GeoJson"})


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts the values of one field."""

    charge: Callable[[Budget, int], None]
    size_of: Callable[[Any], int] | None
    """Size of one value; None if each counts 1."""

    def count(self, budget: Budget, values: Sequence[Any], weights: Weights) -> None:
        """Charge for the values of a level that are not null. Raises LimitExceededError."""
        size, size_of = 0, self.size_of
        for value, weight in zip(values, weights or repeat(1), strict=False):
            # In the place of a value may be the exception of its resolver.
            if not (value is None or isinstance(value, Exception)):
                size += weight if size_of is None else weight * size_of(value)
        self.charge(budget, size)


def build_counter(
    definition: graphql.GraphQLField | None, data_selections: int = 0
) -> Counter | None:
    """Return the counter of a field, or None if its values do not count.

    Records and the drawings in a response count. They all come from resolvers that load them:
    lists and objects inside a record are parts of it. The records of a page count for each
    selection of its `data`, of its `edges` and of their `node`, as aliases may select each several
    times.
    """
    field = strawberry_field_of(definition)
    if definition is None or field is None or not is_loaded(field):
        return None
    named, nullable = (
        graphql.get_named_type(definition.type),
        graphql.get_nullable_type(definition.type),
    )
    if graphql.is_leaf_type(named):
        return Counter(Budget.count_bytes, len) if named.name in DRAWING_TYPES else None
    if isinstance(nullable, graphql.GraphQLList):
        return Counter(Budget.count_cost, len)
    if not is_page(named):
        return Counter(Budget.count_cost, None)
    if not data_selections:
        return None
    return Counter(Budget.count_cost, lambda page: data_selections * len(page.data))


def charge_cost(budget: Budget, cost: int, parents: Sequence[Any], weights: Weights) -> None:
    """Charge for resolving a field of a level's parents. Raises LimitExceededError."""
    budget.count_cost(cost * (len(parents) if weights is None else sum(weights)))


_PAGE_DATA_COUNTER = Counter(Budget.count_cost, len)
_EDGE_NODE_COUNTER = Counter(Budget.count_cost, None)


def _build_value_counter(parent_type: graphql.GraphQLObjectType, field_name: str) -> Counter | None:
    if field_name in (PAGE_DATA_FIELD, PAGE_EDGES_FIELD) and is_page(parent_type):
        return _PAGE_DATA_COUNTER
    if field_name == EDGE_NODE_FIELD and is_edge(parent_type):
        return _EDGE_NODE_COUNTER
    return build_counter(parent_type.fields.get(field_name))


class CountingExecutor(ExecutorThrowingOnIncremental):
    """graphql-core's executor, which counts as `schema.compiler` does."""

    @cached_property
    def _counters(self) -> dict[tuple[str, str], Counter | None]:
        """The counters of the fields that were completed so far, by type and field."""
        return {}

    def complete_value(
        self,
        return_type: Any,
        field_details_list: Any,
        info: Any,
        path: Any,
        result: Any,
        position_context: Any,
    ) -> Any:
        """Complete a value as graphql-core does; count it first if it is a resolver's."""
        # It is called again for the types inside a list or a non-null type.
        if return_type is info.return_type and result is not None:
            key = info.parent_type.name, info.field_name
            if key not in self._counters:
                self._counters[key] = _build_value_counter(info.parent_type, info.field_name)
            if counter := self._counters[key]:
                counter.count(self.context_value.budget, (result,), None)
        return super().complete_value(
            return_type, field_details_list, info, path, result, position_context
        )
