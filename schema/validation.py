"""Validate documents by all rules in one visitor, which knows beforehand what each rule visits.

graphql-core looks up two methods of each rule for each kind of node, for every document anew, and
at each node it goes through all rules. For a short document, that is nine tenths of validation.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import graphql
from graphql.language.visitor import EnterLeaveVisitor
from graphql.validation import OverlappingFieldsCanBeMergedRule, specified_rules

# Validation: fields with one response key must be the same field with the same arguments.
#
# The rule of graphql-core compares each pair of such fields: a document of 4 KB takes it over a
# second. Here all fields of an object that have one response key are compared with the first of
# them, and what they select is merged, as it is when the operation runs. Where an object may be of
# several types, as `node` is, that holds for the fields of each type; those of different types need
# only values of the same shape (section 5.3.2 of the GraphQL specification, SameResponseShape).


TypedSet: TypeAlias = tuple[graphql.SelectionSetNode, graphql.GraphQLNamedType | None]
"""A selection set, and the type that it is on."""


class TypedField(NamedTuple):
    """A field in a document, and its definition, if it has one."""

    node: graphql.FieldNode
    parent: graphql.GraphQLNamedType | None
    type: graphql.GraphQLOutputType | None


class ComparedSets(NamedTuple):
    """Selections on one object; or, with `is_shape`, on objects of different types."""

    sets: Sequence[TypedSet]
    is_shape: bool


MAX_COMPARED_FIELDS = 10_000
"""Fields that are looked at; fragments can nest so that there is no end to them."""


class OverlappingFieldsRule(graphql.ValidationRule):
    """See the module. Reports the two fields that conflict, at any depth."""

    def __init__(self, context: graphql.ValidationContext) -> None:
        super().__init__(context)
        self._checked: set[tuple[frozenset[int], bool]] = set()
        self._field_count = 0

    def enter_operation_definition(
        self, node: graphql.OperationDefinitionNode, *_: Any
    ) -> graphql.VisitorAction | None:
        root = self.context.schema.get_root_type(node.operation)
        waiting = [ComparedSets([(node.selection_set, root)], is_shape=False)]
        while waiting and self._field_count <= MAX_COMPARED_FIELDS:
            compared = waiting.pop()
            # The same selections merged elsewhere have the same conflicts.
            key = frozenset(id(node) for node, _ in compared.sets), compared.is_shape
            if key not in self._checked:
                self._checked.add(key)
                waiting += self._check_objects(compared)
        if self._field_count > MAX_COMPARED_FIELDS:
            self.report_error(graphql.GraphQLError("Fragments select too many fields", node))
        return None

    def _check_objects(self, compared: ComparedSets) -> Iterator[ComparedSets]:
        """Report conflicts among the fields of objects; yield what their fields select."""
        grouped: dict[str, list[TypedField]] = {}
        for field in self._iter_fields(compared.sets, set()):
            self._field_count += 1
            grouped.setdefault((field.node.alias or field.node.name).value, []).append(field)
        for key, fields in grouped.items():
            by_type = [fields] if compared.is_shape else _group_by_type(fields)
            if len(by_type) > 1 or compared.is_shape:
                self._compare_shapes(key, fields)
            if len(by_type) > 1:
                yield ComparedSets(_nested_sets(fields), is_shape=True)
            for same_type in by_type:
                if len(same_type) > 1 and not compared.is_shape:
                    self._compare(key, [field.node for field in same_type])
                if nested := _nested_sets(same_type):
                    yield ComparedSets(nested, compared.is_shape)

    def _iter_fields(self, sets: Sequence[TypedSet], visited: set[str]) -> Iterator[TypedField]:
        for selection_set, parent in sets:
            for node in selection_set.selections:
                if isinstance(node, graphql.FieldNode):
                    fields = getattr(parent, "fields", {})
                    definition = fields.get(node.name.value)
                    yield TypedField(node, parent, definition and definition.type)
                elif isinstance(node, graphql.InlineFragmentNode):
                    inner = self._type_of(node, parent)
                    yield from self._iter_fields([(node.selection_set, inner)], visited)
                elif (
                    isinstance(node, graphql.FragmentSpreadNode) and node.name.value not in visited
                ):
                    visited.add(node.name.value)
                    if fragment := self.context.get_fragment(node.name.value):
                        inner = self._type_of(fragment, parent)
                        yield from self._iter_fields([(fragment.selection_set, inner)], visited)

    def _type_of(
        self,
        node: graphql.InlineFragmentNode | graphql.FragmentDefinitionNode,
        parent: graphql.GraphQLNamedType | None,
    ) -> graphql.GraphQLNamedType | None:
        condition = node.type_condition
        return self.context.schema.get_type(condition.name.value) if condition else parent

    def _compare_shapes(self, key: str, fields: Sequence[TypedField]) -> None:
        first, *others = fields
        for other in others:
            if first.type and other.type and _shape_of(first.type) != _shape_of(other.type):
                reason = f"they return the types {first.type} and {other.type}"
                self._report_conflict(key, reason, [first.node, other.node])
                return

    def _compare(self, key: str, fields: Sequence[graphql.FieldNode]) -> None:
        first, *others = fields
        arguments = _describe_arguments(first)
        for other in others:
            if other.name.value != first.name.value:
                reason = f"'{first.name.value}' and '{other.name.value}' are different fields"
            elif _describe_arguments(other) != arguments:
                reason = "they have differing arguments"
            else:
                continue
            self._report_conflict(key, reason, [first, other])
            return

    def _report_conflict(self, key: str, reason: str, nodes: Sequence[graphql.FieldNode]) -> None:
        self.report_error(
            graphql.GraphQLError(
                f"Fields '{key}' conflict because {reason}. Use different aliases on the "
                "fields to fetch both if this was intentional.",
                nodes,
            )
        )


def _group_by_type(fields: Sequence[TypedField]) -> list[list[TypedField]]:
    """Return the fields that one object may have together, for each type of objects."""
    of_objects: dict[str, list[TypedField]] = {}
    of_all: list[TypedField] = []
    for field in fields:
        if isinstance(field.parent, graphql.GraphQLObjectType):
            of_objects.setdefault(field.parent.name, []).append(field)
        else:
            of_all.append(field)
    return [[*of_all, *each] for each in of_objects.values()] or [of_all]


def _nested_sets(fields: Sequence[TypedField]) -> list[TypedSet]:
    return [
        (field.node.selection_set, graphql.get_named_type(field.type) if field.type else None)
        for field in fields
        if field.node.selection_set
    ]


def _shape_of(type: graphql.GraphQLOutputType) -> str:
    """Return the text of a type, in which all types of objects are the same."""
    named = graphql.get_named_type(type)
    return str(type) if graphql.is_leaf_type(named) else str(type).replace(named.name, "{}")


def _describe_arguments(field: graphql.FieldNode) -> dict[str, str]:
    return {node.name.value: graphql.print_ast(node.value) for node in field.arguments or ()}


MAX_VALIDATION_ERRORS = 5
_SKIPS = (graphql.SKIP, False)
RULES = [
    OverlappingFieldsRule if rule is OverlappingFieldsCanBeMergedRule else rule
    for rule in specified_rules
]


def validate(
    schema: graphql.GraphQLSchema,
    document: graphql.DocumentNode,
    max_errors: int = MAX_VALIDATION_ERRORS,
    *,
    hide_suggestions: bool = True,
) -> list[graphql.GraphQLError]:
    """Return what is wrong with a document, as graphql-core does."""
    return graphql.validate(
        schema,
        document,
        [AllRules],
        max_errors=max_errors,
        hide_suggestions=hide_suggestions,
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


class AllRules(graphql.ValidationRule):
    """All rules as one. Each may skip what is inside a node, apart from the others.

    No rule ends the visit or replaces a node, as visitors may.
    """

    def __init__(self, context: graphql.ValidationContext) -> None:
        super().__init__(context)
        self._rules = [rule(context) for rule in RULES]
        self._skipped: dict[int, graphql.Node] = {}
        """Maps the number of a rule to the node that it skips while the visit is inside."""

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

        def enter(node: graphql.Node, *args: Any) -> None:
            for number, method in entering:
                if number not in skipped and method(node, *args) in _SKIPS:
                    skipped[number] = node

        def leave(node: graphql.Node, *args: Any) -> None:
            for number, method in leaving:
                if number not in skipped:
                    if method:
                        method(node, *args)
                elif skipped[number] is node:
                    del skipped[number]

        return EnterLeaveVisitor(enter if entering else None, leave if leaving else None)
