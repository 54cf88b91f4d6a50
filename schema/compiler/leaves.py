"""Complete leaf values: the source of a fast type test, and the slow path for other values."""

from collections.abc import Callable
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLError,
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


def build_type_test(output_type: GraphQLOutputType) -> str | None:
    """Return the fast test of a leaf type as in `FAST_TESTS`, or None if there is none.

    >>> from graphql import GraphQLString
    >>> build_type_test(GraphQLString)
    'type(v := {}) is str or v is None'
    """
    leaf = _leaf_type(output_type)
    test = (
        _build_word_test(leaf) if isinstance(leaf, GraphQLEnumType) else FAST_TESTS.get(leaf.name)
    )
    if test is None or isinstance(output_type, GraphQLNonNull):
        return test
    return f"{test} or v is None" if " and " not in test else f"({test}) or v is None"


def _build_word_test(enum_type: GraphQLEnumType) -> str | None:
    """Return the test of a text that is a name of the enum and means the value of this name.

    The names are those of our own schema: no part of a request is in the code.
    """
    if any(name != value.value for name, value in enum_type.values.items()):
        return None
    return f"type(v := {{}}) is str and v in {{{{{', '.join(map(repr, enum_type.values))}}}}}"


def build_completion(output_type: GraphQLOutputType) -> Callable[[Any], Any]:
    """Return a function that completes any value of a leaf type as graphql-core does.

    It raises InvalidResultError; and if a resolver returned an exception, that.
    """
    leaf = _leaf_type(output_type)
    is_required = isinstance(output_type, GraphQLNonNull)

    def complete(value: Any) -> Any:
        if value is None or value is Undefined:
            if is_required:
                raise InvalidResultError
            return None
        # As in graphql-core, a resolver may return an exception instead of raising it.
        if isinstance(value, Exception):
            raise value
        try:
            serialized = leaf.coerce_output_value(value)
        except GraphQLError as error:
            raise InvalidResultError(error.message) from error
        if serialized is None or serialized is Undefined:
            raise InvalidResultError
        return serialized

    return complete


def _leaf_type(output_type: GraphQLOutputType) -> GraphQLLeafType:
    leaf = get_nullable_type(output_type)
    if not is_leaf_type(leaf):
        raise UnsupportedQueryError(f"{output_type} is not a leaf type")
    return leaf
