"""Rows of a list straight from MongoDB's documents, where no resolver needs its records.

A record is made of every document otherwise, only for its fields to be read once. The rows are the
same: what is not as it should be raises, and records are made of the documents, for the errors.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from graphql import get_named_type

from resolvers.request.document_lists import ListedKind, listed_kind_of
from schema.compiler.selection import SelectedField, Selection
from schema.definitions import PAGE_DATA_FIELD, PAGE_EDGES_FIELD, is_page


class DocumentList(NamedTuple):
    """A list that is read as documents."""

    kind: ListedKind
    members: Mapping[int, str]
    """Where documents have the fields of records, at any depth, by the number of the field."""


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
        members = _find_members(selected, kind)
        if members is None:
            kinds_of_records.add(kind.name)
        else:
            as_documents[selected.number] = DocumentList(kind, members)
    return {
        number: each
        for number, each in as_documents.items()
        if each.kind.name not in kinds_of_records
    }


def _find_members(selected: SelectedField, kind: ListedKind) -> dict[int, str] | None:
    """Return where documents have the fields of a list, or None if it is read as records."""
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
    members = {each.number: each.field.python_name for each in fields}
    of_records = (field for each in lists for field in each.nested_fields)
    return members | {each.number: kind.find_member(each.field.python_name) for each in of_records}


def _list_names(selection: Selection) -> set[str]:
    return {each.field.python_name for each in selection if isinstance(each, SelectedField)}


def _iter_fields(selection: Selection) -> Iterator[SelectedField]:
    for each in selection:
        if isinstance(each, SelectedField):
            yield each
            for inside in each.selections:
                yield from _iter_fields(inside)
