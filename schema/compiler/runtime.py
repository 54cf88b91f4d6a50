"""What generated code calls: shapes of nested values, and waiting for several fields of a level."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeAlias

from graphql import GraphQLList, GraphQLNonNull, GraphQLOutputType, get_nullable_type
from graphql.execution.values import VariableValues

from resolvers.request.context import Context
from schema.compiler.leaves import InvalidResultError

Row: TypeAlias = dict[str, Any]
LevelResolver: TypeAlias = Callable[
    ["RunInfo", Sequence[Any], Sequence[Row]], Coroutine[Any, Any, None]
]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One run of a compiled operation; resolvers get it as their info."""

    context: Context
    variables: VariableValues


class Nesting(Protocol):
    """How the objects of a field lie in its values: alone, or in lists."""

    def flatten(self, values: Sequence[Any]) -> list[Any]:
        """All objects in the values of a level. Raises Unfit at a null that may not be."""

    def rebuild(self, values: Sequence[Any], rows: Iterator[Row]) -> Sequence[Any]:
        """The values with a row in the place of each object, in the order of `flatten`."""


@dataclass(frozen=True, slots=True)
class ObjectNesting:
    """One object each."""

    is_required: bool

    def flatten(self, values: Sequence[Any]) -> list[Any]:
        """The objects that there are."""
        found = [value for value in values if value is not None]
        if self.is_required and len(found) < len(values):
            raise InvalidResultError
        return found

    def rebuild(self, values: Sequence[Any], rows: Iterator[Row]) -> Sequence[Any]:
        """The rows, and the nulls between them."""
        if self.is_required:
            return [*rows]
        return [None if value is None else next(rows) for value in values]


@dataclass(frozen=True, slots=True)
class ListNesting:
    """A list each."""

    is_required: bool
    items: Nesting

    def flatten(self, values: Sequence[Any]) -> list[Any]:
        """The objects of all lists, one list after another."""
        return self.items.flatten([item for value in values for item in self._items(value)])

    def rebuild(self, values: Sequence[Any], rows: Iterator[Row]) -> Sequence[Any]:
        """The lists again."""
        flat = [item for value in values for item in self._items(value)]
        rebuilt = iter(self.items.rebuild(flat, rows))
        return [None if value is None else [*islice(rebuilt, len(value))] for value in values]

    def _items(self, value: Any) -> Sequence[Any]:
        return () if value is None and not self.is_required else require_list(value)


@dataclass(frozen=True, slots=True)
class SharedObjectNesting:
    """One object each, which siblings may have in common: it becomes one row for all of them."""

    is_required: bool

    def flatten(self, values: Sequence[Any]) -> list[Any]:
        """Every object once."""
        found = {id(value): value for value in values}
        if id(None) in found:
            if self.is_required:
                raise InvalidResultError
            del found[id(None)]
        return [*found.values()]

    def rebuild(self, values: Sequence[Any], rows: Iterator[Row]) -> Sequence[Any]:
        """The rows, each wherever its object was, and the nulls between them."""
        row_of: dict[int, Row | None] = {id(None): None}
        for value in values:
            if id(value) not in row_of:
                row_of[id(value)] = next(rows)
        return [row_of[id(value)] for value in values]


def build_nesting(output_type: GraphQLOutputType) -> Nesting:
    """The shape of the values of a field whose type this is."""
    if isinstance(get_nullable_type(output_type), GraphQLList):
        return _build_list_nesting(output_type)
    return SharedObjectNesting(isinstance(output_type, GraphQLNonNull))


def _build_list_nesting(output_type: GraphQLOutputType) -> Nesting:
    is_required, nullable = isinstance(output_type, GraphQLNonNull), get_nullable_type(output_type)
    if isinstance(nullable, GraphQLList):
        return ListNesting(is_required, _build_list_nesting(nullable.of_type))
    return ObjectNesting(is_required)


def require_list(value: Any) -> Sequence[Any]:
    """A list's items. Raises Unfit for what is no list."""
    if isinstance(value, (list, tuple)):
        return value
    raise InvalidResultError


def raise_missing_object() -> Any:
    """Stands where an object is missing that must be there. Raises Unfit."""
    raise InvalidResultError


async def resolve_each(
    resolver: Callable[[Any], Awaitable[Any]], parents: Sequence[Any]
) -> Sequence[Any]:
    """The values of a resolver that answers for one parent at a time."""
    if len(parents) == 1:
        return [await resolver(parents[0])]
    return await _gather(_as_coroutine(resolver(parent)) for parent in parents)


async def resolve_concurrently(
    run: RunInfo, *levels: tuple[LevelResolver, Sequence[Any], Sequence[Row]]
) -> None:
    """Resolves fields at the same time, where there are parents for them."""
    wanted = [level for level in levels if level[1]]
    if len(wanted) == 1:
        field, parents, rows = wanted[0]
        await field(run, parents, rows)
    elif wanted:
        await _gather(field(run, parents, rows) for field, parents, rows in wanted)


async def _gather(coroutines: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """The results of all; the first failure ends the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


async def _as_coroutine(value: Awaitable[Any]) -> Any:
    return await value
