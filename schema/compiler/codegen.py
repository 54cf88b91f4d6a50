"""Generate the Python code of an operation: one function for each field with a resolver.

    async def field_2(run, parents, rows, weights):  # Floor.units
        arguments = arguments_3(run.variables)
        values = await resolve_4(parents, info=run, **arguments)
        count_5(run.context.budget, values, weights)
        for row, value in zip(rows, [{'data': [{'id': …} for item_6 in require_list(…)]} …]):
            row['units'] = value

Execution is breadth-first: a resolver is called once for all objects of a level (`parents`), where
graphql-core would call it once for each. A row is the response's dictionary of one object, made
with its plain fields; resolvers fill in the others. `weights` says how often each row is in the
response.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import Any

from graphql import (
    GraphQLList,
    GraphQLNonNull,
    GraphQLOutputType,
    GraphQLSchema,
    get_nullable_type,
)

from resolvers.request.batching import batch_resolver_of
from schema.compiler import runtime
from schema.compiler.leaves import build_completion, build_type_test
from schema.compiler.selection import SelectedField, Selection, TypenameField, UnsupportedQueryError
from schema.compiler.variable_coercion import build_arguments
from schema.counting import build_counter, charge_cost
from schema.definitions import PAGE_DATA_FIELD, cost_of


@dataclass(slots=True)
class FunctionWriter:
    """A function that is being generated, and the calls of nested functions that end it."""

    lines: list[str] = field(default_factory=list)
    nested_levels: list[str] = field(default_factory=list)

    def add_line(self, line: str) -> None:
        """Add a line to the function's body."""
        self.lines.append(f"    {line}")

    def finish(self) -> list[str]:
        """Return all lines, after a last one that awaits the nested fields concurrently."""
        if self.nested_levels:
            self.add_line(f"await resolve_concurrently(run, {', '.join(self.nested_levels)})")
        return self.lines


