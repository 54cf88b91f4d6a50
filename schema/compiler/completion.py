"""Complete the values of fields: check them against their types, and note the errors of parts."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import graphql

from schema.compiler.selection import SelectedField, UnsupportedQueryError

FAST_TESTS = {
    "ID": "type(v := {}) is str",
    "String": "type(v := {}) is str",
    "Int": "type(v := {}) is int and -2147483648 <= v <= 2147483647",
    # True of what is finite, in half the time that comparing with both infinities takes.
    "Float": "type(v := {}) is float and v - v == 0",
    "Boolean": "type(v := {}) is bool",
    "DateTime": "type(v := {}) is str",
}
"""Test by scalar, with `{}` for an expression; the test names its value `v`.

True if graphql-core would serialize `v` unchanged: Int has 32 bits and Float is finite (section 3.5
of the GraphQL specification). `type(v) is` and not `isinstance`: bool is a subclass of int.
"""


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
        """Return the error as seen from outside."""
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
