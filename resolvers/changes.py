"""Resolvers of changes and removals, for clients that mirror the catalog.

Changes are what was created, updated and removed since a cursor; removals list records that are
gone by the time of their end.
"""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC
from typing import Annotated, Any, NamedTuple, TypeAlias

import strawberry

from resolvers.nodes import build_node_id, load_nodes
from resolvers.request import caller, inputs
from resolvers.request.caller import Caller, Requirement, describe_kinds, requirement_of_kind
from resolvers.request.context import Context, Info, record_loader
from resolvers.request.errors import ChangesExpiredError
from resolvers.request.inputs import Resolver, batch_resolver
from resolvers.request.kinds import DescribedEnum, RecordKind, find_word, graphql_enum
from resolvers.request.listing import paged
from resolvers.request.times import DateTime, parse_time
from storage import errors
from storage.catalog import ASSETS, FLOORS, LOCATIONS, MAPS, UNITS
from storage.changes.events import CURSOR_CHARACTERS, CURSOR_PATTERN, ChangeCursor, ChangeEvent
from storage.changes.hub import ChangeHub
from storage.errors import UnavailableCause, UnavailableError
from storage.records.kinds import Document, RecordType, format_key
from storage.records.paging import Page
from storage.tombstones import (
    OVERLAP_MINUTES,
    TOMBSTONE_DAYS,
    TOMBSTONES,
    Tombstone,
    first_id_at,
)

MAX_CHANGES = 1_000
LONGEST_RECORD_ID_CHARACTERS = 5_000
"""Three ids of 255 characters in a JSON array, where one takes up to six."""
DEFAULT_CHANGES = 100
PROGRESS_SECONDS = 60.0
"""Between two cursors for a follower without a change."""


@graphql_enum
class ChangeOperation(DescribedEnum):
    """What has happened to a record, or to all of a kind."""

    CREATED = "created", "The record is new."
    UPDATED = "updated", "The record has changed."
    REMOVED = "removed", "The record is gone."
    RESET = (
        "reset",
        "All records of the kind, or of all kinds if it is null, may be others: copy them again.",
    )
    PROGRESS = "progress", "Nothing has changed but the cursor."


_KINDS = tuple(kind.value for kind in RecordKind)

After: TypeAlias = Annotated[
    str | None,
    inputs.argument(
        "Only what comes after the change with this `cursor`.",
        inputs.Syntax(ChangeCursor.parse, CURSOR_PATTERN),
        inputs.Length(CURSOR_CHARACTERS, CURSOR_CHARACTERS),
    ),
]
Kinds: TypeAlias = Annotated[
    list[RecordKind] | None,
    inputs.argument(
        "Only changes of these kinds of records. By default, of all kinds that the key may read "
        f"with the request's flags. {describe_kinds()}",
        inputs.Items(1, len(_KINDS), "kinds"),
        inputs.Each(inputs.OneOf(*_KINDS)),
        example=["units"],
    ),
]


class Change(NamedTuple):
    """A change of a record."""

    cursor: Annotated[str, "Where to continue: pass it as `after`."]
    operation: Annotated[
        str,
        "`created`, `updated` or `removed`. After `reset`, all records of the kind, or of all kinds"
        " if it is null, may be others: copy them again. After `progress`, nothing has changed but"
        " the cursor.",
    ]
    kind: Annotated[str | None, "The kind of record, such as `units`."]
    record_id: Annotated[
        str | None,
        "The record's id; of kinds with several identifying fields, these with slashes between "
        "them, or as a JSON array. Null after a `reset` or `progress`.",
        inputs.Length(1, LONGEST_RECORD_ID_CHARACTERS),
    ]
    asset_id: Annotated[
        str | None,
        "The asset that it belongs to; null for attribute groups and after `reset` or `progress`.",
    ]
    at: Annotated[DateTime, "When, to the second."]


class ChangeBatch(NamedTuple):
    """Changes in the order in which they were made."""

    data: Annotated[list[Change], "The changes, the first one first.", inputs.Items(0, MAX_CHANGES)]
    cursor: Annotated[str, "Where to continue: pass it as `after`."]
    has_more: Annotated[bool, "Whether to ask again at once, even without data. Else ask later."]


