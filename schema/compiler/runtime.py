"""Functions and classes that generated code calls: list nesting, and concurrent fields."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol, TypeAlias

from graphql import GraphQLList, GraphQLNonNull, GraphQLOutputType, get_nullable_type
from graphql.execution.values import VariableValues

from resolvers.request.context import Context
from resolvers.request.errors import WHOLE_OPERATION_ERRORS
from schema.compiler.leaves import InvalidResultError
from schema.costs.counting import Weights

Row: TypeAlias = dict[str, Any]
LevelResolver: TypeAlias = Callable[
    ["RunInfo", Sequence[Any], Sequence[Row], Weights], Coroutine[Any, Any, None]
]
CallResolver: TypeAlias = Callable[["RunInfo", Sequence[Any]], Awaitable[Sequence[Any]]]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One run of a compiled operation, passed to resolvers as their `info`.

    Resolvers use nothing of `strawberry.Info` but `context`.
    """

    context: Context
    variables: VariableValues
    has_large_variables: bool = False
    document_fields: frozenset[str] | None = None
    """What is read of each document of a list that has documents in the place of records, which
    paged resolvers look at; None if it has records."""
    outcomes: dict[int, tuple[Sequence[Any], Sequence[Any] | Exception]] = field(
        default_factory=dict
    )
    """By the number of a field: the objects it was resolved for, and their values or the error of
    all of them."""

    def reading_documents(self, fields: frozenset[str]) -> "RunInfo":
        """Return this run for a list with these fields of documents in the place of records."""
        return RunInfo(
            self.context, self.variables, self.has_large_variables, fields, self.outcomes
        )

    async def resolve(
        self, number: int, resolve: CallResolver, parents: Sequence[Any]
    ) -> Sequence[Any]:
        """Return the values of a field, and keep them: no resolver is called again."""
        try:
            values = await resolve(self, parents)
        except WHOLE_OPERATION_ERRORS:
            raise
        except Exception as error:
            self.outcomes[number] = parents, error
            raise
        self.outcomes[number] = parents, values
        return values


class Nesting(Protocol):
    """How the objects of a field are nested in its values: alone, or in lists."""

    def flatten(self, values: Sequence[Any]) -> list[Any]:
        """Return all objects in a level's values.

        Raises InvalidResultError for a null in a non-null type.
        """

    def rebuild(self, values: Sequence[Any], rows: Iterator[Row]) -> Sequence[Any]:
        """Return the values with each object replaced by its row; rows are in `flatten`'s order."""

    def spread(self, values: Sequence[Any], weights: Weights) -> Weights:
        """Return the weight of each object, in `flatten`'s order, from the weights of values."""


@dataclass(frozen=True, slots=True)
class ObjectNesting:
    """Each value is an object."""

    is_required: bool

    def flatten(self, values: Sequence[Any]) -> list[Any]:
        """Return the values that are not null."""
        objects = [value for value in values if value is not None]
        if self.is_required and len(objects) < len(values):
            raise InvalidResultError
        return objects

    def rebuild(self, values: Sequence[Any], rows: Iterator[Row]) -> Sequence[Any]:
        """Return the rows with the nulls in between."""
        if self.is_required:
            # Without nulls there are exactly as many rows as values.
            return [*rows]
        return [None if value is None else next(rows) for value in values]

    def spread(self, values: Sequence[Any], weights: Weights) -> Weights:
        """Return the weights of the values that are not null."""
        if weights is None:
            return None
        pairs = zip(values, weights, strict=True)
        return [weight for value, weight in pairs if value is not None]


@dataclass(frozen=True, slots=True)
class ListNesting:
    """Each value is a list."""

    is_required: bool
    items: Nesting

    def flatten(self, values: Sequence[Any]) -> list[Any]:
        """Return the objects of all lists, one list after another."""
        return self.items.flatten([item for value in values for item in self._items(value)])

    def rebuild(self, values: Sequence[Any], rows: Iterator[Row]) -> Sequence[Any]:
        """Return lists of rows, as long as the lists of objects."""
        flat = [item for value in values for item in self._items(value)]
        rebuilt = iter(self.items.rebuild(flat, rows))
        return [None if value is None else [*islice(rebuilt, len(value))] for value in values]

    def spread(self, values: Sequence[Any], weights: Weights) -> Weights:
        """Return the weight of each list for all its items."""
        if weights is None:
            return None
        items = [self._items(value) for value in values]
        flat = [item for each in items for item in each]
        repeated = [
            weight for each, weight in zip(items, weights, strict=True) for _ in range(len(each))
        ]
        return self.items.spread(flat, repeated)

    def _items(self, value: Any) -> Sequence[Any]:
        return () if value is None and not self.is_required else require_list(value)


