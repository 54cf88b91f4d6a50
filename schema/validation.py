"""Validate documents by all rules in one visitor, which knows beforehand what each rule visits.

graphql-core looks up two methods of each rule for each kind of node, for every document anew, and
at each node it goes through all rules. For a short document, that is nine tenths of validation.
"""

from functools import cache
from typing import Any, NamedTuple

import graphql
from graphql import (
    SKIP,
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    Node,
    ValidationContext,
    ValidationRule,
)
from graphql.language.visitor import EnterLeaveVisitor
from graphql.validation import OverlappingFieldsCanBeMergedRule, specified_rules

from schema.overlapping_fields import OverlappingFieldsRule

MAX_VALIDATION_ERRORS = 5
_SKIPS = (SKIP, False)
RULES = [
    OverlappingFieldsRule if rule is OverlappingFieldsCanBeMergedRule else rule
    for rule in specified_rules
]


def validate(schema: GraphQLSchema, document: DocumentNode) -> list[GraphQLError]:
    """Return what is wrong with a document, as graphql-core does."""
    return graphql.validate(
        schema,
        document,
        [AllRules],
        max_errors=MAX_VALIDATION_ERRORS,
        hide_suggestions=True,
    )


class _Visit(NamedTuple):
    """The methods of a rule for nodes of one kind, by name."""

    rule: int
    enter: str | None
    leave: str | None


@cache
def _list_visits(kind: str) -> list[_Visit]:
    """Return the methods for nodes of a kind, of the rules that have any, in the rules' order."""
    visits = [
        _Visit(number, _find_method(rule, "enter", kind), _find_method(rule, "leave", kind))
        for number, rule in enumerate(RULES)
    ]
    return [visit for visit in visits if visit.enter or visit.leave]


def _find_method(rule: type[Any], event: str, kind: str) -> str | None:
    return next((name for name in (f"{event}_{kind}", event) if hasattr(rule, name)), None)


class AllRules(ValidationRule):
    """All rules as one. Each may skip what is inside a node, apart from the others.

    No rule ends the visit or replaces a node, as visitors may.
    """

    def __init__(self, context: ValidationContext) -> None:
        super().__init__(context)
        self._rules = [rule(context) for rule in RULES]
        self._skipped: dict[int, Node] = {}
        """By the number of a rule, the node that it skips while the visit is inside."""

    def get_enter_leave_for_kind(self, kind: str) -> EnterLeaveVisitor:
        """Return what the rules do at nodes of a kind. Called for each node."""
        found = self.enter_leave_map.get(kind)
        if found is None:
            found = self.enter_leave_map[kind] = self._combine(_list_visits(kind))
        return found

    def _combine(self, visits: list[_Visit]) -> EnterLeaveVisitor:
        skipped, rules = self._skipped, self._rules
        entering = [(n, getattr(rules[n], enter)) for n, enter, _ in visits if enter]
        leaving = [(n, leave and getattr(rules[n], leave)) for n, _, leave in visits]

        def enter(node: Node, *args: Any) -> None:
            for number, method in entering:
                if number not in skipped and method(node, *args) in _SKIPS:
                    skipped[number] = node

        def leave(node: Node, *args: Any) -> None:
            for number, method in leaving:
                if number not in skipped:
                    if method:
                        method(node, *args)
                elif skipped[number] is node:
                    del skipped[number]

        return EnterLeaveVisitor(enter if entering else None, leave if leaving else None)
