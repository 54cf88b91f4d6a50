"""Build resolvers of lists: their pages, filters and orders, for many parents at once."""

import inspect
from collections.abc import Awaitable, Callable, Sequence, Set
from functools import cache, lru_cache, wraps
from inspect import Parameter
from operator import attrgetter
from typing import Annotated, Any, NamedTuple, TypeAlias

import strawberry
from msgspec.inspect import ListType, StructType, type_info

from resolvers.request import inputs
from resolvers.request.context import Context, FirstPage, Info, Relation
from resolvers.request.kinds import DescribedEnum, graphql_enum
from resolvers.request.threads import build_in_parts
from resolvers.request.times import DateTime, parse_time
from storage.records import filters
from storage.records.filters import NAME_WORDS_FIELD
from storage.records.kinds import UPDATED_AT, Document, RecordType
from storage.records.kinds import stored_name as stored_name
from storage.records.paging import BY_KEY, MAX_TOTAL_COUNT, Order, Page, PageRequest
from storage.records.visibility import NOTHING

# Lists that compiled queries may read as MongoDB's documents, without records in between.


_LISTED_KIND_ATTRIBUTE = "__listed_kind__"


class ListedKind(NamedTuple):
    """The kind of the records in a list."""

    kind: RecordType[Any]

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def is_stored_whole(self) -> bool:
        """True if records have nothing but the values of documents."""
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

    async def decode(self, lists: Sequence[Any], fields: Set[str]) -> list[Any]:
        """Return lists with records in the place of documents, of which these fields are selected.

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

        return [
            await build_in_parts(decode_part, each)
            if isinstance(each, list) and each and isinstance(each[0], dict)
            else each
            for each in lists
        ]


def lists(kind: RecordType[Any]) -> Callable[[inputs.Resolver], inputs.Resolver]:
    """Let compiled queries ask a paged resolver for documents: it hands its pages on as they are.

    Its `info` says for which fields of documents it has been asked.
    """

    def declare(resolve: inputs.Resolver) -> inputs.Resolver:
        resolve.__dict__[_LISTED_KIND_ATTRIBUTE] = kind
        return resolve

    return declare


def listed_kind_of(resolver: object) -> ListedKind | None:
    """Return the kind of the records that a resolver lists, if it may list their documents."""
    kind = vars(inputs.batch_resolver_of(resolver) or resolver).get(_LISTED_KIND_ATTRIBUTE)
    return None if kind is None else ListedKind(kind)


DESCENDING = "_desc"


@graphql_enum
class UnitOrder(DescribedEnum):
    """What units are sorted by, and then by their id."""

    ID = "id", "By id."
    ID_DESC = "id_desc", "By id, the last first."
    NAME = "name", "By name, by code point, so 1001 comes before 101."
    NAME_DESC = "name_desc", "By name, the last first."
    UPDATED_AT = "updated_at", "By the time of the last change."
    UPDATED_AT_DESC = "updated_at_desc", "By the time of the last change, the last first."


@graphql_enum
class FloorOrder(DescribedEnum):
    """What floors are sorted by, and then by their id."""

    SORT = "sort", "By `sort`, which is from the lowest up."
    SORT_DESC = "sort_desc", "By `sort`, from the highest down."
    ID = "id", "By id."
    ID_DESC = "id_desc", "By id, the last first."


class Orders(NamedTuple):
    """The orders of the lists of one kind: the default, and the annotation of the argument."""

    default: DescribedEnum
    annotation: Any

    def parse(self, word: str | None) -> Order:
        """Return the order that a word stands for.

        >>> UNIT_ORDERS.parse("name_desc")
        Order(field='name', is_descending=True)
        """
        word = word or self.default.value
        field = word.removesuffix(DESCENDING)
        return Order(None if field == "id" else field, word.endswith(DESCENDING))


UNIT_ORDERS = Orders(
    UnitOrder.ID,
    Annotated[
        UnitOrder | None,
        inputs.argument(
            "What units are sorted by, with `_desc` the last first: their `id`, their `name` (by"
            " code point, so 1001 comes before 101) or the time of their last change, and then"
            " their id.",
            example=UnitOrder.UPDATED_AT_DESC.value,
        ),
    ],
)
FLOOR_ORDERS = Orders(
    FloorOrder.SORT,
    Annotated[
        FloorOrder | None,
        inputs.argument(
            "What floors are sorted by, with `_desc` the last first: `sort`, which is from the"
            " lowest up, and then their id, or their `id` alone.",
            example=FloorOrder.SORT_DESC.value,
        ),
    ],
)


# Filters that lists of many kinds have: by ids, by words of the name, by the last change.


MAX_IDS = 1_000
MAX_SEARCH_CHARACTERS = 255
MAX_SEARCH_WORDS = 10
MAX_COUNTED_NAMES = 2_000
"""Counting the names with a word stops here: planning needs to know only the rarest words."""


@lru_cache(maxsize=256)  # parsed by the check of the input, then by the resolver
def parse_search(text: str) -> tuple[str, ...]:
    """Return the words of a search. Raises ValueError.

    >>> parse_search("Conf. 21"), parse_search("#")
    (('conf', '21'), ())
    """
    words = filters.split_words(text)
    if len(words) > MAX_SEARCH_WORDS:
        raise ValueError(f"must have at most {MAX_SEARCH_WORDS} words, not {len(words)}")
    return tuple(words)


IdsFilter: TypeAlias = Annotated[
    list[strawberry.ID] | None,
    inputs.argument(
        "Only those with these ids. Unknown ids are left out.",
        inputs.Items(0, MAX_IDS, "ids"),
        inputs.Each(inputs.ID),
        example=["ugwo2tfiznm"],
    ),
]
NameSearch: TypeAlias = Annotated[
    str | None,
    inputs.argument(
        "Only those with a name in which each of these words begins a word, in any order, without "
        f"regard to case and accents. At most {MAX_SEARCH_WORDS} words; signs are none, and a "
        "search without words finds nothing.",
        inputs.Length(1, MAX_SEARCH_CHARACTERS),
        inputs.NO_NUL,
        inputs.Syntax(parse_search),
        example="10",
    ),
]
UpdatedSince: TypeAlias = Annotated[
    DateTime | None,
    inputs.argument(
        "Only those created or changed at this time or later, in ISO 8601, to the second.",
        inputs.IS_TIME,
        example="2026-01-31T12:00:00+00:00",
    ),
]


class RecordFilter(NamedTuple):
    """The filters of one list; None for one that is not given."""

    ids: tuple[str, ...] | None = None
    words: tuple[str, ...] | None = None
    since: str | None = None

    def build_conditions(self) -> list[Document]:
        """Return the conditions, all of which must hold.

        >>> RecordFilter(ids=("a",), since="2026-01-31T12:00:00+00:00").build_conditions()
        [{'_id': {'$in': ['a']}}, {'updated_at': {'$gte': '2026-01-31T12:00:00+00:00'}}]
        """
        conditions: list[Document] = []
        if self.ids is not None:
            conditions.append({"_id": {"$in": [*self.ids]}})
        if self.words is not None:
            found = filters.build_name_condition(self.words) if self.words else NOTHING
            conditions.append(found)
        if self.since is not None:
            conditions.append({UPDATED_AT: {"$gte": self.since}})
        return conditions


async def build_filter(
    context: Context,
    kind: RecordType[Any],
    ids: Sequence[str] | None = None,
    search: str | None = None,
    updated_since: str | None = None,
) -> RecordFilter:
    """Return the filter that the arguments of a list stand for."""
    words = None if search is None else await _order_by_rarity(context, kind, parse_search(search))
    return RecordFilter(
        None if ids is None else tuple(sorted({*ids})),
        words,
        # Stored times have whole seconds.
        updated_since and parse_time(updated_since).replace(microsecond=0).isoformat(),
    )


def combine(conditions: Sequence[Document]) -> Document:
    """Return the condition that all conditions hold.

    >>> combine([]), combine([{"a": 1}])
    ({}, {'a': 1})
    """
    if len(conditions) < 2:
        return conditions[0] if conditions else {}
    return {"$and": [*conditions]}


@lru_cache(maxsize=256)
def narrow(relation: Relation[Any], filter: RecordFilter) -> Relation[Any]:
    """Return a relation with only the records that meet a filter.

    The same arguments give the same relation, so that the reads of siblings are batched.
    """
    conditions = filter.build_conditions()
    if not conditions:
        return relation
    return Relation(
        relation.kind,
        lambda *key: combine([relation.where(*key), *conditions]),
        relation.identity_length,
        base=relation,
    )


@cache
def _relate_to_words(kind: RecordType[Any]) -> Relation[Any]:
    return Relation(kind, lambda word: filters.build_name_condition((word,)))


async def _order_by_rarity(
    context: Context, kind: RecordType[Any], words: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the words, the rarest first: MongoDB looks up the first in the index."""
    if len(words) < 2:
        return words
    keys = [(word,) for word in words]
    counts = await context.count_lists(_relate_to_words(kind), keys, MAX_COUNTED_NAMES)
    return tuple(word for _, word in sorted(zip(counts, words, strict=True)))


