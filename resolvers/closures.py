"""Resolvers of what is closed on a map, and of what can be closed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple, TypeAlias

import strawberry

from resolvers.maps import MapId
from resolvers.networks.closable import (
    PARTS,
    list_closable,
    list_closable_ids,
    list_parts,
    name_units,
)
from resolvers.networks.closable import Closable as Closable
from resolvers.networks.routable_maps import RoutableMap
from resolvers.request.context import Context, Info
from resolvers.request.errors import MAX_QUOTED_CHARACTERS, InvalidInputError, NotFoundError
from resolvers.request.inputs import ID, Each, Items, PageArguments, argument
from resolvers.request.listing import batch_resolver, paged
from resolvers.request.map_loads import load_archive, load_closures, load_whole_map, prepare_routes
from resolvers.request.threads import run_in_thread
from storage import closures
from storage.catalog import MAPS, Map
from storage.closures import Closures as Closures
from storage.closures import name_some
from storage.errors import NetworkOutdatedError
from storage.networks import find_network_digest
from storage.records.paging import Page

MAX_CLOSED = 500
"""Of each part of a map."""
MAX_ATTEMPTS = 3
"""Of closing parts of a map that is processed again each time meanwhile."""
_LENGTH = Items(0, MAX_CLOSED, "ids")

ClosedConnectors: TypeAlias = Annotated[
    list[strawberry.ID] | None,
    argument(
        "Ids of all connectors that are closed; by default none is.",
        _LENGTH,
        Each(ID),
        example=["alder-court-floor-1#27"],
    ),
]
ClosedDoors: TypeAlias = Annotated[
    list[strawberry.ID] | None,
    argument(
        "Ids of all doors that are closed; by default none is.", _LENGTH, Each(ID), example=[]
    ),
]
ClosedSpaces: TypeAlias = Annotated[
    list[strawberry.ID] | None,
    argument(
        "Ids of all spaces that are closed; by default none is.",
        _LENGTH,
        Each(ID),
        example=["alder-court-floor-1#15"],
    ),
]


@batch_resolver
async def load_closures_of_map(parents: Sequence[Map], info: Info) -> list[Closures]:
    """Get the connectors, doors and spaces that are closed, which no route uses."""
    return await load_closures(info.context, [parent.id for parent in parents])


@paged
async def list_closable_on_map(
    parent: strawberry.Parent[Map],
    info: Info,
    pages: PageArguments,
) -> Page[Closable]:
    """List the connectors, doors and spaces that can be closed, closed ones included.

    A map that is not routable has none.
    """
    list_id = ("closable", parent.id)
    request = pages.parse_for_list(list_id)
    routable = await load_whole_map(info.context, parent.id)
    found: list[Closable] = []
    if routable is not None:
        scale = parent.feet_per_unit or 1.0
        found = await run_in_thread(list_closable, routable.router, scale)
        info.context.budget.count_cost(len(found))  # whichever page is returned
    page = request.cut_page(found, _key_of).of_list(list_id, len(found))
    info.context.budget.count_read(len(page.data))
    return replace(page, data=await name_units(info.context, parent, page.data))


def _key_of(item: Closable) -> str:
    return f"{item.part} {item.part_id}"


class ChangedClosures(NamedTuple):
    """What is closed on a map from now on."""

    map_id: str
    closures: Closures


async def set_closures(
    info: Info,
    map: MapId,
    connectors: ClosedConnectors = None,
    doors: ClosedDoors = None,
    spaces: ClosedSpaces = None,
) -> ChangedClosures:
    """Close these connectors, doors and spaces of a map, and open all others.

    Routes and distances use none of them from now on. What is closed already may be named even if
    the map, processed again, no longer has it.
    """
    wanted = Closures.of(connectors=connectors or [], doors=doors or [], spaces=spaces or [])
    written = await change_closures(info.context, map, lambda _: wanted)
    await prepare_routes(info.context, map)
    return ChangedClosures(map, written)


async def change_closures(
    context: Context, map_id: str, edit: Callable[[Closures], Closures]
) -> Closures:
    """Replace what is closed on a map by what `edit` makes of it, and return that.

    Raises NotFoundError, InvalidInputError.
    """
    for attempt in range(MAX_ATTEMPTS):
        try:
            return await _change_closures(context, map_id, edit)
        except NetworkOutdatedError:  # published since it was loaded
            if attempt == MAX_ATTEMPTS - 1:
                raise
    raise AssertionError


async def _change_closures(
    context: Context, map_id: str, edit: Callable[[Closures], Closures]
) -> Closures:
    store, scope = context.bypass_caches(), context.caller.scope
    unit_map = await store.find_record(MAPS, scope, {"_id": map_id})
    if unit_map is None:
        raise NotFoundError
    digest = await find_network_digest(store.database, scope, map_id)
    routable = await load_archive(context, digest, map_id) if digest else None
    scale = unit_map.feet_per_unit or 1.0
    parts = await run_in_thread(list_parts, routable.router, scale) if routable else []

    def change(before: Closures) -> Closures:
        after = edit(before)
        _check_closures(map_id, routable, before, after)
        return after

    written = await closures.set_closures(
        store.database, map_id, change, context.origin, context.bind_precondition(), parts, digest
    )
    if written is None:
        raise NotFoundError
    return written


def _check_closures(
    map_id: str, routable: RoutableMap | None, before: Closures, after: Closures
) -> None:
    """Raise InvalidInputError that names everything that the map does not have."""
    added = {name: {*getattr(after, name)} - {*getattr(before, name)} for name in PARTS}
    if not any(added.values()):
        return
    if routable is None:
        raise InvalidInputError(map=f"{map_id!r} has not been processed for pathfinding")
    known = list_closable_ids(routable.router)
    errors = {
        name: _describe_unknown(name, sorted(unknown), known)
        for name, part in PARTS.items()
        if (unknown := added[name] - known[part])
    }
    for name in PARTS.keys() - errors.keys():
        if error := _LENGTH.check(getattr(after, name)):
            errors[name] = error
    if errors:
        raise InvalidInputError(**errors)


def _describe_unknown(name: str, unknown: list[str], known: dict[str, set[str]]) -> str:
    named = name_some([_describe_id(key, known) for key in unknown])
    return f"must be {name} in the map's list `closable`, not {named}"


def _describe_id(key: str, known: dict[str, set[str]]) -> str:
    part = next((part for part, ids in known.items() if key in ids), None)
    return repr(key[:MAX_QUOTED_CHARACTERS]) + (f", which is a {part}" if part else "")
