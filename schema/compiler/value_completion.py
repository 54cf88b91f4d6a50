"""Complete the values of a field: check them against its type, and note the errors of parts."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from graphql import FieldNode, GraphQLList, GraphQLNonNull, GraphQLOutputType, get_nullable_type

from schema.compiler.leaves import InvalidResultError, build_completion
from schema.compiler.selection import SelectedField

MAX_ERRORS = 100
"""Errors in one response: the first in document order."""

Complete: TypeAlias = Callable[[Any, "list[FieldError]"], Any]
"""Complete a value, and append the errors of nullable parts; raises whatever makes it null."""


class FieldError(NamedTuple):
    """An error, and where it happened: the path is relative to the object or value at hand."""

    path: tuple[str | int, ...]
    nodes: tuple[FieldNode, ...]
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
    output_type: GraphQLOutputType,
    complete_object: Complete | None,
) -> Complete:
    """Return the function that completes values of a type; see `Complete`."""
    nullable = get_nullable_type(output_type)
    is_required = isinstance(output_type, GraphQLNonNull)
    if isinstance(nullable, GraphQLList):
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
    selected: SelectedField, item_type: GraphQLOutputType, complete_object: Complete | None
) -> Complete:
    complete_item = build_value_completion(selected, item_type, complete_object)
    is_required = isinstance(item_type, GraphQLNonNull)

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
