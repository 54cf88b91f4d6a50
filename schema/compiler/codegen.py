"""Generate the Python code of an operation: one function for each field with a resolver.

    async def field_2(run, parents, rows, weights):  # Floor.units
        values = await run.resolve(2, resolve_3, parents)
        count_5(run.context.budget, values, weights)
        completed = [{'data': await build_in_parts(
            lambda part: [{'id': …} for item_6 in part], require_list(…), 500)}
            for value in values]
        for row, value in zip(rows, completed, strict=True):
            row['units'] = value

Execution is breadth-first: a resolver is called once for all objects of a level (`parents`), where
graphql-core would call it once for each. A row is the response's dictionary of one object, made
with its plain fields; resolvers fill in the others. `weights` says how often each row is in the
response.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from graphql import (
    GraphQLList,
    GraphQLNonNull,
    GraphQLOutputType,
    get_nullable_type,
)

from resolvers.request.threads import OBJECTS_IN_PART, build_in_parts
from schema.compiler import resolving
from schema.compiler.completion import build_completion, build_type_test
from schema.compiler.resolving import FieldResolvers, build_call
from schema.compiler.selection import (
    SelectedField,
    Selection,
    TypenameField,
    UnsupportedQueryError,
)
from schema.counting import build_counter, charge_cost
from schema.definitions import cost_of, is_page

OBJECTS_WITH_LISTS_IN_PART = 20
"""Objects that are made before a look at the clock, if each may have many others inside."""


@dataclass(slots=True)
class FunctionWriter:
    """A function that is being generated, and the calls of nested functions that end it."""

    lines: list[str] = field(default_factory=list)
    nested_levels: list[str] = field(default_factory=list)

    def add_line(self, line: str) -> None:
        """Add a line to the function's body."""
        self.lines.append(f"    {line}")

    def add_parts(self, result: str, expression: str, values: str, part_size: int) -> None:
        """Add the line that evaluates a list comprehension over `part`, a part at a time."""
        self.add_line(
            f"{result} = await build_in_parts(lambda part: {expression}, {values}, {part_size})"
        )

    def finish(self) -> list[str]:
        """Return all lines, after a last one that awaits the nested fields concurrently."""
        if self.nested_levels:
            self.add_line(f"await resolve_concurrently(run, {', '.join(self.nested_levels)})")
        return self.lines


