"""Completing scalars: the text of a quick test, and what completes a value that fails it."""

from collections.abc import Callable
from typing import Any

from graphql import (
    GraphQLLeafType,
    GraphQLNonNull,
    GraphQLOutputType,
    Undefined,
    get_nullable_type,
    is_leaf_type,
)

from schema.compiler.selection import UnsupportedQueryError

FAST_TESTS = {
    "ID": "type(v := {}) is str",
    "String": "type(v := {}) is str",
    "Int": "type(v := {}) is int and -2147483648 <= v <= 2147483647",
    "Float": "type(v := {}) is float and -INFINITY < v < INFINITY",
    "Boolean": "type(v := {}) is bool",
}
"""By scalar: whether `v`, the value of an expression, is already as graphql-core would show it."""


class InvalidResultError(Exception):
    """A value that the schema forbids: graphql-core is to say so, and where."""


def fast_test_of(output_type: GraphQLOutputType) -> str | None:
    """The test of a scalar, in which `{}` stands for an expression; it names its value `v`."""
    leaf = _leaf_type(output_type)
    serialises_as_text = leaf.coerce_output_value is str
    test = FAST_TESTS["String"] if serialises_as_text else FAST_TESTS.get(leaf.name)
    if test is None or isinstance(output_type, GraphQLNonNull):
        return test
    return f"{test} or v is None" if " and " not in test else f"({test}) or v is None"


def build_completion(output_type: GraphQLOutputType) -> Callable[[Any], Any]:
    """Completes any value as graphql-core does; the function raises where that would."""
    leaf = _leaf_type(output_type)
    is_required = isinstance(output_type, GraphQLNonNull)

    def complete(value: Any) -> Any:
        if value is None or value is Undefined:
            if is_required:
                raise InvalidResultError
            return None
        if isinstance(value, Exception):
            raise value
        shown = leaf.coerce_output_value(value)
        if shown is None or shown is Undefined:
            raise InvalidResultError
        return shown

    return complete


def _leaf_type(output_type: GraphQLOutputType) -> GraphQLLeafType:
    leaf = get_nullable_type(output_type)
    if not is_leaf_type(leaf):
        raise UnsupportedQueryError(f"{output_type} is no scalar")
    return leaf
