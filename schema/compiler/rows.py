"""Generate the Python code that makes the rows of objects, and completes the values of resolvers.

    def rows_2(run, objects):  # Unit
        return [{'id': (v if type(v := r_1.id) is str else complete_3(v)), 'floor': None, …}
            for r_1 in objects]

graphql-core examines every field of every object at run time: its arguments, its type, whether it
must be awaited. All of that is known beforehand. A row is the response's dictionary of one object,
made with its plain fields; resolvers fill in the others.
"""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import graphql
from graphql import GraphQLList, GraphQLNonNull, GraphQLOutputType, get_nullable_type

from resolvers.request.threads import build_in_parts
from schema.compiler.coercion import FAST_TESTS
from schema.compiler.plan import LevelPlan, PlannedField
from schema.compiler.selection import SelectedField, TypenameField, UnsupportedQueryError
from schema.definitions import is_page


class InvalidResultError(Exception):
    """A value that the schema forbids."""


def build_type_test(output_type: graphql.GraphQLOutputType) -> str | None:
    """Return the fast test of a leaf type as in `FAST_TESTS`, or None if there is none.

    >>> from graphql import GraphQLString
    >>> build_type_test(GraphQLString)
    'type(v := {}) is str or v is None'
    """
    leaf = _leaf_type(output_type)
    test = (
        _build_word_test(leaf)
        if isinstance(leaf, graphql.GraphQLEnumType)
        else FAST_TESTS.get(leaf.name)
    )
    if test is None or isinstance(output_type, graphql.GraphQLNonNull):
        return test
    return f"{test} or v is None" if " and " not in test else f"({test}) or v is None"


def _build_word_test(enum_type: graphql.GraphQLEnumType) -> str | None:
    """Return the test of a text that is a name of the enum and means the value of this name.

    The names are those of our own schema: no part of a request is in the code.
    """
    if any(name != value.value for name, value in enum_type.values.items()):
        return None
    return f"type(v := {{}}) is str and v in {{{{{', '.join(map(repr, enum_type.values))}}}}}"


def build_completion(output_type: graphql.GraphQLOutputType) -> Callable[[Any], Any]:
    """Return a function that completes any value of a leaf type as graphql-core does.

    It raises InvalidResultError; and if a resolver returned an exception, that.
    """
    leaf = _leaf_type(output_type)
    is_required = isinstance(output_type, graphql.GraphQLNonNull)

    def complete(value: Any) -> Any:
        if value is None or value is graphql.Undefined:
            if is_required:
                raise InvalidResultError
            return None
        # As in graphql-core, a resolver may return an exception instead of raising it.
        if isinstance(value, Exception):
            raise value
        try:
            serialized = leaf.coerce_output_value(value)
        except graphql.GraphQLError as error:
            raise InvalidResultError(error.message) from error
        if serialized is None or serialized is graphql.Undefined:
            raise InvalidResultError
        return serialized

    return complete


def _leaf_type(output_type: graphql.GraphQLOutputType) -> graphql.GraphQLLeafType:
    leaf = graphql.get_nullable_type(output_type)
    if not graphql.is_leaf_type(leaf):
        raise UnsupportedQueryError(f"{output_type} is not a leaf type")
    return leaf


MAX_ERRORS = 100
"""Errors in one response: the first in document order."""

Complete: TypeAlias = Callable[[Any, "list[FieldError]"], Any]
"""Complete a value, and append the errors of nullable parts; raises whatever makes it null."""


class FieldError(NamedTuple):
    """An error, and where it happened: the path is relative to the object or value at hand."""

    path: tuple[str | int, ...]
    nodes: tuple[graphql.FieldNode, ...]
    error: Exception

    def within(self, key: str | int) -> "FieldError":
        return self._replace(path=(key, *self.path))


class FailedPartError(Exception):
    """A part of a value failed that must not be null, so the value is also null."""

    def __init__(self, field_error: FieldError) -> None:
        super().__init__()
        self.field_error = field_error