class CodeWriter:
    """Generates the functions of one operation, and the namespace that they run in."""

    def __init__(self, resolvers: FieldResolvers) -> None:
        self.namespace: dict[str, Any] = {
            "require_list": resolving.require_list,
            "charge_cost": charge_cost,
            "raise_missing_object": resolving.raise_missing_object,
            "reject_failed": resolving.reject_failed,
            "build_in_parts": build_in_parts,
            "resolve_concurrently": resolving.resolve_concurrently,
            "split_by_type": resolving.split_by_type,
        }
        self.lines: list[str] = []
        self._resolvers = resolvers
        self._completion_names: dict[str, str] = {}
        self._document_members: dict[int, str] = {}
        """Where documents have the fields that are read from them, by the number of the field."""
        for each in resolvers.document_lists.values():
            self._document_members.update(each.members)
        self._counter = count(1)

    def write_operation(self, selection: Selection) -> str:
        """Return code that defines a function `operation`, which returns the data.

        Raises UnsupportedQueryError.
        """
        function = FunctionWriter(["async def operation(run):"])
        # The root is a level with one parent: the root value, which is None.
        rows = self._write_rows(function, selection, "(None,)", "None", is_alone=True)
        self.lines += [*function.finish(), f"    return {rows}[0]"]
        return "\n".join(self.lines) + "\n"

    def _write_rows(
        self,
        function: FunctionWriter,
        selection: Selection,
        objects: str,
        weights: str,
        *,
        is_alone: bool = False,
    ) -> str:
        """Add the line that makes a level's rows, and return the rows' name.

        An object that `is_alone` on its level needs no pause.
        """
        row, rows = self.new_name("r"), self.new_name("rows")
        fields = _fields_of(selection)
        if any(is_page(each.parent) for each in fields):  # few, but each may be long by itself
            expression = self._row_expression(selection, row, in_parts=True)
            function.add_line(f"{rows} = [{expression} for {row} in {objects}]")
        elif is_alone:
            expression = self._row_expression(selection, row)
            function.add_line(f"{rows} = [{expression} for {row} in {objects}]")
        else:
            expression = f"[{self._row_expression(selection, row)} for {row} in part]"
            function.add_parts(rows, expression, objects, _part_size(fields))
        for selected in selection:
            if isinstance(selected, TypenameField):
                continue
            if selected.is_resolved_per_level:
                name = self._write_level(selected, is_alone=is_alone)
                level = f"({name}, {objects}, {rows}, {weights})"
                function.nested_levels.append(level)
            elif selected.has_nested_resolvers:
                values = self.new_name("values")
                source = self._source_expression(selected, row)
                function.add_line(f"{values} = [{source} for {row} in {objects}]")
                self._write_completion(function, selected, values, rows, weights, is_alone=is_alone)
        return rows

    def _write_rows_of_types(
        self, function: FunctionWriter, selected: SelectedField, objects: str, weights: str
    ) -> str:
        """Add the lines that make the rows of objects of several types; return the rows' name."""
        assert selected.children_by_type is not None
        split, rows = self.new_name("split"), self.new_name("rows")
        type_name_of = self.bind("type_name_of", selected.type_name_of)
        function.add_line(f"{split} = split_by_type({objects}, {weights}, {type_name_of})")
        rows_by_type = []
        for name, children in selected.children_by_type.items():
            of_type, weights_of_type = self.new_name("objects"), self.new_name("weights")
            function.add_line(f"{of_type}, {weights_of_type} = {split}.get({name!r})")
            rows_of_type = self._write_rows(function, children, of_type, weights_of_type)
            rows_by_type.append(f"{name!r}: {rows_of_type}")
        function.add_line(f"{rows} = {split}.merge({{{', '.join(rows_by_type)}}})")
        return rows

    def _write_level(self, selected_field: SelectedField, *, is_alone: bool) -> str:
        """Generate the function of a field with a resolver, and return its name."""
        name = self.new_name("field")
        function = FunctionWriter(
            [f"async def {name}(run, parents, rows, weights):  # {_field_title(selected_field)}"]
        )
        if cost := cost_of(selected_field.field):
            function.add_line(f"charge_cost(run.context.budget, {cost}, parents, weights)")
        resolver = self.bind("resolve", self._resolvers.get(selected_field))
        function.add_line(
            f"values = await run.resolve({selected_field.number}, {resolver}, parents)"
        )
        if counter := build_counter(selected_field.definition, selected_field.data_selections):
            count = self.bind("count", counter.count)
            function.add_line(f"{count}(run.context.budget, values, weights)")
        self._write_completion(
            function, selected_field, "values", "rows", "weights", is_alone=is_alone
        )
        self.lines += [*function.finish(), "", ""]
        return name

    def _write_completion(
        self,
        function: FunctionWriter,
        selected: SelectedField,
        values: str,
        rows: str,
        weights: str,
        *,
        is_alone: bool,
    ) -> None:
        """Add the lines that complete a level's values and put them into the rows."""
        is_single = selected.is_object and not _is_list(selected.output_type)
        if selected.has_nested_resolvers or selected.children_by_type is not None or is_single:
            nesting = self.bind("nesting", resolving.build_nesting(selected.output_type))
            objects = self.new_name("objects")
            function.add_line(f"{objects} = {nesting}.flatten({values})")
            inner_weights = "None"
            if selected.has_nested_resolvers:
                inner_weights = self.new_name("weights")
                function.add_line(f"{inner_weights} = {nesting}.spread({values}, {weights})")
            inner_rows = (
                self._write_rows(
                    function,
                    selected.children,
                    objects,
                    inner_weights,
                    is_alone=is_alone and is_single,
                )
                if selected.children_by_type is None
                else self._write_rows_of_types(function, selected, objects, inner_weights)
            )
            completed = f"{nesting}.rebuild({values}, iter({inner_rows}))"
        else:
            completed = self.new_name("completed")
            # A value with lists may be long by itself.
            is_long = _has_lists(selected)
            value = self._value_expression(
                selected, selected.output_type, "value", in_parts=is_long
            )
            if is_long or is_alone:
                function.add_line(f"{completed} = [{value} for value in {values}]")
            else:
                function.add_parts(
                    completed, f"[{value} for value in part]", values, OBJECTS_IN_PART
                )
        function.add_line(f"for row, value in zip({rows}, {completed}, strict=True):")
        function.add_line(f"    row[{selected.response_key!r}] = value")

    def _row_expression(self, selection: Selection, record: str, *, in_parts: bool = False) -> str:
        """Return the expression of one object's row; keys are in the order of the selection."""
        values = [
            self._member_expression(selected, record, in_parts=in_parts) for selected in selection
        ]
        members = [
            f"{selected.response_key!r}: {value}"
            for selected, value in zip(selection, values, strict=True)
        ]
        row = "{" + ", ".join(members) + "}"
        # In the place of a record may be the exception that reading it raised. To read a field of
        # that fails; if none is read here, it must be looked at.
        is_read = any(map(_is_read, _fields_of(selection)))
        return row if is_read else f"({row} if reject_failed({record}) else None)"

    def _member_expression(
        self, selected: SelectedField | TypenameField, record: str, *, in_parts: bool
    ) -> str:
        if isinstance(selected, TypenameField):
            return repr(selected.type_name)
        if selected.is_resolved_per_level or selected.has_nested_resolvers:
            return "None"  # keeps the key's position; its level fills in the value
        source = self._source_expression(selected, record)
        return self._value_expression(selected, selected.output_type, source, in_parts=in_parts)

    def _value_expression(
        self,
        selected_field: SelectedField,
        output_type: GraphQLOutputType,
        source: str,
        *,
        in_parts: bool = False,
    ) -> str:
        """Return the expression that completes a value with no resolver inside it.

        With `in_parts`, the outermost lists in it are made a part at a time.
        """
        nullable = get_nullable_type(output_type)
        if isinstance(nullable, GraphQLList):
            item = self.new_name("item")
            completed = self._value_expression(selected_field, nullable.of_type, item)

            def complete_list(value: str) -> str:
                if not in_parts:
                    values = f"({value} if type({value}) is list else require_list({value}))"
                    return f"[{completed} for {item} in {values}]"
                build = f"lambda part: [{completed} for {item} in part]"
                size = _part_size(selected_field.nested_fields)
                return f"(await build_in_parts({build}, require_list({value}), {size}))"

            return self._null_check_expression(output_type, source, complete_list)
        if selected_field.children_by_type is not None:
            raise UnsupportedQueryError("objects of several types without a resolver")
        if selected_field.is_object:
            children = selected_field.children
            is_required = isinstance(output_type, GraphQLNonNull)
            if is_required and source.isidentifier() and any(map(_is_read, _fields_of(children))):
                # To read a field of None fails, too.
                return self._row_expression(children, source, in_parts=in_parts)
            return self._null_check_expression(
                output_type,
                source,
                lambda value: self._row_expression(children, value, in_parts=in_parts),
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
            value = self.new_name("value")
            test = f"({value} := {source})"
        return f"({null} if {test} is None else {complete(value)})"

    def _source_expression(self, selected: SelectedField, record: str) -> str:
        """Return the expression that reads a plain field of a record."""
        if member := self._document_members.get(selected.number):
            return f"{record}[{member!r}]"
        if selected.field.base_resolver is None:
            return f"{record}.{selected.field.python_name}"
        return f"{self.bind('call', build_call(selected))}({record}, run)"

    def _completion_name(self, type: GraphQLOutputType) -> str:
        if str(type) not in self._completion_names:
            self._completion_names[str(type)] = self.bind("complete", build_completion(type))
        return self._completion_names[str(type)]

    def bind(self, kind: str, value: Any) -> str:
        """Add a value to the namespace and return its name."""
        name = self.new_name(kind)
        self.namespace[name] = value
        return name

    def new_name(self, kind: str) -> str:
        return f"{kind}_{next(self._counter)}"


def _is_list(output_type: GraphQLOutputType) -> bool:
    return isinstance(get_nullable_type(output_type), GraphQLList)


def _field_title(selected_field: SelectedField) -> str:
    return f"{selected_field.parent.name}.{selected_field.node.name.value}"


def _fields_of(selection: Selection) -> list[SelectedField]:
    return [each for each in selection if isinstance(each, SelectedField)]


def _is_read(selected_field: SelectedField) -> bool:
    """Return whether making a row reads this field of the record."""
    is_nested = selected_field.is_resolved_per_level or selected_field.has_nested_resolvers
    return not is_nested and selected_field.field.base_resolver is None


def _part_size(fields: Iterable[SelectedField]) -> int:
    """Return how many objects with these fields to make before a look at the clock."""
    return OBJECTS_WITH_LISTS_IN_PART if any(map(_has_lists, fields)) else OBJECTS_IN_PART


def _has_lists(selected_field: SelectedField) -> bool:
    return _is_list(selected_field.output_type) or any(
        _has_lists(each) for each in selected_field.nested_fields
    )
