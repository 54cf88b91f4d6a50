"""Lists that compiled queries may read as MongoDB's documents, without records in between."""

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from typing import Any, NamedTuple

from msgspec.inspect import ListType, StructType, type_info

from resolvers.request.batching import Resolver, batch_resolver_of
from resolvers.request.limits.pauses import build_in_parts
from storage.records.kinds import RecordType, stored_name
from storage.records.paging import Page

_LISTED_KIND_ATTRIBUTE = "__listed_kind__"


class ListedKind(NamedTuple):
    """The kind of the records in a list."""

    kind: RecordType[Any]

    @property
    def name(self) -> str:
        """The name of the kind."""
        return self.kind.name

    @property
    def is_stored_whole(self) -> bool:
        """Whether records have nothing but the values of documents."""
        return not hasattr(self.kind.struct, "__post_init__")

    @property
    def objects(self) -> dict[str, set[str]]:
        """The fields with objects inside a record, and the fields that these objects must have."""
        info = type_info(self.kind.struct)
        assert isinstance(info, StructType)
        items = {
            field.name: field.type.item_type
            for field in info.fields
            if isinstance(field.type, ListType)
        }
        return {
            name: {field.name for field in item.fields if field.required}
            for name, item in items.items()
            if isinstance(item, StructType)
        }

    def find_member(self, field: str) -> str:
        """Return where documents have a field of a record."""
        return stored_name(field)

    async def decode(self, pages: Sequence[Any], fields: Set[str]) -> list[Any]:
        """Return pages with records in the place of documents, of which these fields are selected.

        The other fields of the records mean nothing. Other values stay as they are.
        """
        blank = self.kind.build_blank(fields)

        def decode_part(documents: Sequence[Any]) -> list[Any]:
            return self.kind.decode_each(
                [
                    blank | {name: document[name] for name in fields if name in document}
                    for document in documents
                ]
            )

        decoded: dict[int, Page[Any]] = {}
        for page in pages:
            has_documents = isinstance(page, Page) and page.data and isinstance(page.data[0], dict)
            if has_documents and id(page) not in decoded:
                # A new page: other fields may have the same one, with documents.
                records = await build_in_parts(decode_part, page.data)
                decoded[id(page)] = replace(page, data=records)
        return [decoded.get(id(page), page) for page in pages]


def lists(kind: RecordType[Any]) -> Callable[[Resolver], Resolver]:
    """Let compiled queries ask a paged resolver for documents: it hands its pages on as they are.

    Its `info` says for which fields of documents it has been asked.
    """

    def declare(resolve: Resolver) -> Resolver:
        resolve.__dict__[_LISTED_KIND_ATTRIBUTE] = kind
        return resolve

    return declare


def listed_kind_of(resolver: object) -> ListedKind | None:
    """Return the kind of the records that a resolver lists, if it may list their documents."""
    kind = vars(batch_resolver_of(resolver) or resolver).get(_LISTED_KIND_ATTRIBUTE)
    return None if kind is None else ListedKind(kind)
