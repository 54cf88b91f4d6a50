"""Rows of a list straight from MongoDB's documents, where no resolver needs its records.

A record is made of every document otherwise, only for its fields to be read once. The rows are the
same: what is not as it should be raises, and records are made of the documents, for the errors.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from graphql import GraphQLOutputType, get_named_type, get_nullable_type, is_leaf_type

from resolvers.request.document_lists import ListedKind, listed_kind_of
from schema.compiler.leaves import find_plain_types
from schema.compiler.selection import SelectedField, Selection, TypenameField
from schema.definitions import PAGE_DATA_FIELD, PAGE_EDGES_FIELD, is_page


class DocumentList(NamedTuple):
    """A list that is read as documents."""

    kind: ListedKind
    fields: frozenset[int]
    """Numbers of the fields of its records, at any depth."""


def find_document_lists(selection: Selection) -> dict[int, DocumentList]:
    """Return the lists of an operation that are read as documents, by the number of their field.

    Lists of one kind are all read in the same way, so that those which are the same are read once.
    """
    as_documents: dict[int, DocumentList] = {}
    kinds_of_records: set[str] = set()
    for selected in _iter_fields(selection):
        resolver = selected.field.base_resolver
        if resolver is None or not is_page(get_named_type(selected.definition.type)):
            continue
        kind = listed_kind_of(resolver.wrapped_func)
        if kind is None:
            continue
        fields = _find_plain_fields(selected, kind)
        if fields is None:
            kinds_of_records.add(kind.name)
        else:
            as_documents[selected.number] = DocumentList(kind, fields)
    return {
        number: each
        for number, each in as_documents.items()
        if each.kind.name not in kinds_of_records
    }


class Writer(Protocol):
    """What writes the code of an operation."""

    lines: list[str]

    def bind(self, kind: str, value: Any) -> str:
        """Add a value to the namespace and return its name."""

    def new_name(self, kind: str) -> str:
        """Return a name that nothing has."""

    def value_expression(
        self, selected_field: SelectedField, output_type: GraphQLOutputType, source: str
    ) -> str:
        """Return the expression that completes a value."""


def write_document_rows(writer: Writer, selection: Selection, kind: ListedKind) -> str:
    """Write the function from documents to their rows, and return its name.

    It looks at the types of a column of values at once, and at single values only if one of them is
    unusual.
    """
    fields = [each for each in selection if isinstance(each, SelectedField)]
    columns = {each.number: writer.new_name("column") for each in fields}
    members = [kind.find_member(each.field.python_name) for each in fields]
    # itemgetter returns no tuple for a single name.
    read = writer.bind("read", itemgetter("_id", *members))
    plain = {
        position: types
        for position, each in enumerate(fields, start=1)
        if is_leaf_type(get_nullable_type(each.output_type))
        and (types := find_plain_types(each.output_type)) is not None
    }
    tests = writer.bind("plain", plain)

    def write_rows(*, is_plain: bool) -> str:
        values = []
        for each in selection:
            if isinstance(each, TypenameField):
                value = repr(each.type_name)
            elif is_plain and fields.index(each) + 1 in plain:
                value = columns[each.number]
            else:
                value = writer.value_expression(each, each.output_type, columns[each.number])
            values.append(f"{each.response_key!r}: {value}")
        names = ", ".join(columns.values())
        return f"[{{{', '.join(values)}}} for _, {names} in values]"

    name = writer.new_name("rows_of")
    writer.lines += [
        f"def {name}(documents):",
        f"    values = [*map({read}, documents)]",
        f"    if has_plain_columns(values, {tests}):",
        f"        return {write_rows(is_plain=True)}",
        f"    return {write_rows(is_plain=False)}",
        "",
        "",
    ]
    return name


def _find_plain_fields(selected: SelectedField, kind: ListedKind) -> frozenset[int] | None:
    """Return the fields inside the records of a list, or None if it has to be read as records."""
    parts = {each.node.name.value for each in selected.nested_fields}
    lists = [each for each in selected.nested_fields if each.node.name.value == PAGE_DATA_FIELD]
    if PAGE_EDGES_FIELD in parts or not lists or not kind.is_stored_whole:
        return None
    # Making a record reads the objects in it. A broken one that is not selected is an error too.
    objects = kind.objects.items()
    for each in lists:
        inside = {
            child.field.python_name: _list_names(child.children) for child in each.nested_fields
        }
        if not inside or not all(inside.get(name, set()) >= names for name, names in objects):
            return None
    fields = [field for each in lists for field in _iter_fields(each.children)]
    if any(each.field.base_resolver or each.children_by_type is not None for each in fields):
        return None
    return frozenset(each.number for each in fields)


def _list_names(selection: Selection) -> set[str]:
    return {each.field.python_name for each in selection if isinstance(each, SelectedField)}


def _iter_fields(selection: Selection) -> Iterator[SelectedField]:
    for each in selection:
        if isinstance(each, SelectedField):
            yield each
            for inside in each.selections:
                yield from _iter_fields(inside)
