"""What generated code calls: shapes of nested values, and waiting for several fields of a level."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeAlias

from graphql import GraphQLList, GraphQLNonNull, GraphQLOutputType, get_nullable_type
from graphql.execution.values import VariableValues

from resolvers.context import Context
from schema.compiling_leaves import Unfit

Row: TypeAlias = dict[str, Any]
LevelField: TypeAlias = Callable[["Run", Sequence[Any], Sequence[Row]], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a compiled operation; resolvers get it as their info."""

    context: Context
    variables: VariableValues


class Shape(Protocol):
    """How the objects of a field lie in its values: alone, or in lists."""

    def flatten(self, values: Sequence[Any]) -> list[Any]:
        """All objects in the values of a level. Raises Unfit at a null that may not be."""

    def rebuild(self, values: Sequence[Any], rows: Iterator[Row]) -> Sequence[Any]:
        """The values with a row in the place of each object, in the order of `flatten`."""


@dataclass(frozen=True, slots=True)
class Objects:
    """One object each."""

    is_required: bool

    def flatten(self, values: Sequence[Any]) -> list[Any]:
        """The objects that there are."""
        found = [value for value in values if value is not None]
        if self.is_required and len(found) < len(values):
            raise Unfit
        return found

    def rebuild(self, values: Sequence[Any], rows: Iterator[Row]) -> Sequence[Any]:
        """The rows, and the nulls between them."""
        if self.is_required:
            return [*rows]
        return [None if value is None else next(rows) for value in values]


@dataclass(frozen=True, slots=True)
class Lists:
    """A list each."""

    is_required: bool
    items: Shape

    def flatten(self, values: Sequence[Any]) -> list[Any]:
        """The objects of all lists, one list after another."""
        return self.items.flatten([item for value in values for item in self._items(value)])

    def rebuild(self, values: Sequence[Any], rows: Iterator[Row]) -> Sequence[Any]:
        """The lists again."""
        flat = [item for value in values for item in self._items(value)]
        rebuilt = iter(self.items.rebuild(flat, rows))
        return [None if value is None else [*islice(rebuilt, len(value))] for value in values]

    def _items(self, value: Any) -> Sequence[Any]:
        return () if value is None and not self.is_required else items(value)


@dataclass(frozen=True, slots=True)
class Shared:
    """One object each, which siblings may have in common: it becomes one row for all of them."""

    is_required: bool

    def flatten(self, values: Sequence[Any]) -> list[Any]:
        """Every object once."""
        found = {id(value): value for value in values}
        if id(None) in found:
            if self.is_required:
                raise Unfit
            del found[id(None)]
        return [*found.values()]

    def rebuild(self, values: Sequence[Any], rows: Iterator[Row]) -> Sequence[Any]:
        """The rows, each wherever its object was, and the nulls between them."""
        row_of: dict[int, Row | None] = {id(None): None}
        for value in values:
            if id(value) not in row_of:
                row_of[id(value)] = next(rows)
        return [row_of[id(value)] for value in values]


def shape_of(type: GraphQLOutputType) -> Shape:
    """The shape of the values of a field whose type this is."""
    if isinstance(get_nullable_type(type), GraphQLList):
        return _in_lists(type)
    return Shared(isinstance(type, GraphQLNonNull))


def _in_lists(type: GraphQLOutputType) -> Shape:
    is_required, nullable = isinstance(type, GraphQLNonNull), get_nullable_type(type)
    if isinstance(nullable, GraphQLList):
        return Lists(is_required, _in_lists(nullable.of_type))
    return Objects(is_required)


def items(value: Any) -> Sequence[Any]:
    """A list's items. Raises Unfit for what is no list."""
    if isinstance(value, (list, tuple)):
        return value
    raise Unfit


def null() -> Any:
    """Stands where an object is missing that must be there. Raises Unfit."""
    raise Unfit


async def one_by_one(
    resolver: Callable[[Any], Awaitable[Any]], parents: Sequence[Any]
) -> Sequence[Any]:
    """The values of a resolver that answers for one parent at a time."""
    if len(parents) == 1:
        return [await resolver(parents[0])]
    return await _at_once(_started(resolver(parent)) for parent in parents)


async def together(run: Run, *levels: tuple[LevelField, Sequence[Any], Sequence[Row]]) -> None:
    """Resolves fields at the same time, where there are parents for them."""
    wanted = [level for level in levels if level[1]]
    if len(wanted) == 1:
        field, parents, rows = wanted[0]
        await field(run, parents, rows)
    elif wanted:
        await _at_once(field(run, parents, rows) for field, parents, rows in wanted)


async def _at_once(coroutines: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """The results of all; the first failure ends the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


async def _started(value: Awaitable[Any]) -> Any:
    return await value