async def list_changes(
    info: Info,
    after: After = None,
    limit: Annotated[
        int | None,
        inputs.argument(
            "How many changes to return at most.", inputs.Range(1, MAX_CHANGES), example=100
        ),
    ] = DEFAULT_CHANGES,
    asset: inputs.AssetFilter = None,
    kinds: Kinds = None,
) -> ChangeBatch:
    """List what has changed since a cursor, of what the API key sees.

    Without `after` there are no changes, only the cursor from which to follow: get it first, and
    then copy the directory. Changes are listed as long as MongoDB keeps them, a day or more on most
    servers; an older cursor is answered with CHANGES_EXPIRED. A change may be listed twice.
    """
    shows = _build_filter(info.context.caller, asset, kinds)
    hub = _get_hub(info.context)
    if after is None:
        return ChangeBatch([], str(await hub.get_cursor()), has_more=False)
    limit = DEFAULT_CHANGES if limit is None else limit
    try:
        stretch, cursor = await hub.read(ChangeCursor.parse(after), limit, shows)
    except errors.ChangesExpiredError as error:
        raise ChangesExpiredError from error
    info.context.budget.count_read(len(stretch.events))
    data = [_to_change(event, cursor.epoch) for event in stretch.events]
    return ChangeBatch(data, str(cursor), stretch.has_more)


async def follow_changes(
    info: Info,
    after: After = None,
    asset: inputs.AssetFilter = None,
    kinds: Kinds = None,
    progress: Annotated[
        bool | None,
        inputs.argument(
            "Also tell, about once a minute while there is no such change, how far the follower is:"
            " `operation` is `progress`, and `cursor` a new one. The cursor of a change that was"
            " long ago may be too old to continue."
        ),
    ] = False,
) -> AsyncGenerator[Change]:
    """Follow what changes from now on, or since a cursor, of what the API key sees.

    The stream ends when the key is revoked, expires, or may see or do something else: follow from
    the last `cursor` with another key. A cursor from before MongoDB's oldest changes is answered
    with CHANGES_EXPIRED. A change may be reported twice.
    """
    shows = _build_filter(info.context.caller, asset, kinds)
    hub = _get_hub(info.context)
    cursor = None if after is None else ChangeCursor.parse(after)
    told_at = time.monotonic()
    try:
        async with aclosing(hub.follow(cursor, PROGRESS_SECONDS if progress else None)) as parts:
            async for part in parts:
                for event in filter(shows, part.events):
                    yield _to_change(event, part.cursor.epoch)
                    told_at = time.monotonic()
                if progress and time.monotonic() - told_at >= PROGRESS_SECONDS:
                    at = DateTime(part.cursor.position.time.as_datetime().isoformat())
                    yield Change(str(part.cursor), "progress", None, None, None, at)
                    told_at = time.monotonic()
    except errors.ChangesExpiredError as error:
        raise ChangesExpiredError from error


def _get_hub(context: Context) -> ChangeHub:
    if context.change_hub is None:
        message = "Changes are followed through a running gateway only"
        raise UnavailableError(message, UnavailableCause.RESTARTING)
    context.reads.mark_incomplete()
    return context.change_hub


def _build_filter(
    caller: Caller, asset: str | None, kinds: Sequence[str] | None
) -> Callable[[ChangeEvent], bool]:
    """Return what tells whether a follower asks for an event and may see it.

    Raises FlagRequiredError and PermissionRequiredError for a kind that is asked for.
    """
    for kind in kinds or ():
        requirement_of_kind(kind).check(caller)
    shown = {kind for kind in kinds or _KINDS if requirement_of_kind(kind).is_met(caller)}

    def shows(event: ChangeEvent) -> bool:
        if event.operation == "reset":
            return event.kind is None or event.kind in shown
        if event.kind not in shown:
            return False
        if event.asset_id is None:
            return asset is None
        return asset in (None, event.asset_id) and caller.scope.allows(event.asset_id)

    return shows


