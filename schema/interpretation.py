"""Run operations by graphql-core, with the same errors every time.

graphql-core cancels the siblings of a field that fails and must not be null, so which errors it
reports depends on what was faster. Here every field runs to its end, and each null that an error
causes has one error: of several, the first in document order. `schema.compiler.compiled_query`
follows the same rule.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from functools import cached_property, partial
from itertools import chain
from typing import Any, TypeAlias

import graphql
from graphql.execution import Executor as GraphQLCoreExecutor
from graphql.execution import create_source_event_stream
from graphql.execution.collect_fields import collect_fields
from graphql.execution.executor_throwing_on_incremental import ExecutorThrowingOnIncremental
from graphql.pyutils import Path, is_iterable

from resolvers.request.context import Budget, Context
from resolvers.request.errors import WHOLE_OPERATION_ERRORS, LimitExceededError
from resolvers.request.threads import run_in_thread
from schema import definitions
from schema.compiler.coercion import MAX_VARIABLE_ERRORS, find_variables
from schema.compiler.compiled_query import Event
from schema.compiler.plan import Counter, build_counter, settle_all
from schema.compiler.rows import MAX_ERRORS, InvalidResultError
from schema.operations import Operation

MAX_INTROSPECTED_FIELDS = 20_000
"""Fields in the result of introspection; tools ask for some 5,000. They take up to 200 ms."""
MAX_FIELDS_INTROSPECTED_ALONG = 5_000
"""The limit is lower for an operation that reads something else, too: it runs in the event loop."""
Position: TypeAlias = tuple[str | int, ...]


async def interpret(
    schema: graphql.GraphQLSchema,
    operation: Operation,
    variables: Mapping[str, Any],
    context: Context,
    event: Event | None = None,
) -> tuple[dict[str, Any] | None, list[graphql.GraphQLError]]:
    """Return the data and the errors of an operation, or of a subscription for one event.

    Raises errors of the whole operation.
    """
    is_sync = operation.is_introspection
    execute: Any = partial(
        graphql.execute_sync if is_sync else graphql.execute,
        schema,
        operation.document,
        event.value if event else None,
        context_value=context,
        variable_values=dict(variables),
        operation_name=operation.name,
        executor_class=IntrospectionExecutor if is_sync else OrderedExecutor,
        hide_suggestions=True,
        max_coercion_errors=MAX_VARIABLE_ERRORS,
    )
    # What waits for nothing can run in a thread.
    outcome = await run_in_thread(execute) if is_sync else execute()
    result = outcome if isinstance(outcome, graphql.ExecutionResult) else await outcome
    return result.data, result.errors or []


class OrderedErrors:
    """The errors of an operation, by the position of the null that each has caused."""

    def __init__(self) -> None:
        self._by_position: dict[Position | None, graphql.GraphQLError] = {}

    def add(self, error: graphql.GraphQLError, path: Path | None) -> None:
        """Add the error of a null; the whole data is at None."""
        position = None if path is None else tuple(path.as_list())
        self._by_position.setdefault(position, error)

    def has_nulled_position(self, path: Path | None) -> bool:
        """Return whether data at a path is no longer needed; all of it is, here."""
        return False

    @property
    def errors(self) -> list[graphql.GraphQLError]:
        return [*self._by_position.values()]

    def in_document_order(self, data: dict[str, Any] | None) -> list[graphql.GraphQLError]:
        """Return the errors of nulls that are in the data, in the order in which they are there."""
        if data is None:
            return [self._by_position[None]]
        ranked = []
        ranks: dict[int, dict[str, int]] = {}
        for position, error in self._by_position.items():
            rank = _find_rank(data, position or (), ranks)
            if rank is not None:
                ranked.append((rank, error))
        return [error for _, error in sorted(ranked, key=lambda each: each[0])]


class IntrospectionExecutor(ExecutorThrowingOnIncremental):
    """graphql-core's executor with `OrderedErrors`, for operations that do nothing but introspect.

    Nothing waits, so the first error of an object is that of its first field with one, and what
    graphql-core leaves out after it would be inside the null.
    """

    max_introspected_fields = MAX_INTROSPECTED_FIELDS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.collected_errors = OrderedErrors()  # type: ignore[assignment]
        self._introspected_fields = 0

    def build_response(self, data: dict[str, Any] | None) -> Any:
        self.run_async_work_finished_hook()
        assert isinstance(self.collected_errors, OrderedErrors)
        errors = self.collected_errors.in_document_order(data)
        return graphql.ExecutionResult(data, errors[:MAX_ERRORS] or None)

    def handle_field_error(self, raw_error: Exception, *arguments: Any) -> None:
        """Keep the error of a field; raise one of the whole operation."""
        if isinstance(raw_error, WHOLE_OPERATION_ERRORS):
            raise raw_error
        super().handle_field_error(raw_error, *arguments)

    def execute_collected_subfields(
        self, parent_type: graphql.GraphQLObjectType, *arguments: Any
    ) -> Any:
        """Execute the fields of an object, none of them deferred. Raises LimitExceededError."""
        source_value, path, grouped_field_set, *_ = arguments
        if parent_type.name.startswith("__"):
            self._introspected_fields += len(grouped_field_set)
            if self._introspected_fields > self.max_introspected_fields:
                raise LimitExceededError(
                    f"Introspection returns more than {self.max_introspected_fields} fields; ask"
                    " for the schema once, and for nothing else",
                    limit="introspection",
                    maximum=self.max_introspected_fields,
                )
        return self.execute_fields(parent_type, source_value, path, grouped_field_set, None)


_PAGE_DATA_COUNTER = Counter(Budget.count_cost, len)
_EDGE_NODE_COUNTER = Counter(Budget.count_cost, None)


def _build_value_counter(parent_type: graphql.GraphQLObjectType, field_name: str) -> Counter | None:
    if field_name in (
        definitions.PAGE_DATA_FIELD,
        definitions.PAGE_EDGES_FIELD,
    ) and definitions.is_page(parent_type):
        return _PAGE_DATA_COUNTER
    if field_name == definitions.EDGE_NODE_FIELD and definitions.is_edge(parent_type):
        return _EDGE_NODE_COUNTER
    return build_counter(parent_type.fields.get(field_name))


class OrderedExecutor(IntrospectionExecutor):
    """graphql-core's executor that counts what it returns, and runs every field to its end."""

    max_introspected_fields = MAX_FIELDS_INTROSPECTED_ALONG

    @cached_property
    def _counters(self) -> dict[tuple[str, str], Counter | None]:
        """The counters of the fields that were completed so far, by type and field."""
        return {}

    def complete_value(self, return_type: Any, *arguments: Any) -> Any:
        """Complete a value as graphql-core does; count it first if it is a resolver's."""
        _, info, _, result, _ = arguments
        # It is called again for the types inside a list or a non-null type.
        if return_type is info.return_type and result is not None:
            key = info.parent_type.name, info.field_name
            if key not in self._counters:
                self._counters[key] = _build_value_counter(info.parent_type, info.field_name)
            if counter := self._counters[key]:
                counter.count(self.context_value.budget, (result,), None)
        return super().complete_value(return_type, *arguments)

    @staticmethod
    def complete_leaf_value(return_type: graphql.GraphQLLeafType, result: Any) -> Any:
        """Return the serialized value. Raises InvalidResultError for one that does not fit."""
        try:
            return ExecutorThrowingOnIncremental.complete_leaf_value(return_type, result)
        except graphql.GraphQLError as error:
            raise InvalidResultError(error.message) from error

    def complete_list_value(self, return_type: Any, *arguments: Any) -> Any:
        """Complete the items of a list. Raises InvalidResultError for a value that is none."""
        *_, result, _ = arguments
        if not is_iterable(result):  # introspection has views of dictionaries
            raise InvalidResultError("not a list")
        return super().complete_list_value(return_type, *arguments)

    def execute_fields(
        self,
        parent_type: graphql.GraphQLObjectType,
        source_value: Any,
        path: Path | None,
        grouped_field_set: Mapping[str, Any],
        position_context: Any,
    ) -> Any:
        """Execute all fields of an object to their end."""
        results: dict[str, Any] = {}
        for name, details in grouped_field_set.items():
            field_path = Path(path, name, parent_type.name)
            try:
                result = self.execute_field(
                    parent_type, source_value, details, field_path, position_context
                )
            except graphql.GraphQLError as error:
                result = error
            if result is not graphql.Undefined:
                results[name] = result
        if not any(map(self.is_awaitable, results.values())):
            return dict(zip(results, _require_success(results.values()), strict=True))

        async def await_fields() -> dict[str, Any]:
            settled = await self._settle([*results.values()])
            return dict(zip(results, _require_success(settled), strict=True))

        return await_fields()

    def complete_iterable_value(
        self,
        item_type: graphql.GraphQLOutputType,
        field_details_list: Any,
        info: graphql.GraphQLResolveInfo[Any],
        path: Path,
        items: Iterable[Any],
        position_context: Any,
    ) -> Any:
        """Complete all items of a list to their end."""
        completed: list[Any] = []
        is_async = False
        for index, item in enumerate(items):
            item_path = path.add_key(index, None)
            try:
                is_async |= self.complete_list_item_value(
                    item,
                    completed,
                    item_type,
                    field_details_list,
                    info,
                    item_path,
                    position_context,
                )
            except graphql.GraphQLError as error:
                completed.append(error)
        if not is_async:
            return _require_success(completed)

        async def await_items() -> list[Any]:
            return _require_success(await self._settle(completed))

        return await_items()

    async def _settle(self, results: list[Any]) -> list[Any]:
        awaitable = [
            position for position, result in enumerate(results) if self.is_awaitable(result)
        ]
        settled = await settle_all([results[position] for position in awaitable])
        for position, result in zip(awaitable, settled, strict=True):
            results[position] = result
        return results


