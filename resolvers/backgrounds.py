"""Resolvers of the backgrounds of a map."""

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import strawberry

from resolvers.request.context import Info, Relation
from resolvers.request.inputs import ID, argument
from resolvers.request.listing import batch_resolver, list_resolver
from storage.catalog import BACKGROUNDS, Background, Map

BackgroundId: TypeAlias = Annotated[
    strawberry.ID, argument("Id of the background.", ID, example="alder-court-daylight")
]

BACKGROUNDS_OF_MAP = Relation(BACKGROUNDS, lambda map_id: {"unit_map_id": map_id})


list_backgrounds_of_map = list_resolver(BACKGROUNDS_OF_MAP, "List the backgrounds of a map.")


async def get_background(info: Info, id: BackgroundId) -> Background | None:
    """Get a background."""
    return await info.context.get_record(BACKGROUNDS, id)


@batch_resolver
async def get_background_of_map(
    parents: Sequence[Map], info: Info, id: BackgroundId
) -> list[Background | None]:
    """Get a background of a map."""
    background = await info.context.get_record(BACKGROUNDS, id)
    return [
        background if background and background.unit_map_id == parent.id else None
        for parent in parents
    ]


@batch_resolver
async def load_chosen_background_of_map(
    parents: Sequence[Map], info: Info
) -> list[Background | None]:
    """Get the background that a map is shown with."""
    return await info.context.load_in_order(
        BACKGROUNDS, [parent.background_id for parent in parents]
    )
