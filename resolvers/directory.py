"""Resolvers of assets, of their floors and units, and of the ids of both in third-party systems."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, TypeAlias

import strawberry

from resolvers.request import inputs, listing
from resolvers.request.caller import READ_ATTRIBUTES, READ_UNIT_REFERENCES
from resolvers.request.context import Context, Info, Relation, record_getter, record_loader
from resolvers.request.errors import InvalidInputError
from storage import catalog
from storage.records.kinds import (
    KEY_SEPARATOR,
    MAX_TEXT_CHARACTERS,
    REFERENCE_KEY_FORM,
    REFERENCE_KEY_PATTERN,
    Document,
    RecordType,
)
from storage.records.paging import Page
from storage.records.visibility import NOTHING

AssetId: TypeAlias = Annotated[
    strawberry.ID, inputs.argument("Id of the asset.", inputs.ID, example="alder-court")
]


@listing.paged
@listing.lists(catalog.ASSETS)
async def list_assets(
    info: Info,
    pages: inputs.PageArguments,
    ids: listing.IdsFilter = None,
    search: listing.NameSearch = None,
    updated_since: listing.UpdatedSince = None,
) -> Page[catalog.Asset]:
    """List the assets that the API key sees, or those of them that meet all filters."""
    filter = await listing.build_filter(info.context, catalog.ASSETS, ids, search, updated_since)
    where = listing.combine(filter.build_conditions())
    return await info.context.list_page(catalog.ASSETS, where, pages)


get_asset = record_getter(catalog.ASSETS, AssetId, "Get an asset.")
load_asset = record_loader(catalog.ASSETS, "asset_id", "Get the asset that a record belongs to.")


FloorId: TypeAlias = Annotated[
    strawberry.ID, inputs.argument("Id of the floor.", inputs.ID, example="alder-court-floor-1")
]

FLOORS_OF_ASSET = Relation(catalog.FLOORS, lambda asset_id: {"asset_id": asset_id})


list_floors_of_asset = listing.list_resolver(
    FLOORS_OF_ASSET, "List the floors of an asset, from the lowest up.", orders=listing.FLOOR_ORDERS
)


async def load_floors(context: Context, asset_id: str) -> Sequence[catalog.Floor]:
    """Return all floors of an asset."""
    pages = inputs.PageArguments(1, inputs.MAX_PER_PAGE)
    [page] = await context.load_pages(FLOORS_OF_ASSET, [(asset_id,)], pages)
    return page.data


get_floor = record_getter(catalog.FLOORS, FloorId, "Get a floor.")
load_floor_of_unit = record_loader(catalog.FLOORS, "floor_id", "Get the floor that a unit is on.")


@inputs.batch_resolver
async def get_floor_of_asset(
    parents: Sequence[catalog.Asset], info: Info, id: FloorId
) -> list[catalog.Floor | None]:
    """Get a floor of an asset."""
    floor = await info.context.get_record(catalog.FLOORS, id)
    return [floor if floor and floor.asset_id == parent.id else None for parent in parents]


REFERENCE_KEY_RULES: Final = (
    inputs.Pattern(REFERENCE_KEY_PATTERN, REFERENCE_KEY_FORM),
    inputs.Length(2, 255),
)
REFERENCE_VALUE_RULES: Final = (inputs.Length(1, MAX_TEXT_CHARACTERS), inputs.STORABLE)

ReferenceKeyArgument: TypeAlias = Annotated[
    str | None,
    inputs.argument(
        "Only references to the third-party system that this key names.",
        *REFERENCE_KEY_RULES,
        example="keyring",
    ),
]

ReferenceValueArgument: TypeAlias = Annotated[
    str | None,
    inputs.argument(
        "Only references with this id in the third-party system.",
        *REFERENCE_VALUE_RULES,
        example="AL-101",
    ),
]

REFERENCES_OF_ASSET = Relation(catalog.ASSET_REFERENCES, lambda asset_id: {"asset_id": asset_id})
REFERENCES_OF_UNIT = Relation(catalog.UNIT_REFERENCES, lambda unit_id: {"unit_id": unit_id})


def _build_reference_lister(kind: RecordType[Any], description: str) -> inputs.Resolver:
    """Return the resolver of all references of a kind, filtered."""

    async def list_references(
        info: Info,
        pages: inputs.PageArguments,
        asset: inputs.AssetFilter = None,
        key: ReferenceKeyArgument = None,
        value: ReferenceValueArgument = None,
        updated_since: listing.UpdatedSince = None,
    ) -> Page[Any]:
        given = {"asset_id": asset, "key": key, "value": value}
        conditions = [{name: {"$eq": each}} for name, each in given.items() if each is not None]
        filter = await listing.build_filter(info.context, kind, updated_since=updated_since)
        where = listing.combine([*conditions, *filter.build_conditions()])
        return await info.context.list_page(kind, where, pages)

    list_references.__doc__ = description
    return listing.paged(list_references)


list_asset_references = _build_reference_lister(
    catalog.ASSET_REFERENCES,
    "List the asset references that the API key sees, or those of them that meet all filters.",
)
list_unit_references = _build_reference_lister(
    catalog.UNIT_REFERENCES,
    "List the unit references that the API key sees, or those of them that meet all filters.",
)
list_references_of_asset = listing.list_resolver(
    REFERENCES_OF_ASSET, "List the ids of an asset in third-party systems."
)
list_references_of_unit = listing.list_resolver(
    REFERENCES_OF_UNIT, "List the ids of a unit in third-party systems."
)


MAX_RELATED_UNITS = 10_000
"""Units with an attribute or a reference that a filter takes."""
MAX_ATTRIBUTES = 10
"""Attributes that a filter takes."""


@strawberry.input(description="An attribute that units have.")
class AttributeFilter:
    group_id: strawberry.ID = inputs.ruled_field("The attribute group.", inputs.ID)
    attribute_id: strawberry.ID = inputs.ruled_field("An attribute of the group.", inputs.ID)


@strawberry.input(description="A unit's id in a third-party system.")
class ReferenceFilter:
    key: str = inputs.ruled_field("Names the third-party system.", *REFERENCE_KEY_RULES)
    value: str = inputs.ruled_field("The unit's id in that system.", *REFERENCE_VALUE_RULES)


FloorFilter: TypeAlias = Annotated[
    strawberry.ID | None,
    inputs.argument(
        "Only those on the floor with this id.", inputs.ID, example="alder-court-floor-1"
    ),
]
MapFilter: TypeAlias = Annotated[
    strawberry.ID | None,
    inputs.argument(
        "Only those on the map with this id.", inputs.ID, example="alder-court-floor-plates"
    ),
]
UnitAttribute: TypeAlias = Annotated[
    AttributeFilter | None,
    inputs.argument(
        f"Only those with this attribute. At most {MAX_RELATED_UNITS} units may have it, of the "
        "asset, floor or map if one of them is given.",
        example={"group_id": "apartment-type", "attribute_id": "apartment-type-one-bedroom"},
        requirement=READ_ATTRIBUTES,
    ),
]
UnitAttributes: TypeAlias = Annotated[
    list[AttributeFilter] | None,
    inputs.argument(
        f"Only those with all of these attributes. As with `attribute`, at most {MAX_RELATED_UNITS}"
        " units may have each.",
        inputs.Items(0, MAX_ATTRIBUTES, "attributes"),
        requirement=READ_ATTRIBUTES,
    ),
]
UnitReferenceArgument: TypeAlias = Annotated[
    ReferenceFilter | None,
    inputs.argument(
        "Only those with this id in a third-party system.",
        example={"key": "keyring", "value": "AL-101"},
        requirement=READ_UNIT_REFERENCES,
    ),
]


async def _build_unit_conditions(
    context: Context,
    filter: listing.RecordFilter,
    asset: str | None,
    floor: str | None,
    map: str | None,
    attributes: Sequence[AttributeFilter],
    reference: ReferenceFilter | None,
) -> list[Document]:
    """Return the conditions on units, all of which must hold. Raises InvalidInputError."""
    asset_ids = {asset} if asset is not None else set[str]()
    conditions: list[Document] = []
    if map is not None:
        unit_map = await context.get_record(catalog.MAPS, map)
        if unit_map is None:
            return [NOTHING]
        asset_ids.add(unit_map.asset_id)
        # A unit that names no maps is on every map of its asset.
        conditions.append({"map_ids": {"$in": [None, unit_map.id]}})
    if floor is not None:
        on_floor = await context.get_record(catalog.FLOORS, floor)
        if on_floor is None:
            return [NOTHING]
        asset_ids.add(on_floor.asset_id)
        conditions.append({"floor_id": floor})
    if len(asset_ids) > 1:  # no unit is in two assets
        return [NOTHING]
    in_asset: Document = {"asset_id": next(iter(asset_ids))} if asset_ids else {}
    wanted: list[tuple[RecordType[Any], AttributeFilter | ReferenceFilter, str]]
    wanted = [(catalog.ASSIGNMENTS, each, "attribute") for each in attributes]
    if reference is not None:
        wanted.append((catalog.UNIT_REFERENCES, reference, "reference"))
    related = [
        await _find_related_units(context, kind, vars(each) | in_asset, argument)
        for kind, each, argument in wanted
    ]
    if related:
        given = [] if filter.ids is None else [{*filter.ids}]
        filter = filter._replace(ids=tuple(sorted(set.intersection(*related, *given))))
    return filter.build_conditions() + conditions + ([in_asset] if in_asset else [])


async def _find_related_units(
    context: Context, kind: RecordType[Any], where: Document, argument: str
) -> set[str]:
    """Return the units of visible records that meet a condition. Raises InvalidInputError."""
    keys = await context.list_ids(kind, where, MAX_RELATED_UNITS + 1)
    if len(keys) > MAX_RELATED_UNITS:
        raise InvalidInputError(
            **{
                argument: f"must be that of at most {MAX_RELATED_UNITS} units; "
                "name an asset, a floor or a map, too"
            }
        )
    position = kind.key_fields.index("unit_id")
    return {key.split(KEY_SEPARATOR)[position] for key in keys}


UnitId: TypeAlias = Annotated[
    strawberry.ID, inputs.argument("Id of the unit.", inputs.ID, example="ugwo2tfiznm")
]


UNITS_OF_ASSET = Relation(catalog.UNITS, lambda asset_id: {"asset_id": asset_id})
UNITS_OF_FLOOR = Relation(catalog.UNITS, lambda floor_id: {"floor_id": floor_id})


def _on_map_condition(map_id: str, asset_id: str) -> Document:
    # A unit that names no maps is on every map of its asset.
    return {"asset_id": asset_id, "map_ids": {"$in": [None, map_id]}}


UNITS_ON_MAP = Relation(catalog.UNITS, _on_map_condition)


@listing.paged
@listing.ordered(listing.UNIT_ORDERS)
@listing.lists(catalog.UNITS)
async def list_units(
    info: Info,
    pages: inputs.PageArguments,
    asset: inputs.AssetFilter = None,
    floor: FloorFilter = None,
    map: MapFilter = None,
    attribute: UnitAttribute = None,
    attributes: UnitAttributes = None,
    reference: UnitReferenceArgument = None,
    ids: listing.IdsFilter = None,
    search: listing.NameSearch = None,
    updated_since: listing.UpdatedSince = None,
    order_by: str | None = None,
) -> Page[catalog.Unit]:
    """List the units that the API key sees, or those of them that meet all filters."""
    pages = pages._replace(order=listing.UNIT_ORDERS.parse(order_by))
    context = info.context
    filter = await listing.build_filter(context, catalog.UNITS, ids, search, updated_since)
    all_attributes = [*([attribute] if attribute else ()), *(attributes or ())]
    conditions = await _build_unit_conditions(
        context, filter, asset, floor, map, all_attributes, reference
    )
    return await context.list_page(catalog.UNITS, listing.combine(conditions), pages)


get_unit = record_getter(catalog.UNITS, UnitId, "Get a unit.")
load_unit = record_loader(catalog.UNITS, "unit_id", "Get the unit that a record is about.")


list_units_of_asset = listing.list_resolver(
    UNITS_OF_ASSET, "List the units of an asset.", orders=listing.UNIT_ORDERS
)
list_units_of_floor = listing.list_resolver(
    UNITS_OF_FLOOR, "List the units on a floor.", orders=listing.UNIT_ORDERS
)
list_units_on_map = listing.list_resolver(
    UNITS_ON_MAP, "List the units on a map.", "id", "asset_id", orders=listing.UNIT_ORDERS
)


@inputs.batch_resolver
async def get_unit_on_map(
    parents: Sequence[catalog.Map], info: Info, id: UnitId
) -> list[catalog.Unit | None]:
    """Get a unit on a map."""
    unit = await info.context.get_record(catalog.UNITS, id)
    return [unit if unit and _is_on_map(parent, unit) else None for parent in parents]


async def load_unit_names(
    context: Context, unit_map: catalog.Map, unit_ids: Sequence[str]
) -> dict[str, str]:
    """Return the names of units on a map that the key sees, by id; other ids are left out."""
    units = await context.load_in_order(catalog.UNITS, unit_ids)
    # In the place of a damaged record is an exception.
    on_map = [
        unit for unit in units if isinstance(unit, catalog.Unit) and _is_on_map(unit_map, unit)
    ]
    return {unit.id: unit.name for unit in on_map}


def _is_on_map(unit_map: catalog.Map, unit: catalog.Unit) -> bool:
    if unit.asset_id != unit_map.asset_id:
        return False
    return unit.map_ids is None or unit_map.id in unit.map_ids
