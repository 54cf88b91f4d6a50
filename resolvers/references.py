"""References of assets and units to third-party systems."""

import re

import strawberry

from resolvers.arguments import checked_id
from resolvers.context import Info, Relation
from resolvers.errors import InvalidInput
from resolvers.listing import listing
from storage.kinds import Document
from storage.paging import Page
from storage.references import ASSET_REFERENCES, UNIT_REFERENCES, AssetReference, UnitReference

KEY_PATTERN = re.compile(r"[a-z][a-z0-9-]{1,254}\Z")

OF_ASSET = Relation(ASSET_REFERENCES, lambda asset_id: {"asset_id": asset_id})
OF_UNIT = Relation(UNIT_REFERENCES, lambda unit_id: {"unit_id": unit_id})


async def every_of_assets(
    info: Info,
    page: int | None = 1,
    per_page: int | None = 100,
    after: str | None = None,
    asset: strawberry.ID | None = None,
    key: str | None = None,
) -> Page[AssetReference]:
    """The asset references that the key may access: of one asset, or to one system."""
    return await info.context.page(ASSET_REFERENCES, _where(asset, key), page, per_page, after)


async def every_of_units(
    info: Info,
    page: int | None = 1,
    per_page: int | None = 100,
    after: str | None = None,
    asset: strawberry.ID | None = None,
    key: str | None = None,
) -> Page[UnitReference]:
    """The unit references that the key may access: of one asset's units, or to one system."""
    return await info.context.page(UNIT_REFERENCES, _where(asset, key), page, per_page, after)


of_asset = listing(OF_ASSET, "The ids of an asset in third-party systems.")
of_unit = listing(OF_UNIT, "The ids of a unit in third-party systems.")


def _where(asset: str | None, key: str | None) -> Document:
    where: Document = {}
    if asset is not None:
        where["asset_id"] = checked_id("asset", asset)
    if key is not None:
        if not KEY_PATTERN.match(key):
            raise InvalidInput(
                key="must be a lowercase letter, then 1 to 254 lowercase letters, digits or "
                f"hyphens, not {key[:300]!r}"
            )
        where["key"] = key
    return where
