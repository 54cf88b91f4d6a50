"""Compile queries: turn an operation into Python code that does only what the operation selects.

graphql-core examines every field of every object at run time: its arguments, its type, whether it
must be awaited. All of that is known beforehand, so it is done once here. Queries that are not
supported, and requests that fail in compiled code, are left to graphql-core:
docs/decisions/graphql/compiled-queries.md.
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
from schema.compiler.runtime import Row, RunInfo
from schema.compiler.selection import FieldCollector, UnsupportedQueryError, fragments_by_name
from schema.compiler.variable_coercion import VariableCoercer

CompiledFunction: TypeAlias = Callable[[RunInfo], Coroutine[Any, Any, Row]]
ConditionValues: TypeAlias = tuple[bool, ...]
"""Values of the variables in `@skip` and `@include`, in the order of their declaration."""

MAX_CONDITIONS = 5
"""Variables in `@skip` and `@include`; each doubles the functions that may be compiled."""
UNSUPPORTED_ERRORS = (UnsupportedQueryError, RecursionError, MemoryError, SyntaxError)


class CompiledQuery:
    """One query, compiled once for each combination of its `@skip` and `@include` variables.

    Combinations are compiled when a request first has them.
    """

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
        """Return the data of a request, or None if graphql-core must run it.

        Raises InvalidResultError if variables or values do not fit the schema, and anything that
        resolvers raise; after an exception, too, graphql-core must run the request, since only it
        reports errors by field. The caller must have checked the fields' requirements.
        """
        variables = self._variables.coerce(inputs)
        values = [variables.coerced.get(name) for name in self._condition_names]
        # A condition that is null or absent is an error, which graphql-core reports.
        conditions = tuple(value for value in values if isinstance(value, bool))
        function = self._get_function(conditions) if len(conditions) == len(values) else None
        return None if function is None else await function(RunInfo(context, variables))

    def _get_function(self, conditions: ConditionValues) -> CompiledFunction | None:
        if conditions not in self._functions:
            try:
                self._functions[conditions] = self._compile(conditions)
            except UNSUPPORTED_ERRORS:
                # Remembered, so that a query that cannot be compiled is tried only once.
                self._functions[conditions] = None
        return self._functions[conditions]

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
        # Safe although clients write queries: the code consists of our templates, generated names,
        # the schema's names and `repr`s of GraphQL names, which match [_A-Za-z][_0-9A-Za-z]*.
        # Values of a query are bound in the namespace, never written into the code.
        exec(code, writer.namespace)  # noqa: S102
        function: CompiledFunction = writer.namespace["operation"]
        return function


def _condition_variables(document: DocumentNode, node: OperationDefinitionNode) -> tuple[str, ...]:
    """Return the declared variables that appear in directives, in the order of declaration."""
    finder = _ConditionFinder()
    visit(document, finder)
    declared = (definition.variable.name.value for definition in node.variable_definitions or ())
    return tuple(name for name in declared if name in finder.variables)


class _ConditionFinder(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.variables: set[str] = set()

    def enter_directive(self, node: DirectiveNode, *_: Any) -> None:
        for argument in node.arguments or ():
            if isinstance(argument.value, VariableNode):
                self.variables.add(argument.value.name.value)
