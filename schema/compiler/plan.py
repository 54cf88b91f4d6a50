"""Plan an operation: levels of fields, with all that is known of them before a request.

A level is what is selected of objects of one type. Its plain fields are read from the objects; the
resolver of another field is called once for all objects of the level.
"""

import asyncio
from collections import Counter as Counts
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, islice, repeat
from types import NoneType
from typing import Any, TypeAlias

import graphql
from msgspec import Struct

from resolvers.request.context import Budget, Context
from resolvers.request.errors import WHOLE_OPERATION_ERRORS
from resolvers.request.inputs import batch_resolver_of
from resolvers.request.listing import first_page_of
from resolvers.request.threads import OBJECTS_IN_PART, run_in_thread
from schema.compiler.coercion import build_arguments
from schema.compiler.selection import (
    DocumentList,
    SelectedField,
    Selection,
    TypenameField,
    UnsupportedQueryError,
    find_document_lists,
    find_joined_list,
)
from schema.definitions import (
    PAGE_DATA_FIELD,
    cost_of,
    is_loaded,
    is_page,
    requirement_of,
    strawberry_field_of,
)

Row: TypeAlias = dict[str, Any]
"""The part of a response that is made of one object."""
MakeRows: TypeAlias = Callable[["RunInfo", Sequence[Any]], Any]
"""Generated code: return the rows of objects, or the completed values of a field.

It raises an exception, of whatever type, if there is an error in any of them."""

OBJECTS_WITH_LISTS_IN_PART = 20
"""Objects that are made before a look at the clock, if each may have many others inside."""


