"""Resolvers of the locations on a map, filtered by their tags."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, TypeAlias

import strawberry

from resolvers.request import listing
from resolvers.request.context import Context, Info, Relation, record_getter, record_loader
from resolvers.request.inputs import ID, Length, PageArguments, Syntax, argument, batch_resolver
from storage import catalog
from storage.records import filters
from storage.records.kinds import Document
from storage.records.paging import Page

Words: TypeAlias = tuple[str, ...]

MAX_FILTER_CHARACTERS = 2048
MAX_COUNTED_RECORDS = 2_000
"""Counting the locations of a word stops here: only the rarest words matter to a plan."""
_UNIT_WORD = filters.index_word(catalog.UNIT_ID_TAG)


@lru_cache(maxsize=256)  # parsed by the check of the input, then by the resolver
def parse_terms(tags: str) -> tuple[Words, Words]:
    """Return the words that a location must have, and those that it must not have.

    Raises InvalidTermError.

    >>> parse_terms("svc:amenity,-amenity")
    (('svc:amenity',), ('amenity',))
    """
    terms = filters.parse_filter(tags)
    wanted = sorted({term.indexed_word for term in terms if not term.negated})
    unwanted = sorted({term.indexed_word for term in terms if term.negated})
    return tuple(wanted), tuple(unwanted)


LocationTags: TypeAlias = Annotated[
    str | None,
    argument(
        "Terms separated by commas, all of which must hold: `key` (has a tag with this key), "
        "`-key` (has none), `key==value`, `-key==value`. Keys and values match exactly, except "
        "for case; `\\,` `\\=` `\\-` `\\\\` stand for the characters themselves. "
        f"At most {filters.MAX_TERMS} terms.",
        Length(0, MAX_FILTER_CHARACTERS),
        Syntax(parse_terms, filters.FILTER_PATTERN),
        example="svc:type==unit,-amenity",
    ),
]


def _on_map_condition(map_id: str, wanted: Words = (), unwanted: Words = ()) -> Document:
    where: Document = {"unit_map_id": map_id}
    return where | filters.build_tag_condition(wanted, unwanted) if wanted or unwanted else where


def _of_unit_condition(unit_id: str, asset_id: str, map_id: str) -> Document:
    where: Document = {
        "asset_id": asset_id,
        "words": filters.index_word(catalog.UNIT_ID_TAG, unit_id),
        # Indexed words ignore case; ids do not.
        "tags": {"$elemMatch": {"key": catalog.UNIT_ID_TAG, "value": {"$eq": unit_id}}},
    }
    return where | {"unit_map_id": map_id} if map_id else where


LOCATIONS_ON_MAP = Relation(catalog.LOCATIONS, _on_map_condition)
LOCATIONS_OF_UNIT = Relation(catalog.LOCATIONS, _of_unit_condition)


LocationId: TypeAlias = Annotated[
    strawberry.ID, argument("Id of the location.", ID, example="l4xusy2pgwt")
]
get_location = record_getter(catalog.LOCATIONS, LocationId, "Get a location.")
load_map_of_location = record_loader(
    catalog.MAPS, "unit_map_id", "Get the map that a location is on."
)
load_floor_of_location = record_loader(catalog.FLOORS, "id", "Get the floor itself.")


@batch_resolver
@listing.paged
@listing.lists(catalog.LOCATIONS)
async def list_locations_on_map(
    parents: Sequence[catalog.Map],
    info: Info,
    pages: PageArguments,
    tags: LocationTags = None,
    ids: listing.IdsFilter = None,
    search: listing.NameSearch = None,
    updated_since: listing.UpdatedSince = None,
) -> list[Page[catalog.Location]]:
    """List the locations on a map, or those of them that meet all filters."""
    keys = await _build_filters(info.context, [parent.id for parent in parents], tags)
    filter = await listing.build_filter(info.context, catalog.LOCATIONS, ids, search, updated_since)
    relation = listing.narrow(LOCATIONS_ON_MAP, filter)
    return await info.context.load_pages(relation, keys, pages)


async def find_matching_ids(
    context: Context, map_id: str, tags: str | None, limit: int, *, of_units: bool = False
) -> list[str]:
    """Return the ids of up to `limit` locations on a map with tags that meet every term.

    With `of_units` only those that stand for units.
    """
    [key] = await _build_filters(context, [map_id], tags, (_UNIT_WORD,) if of_units else ())
    return await context.list_ids(catalog.LOCATIONS, _on_map_condition(*key), limit)


@batch_resolver
async def load_location_of_unit(
    parents: Sequence[catalog.Unit],
    info: Info,
    map: Annotated[strawberry.ID | None, argument("Only on the map with this id.", ID)] = None,
) -> list[catalog.Location | None]:
    """Get the location that stands for a unit: on one map, or the first on any map."""
    return await load_locations_of_units(info.context, parents, map)


@batch_resolver
async def get_tag_of_location(
    parents: Sequence[catalog.Location],
    info: Info,
    key: Annotated[
        str,
        argument("Key of the tag, without regard to case.", Length(1, 255), example="svc:type"),
    ],
) -> list[str | None]:
    """Get the value of the first tag with a key, or null."""
    wanted = key.casefold()
    return [
        next((tag.value for tag in parent.tags if tag.key.casefold() == wanted), None)
        for parent in parents
    ]


async def load_locations_of_units(
    context: Context, units: Sequence[catalog.Unit], map_id: str | None
) -> list[catalog.Location | None]:
    """Return the location that stands for each unit: on one map, or the first on any map.

    In the place of a damaged record is the exception that reading it raised.
    """
    keys = [(unit.id, unit.asset_id, map_id or "") for unit in units]
    pages = await context.load_pages(LOCATIONS_OF_UNIT, keys, PageArguments(1, 1))
    return [page.data[0] if page.data else None for page in pages]


def get_unit_id(location: catalog.Location) -> str | None:
    """Return the id of the unit that a location stands for."""
    return next((tag.value for tag in location.tags if tag.key == catalog.UNIT_ID_TAG), None)


load_unit_of_location = record_loader(
    catalog.UNITS, get_unit_id, "Get the unit that a location stands for, or null."
)


async def _build_filters(
    context: Context, map_ids: Sequence[str], tags: str | None, more: Words = ()
) -> list[tuple[str, Words, Words]]:
    """Return conditions for each map: that `tags` hold and that there are `more` words."""
    wanted, unwanted = ((), ()) if tags is None else parse_terms(tags)
    ordered = await _order_by_rarity(context, map_ids, tuple({*wanted, *more}))
    return [(map_id, words, unwanted) for map_id, words in zip(map_ids, ordered, strict=True)]


async def _order_by_rarity(context: Context, map_ids: Sequence[str], words: Words) -> list[Words]:
    """Return the words for each map, the rarest first: MongoDB looks up the first in the index."""
    if len(words) < 2:
        return [words] * len(map_ids)
    keys = [(map_id, (word,)) for map_id in map_ids for word in words]
    counts = iter(await context.count_lists(LOCATIONS_ON_MAP, keys, MAX_COUNTED_RECORDS))
    return [
        tuple(word for _, word in sorted((next(counts), word) for word in words)) for _ in map_ids
    ]
