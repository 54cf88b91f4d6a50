"""Ids of records that have none in their sheet: made of what identifies them for people.

The same names give the same ids in every import, and other names other ids.
"""

from storage.bundles.reading.tables.names import slug
from storage.records.kinds import MAX_ID_CHARACTERS

ID_SOURCES = {
    "assets": ("name",),
    "floors": ("asset_id", "name"),
    "backgrounds": ("unit_map_id", "name"),
    "maps": ("asset_id", "name"),
    "units": ("asset_id", "name"),
    "asset_references": ("asset_id", "key"),
    "attribute_groups": ("group_name",),
    "locations": ("unit_map_id", "name"),
}
"""By kind, the fields that its id is made of."""


def derive_id(owner_id: str, *names: str) -> str | None:
    """Return the id of a record: that of its owner, then its names. None if they have no letters.

    >>> derive_id("oak-street", "Tower A", "#101"), derive_id("", "Oak Street"), derive_id("a", "?")
    ('oak-street-tower-a-101', 'oak-street', None)
    """
    own = slug(*names)
    if not own:
        return None
    return f"{owner_id}-{own}"[:MAX_ID_CHARACTERS] if owner_id else own[:MAX_ID_CHARACTERS]