Weights: TypeAlias = Sequence[int] | None
"""The number of times that each object of a level is in the response; None if each is there once.

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
        if weights is None and len(values) == 1 and self.size_of is None:  # the usual case
            self.charge(budget, not (values[0] is None or isinstance(values[0], Exception)))
            return
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


class RunInfo(Struct, frozen=True, eq=False):
    """One run of an operation, passed to resolvers as their `info`.

    Resolvers use nothing of `strawberry.Info` but `context`.
    """

    context: Context
    variables: Mapping[str, Any]
    """The coerced variables."""
    has_large_variables: bool = False
    document_fields: frozenset[str] | None = None
    """Paged resolvers look at these fields, which are read of each document of a list; None if it
    has records."""


class FieldResolver:
    """The resolver of one selected field, with the builder of its arguments."""

    def __init__(self, selected: SelectedField, documents: DocumentList | None) -> None:
        """Raises UnsupportedQueryError."""
        resolver = selected.field.base_resolver
        assert resolver is not None
        self.requirement = requirement_of(selected.definition)
        self._build_arguments = build_arguments(selected)
        self._resolve_many = batch_resolver_of(resolver.wrapped_func)
        self._is_async = resolver.is_async
        self._call = build_call(selected)
        self._documents = documents
        self._find_first_page = first_page_of(resolver.wrapped_func)
        self.joined_list: FieldResolver | None = None
        """The list that is read with the record that this field gets."""

    async def __call__(self, run: RunInfo, parents: Sequence[Any]) -> Sequence[Any]:
        """Return a value for each parent; exceptions of single parents are among the values."""
        if self._documents is not None:
            run = RunInfo(
                run.context, run.variables, run.has_large_variables, self._documents.fields
            )
        build, arguments = self._build_arguments, {}
        if build is not None:
            is_large, variables = run.has_large_variables, run.variables
            arguments = await run_in_thread(build, variables) if is_large else build(variables)
        if self._resolve_many is not None:
            return await self._resolve_many(parents, info=run, **arguments)
        if self.joined_list is not None and run.context.record_cache is None:
            run = run if run.has_large_variables else self.joined_list.read_with_record(run)
        if self._is_async and len(parents) == 1:  # without the cost of a task
            return [await self._call(parents[0], run, **arguments)]
        run.context.expect_siblings(expected=True)
        return await settle_all([self._resolve_one(run, parent, arguments) for parent in parents])

    def read_with_record(self, run: RunInfo) -> RunInfo:
        """Return the run for the field that gets the record of this list, to read both at once."""
        assert self._find_first_page is not None
        assert self._build_arguments is not None
        fields = self._documents and self._documents.fields
        try:
            page = self._find_first_page(fields, **self._build_arguments(run.variables))
        except graphql.GraphQLError:  # it is the error of the list
            return run
        if page is None:
            return run
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


class PlannedField:
    """A field of a level."""

    def __init__(
        self,
        selected: SelectedField,
        resolver: FieldResolver | None,
        call: Callable[..., Any] | None,
        levels: Mapping[str, "LevelPlan"],
        documents: DocumentList | None,
        member: str | None,
    ) -> None:
        self.selected = selected
        self.resolver = resolver
        """It is called once for all objects; None for a plain field."""
        self.call = call
        """It reads a plain field that is more than an attribute."""
        self.levels = levels
        """The levels of its objects by the name of their type; scalars have none."""
        self.level = next(iter(levels.values())) if len(levels) == 1 else None
        """The level of all its objects, if they have one type."""
        self.documents = documents
        """The list that has its objects as documents; None if they are records."""
        self.member = member
        """The name of the field in its objects, if these are documents."""
        self.key = selected.key
        self.coordinate = f"{selected.parent.name}.{selected.node.name.value}"
        """Its type and name in the schema, such as `Unit.floor`."""
        self.cost = cost_of(selected.field) if resolver else 0
        self.counter = (
            build_counter(selected.definition, selected.data_selections) if resolver else None
        )
        self.is_required = isinstance(selected.output_type, graphql.GraphQLNonNull)
        self.list_depth = _list_depth(selected.output_type)
        """The number of lists that its objects are nested in."""
        inside = [each for level in levels.values() for each in level.fields]
        self.has_resolvers: bool = resolver is not None or any(
            each.has_resolvers for each in inside
        )
        """True if it has a resolver, or a field inside it has one, at any depth."""
        self.is_column: bool = (
            self.has_resolvers or len(levels) > 1 or any(each.is_column for each in inside)
        )
        """True if it is completed for all objects at once, and not where the row of each is made.
        """
        has_columns = self.level is not None and self.level.columns
        is_plain = not (has_columns or self.list_depth or documents)
        self.plain_level = self.level if is_plain else None
        """The level of its value, if this is one object and generated code makes its whole row."""
        self.complete_values: MakeRows | None = None
        """Generated code for the values of a resolver that are no objects, if there is any."""

    def read(self, item: Any, run: RunInfo) -> Any:
        """Return the value of a plain field, or the exception that reading it raised."""
        try:
            if self.call is not None:
                return self.call(item, run)
            return getattr(item, self.selected.field.python_name)
        except Exception as error:
            return error

    def flatten(self, values: Sequence[Any], weights: Weights) -> tuple[Sequence[Any], Weights]:
        """Return the objects in values, out of all lists, and how often each is in the response.

        Siblings may share an object, such as the floor of many units: it has one row. Loaders
        return the same object for the same key, so that its identity finds it.
        """
        if self.list_depth == 0 and len(values) == 1:  # the usual case
            is_object = not (values[0] is None or isinstance(values[0], Exception))
            return (values if is_object else ()), weights
        for _ in range(self.list_depth):
            lists = [each if isinstance(each, (list, tuple)) else () for each in values]
            if weights is not None:
                pairs = zip(lists, weights, strict=True)
                weights = [weight for items, weight in pairs for _ in items]
            values = lists[0] if len(lists) == 1 else [*chain.from_iterable(lists)]
        if any(issubclass(kind, (NoneType, Exception)) for kind in {*map(type, values)}):
            are_objects = [not (each is None or isinstance(each, Exception)) for each in values]
            values = [*compress(values, are_objects)]
            weights = None if weights is None else [*compress(weights, are_objects)]
        if self.list_depth:
            return values, weights
        distinct = {id(each): each for each in values}
        if len(distinct) == len(values):
            return values, weights
        if weights is None:
            return [*distinct.values()], [*Counts(map(id, values)).values()]
        totals = dict.fromkeys(distinct, 0)
        for each, weight in zip(values, weights, strict=True):
            totals[id(each)] += weight
        return [*distinct.values()], [*totals.values()]

    def put_back(
        self, values: Sequence[Any], objects: Sequence[Any], rows: Sequence[Row]
    ) -> Sequence[Any] | None:
        """Return the values with the rows of their objects in place; None if anything is wrong."""
        if self.list_depth == 0:
            if len(values) == len(objects) == 1:
                return rows
            row_of: dict[int, Row | None] = dict(zip(map(id, objects), rows, strict=True))
            if not self.is_required:
                row_of[id(None)] = None
            try:
                return [row_of[id(value)] for value in values]
            except KeyError:  # an exception, or a null where none may be
                return None
        is_list = all(isinstance(each, (list, tuple)) for each in values)
        if self.list_depth > 1 or not is_list or sum(map(len, values)) > len(rows):
            return None
        if len(values) == 1:
            return [rows]
        remaining = iter(rows)
        return [[*islice(remaining, len(items))] for items in values]


class LevelPlan:
    """The selection on the objects of one type."""

    def __init__(self, entries: Sequence[PlannedField | TypenameField]) -> None:
        self.entries = entries
        self.fields = [each for each in entries if isinstance(each, PlannedField)]
        self.columns = [each for each in self.fields if each.is_column]
        """The fields that are not plain."""
        self.blank: Row = {
            each.key: each.type_name if isinstance(each, TypenameField) else None
            for each in entries
        }
        """A row without the values of fields, whose keys are in the order of the selection."""
        plain = [each.selected for each in self.fields if not each.is_column]
        has_lists = any(map(_has_lists, plain))
        self.part_size: int | None = OBJECTS_WITH_LISTS_IN_PART if has_lists else OBJECTS_IN_PART
        if any(is_page(each.selected.parent) for each in self.fields):
            self.part_size = None
        """The number of rows to make before a look at the clock. None for pages: each may be long
        by itself, so that the code that makes them is async."""
        self.make_rows: MakeRows | None = None
        """Generated code that makes rows with all plain fields, if there is any."""


def plan_levels(selection: Selection, schema: graphql.GraphQLSchema) -> LevelPlan:
    """Return the level of an operation's root, with those inside it.

    Raises UnsupportedQueryError.
    """
    planner = _Planner(find_document_lists(selection))
    level = planner.plan_level(selection, None)
    if joined := find_joined_list(selection, schema.query_type):
        record, listed = (planner.resolvers[each.number] for each in joined)
        record.joined_list = listed
    return level


class _Planner:
    def __init__(self, document_lists: Mapping[int, DocumentList]) -> None:
        self._document_lists = document_lists
        self._members: dict[int, str] = {}
        for each in document_lists.values():
            self._members.update(each.members)
        self.resolvers: dict[int, FieldResolver] = {}

    def plan_level(self, selection: Selection, documents: DocumentList | None) -> LevelPlan:
        """Plan a level; `documents` say how the lists in its objects, which are pages, are read."""
        return LevelPlan(
            [
                self._plan_field(each, documents) if isinstance(each, SelectedField) else each
                for each in selection
            ]
        )

    def _plan_field(self, selected: SelectedField, documents: DocumentList | None) -> PlannedField:
        listed = self._document_lists.get(selected.number)
        resolver = call = None
        if selected.is_resolved_per_level:
            resolver = FieldResolver(selected, listed)
            self.resolvers[selected.number] = resolver
        elif selected.field.base_resolver is not None:
            call = build_call(selected)
        is_list = selected.node.name.value == PAGE_DATA_FIELD
        levels = {
            name: self.plan_level(children, listed)
            for name, children in selected.selections.items()
        }
        return PlannedField(
            selected,
            resolver,
            call,
            levels,
            documents if is_list else None,
            self._members.get(selected.number),
        )


def _list_depth(output_type: Any) -> int:
    nullable = graphql.get_nullable_type(output_type)
    return 1 + _list_depth(nullable.of_type) if isinstance(nullable, graphql.GraphQLList) else 0


def _has_lists(selected: SelectedField) -> bool:
    return _list_depth(selected.output_type) > 0 or any(map(_has_lists, selected.nested_fields))


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