def _require_success(results: Iterable[Any]) -> list[Any]:
    successes = [*results]
    for result in successes:
        if isinstance(result, graphql.GraphQLError):
            raise result
    return successes


def _find_rank(data: Any, position: Position, ranks: dict[int, dict[str, int]]) -> Any:
    """Return where a position is in the data, to sort by; None if it is inside a null."""
    rank = []
    for key in position:
        if data is None:
            return None
        if isinstance(key, str):
            if id(data) not in ranks:
                ranks[id(data)] = {name: number for number, name in enumerate(data)}
            rank.append(ranks[id(data)][key])
        else:
            rank.append(key)
        data = data[key]
    return tuple(rank)


# The source stream of a subscription (GraphQL, section 6.2.3.1), and what chooses its events.


async def open_source(
    schema: graphql.GraphQLSchema,
    operation: Operation,
    variables: Mapping[str, Any],
    context: Context,
) -> AsyncGenerator[Any] | graphql.ExecutionResult:
    """Call the root field's resolver, by graphql-core: once per stream, its speed does not matter.

    Return the generator that it returns, or the errors that keep it from being called. What the
    generator itself raises comes with its first event.
    """
    executor = GraphQLCoreExecutor.build(
        schema,
        operation.document,
        context_value=context,
        raw_variable_values=dict(variables),
        operation_name=operation.name,
        hide_suggestions=True,
        max_coercion_errors=MAX_VARIABLE_ERRORS,
    )
    if isinstance(executor, list):
        return graphql.ExecutionResult(None, executor)
    source = create_source_event_stream(executor)
    if executor.is_awaitable(source):
        source = await source
    if isinstance(source, graphql.ExecutionResult):
        return source
    if not isinstance(source, AsyncGenerator):
        raise TypeError("the resolver of a subscription must be an async generator")
    return _locate_errors(source, executor)


