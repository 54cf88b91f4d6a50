"""Backgrounds of a map."""

from collections.abc import Sequence

import strawberry

from resolvers.arguments import checked_id
from resolvers.batching import batched
from resolvers.context import Info, Relation
from resolvers.listing import listing
from storage.backgrounds import BACKGROUNDS, Background
from storage.maps import Map

OF_MAP = Relation(BACKGROUNDS, lambda map_id: {"unit_map_id": map_id})


of_map = listing(OF_MAP, "The backgrounds of a map.")


@batched
async def one_of_map(
    parents: Sequence[Map], info: Info, id: strawberry.ID
) -> list[Background | None]:
    """One background of a map."""
    found = await info.context.one(BACKGROUNDS, checked_id("id", id))
    return [found if found and found.unit_map_id == parent.id else None for parent in parents]


@batched
async def chosen(parents: Sequence[Map], info: Info) -> list[Background | None]:
    """The background that a map is shown with."""
    return await info.context.each(BACKGROUNDS, [parent.background_id for parent in parents])
