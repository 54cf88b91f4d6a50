"""Run operations by plans: a resolver is called once for all objects of a level.

Generated code makes the rows of objects where there is any, and it only knows how to succeed. Where
there is none yet, or where it fails, rows are completed field by field, with the errors of each.

Every field runs to its end. Each null that an error causes has one error: if several fields of an
object fail that must not be null, the first in document order (GraphQL, section 6.4.4). Operations
that are not supported are left to graphql-core, and so is what a request asks of the schema:
docs/decisions/graphql/compiled-queries.md.
"""

import logging
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import graphql
from graphql import GraphQLError, Node
from msgspec import Struct

from resolvers.request.context import Context, Span, check_deadline
from resolvers.request.errors import WHOLE_OPERATION_ERRORS, RequestError
from resolvers.request.threads import OBJECTS_IN_PART, build_in_parts, pause_if_due, run_in_thread
from schema.compiler.coercion import VariableCoercer, find_variables, is_large
from schema.compiler.plan import (
    FieldResolver,
    LevelPlan,
    MakeRows,
    PlannedField,
    Row,
    RunInfo,
    Weights,
    plan_levels,
    settle_all,
)
from schema.compiler.rows import (
    MAX_ERRORS,
    Complete,
    FailedPartError,
    FieldError,
    build_value_completion,
    generate_rows,
)
from schema.compiler.selection import (
    FieldCollector,
    UnsupportedQueryError,
    fragments_by_name,
)


# A Struct: a named tuple takes twice as long to make, and there are several for each request.
class Completed(Struct, frozen=True, eq=False):
    """The rows of some objects, or the values of a field of them.

    Errors and failures are by the position of an object.
    """

    values: Sequence[Any]
    errors: dict[int, list[FieldError]]
    """Errors of nulls inside."""
    failures: dict[int, FieldError]
    """Errors that make the row or value itself null; of a field, only if that may not be."""


