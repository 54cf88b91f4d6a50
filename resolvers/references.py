"""Resolvers of references: ids of assets and units in third-party systems."""

from typing import Annotated, TypeAlias

from resolvers.request.arguments import (
    DEFAULT_PER_PAGE,
    AfterCursor,
    AssetFilter,
    PageNumber,
    PageSize,
)
from resolvers.request.context import Info, Relation
from resolvers.request.input_rules import Length, Pattern, argument
from resolvers.request.listing import list_resolver
from storage.records.fields import REFERENCE_KEY_FORM, REFERENCE_KEY_PATTERN
from storage.records.kinds import Document
from storage.records.paging import Page
from storage.references import ASSET_REFERENCES, UNIT_REFERENCES, AssetReference, UnitReference

ReferenceKeyArgument: TypeAlias = Annotated[
    str | None,
    argument(
        "Only references to the third-party system that this key names.",
        Pattern(REFERENCE_KEY_PATTERN, REFERENCE_KEY_FORM),
        Length(2, 255),
        example="rentwell",
    ),
]

REFERENCES_OF_ASSET = Relation(ASSET_REFERENCES, lambda asset_id: {"asset_id": asset_id})
REFERENCES_OF_UNIT = Relation(UNIT_REFERENCES, lambda unit_id: {"unit_id": unit_id})


async def list_asset_references(
    info: Info,
    page: PageNumber = 1,
    per_page: PageSize = DEFAULT_PER_PAGE,
    after: AfterCursor = None,
    asset: AssetFilter = None,
    key: ReferenceKeyArgument = None,
) -> Page[AssetReference]:
    """List the asset references that the API key sees: of one asset, or to one system."""
    return await info.context.list_page(
        ASSET_REFERENCES, _build_condition(asset, key), page, per_page, after
    )


async def list_unit_references(
    info: Info,
    page: PageNumber = 1,
    per_page: PageSize = DEFAULT_PER_PAGE,
    after: AfterCursor = None,
    asset: AssetFilter = None,
    key: ReferenceKeyArgument = None,
) -> Page[UnitReference]:
    """List the unit references that the API key sees: of one asset's units, or to one system."""
    return await info.context.list_page(
        UNIT_REFERENCES, _build_condition(asset, key), page, per_page, after
    )


list_references_of_asset = list_resolver(
    REFERENCES_OF_ASSET, "List the ids of an asset in third-party systems."
)
list_references_of_unit = list_resolver(
    REFERENCES_OF_UNIT, "List the ids of a unit in third-party systems."
)


def _build_condition(asset: str | None, key: str | None) -> Document:
    where: Document = {}
    if asset is not None:
        where["asset_id"] = asset
    if key is not None:
        where["key"] = key
    return where
