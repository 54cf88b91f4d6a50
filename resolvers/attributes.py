"""Unit attributes: their groups, and which unit has which."""

from collections.abc import Sequence

import strawberry

from resolvers.arguments import checked_id
from resolvers.batching import batched
from resolvers.context import Info, Relation
from resolvers.errors import InvalidInput, NotFound
from resolvers.listing import listing
from storage import assigning, driver
from storage.assigning import InvalidAssignments, NoSuchGroup
from storage.attributes import (
    ASSIGNMENTS,
    ATTRIBUTE_GROUPS,
    Assignment,
    Attribute,
    AttributeGroup,
)
from storage.kinds import Document
from storage.paging import Page
from storage.visibility import Scope

MOST_ASSIGNMENTS = 10_000


@strawberry.input(description="A unit and the attribute that it is to have, or to lose.")
class AssignmentInput:
    group_id: strawberry.ID
    attribute_id: strawberry.ID
    asset_id: strawberry.ID
    unit_id: strawberry.ID


def _in_group(group_id: str, asset_id: str) -> Document:
    where: Document = {"group_id": group_id}
    return where | {"asset_id": asset_id} if asset_id else where


IN_GROUP = Relation(ASSIGNMENTS, _in_group)
OF_UNIT = Relation(ASSIGNMENTS, lambda unit_id: {"unit_id": unit_id})


async def groups(
    info: Info, page: int | None = 1, per_page: int | None = 100, after: str | None = None
) -> Page[AttributeGroup]:
    """The attribute groups with their attributes."""
    return await info.context.page(ATTRIBUTE_GROUPS, {}, page, per_page, after)


async def group_by_id(info: Info, id: strawberry.ID) -> AttributeGroup | None:
    """One attribute group."""
    return await info.context.one(ATTRIBUTE_GROUPS, checked_id("id", id))


@batched
async def of_group(
    parents: Sequence[AttributeGroup],
    info: Info,
    page: int | None = 1,
    per_page: int | None = 100,
    after: str | None = None,
    asset: strawberry.ID | None = None,
) -> list[Page[Assignment]]:
    """Which unit has which attribute of a group, ordered by unit, then attribute."""
    asset_id = "" if asset is None else checked_id("asset", asset)
    keys = [(parent.group_id, asset_id) for parent in parents]
    return await info.context.lists(IN_GROUP, keys, page, per_page, after)


of_unit = listing(OF_UNIT, "The attributes that a unit has.")


@batched
async def attribute_of(parents: Sequence[Assignment], info: Info) -> list[Attribute | None]:
    """The attribute that is assigned."""
    groups = await info.context.each(ATTRIBUTE_GROUPS, [parent.group_id for parent in parents])
    return [
        _attribute(group, parent.attribute_id)
        for group, parent in zip(groups, parents, strict=True)
    ]


def _attribute(group: AttributeGroup | None, attribute_id: str) -> Attribute | None:
    attributes = group.attributes if group else []
    return next((each for each in attributes if each.attribute_id == attribute_id), None)


async def assign(
    info: Info, group_id: strawberry.ID, data: list[AssignmentInput]
) -> list[Assignment]:
    """Gives units attributes of a group: all of them, or none when anything is wrong.

    Where the group allows one attribute per unit, an earlier one is replaced. Answers with the
    assignments given.
    """
    assignments = _checked(data)
    try:
        await assigning.assign(*_place(info), checked_id("groupId", group_id), assignments)
    except NoSuchGroup as error:
        raise NotFound from error
    except InvalidAssignments as error:
        raise _invalid(error) from error
    return assignments


async def unassign(info: Info, group_id: strawberry.ID, data: list[AssignmentInput]) -> bool:
    """Takes attributes of a group from units: all of them, or none when anything is wrong.

    What a unit does not have is no error.
    """
    assignments = _checked(data)
    try:
        await assigning.unassign(*_place(info), checked_id("groupId", group_id), assignments)
    except NoSuchGroup as error:
        raise NotFound from error
    except InvalidAssignments as error:
        raise _invalid(error) from error
    return True


def _place(info: Info) -> tuple[driver.Database, Scope]:
    return info.context.store.database, info.context.caller.scope


def check_count(count: int) -> None:
    """Whether so many assignments may be given at once. Raises InvalidInput."""
    if not 1 <= count <= MOST_ASSIGNMENTS:
        raise InvalidInput(data=f"must hold 1 to {MOST_ASSIGNMENTS} assignments, not {count}")


def _checked(data: list[AssignmentInput]) -> list[Assignment]:
    check_count(len(data))
    return [
        Assignment(**{name: checked_id(f"data[{position}].{name}", value) for name, value in each})
        for position, each in enumerate(map(_items, data))
    ]


def _items(given: AssignmentInput) -> list[tuple[str, str]]:
    return [(name, getattr(given, name)) for name in Assignment.__struct_fields__]


def _invalid(error: InvalidAssignments) -> InvalidInput:
    return InvalidInput(
        **{f"data[{fault.position}].{fault.field}": fault.complaint for fault in error.faults}
    )
