"""Locations on a map, filtered by their tags."""

from collections.abc import Sequence
from typing import TypeAlias

import strawberry

from resolvers.request.arguments import validate_id
from resolvers.request.batching import batch_resolver
from resolvers.request.context import Context, Info, Relation
from resolvers.request.errors import InvalidInputError
from storage.floors import FLOORS, Floor
from storage.locations import LOCATIONS, Location, LocationFloor
from storage.maps import MAPS, Map
from storage.records import location_filter
from storage.records.kinds import Document
from storage.records.location_filter import InvalidTermError
from storage.records.paging import Page
from storage.units import UNITS, Unit

Words: TypeAlias = tuple[str, ...]

MAX_FILTER_CHARACTERS = 2048
MAX_COUNTED_RECORDS = 2_000
"""How far words are counted to find the rarest."""
UNIT_ID_TAG = "svc:id"
"""The tag whose value is the id of the unit that a location stands for."""


def _on_map_condition(map_id: str, wanted: Words = (), unwanted: Words = ()) -> Document:
    where: Document = {"unit_map_id": map_id}
    return (
        where | location_filter.build_condition(wanted, unwanted) if wanted or unwanted else where
    )


def _of_unit_condition(unit_id: str, asset_id: str, map_id: str) -> Document:
    where: Document = {
        "asset_id": asset_id,
        "words": location_filter.index_word(UNIT_ID_TAG, unit_id),
        # Words are alike but for case; ids are not.
        "tags": {"$elemMatch": {"key": UNIT_ID_TAG, "value": {"$eq": unit_id}}},
    }
    return where | {"unit_map_id": map_id} if map_id else where


LOCATIONS_ON_MAP = Relation(LOCATIONS, _on_map_condition)
LOCATIONS_OF_UNIT = Relation(LOCATIONS, _of_unit_condition)


@batch_resolver
async def list_locations_on_map(
    parents: Sequence[Map],
    info: Info,
    page: int | None = 1,
    per_page: int | None = 100,
    after: str | None = None,
    tags: str | None = None,
) -> list[Page[Location]]:
    """The locations on a map whose tags meet every term, such as `svc:amenity==yes,-amenity`."""
    sought = await _build_filters(info.context, [parent.id for parent in parents], tags)
    return await info.context.load_pages(LOCATIONS_ON_MAP, sought, page, per_page, after)


async def find_matching_ids(
    context: Context, map_id: str, tags: str | None, limit: int
) -> list[str]:
    """The ids of up to `most` locations on a map whose tags meet every term."""
    [sought] = await _build_filters(context, [map_id], tags)
    return await context.list_keys(LOCATIONS, _on_map_condition(*sought), limit)


@batch_resolver
async def location_of_unit(
    parents: Sequence[Unit], info: Info, map: strawberry.ID | None = None
) -> list[Location | None]:
    """Where a unit is: on one map, or on the first of its maps that says so."""
    map_id = "" if map is None else validate_id("map", map)
    keys = [(parent.id, parent.asset_id, map_id) for parent in parents]
    pages = await info.context.load_pages(LOCATIONS_OF_UNIT, keys, 1, 1, None)
    return [page.data[0] if page.data else None for page in pages]


@batch_resolver
async def map_of_location(parents: Sequence[Location], info: Info) -> list[Map | None]:
    """The map that a location is on."""
    return await info.context.load_aligned(MAPS, [parent.unit_map_id for parent in parents])


@batch_resolver
async def unit_of_location(parents: Sequence[Location], info: Info) -> list[Unit | None]:
    """The unit that a location stands for, if it does."""
    return await info.context.load_aligned(UNITS, [*map(unit_id_of, parents)])


@batch_resolver
async def floor_of_location(parents: Sequence[LocationFloor], info: Info) -> list[Floor | None]:
    """The floor itself."""
    return await info.context.load_aligned(FLOORS, [parent.id for parent in parents])


def unit_id_of(location: Location) -> str | None:
    """Return the id of the unit that a location stands for."""
    return next((tag.value for tag in location.tags if tag.key == UNIT_ID_TAG), None)


async def _build_filters(
    context: Context, map_ids: Sequence[str], tags: str | None
) -> list[tuple[str, Words, Words]]:
    wanted, unwanted = ((), ()) if tags is None else parse_terms(tags)
    ordered = await _order_by_rarity(context, map_ids, wanted)
    return [(map_id, words, unwanted) for map_id, words in zip(map_ids, ordered, strict=True)]


async def _order_by_rarity(context: Context, map_ids: Sequence[str], words: Words) -> list[Words]:
    """The words in the best order for each map."""
    if len(words) < 2:
        return [words] * len(map_ids)
    sought = [(map_id, (word,)) for map_id in map_ids for word in words]
    counts = iter(await context.count_lists(LOCATIONS_ON_MAP, sought, MAX_COUNTED_RECORDS))
    return [
        tuple(word for _, word in sorted((next(counts), word) for word in words)) for _ in map_ids
    ]


def parse_terms(tags: str) -> tuple[Words, Words]:
    """The words that a location must have, and those that it must not. Raises InvalidInput."""
    if len(tags) > MAX_FILTER_CHARACTERS:
        raise InvalidInputError(
            tags=f"must have at most {MAX_FILTER_CHARACTERS} characters, not {len(tags)}"
        )
    try:
        parsed = location_filter.parse_filter(tags)
    except InvalidTermError as error:
        raise InvalidInputError(tags=str(error)) from error
    wanted = sorted({term.indexed_word for term in parsed if not term.negated})
    unwanted = sorted({term.indexed_word for term in parsed if term.negated})
    return tuple(wanted), tuple(unwanted)
