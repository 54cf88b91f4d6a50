"""The resolver of removals: which records are gone, for those who follow the catalog's changes."""

from datetime import UTC
from typing import Annotated, Final, NamedTuple

from resolvers.request.arguments import (
    DEFAULT_PER_PAGE,
    AfterCursor,
    AssetFilter,
    PageNumber,
    PageSize,
)
from resolvers.request.caller import (
    READ_ASSET_REFERENCES_PERMISSION,
    READ_UNIT_ATTRIBUTES_PERMISSION,
    READ_UNIT_REFERENCES_PERMISSION,
)
from resolvers.request.context import Info
from resolvers.request.input_rules import Syntax, argument
from resolvers.request.times import parse_time
from storage.attributes import ASSIGNMENTS, ATTRIBUTE_GROUPS
from storage.records.key_text import format_key
from storage.records.kinds import Document
from storage.records.paging import Page
from storage.references import ASSET_REFERENCES, UNIT_REFERENCES
from storage.tombstones import (
    OVERLAP_MINUTES,
    TOMBSTONE_DAYS,
    TOMBSTONES,
    Tombstone,
    first_id_at,
)

PERMISSIONS_BY_KIND: Final = {
    ASSET_REFERENCES.name: READ_ASSET_REFERENCES_PERMISSION,
    UNIT_REFERENCES.name: READ_UNIT_REFERENCES_PERMISSION,
    ATTRIBUTE_GROUPS.name: READ_UNIT_ATTRIBUTES_PERMISSION,
    ASSIGNMENTS.name: READ_UNIT_ATTRIBUTES_PERMISSION,
}
"""Kinds that only keys with a permission may read."""


class Removal(NamedTuple):
    """A record that was removed."""

    kind: Annotated[str, "The collection, such as `units`."]
    record_id: Annotated[
        str,
        "Its id; of kinds with several identifying fields, these with slashes between them, or as a"
        " JSON array.",
    ]
    asset_id: Annotated[str | None, "The asset that it belonged to; null for attribute groups."]
    removed_at: Annotated[str, "When, in ISO 8601."]


async def list_removals(
    info: Info,
    page: PageNumber = 1,
    per_page: PageSize = DEFAULT_PER_PAGE,
    after: AfterCursor = None,
    asset: AssetFilter = None,
    since: Annotated[
        str | None, argument("Only removals from this time on, in ISO 8601.", Syntax(parse_time))
    ] = None,
) -> Page[Removal]:
    context = info.context
    where: Document = {}
    hidden = [
        kind
        for kind, permission in PERMISSIONS_BY_KIND.items()
        if permission not in context.caller.permissions
    ]
    if hidden:
        where["kind"] = {"$nin": hidden}
    if asset is not None:
        where["asset_id"] = asset
    if since is not None:
        where["_id"] = {"$gte": first_id_at(parse_time(since))}
    found = await context.list_page(TOMBSTONES, where, page, per_page, after)
    return Page(found.paging, [*map(_to_removal, found.data)])


list_removals.__doc__ = f"""List the records that were removed from what the API key sees.

The first removed come first. To follow the list, ask again with `since`: `removedAt` of the last
removal that you have, less {OVERLAP_MINUTES} minutes, because some are committed late. A removal is
listed for {TOMBSTONE_DAYS} days, and as long as the record is not inserted again. Removals of
attribute groups are listed for keys that see all assets.
"""


def _to_removal(tombstone: Tombstone) -> Removal:
    removed_at = tombstone.removed_at.replace(tzinfo=UTC).isoformat(timespec="milliseconds")
    key = format_key(tombstone.values)
    return Removal(tombstone.kind, key, tombstone.asset_id or None, removed_at)
