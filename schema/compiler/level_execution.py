"""Execute a selection level by level, without generated code, and report errors by field.

It runs operations that are not worth generating code for. It also finishes those in which generated
code failed: it uses what their resolvers returned, so that no resolver is called again.

Every field runs to its end. Each null that an error causes has one error: if several fields of an
object fail that must not be null, the first in document order (GraphQL, section 6.4.4).
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from graphql import (
    GraphQLError,
    GraphQLList,
    GraphQLNonNull,
    GraphQLOutputType,
    Node,
    get_nullable_type,
)

from resolvers.request.deadlines import check_deadline
from resolvers.request.errors import WHOLE_OPERATION_ERRORS, RequestError
from resolvers.request.threads import OBJECTS_IN_PART, build_in_parts, pause_if_due
from schema.compiler.completion import (
    MAX_ERRORS,
    Complete,
    FailedPartError,
    FieldError,
    build_value_completion,
)
from schema.compiler.resolving import FieldResolvers, Row, RunInfo, build_call, settle_all
from schema.compiler.selection import SelectedField, Selection, TypenameField
from schema.counting import Weights, build_counter, charge_cost
from schema.definitions import cost_of


class Level(NamedTuple):
    """The rows of some objects. Errors and failures are by the position of an object."""

    rows: list[Row]
    errors: dict[int, list[FieldError]]
    """Errors of fields that are null."""
    failures: dict[int, FieldError]
    """Errors that make the object itself null."""


class LevelExecutor:
    """One run of an operation."""

    def __init__(
        self, run: RunInfo, resolvers: FieldResolvers, *, check_requirements: bool = False
    ) -> None:
        self._run = run
        self._resolvers = resolvers
        self._check_requirements = check_requirements

    async def execute(
        self, selection: Selection, *, serially: bool = False
    ) -> tuple[Row | None, list[GraphQLError]]:
        """Return the data and the errors of an operation; `serially` for mutations."""
        level = await self._complete_level(selection, (None,), None, serially=serially)
        if 0 in level.failures:
            return None, to_graphql_errors([level.failures[0]])
        return level.rows[0], to_graphql_errors(level.errors.get(0, []))

    async def _complete_level(
        self,
        selection: Selection,
        objects: Sequence[Any],
        weights: Weights,
        *,
        serially: bool = False,
    ) -> Level:
        keys = [selected.response_key for selected in selection]
        level = Level([dict.fromkeys(keys) for _ in objects], {}, {})
        fields = [selected for selected in selection if isinstance(selected, SelectedField)]
        if serially:
            columns = []
            for selected in fields:
                columns.append(await self._complete_in_time(selected, objects, weights))
                if columns[-1].failures:
                    break
        else:
            columns = await self._complete_concurrently(fields, objects, weights)
        for selected, column in zip(fields, columns, strict=False):
            _add_column(level, selected.response_key, column)
            if len(objects) > OBJECTS_IN_PART:
                await pause_if_due()
        for each in selection:
            if isinstance(each, TypenameField):
                for row in level.rows:
                    row[each.response_key] = each.type_name
        for position in level.failures:
            level.errors.pop(position, None)
        return level

    async def _complete_in_time(
        self, selected: SelectedField, objects: Sequence[Any], weights: Weights
    ) -> "Column":
        """Complete a field of a mutation, unless those before it took too long."""
        try:
            check_deadline()
        except RequestError as error:
            self._run.outcomes[selected.number] = objects, error
        return await self._complete_field(selected, objects, weights)

    async def _complete_concurrently(
        self, fields: Sequence[SelectedField], objects: Sequence[Any], weights: Weights
    ) -> "list[Column]":
        columns: dict[int, Column] = {}
        waiting: list[SelectedField] = []
        for selected in fields:
            if selected.is_resolved_per_level or selected.has_nested_resolvers:
                waiting.append(selected)
            else:
                columns[selected.number] = await self._complete_field(selected, objects, weights)
        if len(waiting) == 1:
            columns[waiting[0].number] = await self._complete_field(waiting[0], objects, weights)
        else:
            coroutines: list[Coroutine[Any, Any, Column]] = [
                self._complete_field(selected, objects, weights) for selected in waiting
            ]
            for selected, column in zip(waiting, await settle_all(coroutines), strict=True):
                if isinstance(column, Exception):
                    raise column
                columns[selected.number] = column
        return [columns[selected.number] for selected in fields]

    async def _complete_field(
        self, selected: SelectedField, objects: Sequence[Any], weights: Weights
    ) -> "Column":
        """Resolve a field of some objects, and complete its values."""
        values = await self._get_values(selected, objects, weights)
        complete = await self._build_completion(selected, values, weights)
        is_required = isinstance(selected.output_type, GraphQLNonNull)
        column = Column([], {}, {})
        for position, value in enumerate(values):
            errors: list[FieldError] = []
            completed: Any = None
            failed: FieldError | None = None
            try:
                completed = complete(value, errors)
            except FailedPartError as failure:
                failed = failure.field_error
            except Exception as error:
                failed = FieldError((), selected.nodes, error)
            column.values.append(completed)
            if failed is not None and is_required:
                column.failures[position] = failed
            elif failed is not None:
                column.errors[position] = [failed]
            elif errors:
                column.errors[position] = errors
            if position % OBJECTS_IN_PART == OBJECTS_IN_PART - 1:
                await pause_if_due()
        return column

    async def _get_values(
        self, selected: SelectedField, objects: Sequence[Any], weights: Weights
    ) -> Sequence[Any]:
        """Return a value or an exception for each object, and count them."""
        if not objects:
            return ()
        if not selected.is_resolved_per_level:
            read = _build_reading(selected, self._run)
            return await build_in_parts(lambda part: [read(item) for item in part], objects)
        if self._check_requirements:
            try:
                self._resolvers.get(selected).requirement.check(self._run.context.caller)
            except Exception as error:
                return [error] * len(objects)
        budget = self._run.context.budget
        charge_cost(budget, cost_of(selected.field), objects, weights)
        values = await self._resolve_missing(selected, objects)
        if counter := build_counter(selected.definition, selected.data_selections):
            counter.count(budget, values, weights)
        return values

    async def _resolve_missing(
        self, selected: SelectedField, objects: Sequence[Any]
    ) -> Sequence[Any]:
        """Return the values that are known, and resolve the field for the other objects."""
        parents, values = self._run.outcomes.get(selected.number, ((), ()))
        known = dict(zip(map(id, parents), _align(values, parents), strict=True))
        missing = [item for item in objects if id(item) not in known]
        if missing:
            resolved = await self._resolve(selected, missing)
            known |= zip(map(id, missing), resolved, strict=True)
        found = [known[id(item)] for item in objects]
        documents = self._resolvers.get(selected).documents
        return found if documents is None else await documents.decode(found)

    async def _resolve(self, selected: SelectedField, parents: Sequence[Any]) -> Sequence[Any]:
        resolver = self._resolvers.get(selected)
        try:
            return await self._run.resolve(selected.number, resolver, parents)
        except WHOLE_OPERATION_ERRORS:
            raise
        except Exception as error:
            return [error] * len(parents)

    async def _build_completion(
        self, selected: SelectedField, values: Sequence[Any], weights: Weights
    ) -> Complete:
        """Return the function that completes a field's values, after those of the fields inside."""
        if not selected.is_object:
            return build_value_completion(selected, selected.output_type, None)
        # Siblings may share an object, which has one row then; its identity finds it.
        objects, object_weights = _flatten(selected.output_type, values, weights)
        if len(objects) > OBJECTS_IN_PART:
            await pause_if_due()
        distinct = {id(item): item for item in objects}
        totals = dict.fromkeys(distinct, 0)
        for item, weight in zip(objects, object_weights, strict=True):
            totals[id(item)] += weight
        if selected.children_by_type is None:
            level = await self._complete_level(
                selected.children, [*distinct.values()], [*totals.values()]
            )
            places = {key: (level, position) for position, key in enumerate(distinct)}
        else:
            places = await self._complete_types(selected, distinct, totals)

        def complete_object(value: Any, errors: list[FieldError]) -> Row:
            level, position = places[id(value)]
            if position in level.failures:
                raise FailedPartError(level.failures[position])
            errors += level.errors.get(position, ())
            return level.rows[position]

        return build_value_completion(selected, selected.output_type, complete_object)

    async def _complete_types(
        self, selected: SelectedField, objects: Mapping[int, Any], weights: Mapping[int, int]
    ) -> dict[int, tuple[Level, int]]:
        """Complete objects of several types; return the place of each, by its identity."""
        assert selected.children_by_type is not None
        keys_by_type: dict[str, list[int]] = {}
        for key, item in objects.items():
            keys_by_type.setdefault(selected.type_name_of(item), []).append(key)
        levels = await settle_all(
            [
                self._complete_level(
                    selected.children_by_type[name],
                    [objects[key] for key in keys],
                    [weights[key] for key in keys],
                )
                for name, keys in keys_by_type.items()
            ]
        )
        places: dict[int, tuple[Level, int]] = {}
        for level, keys in zip(levels, keys_by_type.values(), strict=True):
            if isinstance(level, Exception):
                raise level
            places |= {key: (level, position) for position, key in enumerate(keys)}
        return places


