"""Validation: fields with one response key must be the same field with the same arguments.

The rule of graphql-core compares each pair of such fields: a document of 4 KB takes it over a
second. Here all fields of an object that have one response key are compared with the first of them,
and what they select is merged, as it is when the operation runs. That suffices for a schema without
interfaces and unions, where two fields of one object always have the same parent type.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValidationContext,
    ValidationRule,
    VisitorAction,
    print_ast,
)

SelectionSets: TypeAlias = Sequence[SelectionSetNode]

MAX_COMPARED_FIELDS = 10_000
"""Fields that are looked at; fragments can nest so that there is no end to them."""


class OverlappingFieldsRule(ValidationRule):
    """See the module. Reports the two fields that conflict, at any depth."""

    def __init__(self, context: ValidationContext) -> None:
        super().__init__(context)
        self._checked: set[frozenset[int]] = set()
        self._field_count = 0

    def enter_operation_definition(
        self, node: OperationDefinitionNode, *_: Any
    ) -> VisitorAction | None:
        """Check an operation with all fragments that it uses."""
        waiting: list[SelectionSets] = [[node.selection_set]]
        while waiting and self._field_count <= MAX_COMPARED_FIELDS:
            sets = waiting.pop()
            # The same selections merged elsewhere have the same conflicts.
            key = frozenset(map(id, sets))
            if key not in self._checked:
                self._checked.add(key)
                waiting += self._check_object(sets)
        if self._field_count > MAX_COMPARED_FIELDS:
            self.report_error(GraphQLError("Fragments select too many fields", node))
        return None

    def _check_object(self, sets: SelectionSets) -> list[SelectionSets]:
        """Report conflicts among the fields of an object; return what its fields select."""
        grouped: dict[str, list[FieldNode]] = {}
        for field in self._iter_fields(sets, set()):
            self._field_count += 1
            grouped.setdefault((field.alias or field.name).value, []).append(field)
        inner: list[SelectionSets] = []
        for key, fields in grouped.items():
            if len(fields) > 1:
                self._compare(key, fields)
            if nested := [field.selection_set for field in fields if field.selection_set]:
                inner.append(nested)
        return inner

    def _iter_fields(self, sets: SelectionSets, visited: set[str]) -> Iterator[FieldNode]:
        for selection_set in sets:
            for node in selection_set.selections:
                if isinstance(node, FieldNode):
                    yield node
                elif isinstance(node, InlineFragmentNode):
                    yield from self._iter_fields([node.selection_set], visited)
                elif isinstance(node, FragmentSpreadNode) and node.name.value not in visited:
                    visited.add(node.name.value)
                    if fragment := self.context.get_fragment(node.name.value):
                        yield from self._iter_fields([fragment.selection_set], visited)

    def _compare(self, key: str, fields: Sequence[FieldNode]) -> None:
        first, *others = fields
        arguments = _describe_arguments(first)
        for other in others:
            if other.name.value != first.name.value:
                reason = f"'{first.name.value}' and '{other.name.value}' are different fields"
            elif _describe_arguments(other) != arguments:
                reason = "they have differing arguments"
            else:
                continue
            self.report_error(
                GraphQLError(
                    f"Fields '{key}' conflict because {reason}. Use different aliases on the "
                    "fields to fetch both if this was intentional.",
                    [first, other],
                )
            )
            return


def _describe_arguments(field: FieldNode) -> dict[str, str]:
    return {node.name.value: print_ast(node.value) for node in field.arguments or ()}
