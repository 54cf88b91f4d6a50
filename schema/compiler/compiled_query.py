"""Compiling queries: an operation becomes Python code that does only what the operation asks.

graphql-core looks at every field of every object: its arguments, its type, whether it must be
awaited. All that is known beforehand, so it is done once here. What is not covered, and every
request whose compiled run fails in any way, is graphql-core's.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeAlias

from graphql import (
    DirectiveNode,
    DocumentNode,
    GraphQLSchema,
    OperationDefinitionNode,
    VariableNode,
    Visitor,
    visit,
)

from resolvers.request.context import Context
from schema.compiler.codegen import CodeWriter
from schema.compiler.inputs import VariableCoercer
from schema.compiler.runtime import Row, RunInfo
from schema.compiler.selection import FieldCollector, UnsupportedQueryError, fragments_by_name

CompiledFunction: TypeAlias = Callable[[RunInfo], Coroutine[Any, Any, Row]]
ConditionValues: TypeAlias = tuple[bool, ...]
"""What the variables of an operation's conditions are, in their order."""

MAX_CONDITIONS = 5
"""Variables that `@skip` and `@include` look at; with each, the code there may be doubles."""
UNSUPPORTED_ERRORS = (UnsupportedQueryError, RecursionError, MemoryError, SyntaxError)


class CompiledQuery:
    """One query, compiled for each outcome of its `@skip` and `@include` when it first occurs."""

    def __init__(
        self, schema: GraphQLSchema, document: DocumentNode, node: OperationDefinitionNode
    ) -> None:
        self._schema = schema
        self._fragments = fragments_by_name(document)
        self._node = node
        self._variables = VariableCoercer(schema, node)
        self._condition_names = _condition_variables(document, node)
        self._functions: dict[ConditionValues, CompiledFunction | None] = {}
        if not self._condition_names:
            self._get_function(())

    async def run(self, inputs: Mapping[str, Any], context: Context) -> Row | None:
        """The data of a request; None where graphql-core is to answer.

        So it is after any exception, too: what resolvers raise, and Unfit, where variables or
        values do not fit the schema. The caller must meet what the fields demand.
        """
        variables = self._variables.coerce(inputs)
        values = [variables.coerced.get(name) for name in self._condition_names]
        outcome = tuple(value for value in values if isinstance(value, bool))
        function = self._get_function(outcome) if len(outcome) == len(values) else None
        return None if function is None else await function(RunInfo(context, variables))

    def _get_function(self, outcome: ConditionValues) -> CompiledFunction | None:
        if outcome not in self._functions:
            try:
                self._functions[outcome] = self._compile(outcome)
            except UNSUPPORTED_ERRORS:
                self._functions[outcome] = None
        return self._functions[outcome]

    def _compile(self, condition_values: ConditionValues) -> CompiledFunction:
        if len(condition_values) > MAX_CONDITIONS:
            raise UnsupportedQueryError(f"more than {MAX_CONDITIONS} conditions")
        conditions = dict(zip(self._condition_names, condition_values, strict=True))
        root = self._schema.query_type
        assert root is not None
        collector = FieldCollector(self._schema, self._fragments, conditions)
        selection = collector.collect_fields([self._node.selection_set], root)
        writer = CodeWriter(self._schema)
        code = compile(writer.write_operation(selection), "<compiled query>", "exec")
        exec(code, writer.namespace)
        function: CompiledFunction = writer.namespace["operation"]
        return function


def _condition_variables(document: DocumentNode, node: OperationDefinitionNode) -> tuple[str, ...]:
    """The variables of an operation that conditions look at."""
    finder = _ConditionFinder()
    visit(document, finder)
    declared = (each.variable.name.value for each in node.variable_definitions or ())
    return tuple(name for name in declared if name in finder.variables)


class _ConditionFinder(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.variables: set[str] = set()

    def enter_directive(self, node: DirectiveNode, *_: Any) -> None:
        for argument in node.arguments or ():
            if isinstance(argument.value, VariableNode):
                self.variables.add(argument.value.name.value)
