"""Unit attributes: their groups, and which unit has which."""

from collections.abc import Sequence

import strawberry

from resolvers.request.arguments import validate_id
from resolvers.request.batching import batch_resolver
from resolvers.request.context import Info, Relation
from resolvers.request.errors import InvalidInputError, NotFoundError
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
from storage.records.kinds import Document
from storage.records.paging import Page
from storage.records.visibility import Scope

MAX_ASSIGNMENTS = 10_000


@strawberry.input(description="A unit and the attribute that it is to have, or to lose.")
class AssignmentInput:
    group_id: strawberry.ID
    attribute_id: strawberry.ID
    asset_id: strawberry.ID
    unit_id: strawberry.ID


def _group_condition(group_id: str, asset_id: str) -> Document:
    where: Document = {"group_id": group_id}
    return where | {"asset_id": asset_id} if asset_id else where


ASSIGNMENTS_IN_GROUP = Relation(ASSIGNMENTS, _group_condition)
ASSIGNMENTS_OF_UNIT = Relation(ASSIGNMENTS, lambda unit_id: {"unit_id": unit_id})


async def list_attribute_groups(
    info: Info, page: int | None = 1, per_page: int | None = 100, after: str | None = None
) -> Page[AttributeGroup]:
    """The attribute groups with their attributes."""
    return await info.context.list_page(ATTRIBUTE_GROUPS, {}, page, per_page, after)


async def get_attribute_group(info: Info, id: strawberry.ID) -> AttributeGroup | None:
    """One attribute group."""
    return await info.context.get_record(ATTRIBUTE_GROUPS, validate_id("id", id))


@batch_resolver
async def list_assignments_of_group(
    parents: Sequence[AttributeGroup],
    info: Info,
    page: int | None = 1,
    per_page: int | None = 100,
    after: str | None = None,
    asset: strawberry.ID | None = None,
) -> list[Page[Assignment]]:
    """Which unit has which attribute of a group, ordered by unit, then attribute."""
    asset_id = "" if asset is None else validate_id("asset", asset)
    keys = [(parent.group_id, asset_id) for parent in parents]
    return await info.context.load_pages(ASSIGNMENTS_IN_GROUP, keys, page, per_page, after)


list_assignments_of_unit = list_resolver(ASSIGNMENTS_OF_UNIT, "The attributes that a unit has.")


@batch_resolver
async def attribute_of_assignment(
    parents: Sequence[Assignment], info: Info
) -> list[Attribute | None]:
    """The attribute that is assigned."""
    groups = await info.context.load_aligned(
        ATTRIBUTE_GROUPS, [parent.group_id for parent in parents]
    )
    return [
        _find_attribute(group, parent.attribute_id)
        for group, parent in zip(groups, parents, strict=True)
    ]


def _find_attribute(group: AttributeGroup | None, attribute_id: str) -> Attribute | None:
    attributes = group.attributes if group else []
    return next((each for each in attributes if each.attribute_id == attribute_id), None)


async def assign_attributes(
    info: Info, group_id: strawberry.ID, data: list[AssignmentInput]
) -> list[Assignment]:
    """Gives units attributes of a group: all of them, or none when anything is wrong.

    Where the group allows one attribute per unit, an earlier one is replaced. Answers with the
    assignments given.
    """
    assignments = _parse_assignments(data)
    try:
        await attribute_assignments.assign_attributes(
            *_database_and_scope(info), validate_id("groupId", group_id), assignments
        )
    except AttributeGroupNotFoundError as error:
        raise NotFoundError from error
    except InvalidAssignmentsError as error:
        raise _to_invalid_input(error) from error
    return assignments


async def unassign_attributes(
    info: Info, group_id: strawberry.ID, data: list[AssignmentInput]
) -> bool:
    """Takes attributes of a group from units: all of them, or none when anything is wrong.

    What a unit does not have is no error.
    """
    assignments = _parse_assignments(data)
    try:
        await attribute_assignments.unassign_attributes(
            *_database_and_scope(info), validate_id("groupId", group_id), assignments
        )
    except AttributeGroupNotFoundError as error:
        raise NotFoundError from error
    except InvalidAssignmentsError as error:
        raise _to_invalid_input(error) from error
    return True


def _database_and_scope(info: Info) -> tuple[driver.Database, Scope]:
    return info.context.bypass_read_log().database, info.context.caller.scope


def check_count(count: int) -> None:
    """Whether so many assignments may be given at once. Raises InvalidInput."""
    if not 1 <= count <= MAX_ASSIGNMENTS:
        raise InvalidInputError(data=f"must hold 1 to {MAX_ASSIGNMENTS} assignments, not {count}")


def _parse_assignments(data: list[AssignmentInput]) -> list[Assignment]:
    check_count(len(data))
    return [
        Assignment(**{name: validate_id(f"data[{position}].{name}", value) for name, value in each})
        for position, each in enumerate(map(_field_values, data))
    ]


def _field_values(assignment: AssignmentInput) -> list[tuple[str, str]]:
    return [(name, getattr(assignment, name)) for name in Assignment.__struct_fields__]


def _to_invalid_input(error: InvalidAssignmentsError) -> InvalidInputError:
    return InvalidInputError(
        **{f"data[{fault.position}].{fault.field}": fault.message for fault in error.violations}
    )
