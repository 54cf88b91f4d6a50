"""Compile queries: plan an operation, and generate the code that makes its rows.

Operations that are not supported are left to graphql-core, and so is what a request asks of the
schema: docs/decisions/graphql/compiled-queries.md.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import graphql
from graphql.execution.values import VariableValues

from resolvers.request.context import Context
from resolvers.request.threads import run_in_thread
from schema.compiler.coercion import VariableCoercer, is_large
from schema.compiler.level_execution import LevelExecutor
from schema.compiler.plan import Level, RunInfo, plan_levels
from schema.compiler.rows import generate_rows
from schema.compiler.selection import (
    FieldCollector,
    UnsupportedQueryError,
    fragments_by_name,
)

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

    def __init__(self, root: Level, field_count: int) -> None:
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
    ) -> graphql.ExecutionResult:
        """Run a request, with `check_requirements` unless the caller meets those of all fields.

        Of a subscription, complete what it selects of one event.

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
        if isinstance(plan, str):
            raise UnsupportedQueryError(plan)
        if plan is None and self._is_short and not self.generates_code:
            plan = self._get_plan(conditions)
        elif plan is None or self._lacks_code(plan):  # made in a thread: it takes long
            plan = await run_in_thread(self._get_plan, conditions)
        run = RunInfo(context, variables, has_large_variables)
        executor = LevelExecutor(run, check_requirements=check_requirements)
        try:
            data, errors = await executor.execute(
                plan.root, serially=self._is_mutation, event=event and (event.value,)
            )
            if executor.failure is not None and not errors:
                # The data is right, but generated code should have made it.
                failure = executor.failure
                _logger.warning("compiled operation %s failed", self.name, exc_info=failure)
        finally:
            executor.failure = None  # it refers to frames, which have all that was read
        return graphql.ExecutionResult(data, errors)

    @property
    def name(self) -> str | None:
        """The operation's name, or None if it is anonymous."""
        return self._node.name.value if self._node.name else None

    def _condition_values(self, variables: VariableValues) -> ConditionValues:
        found = [variables.coerced.get(name) for name in self._condition_names]
        values = tuple(value for value in found if isinstance(value, bool))
        if len(values) < len(found):
            raise UnsupportedQueryError("a condition that is null")
        return values

    def _lacks_code(self, plan: QueryPlan) -> bool:
        return self.generates_code and not plan.has_tried_code

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
        if self._lacks_code(plan) and conditions in self._plans:
            plan.generate_code()
        return plan

    def _make_plan(self, condition_values: ConditionValues) -> QueryPlan | str:
        """Return a plan, or why there is none."""
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
        is_condition = node.name.value in ("include", "skip")
        for argument in (node.arguments or ()) if is_condition else ():
            if isinstance(argument.value, graphql.VariableNode):
                self.variables.add(argument.value.name.value)