class CodeWriter:
    """Generates the functions of one operation, and the namespace that they run in."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self.namespace: dict[str, Any] = {
            # `repr(inf)` is not a Python literal, so generated tests need a name for it.
            "INFINITY": inf,
            "require_list": runtime.require_list,
            "charge_cost": charge_cost,
            "raise_missing_object": runtime.raise_missing_object,
            "resolve_each": runtime.resolve_each,
            "resolve_concurrently": runtime.resolve_concurrently,
        }
        self.lines: list[str] = []
        self._schema = schema
        self._completion_names: dict[str, str] = {}
        self._counter = count(1)

    def write_operation(self, selection: Selection) -> str:
        """Return code that defines a function `operation`, which returns the data.

        Raises UnsupportedQueryError.
        """
        function = FunctionWriter(["async def operation(run):"])
        # The root is a level with one parent: the root value, which is None.
        rows = self._write_rows(function, selection, "(None,)", "None")
        self.lines += [*function.finish(), f"    return {rows}[0]"]
        return "\n".join(self.lines) + "\n"

    def _write_rows(
        self, function: FunctionWriter, selection: Selection, objects: str, weights: str
    ) -> str:
        """Add the line that makes a level's rows, and return the rows' name."""
        row, rows = self._new_name("r"), self._new_name("rows")
        function.add_line(
            f"{rows} = [{self._row_expression(selection, row)} for {row} in {objects}]"
        )
        for selected in selection:
            if isinstance(selected, TypenameField):
                continue
            if selected.is_resolved_per_level:
                level = f"({self._write_level(selected)}, {objects}, {rows}, {weights})"
                function.nested_levels.append(level)
            elif selected.has_nested_resolvers:
                values = self._new_name("values")
                source = self._source_expression(selected, row)
                function.add_line(f"{values} = [{source} for {row} in {objects}]")
                self._write_completion(function, selected, values, rows, weights)
        return rows

    def _write_level(self, selected_field: SelectedField) -> str:
        """Generate the function of a field with a resolver, and return its name."""
        name = self._new_name("field")
        function = FunctionWriter(
            [f"async def {name}(run, parents, rows, weights):  # {_field_title(selected_field)}"]
        )
        if cost := cost_of(selected_field.field):
            function.add_line(f"charge_cost(run.context.budget, {cost}, parents, weights)")
        function.add_line(f"values = {self._resolver_call(function, selected_field)}")
        data_selections = sum(
            child.node.name.value == PAGE_DATA_FIELD for child in selected_field.nested_fields
        )
        if counter := build_counter(selected_field.definition, data_selections):
            count = self._bind("count", counter.count)
            function.add_line(f"{count}(run.context.budget, values, weights)")
        self._write_completion(function, selected_field, "values", "rows", "weights")
        self.lines += [*function.finish(), "", ""]
        return name

    def _write_completion(
        self,
        function: FunctionWriter,
        selected: SelectedField,
        values: str,
        rows: str,
        weights: str,
    ) -> None:
        """Add the lines that complete a level's values and put them into the rows."""
        if selected.has_nested_resolvers or (
            selected.is_object and not _is_list(selected.output_type)
        ):
            nesting = self._bind("nesting", runtime.build_nesting(selected.output_type))
            objects = self._new_name("objects")
            function.add_line(f"{objects} = {nesting}.flatten({values})")
            inner_weights = "None"
            if selected.has_nested_resolvers:
                inner_weights = self._new_name("weights")
                function.add_line(f"{inner_weights} = {nesting}.spread({values}, {weights})")
            inner_rows = self._write_rows(function, selected.children, objects, inner_weights)
            completed = f"{nesting}.rebuild({values}, iter({inner_rows}))"
        else:
            value = self._value_expression(selected, selected.output_type, "value")
            completed = f"[{value} for value in {values}]"
        function.add_line(f"for row, value in zip({rows}, {completed}, strict=True):")
        function.add_line(f"    row[{selected.response_key!r}] = value")

    def _row_expression(self, selection: Selection, record: str) -> str:
        """Return the expression of one object's row; keys are in the order of the selection."""
        members = [
            f"{selected.response_key!r}: {self._member_expression(selected, record)}"
            for selected in selection
        ]
        return "{" + ", ".join(members) + "}"

    def _member_expression(self, selected: SelectedField | TypenameField, record: str) -> str:
        if isinstance(selected, TypenameField):
            return repr(selected.type_name)
        if selected.is_resolved_per_level or selected.has_nested_resolvers:
            return "None"  # keeps the key's position; its level fills in the value
        return self._value_expression(
            selected, selected.output_type, self._source_expression(selected, record)
        )

    def _value_expression(
        self, selected_field: SelectedField, output_type: GraphQLOutputType, source: str
    ) -> str:
        """Return the expression that completes a value with no resolver inside it."""
        nullable = get_nullable_type(output_type)
        if isinstance(nullable, GraphQLList):
            item = self._new_name("item")
            completed = self._value_expression(selected_field, nullable.of_type, item)
            return self._null_check_expression(
                output_type,
                source,
                lambda value: f"[{completed} for {item} in require_list({value})]",
            )
        if selected_field.is_object:
            children = selected_field.children
            return self._null_check_expression(
                output_type, source, lambda value: self._row_expression(children, value)
            )
        complete = self._completion_name(output_type)
        test = build_type_test(output_type)
        return (
            f"{complete}({source})"
            if test is None
            else (f"(v if {test.format(source)} else {complete}(v))")
        )

    def _null_check_expression(
        self, type: GraphQLOutputType, source: str, complete: Callable[[str], str]
    ) -> str:
        """Return the expression of a null, or of `complete(value)`; evaluate `source` once."""
        null = "raise_missing_object()" if isinstance(type, GraphQLNonNull) else "None"
        value = test = source
        if not source.isidentifier():
            value = self._new_name("value")
            test = f"({value} := {source})"
        return f"({null} if {test} is None else {complete(value)})"

    def _source_expression(self, selected: SelectedField, record: str) -> str:
        """Return the expression that reads a plain field of a record."""
        resolver = selected.field.base_resolver
        if resolver is None:
            return f"{record}.{selected.field.python_name}"
        return (
            f"{self._bind('resolve', resolver.wrapped_func)}({_resolver_inputs(selected, record)})"
        )

    def _resolver_call(self, function: FunctionWriter, selected: SelectedField) -> str:
        """Return the expression of a level's values, after adding the line of its arguments."""
        resolver = selected.field.base_resolver
        assert resolver is not None
        arguments = ""
        if builder := build_arguments(selected, self._schema):
            function.add_line(f"arguments = {self._bind('arguments', builder)}(run.variables)")
            arguments = ", **arguments"
        if batch_resolver := batch_resolver_of(resolver.wrapped_func):
            return f"await {self._bind('resolve', batch_resolver)}(parents, info=run{arguments})"
        call = (
            f"{self._bind('resolve', resolver.wrapped_func)}({_resolver_inputs(selected, 'parent')}"
        )
        if not resolver.is_async:
            return f"[{call}{arguments}) for parent in parents]"
        return f"await resolve_each(lambda parent: {call}{arguments}), parents)"

    def _completion_name(self, type: GraphQLOutputType) -> str:
        if str(type) not in self._completion_names:
            self._completion_names[str(type)] = self._bind("complete", build_completion(type))
        return self._completion_names[str(type)]

    def _bind(self, kind: str, value: Any) -> str:
        """Add a value to the namespace and return its name."""
        name = self._new_name(kind)
        self.namespace[name] = value
        return name

    def _new_name(self, kind: str) -> str:
        return f"{kind}_{next(self._counter)}"


def _resolver_inputs(selected_field: SelectedField, record: str) -> str:
    resolver = selected_field.field.base_resolver
    assert resolver is not None
    if resolver.self_parameter or resolver.root_parameter:
        raise UnsupportedQueryError("a resolver that is a method")
    parent, info = resolver.parent_parameter, resolver.info_parameter
    parts = [f"{parent.name}={record}"] if parent else []
    return ", ".join(parts + ([f"{info.name}=run"] if info else []))


def _is_list(output_type: GraphQLOutputType) -> bool:
    return isinstance(get_nullable_type(output_type), GraphQLList)


def _field_title(selected_field: SelectedField) -> str:
    return f"{selected_field.parent.name}.{selected_field.node.name.value}"
