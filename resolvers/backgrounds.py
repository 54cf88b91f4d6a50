"""Backgrounds of a map."""

import strawberry

from resolvers.arguments import checked_id
from resolvers.context import Info, Relation
from resolvers.listing import listing
from storage.backgrounds import BACKGROUNDS, Background
from storage.maps import Map

OF_MAP = Relation(BACKGROUNDS, lambda map_id: {"unit_map_id": map_id})


of_map = listing(OF_MAP, "The backgrounds of a map.")


async def one_of_map(
    parent: strawberry.Parent[Map], info: Info, id: strawberry.ID
) -> Background | None:
    """One background of a map."""
    background = await info.context.one(BACKGROUNDS, checked_id("id", id))
    return background if background and background.unit_map_id == parent.id else None


async def chosen(parent: strawberry.Parent[Map], info: Info) -> Background | None:
    """The background that a map is shown with."""
    if parent.background_id is None:
        return None
    return await info.context.one(BACKGROUNDS, parent.background_id)
