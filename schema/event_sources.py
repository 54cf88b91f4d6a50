"""The source stream of a subscription (GraphQL, section 6.2.3.1), and what chooses its events."""

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Any

from graphql import (
    ExecutionResult,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLSchema,
    Node,
    VariableNode,
    Visitor,
    located_error,
    visit,
)
from graphql.execution import Executor as GraphQLCoreExecutor
from graphql.execution import create_source_event_stream
from graphql.execution.collect_fields import collect_fields

from resolvers.request.context import Context
from resolvers.request.errors import WHOLE_OPERATION_ERRORS
from schema.compiler.variable_coercion import MAX_VARIABLE_ERRORS
from schema.operations import Operation


async def open_source(
    schema: GraphQLSchema, operation: Operation, variables: Mapping[str, Any], context: Context
) -> AsyncGenerator[Any] | ExecutionResult:
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
        return ExecutionResult(None, executor)
    source = create_source_event_stream(executor)
    if executor.is_awaitable(source):
        source = await source
    if isinstance(source, ExecutionResult):
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
            raise located_error(error, [each.node for each in details], [name]) from error


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
    finder = _VariableFinder()
    for part in _iter_parts_of_events(operation):
        visit(part, finder)
    return sorted(finder.names)


def _iter_parts_of_events(operation: Operation) -> Iterator[Node]:
    for definition in operation.document.definitions:
        if isinstance(definition, FragmentDefinitionNode):
            yield definition
    for selection in operation.node.selection_set.selections:
        if not isinstance(selection, FieldNode):
            yield selection
            continue
        yield from selection.directives or ()
        if selection.selection_set is not None:
            yield selection.selection_set


class _VariableFinder(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def enter_variable(self, node: VariableNode, *_: Any) -> None:
        self.names.add(node.name.value)