def _to_change(event: ChangeEvent, epoch: bytes) -> Change:
    cursor = str(ChangeCursor(epoch, event.position))
    at = DateTime(event.at.isoformat())
    return Change(cursor, event.operation, event.kind, event.record_id, event.asset_id, at)


def get_record_node_id(parent: strawberry.Parent[Any]) -> str | None:
    """`nodeId` of the record, also of one that is gone; null where no one record is named."""
    return build_node_id(parent.kind, parent.record_id)


@batch_resolver
async def load_changed_node(parents: Sequence[Change], info: Info) -> list[Any]:
    """Get the record, of whichever kind, if one was created or updated."""
    ids = [
        build_node_id(parent.kind, parent.record_id)
        if parent.operation in (ChangeOperation.CREATED, ChangeOperation.UPDATED)
        else None
        for parent in parents
    ]
    wanted = [*filter(None, ids)]
    loaded = iter(await load_nodes(info.context, wanted, wanted))
    return [None if node_id is None else next(loaded) for node_id in ids]


def _record_loader(kind: RecordType[Any]) -> Resolver:
    """Return the resolver of the changed record; it does not ask the record cache, which may hear
    of the change later."""

    def get_key(change: Change) -> str | None:
        is_there = change.kind == kind.name and change.operation != "removed"
        return change.record_id if is_there else None

    name = {MAPS.name: "unit map"}.get(kind.name, kind.name.removesuffix("s"))
    return record_loader(kind, get_key, f"Get the {name}, if one was created or updated.")


load_changed_asset = _record_loader(ASSETS)
load_changed_floor = _record_loader(FLOORS)
load_changed_unit = _record_loader(UNITS)
load_changed_map = _record_loader(MAPS)
load_changed_location = _record_loader(LOCATIONS)


class Removal(NamedTuple):
    """A record that was removed."""

    kind: Annotated[
        RecordKind | None, "The collection, such as `units`; null if this version has no such kind."
    ]
    record_id: Annotated[
        str,
        "Its id; of kinds with several identifying fields, these with slashes between them, or as a"
        " JSON array.",
    ]
    asset_id: Annotated[str | None, "The asset that it belonged to; null for attribute groups."]
    removed_at: Annotated[DateTime, "When, to the millisecond."]


@paged
async def list_removals(
    info: Info,
    pages: inputs.PageArguments,
    asset: inputs.AssetFilter = None,
    since: Annotated[
        DateTime | None,
        inputs.argument("Only removals from this time on, in ISO 8601.", inputs.IS_TIME),
    ] = None,
) -> Page[Removal]:
    context = info.context
    where: Document = {}
    hidden = [
        kind
        for kind, requirement in caller.BY_KIND.items()
        # The flag of a kind is of no concern: a removal shows nothing but the id.
        if not Requirement(permission=requirement.permission).is_met(context.caller)
    ]
    if hidden:
        where["kind"] = {"$nin": hidden}
    if asset is not None:
        where["asset_id"] = asset
    if since is not None:
        where["_id"] = {"$gte": first_id_at(parse_time(since))}
    found: Page[Any] = await context.list_page(TOMBSTONES, where, pages)
    return replace(found, data=[*map(_to_removal, found.data)])


list_removals.__doc__ = f"""List the records that were removed from what the API key sees.

The first removed come first. To follow the list, ask again with `since`: `removedAt` of the last
removal that you have, less {OVERLAP_MINUTES} minutes, because some are committed late. A removal is
listed for {TOMBSTONE_DAYS} days, and as long as the record is not inserted again. Removals of
attribute groups are listed for keys that see all assets.
"""


def _to_removal(tombstone: Tombstone) -> Removal:
    removed_at = tombstone.removed_at.replace(tzinfo=UTC).isoformat(timespec="milliseconds")
    key = format_key(tombstone.values)
    kind = find_word(RecordKind, tombstone.kind)
    return Removal(kind, key, tombstone.asset_id or None, DateTime(removed_at))