class LevelExecutor:
    """One run of an operation."""

    def __init__(self, run: RunInfo, *, check_requirements: bool = False) -> None:
        self._run = run
        self._check_requirements = check_requirements
        self._known: dict[PlannedField, Sequence[Any]] = {}
        """Values of fields of the root that no resolver is called for."""
        self.failure: Exception | None = None
        """The last exception that generated code raised."""

    async def execute(
        self, root: LevelPlan, *, serially: bool = False, event: Sequence[Any] | None = None
    ) -> tuple[Row | None, list[GraphQLError]]:
        """Return the data and the errors of an operation; `serially` for mutations.

        An `event` is the value of the root field of a subscription, its only one.
        """
        if event is not None:
            self._known[root.fields[0]] = event
        is_only = len(root.fields) == 1
        self._run.context.expect_siblings(expected=not (is_only or serially))
        if is_only and not serially:  # the usual case, without a level
            [field] = root.fields
            row = root.blank.copy()
            column = await self._complete_field(field, (None,), None)
            if not column.errors and not column.failures:
                row[field.key] = column.values[0]
                return row, []
            rows = Completed([row], {}, {})
            _add_column(rows, field.key, column)
        else:
            rows = await self._complete_level(root, (None,), None, serially=serially)
        if rows.failures:
            return None, to_graphql_errors([rows.failures[0]])
        return rows.values[0], to_graphql_errors(rows.errors[0]) if rows.errors else []

    async def _complete_level(
        self, level: LevelPlan, objects: Sequence[Any], weights: Weights, *, serially: bool = False
    ) -> Completed:
        if not objects:
            return Completed([], {}, {})
        rows, fields = None, level.columns
        if level.make_rows is not None:
            rows = await self._make(level.make_rows, objects, level.part_size)
        if rows is None:
            rows, fields = [level.blank.copy() for _ in objects], level.fields
        completed = Completed(rows, {}, {})
        if serially:
            await self._complete_serially(completed, fields, objects)
        elif len(fields) == 1:  # the usual case, without a task
            column = await self._complete_field(fields[0], objects, weights)
            _add_column(completed, fields[0].key, column)
        elif fields:
            await self._complete_concurrently(completed, fields, objects, weights)
        if completed.failures:
            for position in completed.failures:
                completed.errors.pop(position, None)
        return completed

    async def _make(
        self, make: MakeRows, objects: Sequence[Any], part_size: int | None = OBJECTS_IN_PART
    ) -> list[Any] | None:
        """Return what generated code makes of objects; None if one of them has an error."""
        try:
            if part_size is None:
                made: list[Any] = await make(self._run, objects)
                return made
            if len(objects) == 1:  # the usual case, without the cost of parts
                return [*make(self._run, objects)]
            return await build_in_parts(partial(make, self._run), objects, part_size)
        except WHOLE_OPERATION_ERRORS:
            raise
        except Exception as error:
            self.failure = error
            return None

    async def _complete_serially(
        self, completed: Completed, fields: Sequence[PlannedField], objects: Sequence[Any]
    ) -> None:
        """Complete the fields of a mutation, except those that the ones before them made late."""
        for field in fields:
            try:
                check_deadline()
            except RequestError as error:
                self._known[field] = [error]
            _add_column(completed, field.key, await self._complete_field(field, objects, None))
            if completed.failures:
                break

    async def _complete_concurrently(
        self,
        completed: Completed,
        fields: Sequence[PlannedField],
        objects: Sequence[Any],
        weights: Weights,
    ) -> None:
        """Complete fields so that their loads share batches."""
        waiting = [field for field in fields if field.has_resolvers]
        columns: dict[str, Completed] = {}
        if len(waiting) > 1:
            self._run.context.expect_siblings(expected=True)
            coroutines: list[Coroutine[Any, Any, Completed]] = [
                self._complete_field(field, objects, weights) for field in waiting
            ]
            for field, column in zip(waiting, await settle_all(coroutines), strict=True):
                if isinstance(column, Exception):
                    raise column
                columns[field.key] = column
        for field in fields:
            column = columns.get(field.key) or await self._complete_field(field, objects, weights)
            _add_column(completed, field.key, column)
            if len(objects) > OBJECTS_IN_PART:
                await pause_if_due()

    async def _complete_field(
        self, field: PlannedField, objects: Sequence[Any], weights: Weights
    ) -> Completed:
        """Resolve or read a field of some objects, and complete its values."""
        values: Sequence[Any]
        if field.resolver is not None:
            values = await self._resolve(field, field.resolver, objects, weights)
        elif len(objects) == 1:
            values = [field.read(objects[0], self._run)]
        else:
            read, run = field.read, self._run
            values = await build_in_parts(lambda part: [read(item, run) for item in part], objects)
        if field.levels:
            return await self._complete_objects(field, values, weights)
        if field.complete_values is not None:
            made = await self._make(field.complete_values, values)
            if made is not None:
                return Completed(made, {}, {})
        selected = field.selected
        complete = build_value_completion(selected, selected.output_type, None)
        return await _complete_each(field, values, complete)

    async def _resolve(
        self,
        field: PlannedField,
        resolver: FieldResolver,
        objects: Sequence[Any],
        weights: Weights,
    ) -> Sequence[Any]:
        """Return a value or an exception for each object, and count them."""
        run = self._run
        if self._check_requirements:
            try:
                resolver.requirement.check(run.context.caller)
            except Exception as error:
                return [error] * len(objects)
        budget = run.context.budget
        if field.cost:
            budget.count_cost(field.cost * (len(objects) if weights is None else sum(weights)))
        values = self._known.get(field) if self._known else None
        if values is None:
            try:
                with Span(field.coordinate, len(objects)):
                    values = await resolver(run, objects)
            except WHOLE_OPERATION_ERRORS:
                raise
            except Exception as error:
                values = [error] * len(objects)
        if field.counter is not None:
            field.counter.count(budget, values, weights)
        return values

    async def _complete_objects(
        self, field: PlannedField, values: Sequence[Any], weights: Weights
    ) -> Completed:
        plain = field.plain_level
        if plain is not None and plain.make_rows is not None and len(values) == 1:  # the usual case
            is_object = not (values[0] is None or isinstance(values[0], Exception))
            made = await self._make(plain.make_rows, values, plain.part_size) if is_object else None
            if made is not None:
                return Completed(made, {}, {})
        if field.documents is not None:  # generated code has not made rows of them
            values = await field.documents.decode(values)
            self.failure = None
        objects, weights = field.flatten(values, weights)
        if field.level is not None:
            completed = await self._complete_level(field.level, objects, weights)
            if not completed.errors and not completed.failures:
                rows = field.put_back(values, objects, completed.values)
                if rows is not None:
                    return Completed(rows, {}, {})
        else:
            objects, completed = await self._complete_types(field, objects, weights)
        positions = {id(each): position for position, each in enumerate(objects)}

        def complete_object(value: Any, errors: list[FieldError]) -> Any:
            position = positions[id(value)]
            if position in completed.failures:
                raise FailedPartError(completed.failures[position])
            errors += completed.errors.get(position, ())
            return completed.values[position]

        selected = field.selected
        complete = build_value_completion(selected, selected.output_type, complete_object)
        return await _complete_each(field, values, complete)

    async def _complete_types(
        self, field: PlannedField, objects: Sequence[Any], weights: Weights
    ) -> tuple[Sequence[Any], Completed]:
        """Complete objects of several types; return them by type, and their rows."""
        positions: dict[str, list[int]] = {}
        for position, item in enumerate(objects):
            positions.setdefault(field.selected.type_name_of(item), []).append(position)
        if len(positions) > 1:
            self._run.context.expect_siblings(expected=True)
        levels = await settle_all(
            [
                self._complete_level(
                    field.levels[name],
                    [objects[position] for position in of_type],
                    weights and [weights[position] for position in of_type],
                )
                for name, of_type in positions.items()
            ]
        )
        rows: list[Row] = []
        completed = Completed(rows, {}, {})
        for level in levels:
            if isinstance(level, Exception):
                raise level
            start = len(rows)
            rows += level.values
            completed.errors.update({start + n: each for n, each in level.errors.items()})
            completed.failures.update({start + n: each for n, each in level.failures.items()})
        return [objects[each] for of_type in positions.values() for each in of_type], completed


