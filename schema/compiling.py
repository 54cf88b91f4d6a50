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

from resolvers.context import Context
from schema.compiling_fields import Collector, NotCovered, fragments_of
from schema.compiling_inputs import Variables
from schema.compiling_runtime import Row, Run
from schema.compiling_text import Writer

Function: TypeAlias = Callable[[Run], Coroutine[Any, Any, Row]]
Outcome: TypeAlias = tuple[bool, ...]
"""What the variables of an operation's conditions are, in their order."""

MOST_CONDITIONS = 5
"""Variables that `@skip` and `@include` look at; with each, the code there may be doubles."""
UNCOVERED = (NotCovered, RecursionError, MemoryError, SyntaxError)


class Compiled:
    """One query, compiled for each outcome of its `@skip` and `@include` when it first occurs."""

    def __init__(
        self, schema: GraphQLSchema, document: DocumentNode, node: OperationDefinitionNode
    ) -> None:
        self._schema = schema
        self._fragments = fragments_of(document)
        self._node = node
        self._variables = Variables(schema, node)
        self._conditions = _conditions(document, node)
        self._functions: dict[Outcome, Function | None] = {}
        if not self._conditions:
            self._function(())

    async def run(self, inputs: Mapping[str, Any], context: Context) -> Row | None:
        """The data of a request; None where graphql-core is to answer.

        So it is after any exception, too: what resolvers raise, and Unfit, where variables or
        values do not fit the schema. The caller must meet what the fields demand.
        """
        variables = self._variables.coerce(inputs)
        values = [variables.coerced.get(name) for name in self._conditions]
        outcome = tuple(value for value in values if isinstance(value, bool))
        function = self._function(outcome) if len(outcome) == len(values) else None
        return None if function is None else await function(Run(context, variables))

    def _function(self, outcome: Outcome) -> Function | None:
        if outcome not in self._functions:
            try:
                self._functions[outcome] = self._compile(outcome)
            except UNCOVERED:
                self._functions[outcome] = None
        return self._functions[outcome]

    def _compile(self, outcome: Outcome) -> Function:
        if len(outcome) > MOST_CONDITIONS:
            raise NotCovered(f"more than {MOST_CONDITIONS} conditions")
        conditions = dict(zip(self._conditions, outcome, strict=True))
        root = self._schema.query_type
        assert root is not None
        collector = Collector(self._schema, self._fragments, conditions)
        selection = collector.collect([self._node.selection_set], root)
        writer = Writer(self._schema)
        code = compile(writer.operation(selection), "<compiled query>", "exec")
        exec(code, writer.names)
        function: Function = writer.names["operation"]
        return function


def _conditions(document: DocumentNode, node: OperationDefinitionNode) -> tuple[str, ...]:
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
