"""References of assets and units to third-party systems."""

import re

import strawberry

from resolvers.request.arguments import validate_id
from resolvers.request.context import Info, Relation
from resolvers.request.errors import InvalidInputError
from resolvers.request.listing import list_resolver
from storage.records.kinds import Document
from storage.records.paging import Page
from storage.references import ASSET_REFERENCES, UNIT_REFERENCES, AssetReference, UnitReference

REFERENCE_KEY_REGEX = re.compile(r"[a-z][a-z0-9-]{1,254}\Z")

REFERENCES_OF_ASSET = Relation(ASSET_REFERENCES, lambda asset_id: {"asset_id": asset_id})
REFERENCES_OF_UNIT = Relation(UNIT_REFERENCES, lambda unit_id: {"unit_id": unit_id})


async def list_asset_references(
    info: Info,
    page: int | None = 1,
    per_page: int | None = 100,
    after: str | None = None,
    asset: strawberry.ID | None = None,
    key: str | None = None,
) -> Page[AssetReference]:
    """The asset references that the key may access: of one asset, or to one system."""
    return await info.context.list_page(
        ASSET_REFERENCES, _build_condition(asset, key), page, per_page, after
    )


async def list_unit_references(
    info: Info,
    page: int | None = 1,
    per_page: int | None = 100,
    after: str | None = None,
    asset: strawberry.ID | None = None,
    key: str | None = None,
) -> Page[UnitReference]:
    """The unit references that the key may access: of one asset's units, or to one system."""
    return await info.context.list_page(
        UNIT_REFERENCES, _build_condition(asset, key), page, per_page, after
    )


list_references_of_asset = list_resolver(
    REFERENCES_OF_ASSET, "The ids of an asset in third-party systems."
)
list_references_of_unit = list_resolver(
    REFERENCES_OF_UNIT, "The ids of a unit in third-party systems."
)


def _build_condition(asset: str | None, key: str | None) -> Document:
    where: Document = {}
    if asset is not None:
        where["asset_id"] = validate_id("asset", asset)
    if key is not None:
        if not REFERENCE_KEY_REGEX.match(key):
            raise InvalidInputError(
                key="must be a lowercase letter, then 1 to 254 lowercase letters, digits or "
                f"hyphens, not {key[:300]!r}"
            )
        where["key"] = key
    return where
