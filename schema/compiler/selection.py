"""Collect the fields that an operation selects of each object.

Fragments are flattened, and `@skip` and `@include` applied, as in CollectFields (section 6.3.2 of
the GraphQL specification, October 2021), but once per operation and not once per object.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, cast

import graphql
from strawberry.types.field import StrawberryField

from resolvers.request.listing import ListedKind, first_page_of, listed_kind_of, stored_name
from schema import definitions

TYPENAME = "__typename"
MAX_FIELDS = 1_000
"""Fields of a compiled operation, counting each spread of a fragment.

Nested fragments can multiply without bound; operations above this are interpreted.
"""


class UnsupportedQueryError(Exception):
    """An operation uses something that only graphql-core supports."""


@dataclass(frozen=True, slots=True)
class SelectedField:
    """One response key of an object: a field and the selection inside it."""

    number: int
    """Distinguishes it from all other fields of the operation."""
    key: str
    nodes: tuple[graphql.FieldNode, ...]
    """All nodes with this response key, in document order."""
    parent: graphql.GraphQLObjectType
    definition: graphql.GraphQLField
    field: StrawberryField
    selections: "Mapping[str, Selection]"
    """The selections on its objects by the name of their type; scalars have none.

    After `@skip`, a selection may be empty.
    """

    @property
    def node(self) -> graphql.FieldNode:
        """The first node; validation requires equal arguments of the others."""
        return self.nodes[0]

    @property
    def output_type(self) -> graphql.GraphQLOutputType:
        """The GraphQL type of its value."""
        return self.definition.type

    @property
    def is_resolved_per_level(self) -> bool:
        """True if its resolver is called once for all objects of a level.

        Resolvers that are neither async nor have arguments are called where the row is made.
        """
        return definitions.is_loaded(self.field)

    @property
    def data_selections(self) -> int:
        """The number of times that a page's records are selected, as `data`, `edges` or `node`.

        Aliases may select each several times.
        """
        count = 0
        for child in self.nested_fields:
            if child.node.name.value == definitions.PAGE_DATA_FIELD:
                count += 1
            elif child.node.name.value == definitions.PAGE_EDGES_FIELD:
                nodes = (
                    each.node.name.value == definitions.EDGE_NODE_FIELD
                    for each in child.nested_fields
                )
                count += 1 + sum(nodes)
        return count

    @property
    def nested_fields(self) -> "Iterator[SelectedField]":
        """The fields inside it, of all types, without `__typename`."""
        return (
            child
            for selection in self.selections.values()
            for child in selection
            if isinstance(child, SelectedField)
        )

    def type_name_of(self, value: Any) -> str:
        """Return the type of an object, where it may have several."""
        named = graphql.get_named_type(self.definition.type)
        assert isinstance(named, graphql.GraphQLInterfaceType) and named.resolve_type is not None
        # The functions of `schema.root` look at the value alone.
        name = named.resolve_type(value, cast(Any, None), named)
        assert isinstance(name, str)
        return name


@dataclass(frozen=True, slots=True)
class TypenameField:
    """`__typename` under a response key."""

    key: str
    type_name: str


Selection: TypeAlias = tuple[SelectedField | TypenameField, ...]


@dataclass(slots=True)
class FieldCollector:
    """Collects the fields of one operation for one combination of its conditions."""

    schema: graphql.GraphQLSchema
    fragments: Mapping[str, graphql.FragmentDefinitionNode]
    conditions: Mapping[str, bool]
    """Values of the variables in `@skip` and `@include`, by name."""
    field_count: int = 0

    def collect_fields(
        self, sets: list[graphql.SelectionSetNode], parent: graphql.GraphQLObjectType
    ) -> Selection:
        """Return the fields of one object, in order of first appearance.

        Raises UnsupportedQueryError.
        """
        grouped: dict[str, list[graphql.FieldNode]] = {}
        # One set for all selection sets of an object: a fragment is collected once for each,
        # however often it is spread (section 6.3.2).
        visited: set[str] = set()
        for selection_set in sets:
            self._group_fields(selection_set, parent, grouped, visited)
        return tuple(self._build_field(key, nodes, parent) for key, nodes in grouped.items())

    def _build_field(
        self, key: str, nodes: list[graphql.FieldNode], parent: graphql.GraphQLObjectType
    ) -> SelectedField | TypenameField:
        self.field_count += 1
        if self.field_count > MAX_FIELDS:
            raise UnsupportedQueryError(f"more than {MAX_FIELDS} fields")
        number, node = self.field_count, nodes[0]
        if node.name.value == TYPENAME:
            return TypenameField(key, parent.name)
        definition = parent.fields.get(node.name.value)
        # Validation rejects unknown fields, so this is `__schema` or `__type`, which only
        # graphql-core resolves.
        if definition is None:
            raise UnsupportedQueryError(f"introspection by {node.name.value}")
        # MergeSelectionSets (section 6.4.3): the fields inside are those of all the merged nodes.
        sets = [node.selection_set for node in nodes if node.selection_set]
        named = graphql.get_named_type(definition.type)
        types: Sequence[graphql.GraphQLObjectType] = ()
        if isinstance(named, graphql.GraphQLInterfaceType):
            types = self.schema.get_possible_types(named)
        elif sets:
            types = (_object_type(definition),)
        selections = {type.name: self.collect_fields(sets, type) for type in types}
        field = _strawberry_field(definition)
        return SelectedField(number, key, tuple(nodes), parent, definition, field, selections)

    def _group_fields(
        self,
        selection_set: graphql.SelectionSetNode,
        parent: graphql.GraphQLObjectType,
        grouped: dict[str, list[graphql.FieldNode]],
        visited: set[str],
    ) -> None:
        for node in selection_set.selections:
            if not self._is_included(node):
                continue
            if isinstance(node, graphql.FieldNode):
                # Fields with one response key are merged, at the place of the first (section
                # 6.3.2).
                key = (node.alias or node.name).value
                grouped.setdefault(key, []).append(node)
            elif isinstance(node, graphql.InlineFragmentNode):
                if node.type_condition is None or self._matches_type_condition(node, parent):
                    self._group_fields(node.selection_set, parent, grouped, visited)
            elif isinstance(node, graphql.FragmentSpreadNode) and node.name.value not in visited:
                visited.add(node.name.value)
                fragment = self.fragments[node.name.value]
                if self._matches_type_condition(fragment, parent):
                    self._group_fields(fragment.selection_set, parent, grouped, visited)

    def _matches_type_condition(
        self,
        node: graphql.InlineFragmentNode | graphql.FragmentDefinitionNode,
        parent: graphql.GraphQLObjectType,
    ) -> bool:
        condition = node.type_condition
        if condition is None or condition.name.value == parent.name:
            return True
        # An object has one type, so a condition on another object type never holds.
        type = self.schema.get_type(condition.name.value)
        return graphql.is_abstract_type(type) and self.schema.is_sub_type(type, parent)

    def _is_included(self, node: graphql.SelectionNode) -> bool:
        # Neither directive has precedence over the other (section 3.13.2): both must allow the
        # field.
        return not self._directive_value(node, "skip", False) and self._directive_value(
            node, "include", True
        )

    def _directive_value(self, node: graphql.SelectionNode, directive: str, default: bool) -> bool:
        for applied in node.directives or ():
            if applied.name.value == directive:
                # `if` is the only argument of both directives, and validation requires it.
                return self._condition_value((applied.arguments or ())[0].value)
        return default

    def _condition_value(self, value: Any) -> bool:
        if isinstance(value, graphql.VariableNode):
            return self.conditions[value.name.value]
        if isinstance(value, graphql.BooleanValueNode):
            return value.value
        raise UnsupportedQueryError("a condition that is neither a variable nor a boolean")


def fragments_by_name(document: graphql.DocumentNode) -> dict[str, graphql.FragmentDefinitionNode]:
    return {
        node.name.value: node
        for node in document.definitions
        if isinstance(node, graphql.FragmentDefinitionNode)
    }


def _object_type(definition: graphql.GraphQLField) -> graphql.GraphQLObjectType:
    named = graphql.get_named_type(definition.type)
    if not isinstance(named, graphql.GraphQLObjectType) or named.is_type_of is not None:
        raise UnsupportedQueryError(f"the type {named.name}, which needs is_type_of at run time")
    return named


def _strawberry_field(definition: graphql.GraphQLField) -> StrawberryField:
    field = definitions.strawberry_field_of(definition)
    if field is None:
        raise UnsupportedQueryError("a field that strawberry did not make")
    if not all(
        isinstance(extension, definitions.RequirementExtension) for extension in field.extensions
    ):
        # A requirement is checked for the whole operation; other extensions wrap the resolver.
        raise UnsupportedQueryError(f"the field {field.python_name}, which has extensions")
    return field


# Find queries of one record and one list of it: a single command reads both.
#
# See docs/decisions/storage/read-connections.md.


def find_joined_list(
    selection: Selection, query_type: graphql.GraphQLObjectType | None
) -> tuple[SelectedField, SelectedField] | None:
    """Return the only field of a query, and the list that is read with the record that it gets.

    None unless the record has just one field with a resolver, and that lists records without
    counting them.
    """
    if len(selection) != 1 or not isinstance(root := selection[0], SelectedField):
        return None
    resolved = [each for each in root.nested_fields if each.field.base_resolver is not None]
    if root.parent is not query_type or len(root.selections) > 1 or len(resolved) != 1:
        return None
    [listed] = resolved
    resolver = listed.field.base_resolver
    assert resolver is not None
    is_counted = any(each.is_resolved_per_level for each in listed.nested_fields)
    is_guarded = definitions.requirement_of(listed.definition) != definitions.Requirement()
    if first_page_of(resolver.wrapped_func) is None or is_counted or is_guarded:
        return None
    return root, listed


# Rows of a list straight from MongoDB's documents, where no resolver needs its records.
#
# A record is made of every document otherwise, only for its fields to be read once. The rows are
# the same: what is not as it should be raises, and records are made of the documents, for the
# errors.


class DocumentList(NamedTuple):
    kind: ListedKind
    fields: frozenset[str]
    """These fields are read of each document."""
    selected: frozenset[str]
    """This list shows these fields; others of its kind may show more."""
    members: Mapping[int, str]
    """Maps the number of a field, at any depth, to the name that documents have for it."""

    async def decode(self, lists: Sequence[Any]) -> list[Any]:
        """Return lists with records in the place of documents."""
        return await self.kind.decode(lists, self.selected)


def find_document_lists(selection: Selection) -> dict[int, DocumentList]:
    """Return the lists of an operation that are read as documents, by the number of their field.

    Lists of one kind are all read in the same way, so that those which are the same are read once.
    """
    as_documents: dict[int, tuple[ListedKind, frozenset[str], dict[int, str]]] = {}
    fields_of_kinds: dict[str, set[str]] = {}
    kinds_of_records: set[str] = set()
    for selected in _iter_fields(each for each in selection if isinstance(each, SelectedField)):
        resolver = selected.field.base_resolver
        if resolver is None or not definitions.is_page(
            graphql.get_named_type(selected.definition.type)
        ):
            continue
        kind = listed_kind_of(resolver.wrapped_func)
        if kind is None:
            continue
        members = _find_members(selected, kind)
        if members is None:
            kinds_of_records.add(kind.name)
        else:
            of_records = (each.number for each in _iter_record_fields(selected))
            fields = frozenset({"_id", *(members[number] for number in of_records)})
            as_documents[selected.number] = kind, fields, members
            fields_of_kinds.setdefault(kind.name, set()).update(fields)
    return {
        number: DocumentList(kind, frozenset(fields_of_kinds[kind.name]), fields, members)
        for number, (kind, fields, members) in as_documents.items()
        if kind.name not in kinds_of_records
    }


def _find_members(selected: SelectedField, kind: ListedKind) -> dict[int, str] | None:
    """Return where documents have the fields of a list, or None if it is read as records."""
    parts = {each.node.name.value for each in selected.nested_fields}
    lists = [
        each
        for each in selected.nested_fields
        if each.node.name.value == definitions.PAGE_DATA_FIELD
    ]
    if definitions.PAGE_EDGES_FIELD in parts or not lists or not kind.is_stored_whole:
        return None
    # Making a record reads all of the objects in it: a broken one is an error.
    objects = kind.objects
    for each in lists:
        inside = {
            child.field.python_name: {inner.field.python_name for inner in child.nested_fields}
            for child in each.nested_fields
        }
        if not inside or not all(
            names >= objects.get(name, set()) for name, names in inside.items()
        ):
            return None
    fields = [field for each in lists for field in _iter_fields(each.nested_fields)]
    if any(each.field.base_resolver or len(each.selections) > 1 for each in fields):
        return None
    members = {each.number: each.field.python_name for each in fields}
    return members | {
        each.number: stored_name(each.field.python_name) for each in _iter_record_fields(selected)
    }


def _iter_record_fields(selected: SelectedField) -> Iterator[SelectedField]:
    for each in selected.nested_fields:
        if each.node.name.value == definitions.PAGE_DATA_FIELD:
            yield from each.nested_fields


def _iter_fields(fields: Iterable[SelectedField]) -> Iterator[SelectedField]:
    for each in fields:
        yield each
        yield from _iter_fields(each.nested_fields)
