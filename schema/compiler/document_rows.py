"""Rows of a list straight from MongoDB's documents, where no resolver needs its records.

A record is made of every document otherwise, only for its fields to be read once. The rows are the
same: what is not as it should be raises, and the list is read again as records, for the errors.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from graphql import get_named_type

from resolvers.request.batching import batch_resolver_of
from resolvers.request.listing import listed_kind_of
from schema.compiler.selection import SelectedField, Selection
from schema.definitions import PAGE_DATA_FIELD, PAGE_EDGES_FIELD, is_page
from storage.records.fields import Record
from storage.records.kinds import RecordType


def find_document_fields(selection: Selection) -> dict[int, frozenset[int]]:
    """Return the lists of an operation that are read as documents, with all fields inside them.

    Each is the number of a field. Lists of one kind are all read in the same way, so that those
    which are the same are read once.
    """
    as_documents: dict[int, frozenset[int]] = {}
    kinds: dict[int, str] = {}
    kinds_of_records: set[str] = set()
    for selected in _iter_fields(selection):
        kind = _find_listed_kind(selected)
        if kind is None:
            continue
        kinds[selected.number] = kind.name
        inside = _find_plain_fields(selected, kind)
        if inside is None:
            kinds_of_records.add(kind.name)
        else:
            as_documents[selected.number] = inside
    return {
        number: inside
        for number, inside in as_documents.items()
        if kinds[number] not in kinds_of_records
    }


def _find_listed_kind(selected: SelectedField) -> RecordType[Any] | None:
    resolver = selected.field.base_resolver
    if resolver is None or not is_page(get_named_type(selected.definition.type)):
        return None
    return listed_kind_of(batch_resolver_of(resolver.wrapped_func) or resolver.wrapped_func)


def _find_plain_fields(selected: SelectedField, kind: RecordType[Any]) -> frozenset[int] | None:
    """Return the fields inside the records of a list, or None if one of them needs a record."""
    parts = {each.node.name.value for each in selected.nested_fields}
    lists = [each for each in selected.nested_fields if each.node.name.value == PAGE_DATA_FIELD]
    if PAGE_EDGES_FIELD in parts or not lists:
        return None
    if not all(_has_whole_objects(kind.struct, each.children) for each in lists):
        return None
    fields = [field for each in lists for field in _iter_fields(each.children)]
    if any(each.field.base_resolver or each.children_by_type is not None for each in fields):
        return None
    return frozenset(each.number for each in fields)


def _has_whole_objects(record_type: type[Record], selection: Selection) -> bool:
    """Return whether all fields are selected of the objects in a record.

    Making a record reads them all, so a broken one that is not selected is an error too.
    """
    children = {
        each.field.python_name: each.children
        for each in selection
        if isinstance(each, SelectedField)
    }
    info = msgspec.inspect.type_info(record_type)
    assert isinstance(info, msgspec.inspect.StructType)
    for field in info.fields:
        item = field.type.item_type if isinstance(field.type, msgspec.inspect.ListType) else None
        if isinstance(item, msgspec.inspect.StructType):
            selected = {
                each.field.python_name
                for each in children.get(field.name, ())
                if isinstance(each, SelectedField)
            }
            if not selected >= {each.name for each in item.fields}:
                return False
    return bool(children)


def _iter_fields(selection: Selection) -> Iterator[SelectedField]:
    for each in selection:
        if isinstance(each, SelectedField):
            yield each
            for inside in each.selections:
                yield from _iter_fields(inside)
