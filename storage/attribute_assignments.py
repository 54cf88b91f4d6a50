"""Assigning attributes to units: all of a request or nothing, at any number of gateways at once.

Each assignment is one upsert. In a group of one attribute per unit its `_id` is the group and the
unit alone, so that MongoDB itself keeps a unit from having two; in other groups the attribute is
part of it. What the assignments rest on is read in the same transaction.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pymongo import DeleteOne, UpdateOne

from storage.attributes import ASSIGNMENTS, ATTRIBUTE_GROUPS, Assignment
from storage.errors import StorageError
from storage.mongo import driver
from storage.records.kinds import Document
from storage.records.visibility import Scope
from storage.units import UNITS


class AssignmentViolation(NamedTuple):
    """What is wrong with one assignment of a request."""

    position: int
    field: str
    message: str


class InvalidAssignmentsError(StorageError):
    """Assignments that cannot be made, each with its fault; nothing was written."""

    def __init__(self, violations: list[AssignmentViolation]) -> None:
        super().__init__("; ".join(f"{fault.field}: {fault.message}" for fault in violations))
        self.violations = violations


class AttributeGroupNotFoundError(StorageError):
    """There is no attribute group with this id."""


async def assign_attributes(
    database: driver.Database, scope: Scope, group_id: str, assignments: Sequence[Assignment]
) -> None:
    """Makes the assignments; in a group of one per unit they replace earlier ones.

    Raises NoSuchGroup, InvalidAssignments, Unavailable.
    """

    async def work(session: driver.Session) -> None:
        group = await _load_checked_group(
            database, scope, group_id, assignments, session, is_assigning=True
        )
        writes = {
            document["_id"]: UpdateOne({"_id": document["_id"]}, {"$set": document}, upsert=True)
            for document in _build_documents(group, assignments)
        }
        await _bulk_write(database, writes, session)

    with driver.translate_errors():
        await driver.run_in_transaction(database.client, work)


async def unassign_attributes(
    database: driver.Database, scope: Scope, group_id: str, assignments: Sequence[Assignment]
) -> None:
    """Ends the assignments; one that is not there is no error.

    Raises NoSuchGroup, InvalidAssignments, Unavailable.
    """

    async def work(session: driver.Session) -> None:
        group = await _load_checked_group(database, scope, group_id, assignments, session)
        # The key of a group of one per unit does not name the attribute: another one stays.
        writes = {
            (document["_id"], document["attribute_id"]): DeleteOne(
                {"_id": document["_id"], "attribute_id": document["attribute_id"]}
            )
            for document in _build_documents(group, assignments)
        }
        await _bulk_write(database, writes, session)

    with driver.translate_errors():
        await driver.run_in_transaction(database.client, work)


async def _bulk_write(
    database: driver.Database, writes: Mapping[Any, UpdateOne | DeleteOne], session: driver.Session
) -> None:
    # One order for all writers: two that want the same units never wait for each other.
    ordered = [writes[key] for key in sorted(writes)]
    await database[ASSIGNMENTS.name].bulk_write(ordered, session=session)


def _build_documents(group: Document, assignments: Sequence[Assignment]) -> list[Document]:
    made = []
    for assignment in assignments:
        document = ASSIGNMENTS.to_document(assignment)
        document["one_attribute_per_unit"] = group["one_attribute_per_unit"]
        document["_id"] = ASSIGNMENTS.key_of(document)
        made.append(document)
    return made


async def _load_checked_group(
    database: driver.Database,
    scope: Scope,
    group_id: str,
    assignments: Sequence[Assignment],
    session: driver.Session,
    *,
    is_assigning: bool = False,
) -> Document:
    """The group, when every assignment fits it and names a visible unit of its asset."""
    group: Document | None = await database[ATTRIBUTE_GROUPS.name].find_one(
        {"_id": group_id}, session=session
    )
    if group is None:
        raise AttributeGroupNotFoundError(group_id)
    ids = sorted({assignment.unit_id for assignment in assignments})
    found = await (
        database[UNITS.name]
        .find(
            scope.restrict(UNITS, {"_id": {"$in": ids}}),
            {"asset_id": 1},
            batch_size=len(ids) + 1,
            session=session,
        )
        .to_list(None)
    )
    asset_of = {unit["_id"]: unit["asset_id"] for unit in found}
    faults = list(_find_violations(group, asset_of, assignments))
    if is_assigning and group["one_attribute_per_unit"]:
        faults += _find_second_attributes(group, assignments)
    if faults:
        raise InvalidAssignmentsError(faults)
    return group


def _find_violations(
    group: Document, asset_of: dict[str, str], assignments: Sequence[Assignment]
) -> Iterator[AssignmentViolation]:
    attributes = {attribute["attribute_id"] for attribute in group["attributes"]}
    for position, assignment in enumerate(assignments):
        if assignment.group_id != group["_id"]:
            yield AssignmentViolation(
                position, "group_id", f"must be {group['_id']!r}, the group of the request"
            )
            continue
        if assignment.attribute_id not in attributes:
            yield AssignmentViolation(position, "attribute_id", "names no attribute of this group")
        if assignment.unit_id not in asset_of:
            yield AssignmentViolation(position, "unit_id", "names no unit that this key sees")
        elif assignment.asset_id != asset_of[assignment.unit_id]:
            yield AssignmentViolation(
                position, "asset_id", "names no asset that this key sees and the unit is of"
            )


def _find_second_attributes(
    group: Document, assignments: Sequence[Assignment]
) -> Iterator[AssignmentViolation]:
    """Where a request gives one unit two attributes of a group that allows one."""
    chosen: dict[str, str] = {}
    for position, assignment in enumerate(assignments):
        other = chosen.setdefault(assignment.unit_id, assignment.attribute_id)
        if other != assignment.attribute_id and assignment.group_id == group["_id"]:
            yield AssignmentViolation(
                position,
                "attribute_id",
                f"is the unit's second in this request, beside {other!r}; the group allows one",
            )