async def _complete_each(
    field: PlannedField, values: Sequence[Any], complete: Complete
) -> Completed:
    all_completed: list[Any] = []
    column = Completed(all_completed, {}, {})
    for position, value in enumerate(values):
        errors: list[FieldError] = []
        completed: Any = None
        failed: FieldError | None = None
        try:
            completed = complete(value, errors)
        except FailedPartError as failure:
            failed = failure.field_error
        except Exception as error:
            failed = FieldError((), field.selected.nodes, error)
        all_completed.append(completed)
        if failed is not None and field.is_required:
            column.failures[position] = failed
        elif failed is not None:
            column.errors[position] = [failed]
        elif errors:
            column.errors[position] = errors
        if position % OBJECTS_IN_PART == OBJECTS_IN_PART - 1:
            await pause_if_due()
    return column


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


def _add_column(completed: Completed, key: str, column: Completed) -> None:
    for row, value in zip(completed.values, column.values, strict=True):
        row[key] = value
    if not column.failures and not column.errors:
        return
    for position, field_error in column.failures.items():
        completed.failures.setdefault(position, field_error.within(key))
    for position, field_errors in column.errors.items():
        known = completed.errors.setdefault(position, [])
        known += [each.within(key) for each in field_errors[: MAX_ERRORS - len(known)]]


ConditionValues: TypeAlias = tuple[bool, ...]
"""Values of the variables in `@skip` and `@include`, in the order of their declaration."""

MAX_PLANS = 4
"""Combinations of conditions that are remembered: one takes up to a megabyte."""
MAX_CHARACTERS_IN_EVENT_LOOP = 300
"""A longer document is planned in a thread, and so is one with fragments: a plan has their fields
as often as they are used."""
LIMIT_ERRORS = (RecursionError, MemoryError, SyntaxError)
"""Python raises these for code that is too large."""
_logger = logging.getLogger("floorgate.graphql")


class Event(NamedTuple):
    """One event of a subscription: the value of its root field."""

    value: Any


class QueryPlan:
    """The selection of an operation for one combination of its conditions."""

    def __init__(self, root: LevelPlan, field_count: int) -> None:
        self.root = root
        self.field_count = field_count
        self.has_tried_code = False

    def generate_code(self) -> None:
        """Generate code that makes the rows, if it is possible."""
        self.has_tried_code = True
        with suppress(UnsupportedQueryError, *LIMIT_ERRORS):
            generate_rows(self.root)


