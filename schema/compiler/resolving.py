"""Call the resolver of a field once for all objects of a level, which may be in nested lists."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol, TypeAlias

from graphql import (
    GraphQLError,
    GraphQLList,
    GraphQLNonNull,
    GraphQLOutputType,
    GraphQLSchema,
    get_nullable_type,
)
from graphql.execution.values import VariableValues

from resolvers.request.context import Context
from resolvers.request.errors import WHOLE_OPERATION_ERRORS
from resolvers.request.listing import batch_resolver_of, first_page_of
from resolvers.request.threads import run_in_thread
from schema.compiler.coercion import build_arguments
from schema.compiler.completion import InvalidResultError
from schema.compiler.selection import (
    DocumentList,
    SelectedField,
    Selection,
    UnsupportedQueryError,
    find_joined_list,
)
from schema.counting import Weights
from schema.definitions import requirement_of

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


class FieldResolver:
    """The resolver of one selected field, with the builder of its arguments."""

    def __init__(
        self, selected: SelectedField, schema: GraphQLSchema, documents: DocumentList | None
    ) -> None:
        """Raises UnsupportedQueryError."""
        resolver = selected.field.base_resolver
        assert resolver is not None
        self.number = selected.number
        self.requirement = requirement_of(selected.definition)
        self._build_arguments = build_arguments(selected, schema)
        self._resolve_many = batch_resolver_of(resolver.wrapped_func)
        self._is_async = resolver.is_async
        self._call = build_call(selected)
        self.documents = documents
        """How the list is read as documents; None if its pages have records."""
        self._find_first_page = first_page_of(resolver.wrapped_func)
        self.joined_list: FieldResolver | None = None
        """The list that is read with the record that this field gets."""

    async def __call__(self, run: RunInfo, parents: Sequence[Any]) -> Sequence[Any]:
        """Return a value for each parent; exceptions of single parents are among the values."""
        if self.documents is not None:
            run = run.reading_documents(self.documents.fields)
        arguments: dict[str, Any] = {}
        if self._build_arguments is not None:
            if run.has_large_variables:
                arguments = await run_in_thread(self._build_arguments, run.variables)
            else:
                arguments = self._build_arguments(run.variables)
        if self._resolve_many is not None:
            return await self._resolve_many(parents, info=run, **arguments)
        if self.joined_list is not None and run.context.record_cache is None:
            run = run if run.has_large_variables else self.joined_list.read_with_record(run)
        if self._is_async and len(parents) == 1:  # without the cost of a task
            return [await self._call(parents[0], run, **arguments)]
        return await settle_all([self._resolve_one(run, parent, arguments) for parent in parents])

    def read_with_record(self, run: RunInfo) -> RunInfo:
        """Return the run for the field that gets the record of this list, to read both at once."""
        assert self._find_first_page is not None
        assert self._build_arguments is not None
        try:
            page = self._find_first_page(**self._build_arguments(run.variables))
        except GraphQLError:  # it is the error of the list
            return run
        if page is None:
            return run
        if self.documents is not None:
            request = replace(page.request, document_fields=self.documents.fields)
            page = page._replace(request=request)
        return RunInfo(run.context.with_first_page(page), run.variables)

    async def _resolve_one(self, run: RunInfo, parent: Any, arguments: dict[str, Any]) -> Any:
        value = self._call(parent, run, **arguments)
        return await value if self._is_async else value


def build_call(selected: SelectedField) -> Callable[..., Any | Coroutine[Any, Any, Any]]:
    """Return a function of parent, info and arguments that calls a resolver of one parent.

    Raises UnsupportedQueryError.
    """
    resolver = selected.field.base_resolver
    assert resolver is not None
    if resolver.self_parameter or resolver.root_parameter:
        raise UnsupportedQueryError("a resolver that is a method")
    function: Any = resolver.wrapped_func
    parent_name = resolver.parent_parameter.name if resolver.parent_parameter else None
    info_name = resolver.info_parameter.name if resolver.info_parameter else None

    def call(parent: Any, info: RunInfo, **arguments: Any) -> Any:
        if parent_name is not None:
            arguments[parent_name] = parent
        if info_name is not None:
            arguments[info_name] = info
        return function(**arguments)

    return call


class FieldResolvers:
    """The resolvers of an operation's fields, each built once."""

    def __init__(
        self, schema: GraphQLSchema, document_lists: Mapping[int, DocumentList] | None = None
    ) -> None:
        self._schema = schema
        self.document_lists = document_lists or {}
        """Lists that are read as documents, by the number of their field."""
        self._by_number: dict[int, FieldResolver] = {}

    def get(self, selected: SelectedField) -> FieldResolver:
        """Return the resolver of a field that is resolved per level.

        Raises UnsupportedQueryError.
        """
        resolver = self._by_number.get(selected.number)
        if resolver is None:
            documents = self.document_lists.get(selected.number)
            resolver = FieldResolver(selected, self._schema, documents)
            self._by_number[selected.number] = resolver
        return resolver

    def join_list(self, selection: Selection) -> None:
        """Have a query of one record and one list of it read both with one command."""
        if joined := find_joined_list(selection, self._schema.query_type):
            record, listed = map(self.get, joined)
            record.joined_list = listed

    def build_all(self, selection: Selection) -> None:
        """Build the resolvers of all fields, at any depth. Raises UnsupportedQueryError."""
        for selected in selection:
            if not isinstance(selected, SelectedField):
                continue
            if selected.is_resolved_per_level:
                self.get(selected)
            elif selected.field.base_resolver is not None:
                build_call(selected)
            for children in selected.selections:
                self.build_all(children)
