"""Writing the Python code of an operation: a function for each resolver, level by level.

    async def field_2(run, parents, rows):  # Floor.units
        given = given_2(run.variables)
        values = await each_2(parents, run, **given)
        for row, value in zip(rows, [{'data': [{'id': …} for r3 in items(r2.data)]} …]):
            row['units'] = value

A row is the response's dictionary of one object. Plain fields are read where the row is made;
resolvers are called once for the objects of a whole level, and fill in the rows.
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

from resolvers.batching import each_of
from schema import compiling_runtime as runtime
from schema.compiling_fields import NotCovered, Selected, Selection, Typename
from schema.compiling_inputs import given_to
from schema.compiling_leaves import completion, quick_test


@dataclass(slots=True)
class Function:
    """A function that is being written, and the levels whose fields it leaves to others."""

    lines: list[str] = field(default_factory=list)
    further: list[str] = field(default_factory=list)

    def add(self, line: str) -> None:
        """One more line."""
        self.lines.append(f"    {line}")

    def finish(self) -> list[str]:
        """All lines, the last of which waits for what is further down."""
        if self.further:
            self.add(f"await together(run, {', '.join(self.further)})")
        return self.lines


class Writer:
    """Writes the functions of one operation, and collects the values that they name."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self.names: dict[str, Any] = {
            "INFINITY": inf,
            "items": runtime.items,
            "null": runtime.null,
            "one_by_one": runtime.one_by_one,
            "together": runtime.together,
        }
        self.lines: list[str] = []
        self._schema = schema
        self._completions: dict[str, str] = {}
        self._numbers = count(1)

    def operation(self, selection: Selection) -> str:
        """The whole code; its function `operation` returns the data. Raises NotCovered."""
        function = Function(["async def operation(run):"])
        rows = self._rows(function, selection, "(None,)")
        self.lines += [*function.finish(), f"    return {rows}[0]"]
        return "\n".join(self.lines) + "\n"

    def _rows(self, function: Function, selection: Selection, objects: str) -> str:
        """Adds the making of a level's rows; returns their name."""
        row, rows = self._new("r"), self._new("rows")
        function.add(f"{rows} = [{self._row(selection, row)} for {row} in {objects}]")
        for selected in selection:
            if isinstance(selected, Typename):
                continue
            if selected.is_awaited:
                function.further.append(f"({self._level(selected)}, {objects}, {rows})")
            elif selected.is_deep:
                values = self._new("values")
                source = self._source(selected, row)
                function.add(f"{values} = [{source} for {row} in {objects}]")
                self._fill(function, selected, values, rows)
        return rows

    def _level(self, selected: Selected) -> str:
        """Writes the function of a resolver's field; returns its name."""
        name = self._new("field")
        function = Function([f"async def {name}(run, parents, rows):  # {_title(selected)}"])
        function.add(f"values = {self._called(function, selected)}")
        self._fill(function, selected, "values", "rows")
        self.lines += [*function.finish(), "", ""]
        return name

    def _fill(self, function: Function, selected: Selected, values: str, rows: str) -> None:
        """Adds the completion of a level's values, and puts them into the rows."""
        if selected.is_deep or (selected.is_object and not _is_list(selected.type)):
            shape = self._name("shape", runtime.shape_of(selected.type))
            objects = self._new("objects")
            function.add(f"{objects} = {shape}.flatten({values})")
            inner = self._rows(function, selected.children, objects)
            made = f"{shape}.rebuild({values}, iter({inner}))"
        else:
            completed = self._value(selected, selected.type, "value")
            made = f"[{completed} for value in {values}]"
        function.add(f"for row, value in zip({rows}, {made}, strict=True):")
        function.add(f"    row[{selected.key!r}] = value")

    def _row(self, selection: Selection, record: str) -> str:
        """The expression of one object's row, in the order of the selection."""
        members = [f"{each.key!r}: {self._member(each, record)}" for each in selection]
        return "{" + ", ".join(members) + "}"

    def _member(self, selected: Selected | Typename, record: str) -> str:
        if isinstance(selected, Typename):
            return repr(selected.name)
        if selected.is_awaited or selected.is_deep:
            return "None"
        return self._value(selected, selected.type, self._source(selected, record))

    def _value(self, selected: Selected, type: GraphQLOutputType, source: str) -> str:
        """The expression that completes a value beneath which nothing is awaited."""
        nullable = get_nullable_type(type)
        if isinstance(nullable, GraphQLList):
            item = self._new("item")
            completed = self._value(selected, nullable.of_type, item)
            return self._unless_null(
                type, source, lambda value: f"[{completed} for {item} in items({value})]"
            )
        if selected.is_object:
            children = selected.children
            return self._unless_null(type, source, lambda value: self._row(children, value))
        complete = self._completion(type)
        test = quick_test(type)
        return (
            f"{complete}({source})"
            if test is None
            else (f"(v if {test.format(source)} else {complete}(v))")
        )

    def _unless_null(self, type: GraphQLOutputType, source: str, made: Callable[[str], str]) -> str:
        value, instead = source, "null()" if isinstance(type, GraphQLNonNull) else "None"
        test = source
        if not source.isidentifier():
            value = self._new("value")
            test = f"({value} := {source})"
        return f"({instead} if {test} is None else {made(value)})"

    def _source(self, selected: Selected, record: str) -> str:
        """The expression that reads a plain field of a record."""
        resolver = selected.field.base_resolver
        if resolver is None:
            return f"{record}.{selected.field.python_name}"
        return f"{self._name('resolve', resolver.wrapped_func)}({_inputs(selected, record)})"

    def _called(self, function: Function, selected: Selected) -> str:
        """The expression of the values of a level; adds the arguments first."""
        resolver = selected.field.base_resolver
        assert resolver is not None
        arguments = ""
        if given := given_to(selected, self._schema):
            function.add(f"given = {self._name('given', given)}(run.variables)")
            arguments = ", **given"
        if each := each_of(resolver.wrapped_func):
            return f"await {self._name('each', each)}(parents, info=run{arguments})"
        call = f"{self._name('resolve', resolver.wrapped_func)}({_inputs(selected, 'parent')}"
        if not resolver.is_async:
            return f"[{call}{arguments}) for parent in parents]"
        return f"await one_by_one(lambda parent: {call}{arguments}), parents)"

    def _completion(self, type: GraphQLOutputType) -> str:
        if str(type) not in self._completions:
            self._completions[str(type)] = self._name("complete", completion(type))
        return self._completions[str(type)]

    def _name(self, kind: str, value: Any) -> str:
        name = self._new(kind)
        self.names[name] = value
        return name

    def _new(self, kind: str) -> str:
        return f"{kind}_{next(self._numbers)}"


def _inputs(selected: Selected, record: str) -> str:
    resolver = selected.field.base_resolver
    assert resolver is not None
    if resolver.self_parameter or resolver.root_parameter:
        raise NotCovered("a resolver that is a method")
    parent, info = resolver.parent_parameter, resolver.info_parameter
    parts = [f"{parent.name}={record}"] if parent else []
    return ", ".join(parts + ([f"{info.name}=run"] if info else []))


def _is_list(type: GraphQLOutputType) -> bool:
    return isinstance(get_nullable_type(type), GraphQLList)


def _title(selected: Selected) -> str:
    return f"{selected.parent.name}.{selected.node.name.value}"
