"""Locations on a map, filtered by their tags."""

from collections.abc import Sequence
from typing import TypeAlias

import strawberry

from resolvers.arguments import checked_id
from resolvers.batching import batched
from resolvers.context import Context, Info, Relation
from resolvers.errors import InvalidInput
from storage import terms
from storage.floors import FLOORS, Floor
from storage.kinds import Document
from storage.locations import LOCATIONS, Location, LocationFloor
from storage.maps import MAPS, Map
from storage.paging import Page
from storage.terms import InvalidTerm
from storage.units import UNITS, Unit

Words: TypeAlias = tuple[str, ...]

MOST_FILTER_CHARACTERS = 2048
ENOUGH_TO_COUNT = 2_000
"""How far words are counted to find the rarest."""
UNIT_ID = "svc:id"
"""The tag whose value is the id of the unit that a location stands for."""


def _on_map(map_id: str, wanted: Words = (), unwanted: Words = ()) -> Document:
    where: Document = {"unit_map_id": map_id}
    return where | terms.condition(wanted, unwanted) if wanted or unwanted else where


def _of_unit(unit_id: str, asset_id: str, map_id: str) -> Document:
    where: Document = {
        "asset_id": asset_id,
        "words": terms.word(UNIT_ID, unit_id),
        # Words are alike but for case; ids are not.
        "tags": {"$elemMatch": {"key": UNIT_ID, "value": {"$eq": unit_id}}},
    }
    return where | {"unit_map_id": map_id} if map_id else where


ON_MAP = Relation(LOCATIONS, _on_map)
OF_UNIT = Relation(LOCATIONS, _of_unit)


@batched
async def of_map(
    parents: Sequence[Map],
    info: Info,
    page: int | None = 1,
    per_page: int | None = 100,
    after: str | None = None,
    tags: str | None = None,
) -> list[Page[Location]]:
    """The locations on a map whose tags meet every term, such as `svc:amenity==yes,-amenity`."""
    sought = await _sought(info.context, [parent.id for parent in parents], tags)
    return await info.context.lists(ON_MAP, sought, page, per_page, after)


async def matching(context: Context, map_id: str, tags: str | None, most: int) -> list[str]:
    """The ids of up to `most` locations on a map whose tags meet every term."""
    [sought] = await _sought(context, [map_id], tags)
    return await context.keys(LOCATIONS, _on_map(*sought), most)


@batched
async def of_unit(
    parents: Sequence[Unit], info: Info, map: strawberry.ID | None = None
) -> list[Location | None]:
    """Where a unit is: on one map, or on the first of its maps that says so."""
    map_id = "" if map is None else checked_id("map", map)
    keys = [(parent.id, parent.asset_id, map_id) for parent in parents]
    pages = await info.context.lists(OF_UNIT, keys, 1, 1, None)
    return [page.data[0] if page.data else None for page in pages]


@batched
async def map_of(parents: Sequence[Location], info: Info) -> list[Map | None]:
    """The map that a location is on."""
    return await info.context.each(MAPS, [parent.unit_map_id for parent in parents])


@batched
async def unit_of(parents: Sequence[Location], info: Info) -> list[Unit | None]:
    """The unit that a location stands for, if it does."""
    return await info.context.each(UNITS, [*map(_unit_id, parents)])


@batched
async def floor_of(parents: Sequence[LocationFloor], info: Info) -> list[Floor | None]:
    """The floor itself."""
    return await info.context.each(FLOORS, [parent.id for parent in parents])


def _unit_id(location: Location) -> str | None:
    return next((tag.value for tag in location.tags if tag.key == UNIT_ID), None)


async def _sought(
    context: Context, map_ids: Sequence[str], tags: str | None
) -> list[tuple[str, Words, Words]]:
    wanted, unwanted = ((), ()) if tags is None else checked_terms(tags)
    ordered = await _rarest_first(context, map_ids, wanted)
    return [(map_id, words, unwanted) for map_id, words in zip(map_ids, ordered, strict=True)]


async def _rarest_first(context: Context, map_ids: Sequence[str], words: Words) -> list[Words]:
    """The words in the best order for each map."""
    if len(words) < 2:
        return [words] * len(map_ids)
    sought = [(map_id, (word,)) for map_id in map_ids for word in words]
    counts = iter(await context.counts(ON_MAP, sought, ENOUGH_TO_COUNT))
    return [
        tuple(word for _, word in sorted((next(counts), word) for word in words)) for _ in map_ids
    ]


def checked_terms(tags: str) -> tuple[Words, Words]:
    """The words that a location must have, and those that it must not. Raises InvalidInput."""
    if len(tags) > MOST_FILTER_CHARACTERS:
        raise InvalidInput(
            tags=f"must have at most {MOST_FILTER_CHARACTERS} characters, not {len(tags)}"
        )
    try:
        parsed = terms.parse(tags)
    except InvalidTerm as error:
        raise InvalidInput(tags=str(error)) from error
    wanted = sorted({term.word for term in parsed if not term.negated})
    unwanted = sorted({term.word for term in parsed if term.negated})
    return tuple(wanted), tuple(unwanted)