MAX_JOINED_RECORDS = 100
"""Records on a page that is read with the record that has the list: of more, MongoDB takes longer
to join them than to read them."""
FindFirstPage: TypeAlias = Callable[..., FirstPage | None]
"""Takes what is read of documents, and the arguments of a list; returns the first page, or None if
they ask for something else."""
_FIRST_PAGE_ATTRIBUTE = "__first_page__"
NOT_FILTERS = frozenset({"info", "parent", "parents", "order_by"})


def paged(resolve: Callable[..., Awaitable[Any]], **annotations: Any) -> inputs.Resolver:
    """Return a resolver with the arguments of pages in place of its parameter `pages`.

    All other arguments are filters: a cursor is valid only for the same ones. `annotations`
    replace those of single arguments.
    """
    lists_documents = listed_kind_of(resolve) is not None
    signature = inspect.signature(resolve)

    @wraps(resolve)
    async def list_page(
        *positional: Any,
        page: int | None = None,
        per_page: int | None = None,
        after: str | None = None,
        first: int | None = None,
        **arguments: Any,
    ) -> Any:
        filters = tuple(
            sorted(
                (name, repr(value))
                for name, value in arguments.items()
                if value is not None and name not in NOT_FILTERS
            )
        )
        fields = (
            getattr(arguments.get("info"), "document_fields", None) if lists_documents else None
        )
        pages = inputs.PageArguments(page, per_page, after, first, filters, document_fields=fields)
        return await resolve(*positional, pages=pages, **arguments)

    parameters: list[Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name != "pages":
            parameters.append(parameter)
            continue
        parameters += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in {**inputs.PAGING_PARAMETERS, **annotations}.items()
        ]
    # strawberry and the checks of inputs read the arguments from here (PEP 362).
    list_page.__dict__["__signature__"] = inspect.Signature(
        [
            each if each.default is Parameter.empty else each.replace(kind=Parameter.KEYWORD_ONLY)
            for each in parameters
        ],
        return_annotation=signature.return_annotation,
    )
    return list_page