async def _locate_errors(
    source: AsyncGenerator[Any], executor: GraphQLCoreExecutor[Any]
) -> AsyncGenerator[Any]:
    """Yield the events. What ends them is an error of the root field, unless it is of all."""
    async with aclosing(source):
        try:
            async for value in source:
                yield value
        except WHOLE_OPERATION_ERRORS:
            raise
        except Exception as error:
            root_type = executor.schema.subscription_type
            assert root_type is not None
            fields = collect_fields(
                executor.schema,
                executor.fragments,
                executor.variable_values,
                root_type,
                executor.operation,
                executor.hide_suggestions,
            )
            [(name, details)] = fields.grouped_field_set.items()
            raise graphql.located_error(error, [each.node for each in details], [name]) from error


def list_event_variables(operation: Operation) -> list[str]:
    """Return the variables that the result of an event depends on.

    Those in the arguments of the root field are left out: they choose the events.

    >>> from graphql import build_schema
    >>> from schema.operations import parse_operation
    >>> schema = build_schema(
    ...     "type Query { a: ID } type Subscription { now(after: ID): B } type B { c(d: ID): ID }"
    ... )
    >>> text = "subscription ($after: ID, $d: ID) { now(after: $after) { c(d: $d) } }"
    >>> list_event_variables(parse_operation(schema, text, None))
    ['d']
    """
    return sorted({*chain.from_iterable(map(find_variables, _iter_parts_of_events(operation)))})


def _iter_parts_of_events(operation: Operation) -> Iterator[graphql.Node]:
    for definition in operation.document.definitions:
        if isinstance(definition, graphql.FragmentDefinitionNode):
            yield definition
    for selection in operation.node.selection_set.selections:
        if not isinstance(selection, graphql.FieldNode):
            yield selection
            continue
        yield from selection.directives or ()
        if selection.selection_set is not None:
            yield selection.selection_set