def build_value_completion(
    selected: SelectedField,
    output_type: graphql.GraphQLOutputType,
    complete_object: Complete | None,
) -> Complete:
    """Return the function that completes values of a type; see `Complete`."""
    nullable = graphql.get_nullable_type(output_type)
    is_required = isinstance(output_type, graphql.GraphQLNonNull)
    if isinstance(nullable, graphql.GraphQLList):
        complete = _build_list_completion(selected, nullable.of_type, complete_object)
    elif complete_object is not None:
        complete = complete_object
    else:
        leaf = build_completion(output_type)
        return lambda value, _: leaf(value)

    def complete_nullable(value: Any, errors: list[FieldError]) -> Any:
        if isinstance(value, Exception):
            raise value
        if value is None:
            if is_required:
                raise InvalidResultError(f"{selected.parent.name}.{selected.node.name.value}: null")
            return None
        return complete(value, errors)

    return complete_nullable


def _build_list_completion(
    selected: SelectedField, item_type: graphql.GraphQLOutputType, complete_object: Complete | None
) -> Complete:
    complete_item = build_value_completion(selected, item_type, complete_object)
    is_required = isinstance(item_type, graphql.GraphQLNonNull)

    def complete(values: Any, errors: list[FieldError]) -> list[Any]:
        if not isinstance(values, (list, tuple)):
            raise InvalidResultError(f"{selected.parent.name}.{selected.node.name.value}: no list")
        completed = []
        for index, value in enumerate(values):
            item_errors: list[FieldError] = []
            item = None
            try:
                item = complete_item(value, item_errors)
            except Exception as error:
                failed = (
                    error.field_error
                    if isinstance(error, FailedPartError)
                    else FieldError((), selected.nodes, error)
                ).within(index)
                if is_required:
                    raise FailedPartError(failed) from None
                errors.append(failed)
            if item_errors and len(errors) < MAX_ERRORS:
                errors += [each.within(index) for each in item_errors]
            completed.append(item)
        return completed

    return complete


def generate_rows(level: LevelPlan) -> None:
    """Generate code for a level and those inside it. Raises UnsupportedQueryError."""
    writer = _CodeWriter()
    writer.write_level(level)
    code = compile("\n".join(writer.lines), "<compiled query>", "exec")
    # Safe although clients write queries: the code consists of our templates, generated names, the
    # schema's names and `repr`s of GraphQL names, which match [_A-Za-z][_0-9A-Za-z]*. Values of a
    # query are bound in the namespace, never written into the code.
    exec(code, writer.namespace)  # noqa: S102
    for name, use in writer.uses.items():
        use(writer.namespace[name])


