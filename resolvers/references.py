"""Resolvers of references: ids of assets and units in third-party systems."""

from typing import Annotated, Final, TypeAlias

from resolvers.request.context import Info, Relation
from resolvers.request.inputs import STORABLE, AssetFilter, Length, PageArguments, Pattern, argument
from resolvers.request.listing import UpdatedSince, build_filter, combine, list_resolver, paged
from storage.catalog import ASSET_REFERENCES, UNIT_REFERENCES, AssetReference, UnitReference
from storage.records.kinds import (
    MAX_TEXT_CHARACTERS,
    REFERENCE_KEY_FORM,
    REFERENCE_KEY_PATTERN,
    Document,
)
from storage.records.paging import Page

REFERENCE_KEY_RULES: Final = (
    Pattern(REFERENCE_KEY_PATTERN, REFERENCE_KEY_FORM),
    Length(2, 255),
)
REFERENCE_VALUE_RULES: Final = (Length(1, MAX_TEXT_CHARACTERS), STORABLE)

ReferenceKeyArgument: TypeAlias = Annotated[
    str | None,
    argument(
        "Only references to the third-party system that this key names.",
        *REFERENCE_KEY_RULES,
        example="rentwell",
    ),
]

ReferenceValueArgument: TypeAlias = Annotated[
    str | None,
    argument(
        "Only references with this id in the third-party system.",
        *REFERENCE_VALUE_RULES,
        example="AL-101",
    ),
]

REFERENCES_OF_ASSET = Relation(ASSET_REFERENCES, lambda asset_id: {"asset_id": asset_id})
REFERENCES_OF_UNIT = Relation(UNIT_REFERENCES, lambda unit_id: {"unit_id": unit_id})


@paged
async def list_asset_references(
    info: Info,
    pages: PageArguments,
    asset: AssetFilter = None,
    key: ReferenceKeyArgument = None,
    value: ReferenceValueArgument = None,
    updated_since: UpdatedSince = None,
) -> Page[AssetReference]:
    """List the asset references that the API key sees, or those of them that meet all filters."""
    filter = await build_filter(info.context, ASSET_REFERENCES, updated_since=updated_since)
    where = combine([*_build_conditions(asset, key, value), *filter.build_conditions()])
    return await info.context.list_page(ASSET_REFERENCES, where, pages)


@paged
async def list_unit_references(
    info: Info,
    pages: PageArguments,
    asset: AssetFilter = None,
    key: ReferenceKeyArgument = None,
    value: ReferenceValueArgument = None,
    updated_since: UpdatedSince = None,
) -> Page[UnitReference]:
    """List the unit references that the API key sees, or those of them that meet all filters."""
    filter = await build_filter(info.context, UNIT_REFERENCES, updated_since=updated_since)
    where = combine([*_build_conditions(asset, key, value), *filter.build_conditions()])
    return await info.context.list_page(UNIT_REFERENCES, where, pages)


list_references_of_asset = list_resolver(
    REFERENCES_OF_ASSET, "List the ids of an asset in third-party systems."
)
list_references_of_unit = list_resolver(
    REFERENCES_OF_UNIT, "List the ids of a unit in third-party systems."
)


def _build_conditions(asset: str | None, key: str | None, value: str | None) -> list[Document]:
    given = {"asset_id": asset, "key": key, "value": value}
    return [{name: {"$eq": each}} for name, each in given.items() if each is not None]