class Column(NamedTuple):
    """One field of some objects; errors and failures as in `Level`."""

    values: list[Any]
    errors: dict[int, list[FieldError]]
    failures: dict[int, FieldError]


def to_graphql_errors(errors: Sequence[FieldError]) -> list[GraphQLError]:
    """Return the first errors in the form that graphql-core gives them."""
    places: dict[tuple[int, ...], GraphQLError] = {}
    made = []
    for path, nodes, error in errors[:MAX_ERRORS]:
        message = str(error)
        places_of: Sequence[Node] = nodes
        if isinstance(error, GraphQLError):  # of an argument: it has the argument's place
            message, places_of = error.message, error.nodes or places_of
        made_error = GraphQLError(message, path=path, original_error=error)
        # To find its line, graphql-core reads the document: do so once for each field.
        key = tuple(map(id, places_of))
        place = places[key] = places.get(key) or GraphQLError("", [*places_of])
        made_error.nodes, made_error.source = place.nodes, place.source
        made_error.positions, made_error.locations = place.positions, place.locations
        made.append(made_error)
    return made


def _add_column(level: Level, key: str, column: Column) -> None:
    for row, value in zip(level.rows, column.values, strict=True):
        row[key] = value
    for position, field_error in column.failures.items():
        level.failures.setdefault(position, field_error.within(key))
    for position, field_errors in column.errors.items():
        known = level.errors.setdefault(position, [])
        known += [each.within(key) for each in field_errors[: MAX_ERRORS - len(known)]]