class _CodeWriter:
    """Generates the functions of one operation, and the namespace that they run in."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {
            "build_in_parts": build_in_parts,
            "require_list": _require_list,
            "raise_missing_object": _raise_missing_object,
            "reject_failed": _reject_failed,
        }
        self.lines: list[str] = []
        self.uses: dict[str, Callable[[Any], None]] = {}
        """Maps the names of functions to what takes them."""
        self._completion_names: dict[str, str] = {}
        self._counter = count(1)

    def write_level(self, level: LevelPlan) -> None:
        """Write the function that makes the rows of a level, and those of the levels inside it."""
        row = self._new_name("r")
        use = partial(setattr, level, "make_rows")
        if len(level.columns) < len(level.fields):  # otherwise a row is blank
            expression = self._row_expression(level, row)
            self._write_function("rows", expression, row, use, is_async=level.part_size is None)
        for each in level.columns:
            for inner in each.levels.values():
                self.write_level(inner)
            if not each.levels:
                self._write_values(each)

    def _write_values(self, column: PlannedField) -> None:
        value = self._new_name("value")
        expression = self._value_expression(column, column.selected.output_type, value)
        use = partial(setattr, column, "complete_values")
        self._write_function("values", expression, value, use)

    def _write_function(
        self,
        kind: str,
        expression: str,
        item: str,
        use: Callable[[Any], None],
        *,
        is_async: bool = False,
    ) -> None:
        name = self._new_name(kind)
        self.lines += [
            f"{'async ' if is_async else ''}def {name}(run, objects):",
            f"    return [{expression} for {item} in objects]",
        ]
        self.uses[name] = use

    def _row_expression(self, level: LevelPlan, record: str) -> str:
        """Return the expression of one object's row; keys are in the order of the selection."""
        members = [
            f"{each.key!r}: {each.type_name!r}"
            if isinstance(each, TypenameField)
            else f"{each.key!r}: {self._member_expression(each, record)}"
            for each in level.entries
        ]
        return "{" + ", ".join(members) + "}"

    def _member_expression(self, field: PlannedField, record: str) -> str:
        if field.is_column:
            return "None"  # keeps the key's position
        return self._value_expression(
            field, field.selected.output_type, self._source_expression(field, record)
        )

    def _value_expression(
        self, field: PlannedField, output_type: GraphQLOutputType, source: str
    ) -> str:
        """Return the expression that completes a value with no resolver inside it."""
        nullable = get_nullable_type(output_type)
        if isinstance(nullable, GraphQLList):
            item = self._new_name("item")
            completed = self._value_expression(field, nullable.of_type, item)

            def complete_list(value: str) -> str:
                if field.level is not None and is_page(field.selected.parent):
                    build = f"lambda part: [{completed} for {item} in part]"
                    size = field.level.part_size
                    return f"(await build_in_parts({build}, require_list({value}), {size}))"
                values = f"({value} if type({value}) is list else require_list({value}))"
                return f"[{completed} for {item} in {values}]"

            return self._null_check_expression(output_type, source, complete_list)
        if field.levels:
            level = field.level
            assert level is not None, "objects of several types are no plain field"
            is_required = isinstance(output_type, GraphQLNonNull)
            if is_required and source.isidentifier() and _reads_attribute(level.fields):
                # To read a field of None fails, too.
                return self._row_expression(level, source)
            return self._null_check_expression(
                output_type, source, lambda value: self._nested_row_expression(level, value)
            )
        complete = self._completion_name(output_type)
        test = build_type_test(output_type)
        return (
            f"{complete}({source})"
            if test is None
            else (f"(v if {test.format(source)} else {complete}(v))")
        )

    def _nested_row_expression(self, level: LevelPlan, record: str) -> str:
        # In the place of a record may be the exception that reading it raised. To read a field of
        # that fails; if none is read here, it must be looked at.
        row = self._row_expression(level, record)
        is_read = _reads_attribute(level.fields)
        return row if is_read else f"({row} if reject_failed({record}) else None)"

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

    def _source_expression(self, field: PlannedField, record: str) -> str:
        if field.member is not None:
            return f"{record}[{field.member!r}]"
        if field.call is None:
            return f"{record}.{field.selected.field.python_name}"
        return f"{self._bind('call', field.call)}({record}, run)"

    def _completion_name(self, type: GraphQLOutputType) -> str:
        if str(type) not in self._completion_names:
            self._completion_names[str(type)] = self._bind("complete", build_completion(type))
        return self._completion_names[str(type)]

    def _bind(self, kind: str, value: Any) -> str:
        name = self._new_name(kind)
        self.namespace[name] = value
        return name

    def _new_name(self, kind: str) -> str:
        return f"{kind}_{next(self._counter)}"


def _reads_attribute(fields: Iterable[PlannedField]) -> bool:
    return any(each.call is None and not each.is_column for each in fields)


def _require_list(value: Any) -> Any:
    """Return `value` if it is a list. Raises InvalidResultError."""
    if isinstance(value, (list, tuple)):
        return value
    raise InvalidResultError


def _raise_missing_object() -> Any:
    """Raise InvalidResultError; an expression for a null in a non-null type."""
    raise InvalidResultError


def _reject_failed(value: Any) -> bool:
    """Return True; raise `value` itself if it is an exception."""
    if isinstance(value, Exception):
        raise value
    return True
