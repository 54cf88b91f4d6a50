"""Resolvers of unit attributes: their groups, and which unit has which."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias, cast

import strawberry

from resolvers.request.arguments import (
    DEFAULT_PER_PAGE,
    AfterCursor,
    AssetFilter,
    PageNumber,
    PageSize,
)
from resolvers.request.batching import batch_resolver
from resolvers.request.context import Info, Relation
from resolvers.request.errors import InvalidInputError, NotFoundError
from resolvers.request.input_rules import ID, Items, argument, required_input_field
from resolvers.request.listing import list_resolver
from storage import attribute_assignments
from storage.attribute_assignments import AttributeGroupNotFoundError, InvalidAssignmentsError
from storage.attributes import (
    ASSIGNMENTS,
    ATTRIBUTE_GROUPS,
    Assignment,
    Attribute,
    AttributeGroup,
)
from storage.mongo import driver
from storage.pauses import build_in_parts
from storage.records.kinds import Document
from storage.records.paging import Page
from storage.records.visibility import AssetScope

MAX_ASSIGNMENTS = 10_000


@strawberry.input(description="A unit, and the attribute to assign to it or to remove from it.")
class AssignmentInput:
    group_id: strawberry.ID = required_input_field("The attribute group.", ID)
    attribute_id: strawberry.ID = required_input_field("An attribute of the group.", ID)
    asset_id: strawberry.ID = required_input_field("The asset of the unit.", ID)
    unit_id: strawberry.ID = required_input_field("The unit.", ID)


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


ASSIGNMENTS_IN_GROUP = Relation(ASSIGNMENTS, _group_condition)
ASSIGNMENTS_OF_UNIT = Relation(ASSIGNMENTS, lambda unit_id: {"unit_id": unit_id})


async def list_attribute_groups(
    info: Info,
    page: PageNumber = 1,
    per_page: PageSize = DEFAULT_PER_PAGE,
    after: AfterCursor = None,
) -> Page[AttributeGroup]:
    """List attribute groups with their attributes."""
    return await info.context.list_page(ATTRIBUTE_GROUPS, {}, page, per_page, after)


async def get_attribute_group(info: Info, id: GroupId) -> AttributeGroup | None:
    """Get an attribute group."""
    return await info.context.get_record(ATTRIBUTE_GROUPS, id)


@batch_resolver
async def list_assignments_of_group(
    parents: Sequence[AttributeGroup],
    info: Info,
    page: PageNumber = 1,
    per_page: PageSize = DEFAULT_PER_PAGE,
    after: AfterCursor = None,
    asset: AssetFilter = None,
) -> list[Page[Assignment]]:
    """List which unit has which attribute of a group, ordered by unit, then attribute."""
    keys = [(parent.group_id, asset or "") for parent in parents]
    return await info.context.load_pages(ASSIGNMENTS_IN_GROUP, keys, page, per_page, after)


list_assignments_of_unit = list_resolver(
    ASSIGNMENTS_OF_UNIT, "List the attributes that a unit has."
)


@batch_resolver
async def load_attribute_of_assignment(
    parents: Sequence[Assignment], info: Info
) -> list[Attribute | None]:
    """Get the attribute that is assigned."""
    groups = await info.context.load_in_order(
        ATTRIBUTE_GROUPS, [parent.group_id for parent in parents]
    )
    return [
        _find_attribute(group, parent.attribute_id)
        for group, parent in zip(groups, parents, strict=True)
    ]


def _find_attribute(group: Any, attribute_id: str) -> Attribute | None:
    if isinstance(group, Exception):  # a damaged record
        return cast(Attribute, group)
    attributes: list[Attribute] = group.attributes if group else []
    return next((item for item in attributes if item.attribute_id == attribute_id), None)


async def assign_attributes(info: Info, group_id: GroupId, data: Assignments) -> list[Assignment]:
    """Assign attributes of a group to units: all of them, or none if any is invalid.

    In a group with one attribute per unit, this replaces the unit's earlier assignment. Returns
    the assignments of the request.
    """
    assignments = await build_in_parts(_to_assignments, data)
    try:
        await attribute_assignments.assign_attributes(
            *_database_and_scope(info),
            group_id,
            assignments,
            info.context.origin,
            info.context.bind_precondition(),
        )
    except AttributeGroupNotFoundError as error:
        raise NotFoundError from error
    except InvalidAssignmentsError as error:
        raise _to_invalid_input(error) from error
    return assignments


async def unassign_attributes(info: Info, group_id: GroupId, data: Assignments) -> bool:
    """Remove attributes of a group from units: all of them, or none if any is invalid.

    Removing an attribute that a unit does not have is not an error.
    """
    assignments = await build_in_parts(_to_assignments, data)
    try:
        await attribute_assignments.unassign_attributes(
            *_database_and_scope(info),
            group_id,
            assignments,
            info.context.origin,
            info.context.bind_precondition(),
        )
    except AttributeGroupNotFoundError as error:
        raise NotFoundError from error
    except InvalidAssignmentsError as error:
        raise _to_invalid_input(error) from error
    return True


def _database_and_scope(info: Info) -> tuple[driver.Database, AssetScope]:
    return info.context.bypass_caches().database, info.context.caller.scope


def _to_assignments(inputs: Sequence[AssignmentInput]) -> list[Assignment]:
    return [Assignment(**vars(each)) for each in inputs]


def _to_invalid_input(error: InvalidAssignmentsError) -> InvalidInputError:
    return InvalidInputError(
        **{
            f"data[{violation.position}].{violation.field}": violation.message
            for violation in error.violations
        }
    )