@dataclass(frozen=True, slots=True)
class SharedObjectNesting:
    """Each value is an object that siblings may share, such as the floor of many units.

    Loaders return the same object for the same key, so identity finds it, and it gets one row.
    """

    is_required: bool

    def flatten(self, values: Sequence[Any]) -> list[Any]:
        """Return each distinct object once."""
        # `values` keeps the objects alive, so no two of them have the same id.
        objects = {id(value): value for value in values}
        if id(None) in objects:
            if self.is_required:
                raise InvalidResultError
            del objects[id(None)]
        return [*objects.values()]

    def rebuild(self, values: Sequence[Any], rows: Iterator[Row]) -> Sequence[Any]:
        """Return each object's row wherever the object was, with the nulls in between."""
        row_of: dict[int, Row | None] = {id(None): None}
        for value in values:
            if id(value) not in row_of:
                row_of[id(value)] = next(rows)
        return [row_of[id(value)] for value in values]

    def spread(self, values: Sequence[Any], weights: Weights) -> Weights:
        """Return for each distinct object the sum of the weights of its values."""
        counts: dict[int, int] = Counter(map(id, values))
        if weights is not None:
            counts = dict.fromkeys(counts, 0)
            for value, weight in zip(values, weights, strict=True):
                counts[id(value)] += weight
        elif len(counts) == len(values):
            return None
        counts.pop(id(None), None)
        return [*counts.values()]


def build_nesting(output_type: GraphQLOutputType) -> Nesting:
    """Return the nesting of a field's values."""
    if isinstance(get_nullable_type(output_type), GraphQLList):
        return _build_list_nesting(output_type)
    return SharedObjectNesting(isinstance(output_type, GraphQLNonNull))


def _build_list_nesting(output_type: GraphQLOutputType) -> Nesting:
    is_required, nullable = isinstance(output_type, GraphQLNonNull), get_nullable_type(output_type)
    if isinstance(nullable, GraphQLList):
        return ListNesting(is_required, _build_list_nesting(nullable.of_type))
    return ObjectNesting(is_required)


@dataclass(frozen=True, slots=True)
class TypeSplit:
    """Objects of a level by their types."""

    names: Sequence[str]
    """The type of each object."""
    objects: dict[str, list[Any]]
    weights: dict[str, list[int]] | None

    def get(self, name: str) -> tuple[Sequence[Any], Weights]:
        """Return the objects of a type, and their weights."""
        weights = None if self.weights is None else self.weights.get(name, [])
        return self.objects.get(name, []), weights

    def merge(self, rows: dict[str, Sequence[Row]]) -> list[Row]:
        """Return the rows of all types in the order of the objects."""
        iterators = {name: iter(of_type) for name, of_type in rows.items()}
        return [next(iterators[name]) for name in self.names]


def split_by_type(
    objects: Sequence[Any], weights: Weights, type_name_of: Callable[[Any], str]
) -> TypeSplit:
    """Split objects by their types.

    >>> split = split_by_type(["a", 1, "b"], None, lambda value: type(value).__name__)
    >>> split.get("str"), split.merge({"str": [{"n": "a"}, {"n": "b"}], "int": [{"n": 1}]})
    ((['a', 'b'], None), [{'n': 'a'}, {'n': 1}, {'n': 'b'}])
    """
    names = [*map(type_name_of, objects)]
    by_type: dict[str, list[Any]] = {}
    for name, item in zip(names, objects, strict=True):
        by_type.setdefault(name, []).append(item)
    if weights is None:
        return TypeSplit(names, by_type, None)
    weights_by_type: dict[str, list[int]] = {}
    for name, weight in zip(names, weights, strict=True):
        weights_by_type.setdefault(name, []).append(weight)
    return TypeSplit(names, by_type, weights_by_type)


def require_list(value: Any) -> Sequence[Any]:
    """Return `value` if it is a list. Raises InvalidResultError."""
    if isinstance(value, (list, tuple)):
        return value
    raise InvalidResultError


def raise_missing_object() -> Any:
    """Raise InvalidResultError; an expression for a null in a non-null type."""
    raise InvalidResultError


def reject_failed(value: Any) -> bool:
    """Return True; raise `value` itself if it is an exception."""
    if isinstance(value, Exception):
        raise value
    return True


async def resolve_concurrently(
    run: RunInfo, *levels: tuple[LevelResolver, Sequence[Any], Sequence[Row], Weights]
) -> None:
    """Resolve the fields of a level concurrently, so that their loads share batches.

    All of them run to their end. Raises the first error in the order of the fields.
    """
    nonempty = [level for level in levels if level[1]]
    if len(nonempty) == 1:  # the usual case, without the cost of a task
        field, parents, rows, weights = nonempty[0]
        await field(run, parents, rows, weights)
    elif nonempty:
        for result in await settle_all(
            [field(run, parents, rows, weights) for field, parents, rows, weights in nonempty]
        ):
            if isinstance(result, Exception):
                raise result


async def settle_all(coroutines: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Run all to their end, and return their results in order, exceptions among them.

    An error of the whole operation is raised at once, and cancels the others.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_settle(coroutine)) for coroutine in coroutines]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


async def _settle(coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await coroutine
    except WHOLE_OPERATION_ERRORS:
        raise
    except Exception as error:
        return error