class CompiledQuery:
    """One operation, planned once for each combination of its `@skip` and `@include` variables.

    Combinations are planned when a request first has them. Code is generated for queries, and only
    after `generate_code`; until then, and for mutations and events, rows are made field by field.
    """

    def __init__(
        self,
        schema: graphql.GraphQLSchema,
        document: graphql.DocumentNode,
        node: graphql.OperationDefinitionNode,
    ) -> None:
        self._schema = schema
        self._fragments = fragments_by_name(document)
        self._node = node
        self._is_query = node.operation is graphql.OperationType.QUERY
        self._is_mutation = node.operation is graphql.OperationType.MUTATION
        self._variables = VariableCoercer(schema, node)
        self._condition_names = _condition_variables(document, node)
        self._plans: dict[ConditionValues, QueryPlan | str] = {}
        """A text says why there is none: an error would keep the frames that it is raised in."""
        self.generates_code = False
        text = document.loc.source.body if document.loc else ""
        self._is_short = 0 < len(text) <= MAX_CHARACTERS_IN_EVENT_LOOP and not self._fragments
        """True if a plan takes less time than to have a thread make it."""

    def generate_code(self) -> None:
        """Generate code from now on; at once, if there are no conditions."""
        self.request_code()
        if self.generates_code and not self._condition_names:
            with suppress(UnsupportedQueryError):
                self._get_plan(())

    def request_code(self) -> None:
        """Generate code when the operation is run the next time."""
        self.generates_code = self._is_query

    @property
    def planned_fields(self) -> int:
        """The number of fields in all plans that are remembered, a measure of their memory."""
        return sum(plan.field_count for plan in self._plans.values() if isinstance(plan, QueryPlan))

    async def run(
        self,
        inputs: Mapping[str, Any],
        context: Context,
        *,
        check_requirements: bool = False,
        event: Event | None = None,
    ) -> tuple[Row | None, list[GraphQLError]]:
        """Return the data and the errors of a request, or of a subscription for one event.

        Use `check_requirements` unless the caller meets those of all fields.
        Raises UnsupportedQueryError if only graphql-core can run it, before any resolver is called;
        InvalidVariablesError; and errors of the whole operation.
        """
        has_large_variables = is_large(inputs)
        if has_large_variables:
            variables = await run_in_thread(self._variables.coerce, inputs)
        else:
            variables = self._variables.coerce(inputs)
        conditions = self._condition_values(variables) if self._condition_names else ()
        plan = self._plans.get(conditions)
        if not isinstance(plan, QueryPlan) or (self.generates_code and not plan.has_tried_code):
            is_quick = isinstance(plan, str) or (self._is_short and not self.generates_code)
            find_plan = partial(self._get_plan, conditions)
            plan = find_plan() if is_quick else await run_in_thread(find_plan)
        run = RunInfo(context, variables, has_large_variables)
        executor = LevelExecutor(run, check_requirements=check_requirements)
        try:
            data, errors = await executor.execute(
                plan.root, serially=self._is_mutation, event=event and (event.value,)
            )
            if executor.failure is not None and not errors:
                # The data is right, but generated code should have made it.
                name, failure = self._node.name, executor.failure
                _logger.warning(
                    "compiled operation %s failed", name and name.value, exc_info=failure
                )
        finally:
            executor.failure = None  # it refers to frames, which have all that was read
        return data, errors

    def _condition_values(self, variables: Mapping[str, Any]) -> ConditionValues:
        found = [variables.get(name) for name in self._condition_names]
        values = tuple(value for value in found if isinstance(value, bool))
        if len(values) < len(found):
            raise UnsupportedQueryError("a condition that is null")
        return values

    def _get_plan(self, conditions: ConditionValues) -> QueryPlan:
        """Return the plan, with code if it should have some. Raises UnsupportedQueryError."""
        plan = self._plans.get(conditions)
        if plan is None:
            plan = self._make_plan(conditions)
            if len(self._plans) < MAX_PLANS:
                # Remembered, so that what cannot be planned is tried only once.
                self._plans[conditions] = plan
        if isinstance(plan, str):
            raise UnsupportedQueryError(plan)
        if self.generates_code and not plan.has_tried_code and conditions in self._plans:
            plan.generate_code()
        return plan

    def _make_plan(self, condition_values: ConditionValues) -> QueryPlan | str:
        conditions = dict(zip(self._condition_names, condition_values, strict=True))
        root = self._schema.get_root_type(self._node.operation)
        assert root is not None
        collector = FieldCollector(self._schema, self._fragments, conditions)
        try:
            selection = collector.collect_fields([self._node.selection_set], root)
            level = plan_levels(selection, self._schema)
        except UnsupportedQueryError as error:
            return str(error)
        except LIMIT_ERRORS as error:
            return type(error).__name__
        return QueryPlan(level, collector.field_count)


def _condition_variables(
    document: graphql.DocumentNode, node: graphql.OperationDefinitionNode
) -> tuple[str, ...]:
    """Return the declared variables that conditions have, in the order of declaration."""
    if not node.variable_definitions or (document.loc and "@" not in document.loc.source.body):
        return ()  # found out in no time; the visit takes a tenth of a millisecond
    finder = _ConditionFinder()
    graphql.visit(document, finder)
    declared = (definition.variable.name.value for definition in node.variable_definitions)
    return tuple(name for name in declared if name in finder.variables)


class _ConditionFinder(graphql.Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.variables: set[str] = set()

    def enter_directive(self, node: graphql.DirectiveNode, *_: Any) -> None:
        if node.name.value in ("include", "skip"):
            self.variables |= find_variables(node)