def _build_reading(selected: SelectedField, run: RunInfo) -> Callable[[Any], Any]:
    """Return the function that reads a field that needs no waiting; it returns exceptions."""
    name = selected.field.python_name
    call = None if selected.field.base_resolver is None else build_call(selected)

    def read(item: Any) -> Any:
        try:
            return getattr(item, name) if call is None else call(item, run)
        except Exception as error:
            return error

    return read


def _align(values: Sequence[Any] | Exception, parents: Sequence[Any]) -> Sequence[Any]:
    return [values] * len(parents) if isinstance(values, Exception) else values


def _flatten(
    output_type: GraphQLOutputType, values: Sequence[Any], weights: Weights
) -> tuple[Sequence[Any], Sequence[int]]:
    """Return the objects in values of a type, out of all lists, and how often each is there."""
    pairs = zip(values, repeat(1) if weights is None else weights, strict=False)
    nullable = get_nullable_type(output_type)
    if isinstance(nullable, GraphQLList):
        items = [
            (item, weight)
            for value, weight in pairs
            if isinstance(value, (list, tuple))
            for item in value
        ]
        return _flatten(
            nullable.of_type, [item for item, _ in items], [weight for _, weight in items]
        )
    objects = [
        (value, weight)
        for value, weight in pairs
        if not (value is None or isinstance(value, Exception))
    ]
    return [value for value, _ in objects], [weight for _, weight in objects]
