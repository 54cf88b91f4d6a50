"""Resolvers of unit attributes: their groups, and which unit has which."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, NamedTuple, TypeAlias, cast

import strawberry
from msgspec.structs import astuple
from strawberry.utils.str_converters import to_camel_case

from resolvers.request.context import Info, Relation, record_getter
from resolvers.request.errors import InvalidInputError, NotFoundError
from resolvers.request.inputs import (
    ID,
    AssetFilter,
    Items,
    PageArguments,
    argument,
    batch_resolver,
    ruled_field,
)
from resolvers.request.listing import list_resolver, paged
from storage import attribute_assignments, catalog
from storage.attribute_assignments import AttributeGroupNotFoundError, InvalidAssignmentsError
from storage.records.kinds import Document
from storage.records.paging import Page
from storage.store import build_in_parts

MAX_ASSIGNMENTS = 10_000


@strawberry.input(description="A unit, and the attribute to assign to it or to remove from it.")
class AssignmentInput:
    group_id: strawberry.ID = ruled_field("The attribute group.", ID)
    attribute_id: strawberry.ID = ruled_field("An attribute of the group.", ID)
    asset_id: strawberry.ID = ruled_field("The asset of the unit.", ID)
    unit_id: strawberry.ID = ruled_field("The unit.", ID)


class GroupAttribute(NamedTuple):
    """An attribute with the group that it belongs to; another group may have its id, too."""

    group_id: str
    attribute_id: str
    attribute_name: str
    attribute_key: str


GroupId: TypeAlias = Annotated[
    strawberry.ID, argument("Id of the attribute group.", ID, example="apartment-type")
]
Assignments: TypeAlias = Annotated[
    list[AssignmentInput],
    argument(
        "The assignments, all of this group.",
        Items(1, MAX_ASSIGNMENTS, "assignments"),
        example=[
            {
                "group_id": "apartment-type",
                "attribute_id": "apartment-type-one-bedroom",
                "asset_id": "alder-court",
                "unit_id": "ugwo2tfiznm",
            }
        ],
    ),
]


def _group_condition(group_id: str, asset_id: str) -> Document:
    where: Document = {"group_id": group_id}
    return where | {"asset_id": asset_id} if asset_id else where


ASSIGNMENTS_IN_GROUP = Relation(catalog.ASSIGNMENTS, _group_condition)
ASSIGNMENTS_OF_UNIT = Relation(catalog.ASSIGNMENTS, lambda unit_id: {"unit_id": unit_id})


@paged
async def list_attribute_groups(
    info: Info,
    pages: PageArguments,
) -> Page[catalog.AttributeGroup]:
    """List attribute groups with their attributes."""
    return await info.context.list_page(catalog.ATTRIBUTE_GROUPS, {}, pages)


get_attribute_group = record_getter(catalog.ATTRIBUTE_GROUPS, GroupId, "Get an attribute group.")


@batch_resolver
@paged
async def list_assignments_of_group(
    parents: Sequence[catalog.AttributeGroup],
    info: Info,
    pages: PageArguments,
    asset: AssetFilter = None,
) -> list[Page[catalog.Assignment]]:
    """List which unit has which attribute of a group, ordered by unit, then attribute."""
    keys = [(parent.group_id, asset or "") for parent in parents]
    return await info.context.load_pages(ASSIGNMENTS_IN_GROUP, keys, pages)


list_assignments_of_unit = list_resolver(
    ASSIGNMENTS_OF_UNIT, "List the attributes that a unit has."
)


@batch_resolver
async def load_attribute_of_assignment(
    parents: Sequence[catalog.Assignment], info: Info
) -> list[GroupAttribute | None]:
    """Get the attribute that is assigned."""
    groups = await info.context.load_in_order(
        catalog.ATTRIBUTE_GROUPS, [parent.group_id for parent in parents]
    )
    return [
        find_attribute(group, parent.attribute_id)
        for group, parent in zip(groups, parents, strict=True)
    ]


def find_attribute(group: Any, attribute_id: str) -> GroupAttribute | None:
    """Return an attribute of a group; the exception in the place of a damaged group."""
    if group is None or isinstance(group, Exception):
        return cast(None, group)
    found = next((each for each in group.attributes if each.attribute_id == attribute_id), None)
    return found and GroupAttribute(group.group_id, *astuple(found))


def list_attributes_of_group(
    group: strawberry.Parent[catalog.AttributeGroup],
) -> list[GroupAttribute]:
    """Its attributes, in the order in which they are shown."""
    return [GroupAttribute(group.group_id, *astuple(each)) for each in group.attributes]


class ChangedAssignments(NamedTuple):
    """The assignments of a request, which were made or removed."""

    assignments: list[catalog.Assignment]


async def assign_attributes(
    info: Info, group_id: GroupId, assignments: Assignments
) -> ChangedAssignments:
    """Assign attributes of a group to units: all of them, or none if any is invalid.

    In a group with one attribute per unit, this replaces the unit's earlier assignment.
    """
    return await _change(attribute_assignments.assign_attributes, info, group_id, assignments)


async def unassign_attributes(
    info: Info, group_id: GroupId, assignments: Assignments
) -> ChangedAssignments:
    """Remove attributes of a group from units: all of them, or none if any is invalid.

    Removing an attribute that a unit does not have is not an error.
    """
    return await _change(attribute_assignments.unassign_attributes, info, group_id, assignments)


async def _change(
    write: Callable[..., Awaitable[None]], info: Info, group_id: str, assignments: Assignments
) -> ChangedAssignments:
    changed = await build_in_parts(
        lambda part: [catalog.Assignment(**vars(each)) for each in part], assignments
    )
    try:
        await write(
            info.context.bypass_caches().database,
            info.context.caller.scope,
            group_id,
            changed,
            info.context.origin,
            info.context.bind_precondition(),
        )
    except AttributeGroupNotFoundError as error:
        raise NotFoundError from error
    except InvalidAssignmentsError as error:
        errors = {
            f"assignments[{each.position}].{to_camel_case(each.field)}": each.message
            for each in error.violations
        }
        raise InvalidInputError(**errors) from error
    return ChangedAssignments(changed)


async def load_changed_units(
    parent: strawberry.Parent[ChangedAssignments], info: Info
) -> list[catalog.Unit]:
    """List the units of these assignments, each once, by id: what a unit has was read anew."""
    unit_ids = sorted({each.unit_id for each in parent.assignments})
    units = await info.context.load_in_order(catalog.UNITS, unit_ids)
    info.context.budget.count_read(len(units))
    return [unit for unit in units if unit is not None]
