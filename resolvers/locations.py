"""Locations on a map, filtered by their tags."""

import asyncio
from typing import TypeAlias

import strawberry

from resolvers.arguments import checked_id
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


async def of_map(
    parent: strawberry.Parent[Map],
    info: Info,
    page: int | None = 1,
    per_page: int | None = 100,
    after: str | None = None,
    tags: str | None = None,
) -> Page[Location]:
    """The locations on a map whose tags meet every term, such as `svc:amenity==yes,-amenity`."""
    wanted, unwanted = ((), ()) if tags is None else checked_terms(tags)
    if len(wanted) > 1:
        wanted = await _rarest_first(info.context, parent.id, wanted)
    return await info.context.listed(ON_MAP, (parent.id, wanted, unwanted), page, per_page, after)


async def matching(context: Context, map_id: str, tags: str | None, most: int) -> list[str]:
    """The ids of up to `most` locations on a map whose tags meet every term."""
    wanted, unwanted = await _sought(context, map_id, tags)
    return await context.keys(LOCATIONS, _on_map(map_id, wanted, unwanted), most)


async def of_unit(
    parent: strawberry.Parent[Unit], info: Info, map: strawberry.ID | None = None
) -> Location | None:
    """Where a unit is: on one map, or on the first of its maps that says so."""
    map_id = "" if map is None else checked_id("map", map)
    found = await info.context.listed(OF_UNIT, (parent.id, parent.asset_id, map_id), 1, 1, None)
    return found.data[0] if found.data else None


async def map_of(parent: strawberry.Parent[Location], info: Info) -> Map | None:
    """The map that a location is on."""
    return await info.context.one(MAPS, parent.unit_map_id)


async def unit_of(parent: strawberry.Parent[Location], info: Info) -> Unit | None:
    """The unit that a location stands for, if it does."""
    ids = [tag.value for tag in parent.tags if tag.key == UNIT_ID]
    return await info.context.one(UNITS, ids[0]) if ids else None


async def floor_of(parent: strawberry.Parent[LocationFloor], info: Info) -> Floor | None:
    """The floor itself."""
    return await info.context.one(FLOORS, parent.id)


async def _sought(context: Context, map_id: str, tags: str | None) -> tuple[Words, Words]:
    wanted, unwanted = ((), ()) if tags is None else checked_terms(tags)
    if len(wanted) > 1:
        wanted = await _rarest_first(context, map_id, wanted)
    return wanted, unwanted


async def _rarest_first(context: Context, map_id: str, words: Words) -> Words:
    counts = await asyncio.gather(
        *(context.count(ON_MAP, (map_id, (word,)), ENOUGH_TO_COUNT) for word in words)
    )
    return tuple(word for _, word in sorted(zip(counts, words, strict=True)))


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