def list_resolver(
    relation: Relation[Any], description: str, *fields: str, orders: Orders | None = None
) -> inputs.Resolver:
    """Return the resolver of a page of the parent's list, with the filters that its kind allows.

    The values of the parent's `fields` (by default `id`) become the arguments of
    `relation.where`. With `orders`, clients may choose one; other lists are ordered by key.
    """
    get_key = attrgetter(*(fields or ("id",)))
    key_of = get_key if len(fields) > 1 else lambda parent: (get_key(parent),)

    async def list_records(
        parents: Sequence[Any],
        info: Info,
        pages: inputs.PageArguments,
        ids: IdsFilter = None,
        search: NameSearch = None,
        updated_since: UpdatedSince = None,
        order_by: str | None = None,
    ) -> list[Page[Any]]:
        keys = [*map(key_of, parents)]
        if orders is not None:
            pages = pages._replace(order=orders.parse(order_by))
        filter = await build_filter(info.context, relation.kind, ids, search, updated_since)
        return await info.context.load_pages(narrow(relation, filter), keys, pages)

    def find_first_page(
        document_fields: frozenset[str] | None,
        per_page: int | None = None,
        first: int | None = None,
        order_by: str | None = None,
        page: int | None = None,
        **others: Any,
    ) -> FirstPage | None:
        sizes = [each for each in (per_page, first) if each is not None]
        size = sizes[0] if sizes else inputs.DEFAULT_PER_PAGE
        is_first = page in (None, 1) and all(value is None for value in others.values())
        max_size = inputs.MAX_PER_PAGE if relation.is_short else MAX_JOINED_RECORDS
        if not is_first or not 1 <= size <= max_size:
            return None
        order = BY_KEY if orders is None else orders.parse(order_by)
        return FirstPage(relation, PageRequest(1, size, None, order, None, document_fields))

    if not fields:
        list_records.__dict__[_FIRST_PAGE_ATTRIBUTE] = find_first_page
    lists(relation.kind)(list_records)
    list_records.__doc__ = description
    unfit = _find_unfit_filters(relation.kind)
    _drop_parameters(list_records, unfit if orders else unfit | {"order_by"})
    return inputs.batch_resolver(paged(ordered(orders)(list_records) if orders else list_records))


def first_page_of(resolver: object) -> FindFirstPage | None:
    """Return the function that finds what a list resolver reads of one parent, if there is one."""
    return vars(inputs.batch_resolver_of(resolver) or resolver).get(_FIRST_PAGE_ATTRIBUTE)


def ordered(orders: Orders) -> Callable[[inputs.Resolver], inputs.Resolver]:
    """Give the parameter `order_by` of a resolver its words, their description and the default."""

    def declare(resolve: inputs.Resolver) -> inputs.Resolver:
        signature = inspect.signature(resolve)
        parameters = dict(signature.parameters)
        parameters["order_by"] = parameters["order_by"].replace(
            annotation=orders.annotation, default=orders.default
        )
        resolve.__dict__["__signature__"] = signature.replace(parameters=[*parameters.values()])
        return resolve

    return declare


def _find_unfit_filters(kind: RecordType[Any]) -> set[str]:
    """Return the filters that records of a kind cannot have."""
    unfit = set()
    if NAME_WORDS_FIELD not in kind.derived_fields:
        unfit |= {"ids", "search"}
    if UPDATED_AT not in kind.stored_fields:
        unfit.add("updated_since")
    return unfit


def _drop_parameters(resolver: inputs.Resolver, names: set[str]) -> None:
    """Hide optional parameters from strawberry, which reads a field's arguments from them."""
    signature = inspect.signature(resolver)
    kept = [each for name, each in signature.parameters.items() if name not in names]
    resolver.__dict__["__signature__"] = signature.replace(parameters=kept)


@inputs.batch_resolver
async def count_total(parents: Sequence[Page[Any]], info: Info) -> list[int | None]:
    return await info.context.count_pages(parents)


count_total.__doc__ = f"""Get the number of records in the whole list, at most {MAX_TOTAL_COUNT}.

Longer lists count as {MAX_TOTAL_COUNT}. Records are counted only if this field is selected.
"""
