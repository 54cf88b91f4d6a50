"""The resolver of removals: which records are gone, for those who follow the catalog's changes."""

from datetime import UTC
from typing import Annotated, NamedTuple

from resolvers.request import caller
from resolvers.request.caller import Requirement
from resolvers.request.context import Info
from resolvers.request.inputs import AssetFilter, PageArguments, argument
from resolvers.request.kinds import RecordKind, find_word
from resolvers.request.listing import paged
from resolvers.request.times import IS_TIME, DateTime, parse_time
from storage.records.kinds import Document, format_key
from storage.records.paging import Page
from storage.tombstones import (
    OVERLAP_MINUTES,
    TOMBSTONE_DAYS,
    TOMBSTONES,
    Tombstone,
    first_id_at,
)


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
    pages: PageArguments,
    asset: AssetFilter = None,
    since: Annotated[
        DateTime | None, argument("Only removals from this time on, in ISO 8601.", IS_TIME)
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
    found = await context.list_page(TOMBSTONES, where, pages)
    return Page(
        [*map(_to_removal, found.data)],
        found.positions,
        found.request,
        found.has_next,
        list_id=found.list_id,
        source=found.source,
    )


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
