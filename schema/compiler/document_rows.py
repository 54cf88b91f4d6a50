"""Rows of a list straight from MongoDB's documents, where no resolver needs its records.

A record is made of every document otherwise, only for its fields to be read once. The rows are the
same: what is not as it should be raises, and records are made of the documents, for the errors.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from graphql import get_named_type

from resolvers.request.document_lists import ListedKind, listed_kind_of
from schema.compiler.selection import SelectedField, Selection
from schema.definitions import PAGE_DATA_FIELD, PAGE_EDGES_FIELD, is_page


class DocumentList(NamedTuple):
    """A list that is read as documents."""

    kind: ListedKind
    fields: frozenset[str]
    """What is read of each document."""
    selected: frozenset[str]
    """What this list shows of it; others of its kind may show more."""
    members: Mapping[int, str]
    """Where documents have the fields of records, at any depth, by the number of the field."""

    async def decode(self, pages: Sequence[Any]) -> list[Any]:
        """Return pages with records in the place of documents."""
        return await self.kind.decode(pages, self.selected)


def find_document_lists(selection: Selection) -> dict[int, DocumentList]:
    """Return the lists of an operation that are read as documents, by the number of their field.

    Lists of one kind are all read in the same way, so that those which are the same are read once.
    """
    as_documents: dict[int, tuple[ListedKind, frozenset[str], dict[int, str]]] = {}
    fields_of_kinds: dict[str, set[str]] = {}
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
    lists = [each for each in selected.nested_fields if each.node.name.value == PAGE_DATA_FIELD]
    if PAGE_EDGES_FIELD in parts or not lists or not kind.is_stored_whole:
        return None
    # Making a record reads all of the objects in it: a broken one is an error.
    objects = kind.objects
    for each in lists:
        inside = {
            child.field.python_name: _list_names(child.children) for child in each.nested_fields
        }
        if not inside or not all(
            names >= objects.get(name, set()) for name, names in inside.items()
        ):
            return None
    fields = [field for each in lists for field in _iter_fields(each.children)]
    if any(each.field.base_resolver or each.children_by_type is not None for each in fields):
        return None
    members = {each.number: each.field.python_name for each in fields}
    return members | {
        each.number: kind.find_member(each.field.python_name)
        for each in _iter_record_fields(selected)
    }


def _iter_record_fields(selected: SelectedField) -> Iterator[SelectedField]:
    """Return the fields that a list selects of each record."""
    for each in selected.nested_fields:
        if each.node.name.value == PAGE_DATA_FIELD:
            yield from each.nested_fields


def _list_names(selection: Selection) -> set[str]:
    return {each.field.python_name for each in selection if isinstance(each, SelectedField)}


def _iter_fields(selection: Selection) -> Iterator[SelectedField]:
    for each in selection:
        if isinstance(each, SelectedField):
            yield each
            for inside in each.selections:
                yield from _iter_fields(inside)
