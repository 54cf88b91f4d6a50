"""Assigning attributes to units: all assignments of a request or none, by any number of gateways.

Each assignment is one upsert in a transaction, which also writes the audit record. In a group of
one attribute per unit the `_id` is the group and the unit, so that MongoDB's unique index allows
only one; in other groups it includes the attribute. The group and the units are read in the same
transaction.
"""

from collections import defaultdict
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from storage.administration import audit
from storage.catalog import ASSIGNMENTS, ATTRIBUTE_GROUPS, UNITS, Assignment, AttributeGroup
from storage.errors import StorageError
from storage.mongo import driver
from storage.records.kinds import Document, get_stored_keys
from storage.records.visibility import AssetScope
from storage.store import build_in_parts, pause_if_due
from storage.tombstones import add_tombstones, end_tombstones
from storage.write_guards import CONDITIONAL_WRITES_COLLECTION, write_guard

Precondition: TypeAlias = Callable[[driver.Session], Awaitable[None]]
"""Reads in the transaction of a write, and raises if the write must not be made."""

MAX_VIOLATIONS = 100
"""Errors of one request that are reported."""


class AssignmentViolation(NamedTuple):
    """The error of the assignment at `position` of a request."""

    position: int
    field: str
    message: str


class InvalidAssignmentsError(StorageError):
    """Some of the assignments are invalid, the first `violations`; nothing was written."""

    def __init__(self, violations: list[AssignmentViolation]) -> None:
        super().__init__("; ".join(f"{v.field}: {v.message}" for v in violations))
        self.violations = violations


class AttributeGroupNotFoundError(StorageError):
    """There is no attribute group with this id."""


async def assign_attributes(
    database: driver.Database,
    scope: AssetScope,
    group_id: str,
    assignments: Sequence[Assignment],
    origin: audit.Origin | None = None,
    precondition: Precondition | None = None,
) -> None:
    """Write the assignments; in a group of one per unit they replace earlier ones.

    Raises AttributeGroupNotFoundError, InvalidAssignmentsError, UnavailableError, and what
    `precondition` raises; nothing is written then.
    """

    async def work(session: driver.Session) -> tuple[None, audit.AuditEntry]:
        group = await _load_group(database, group_id, session)
        is_single = group.one_attribute_per_unit
        await _check(database, scope, group, assignments, session, is_single=is_single)
        await _check_precondition(database, group_id, precondition, session)
        built = await _build_documents(group, assignments)
        documents = {document["_id"]: document for document in built}
        await write_guard(database, session)
        before = await write_assignments(database, documents, session)
        changes = (
            (document, before.get(key), document["attribute_id"])
            for key, document in documents.items()
        )
        return None, _build_entry("attributes.assigned", group_id, changes)

    with driver.translate_errors():
        get_keys = partial(_collect_keys, group_id, assignments)
        await audit.run_audited(database, origin, work, get_keys)


async def write_assignments(
    database: driver.Database, documents: Mapping[str, Document], session: driver.Session
) -> dict[str, str]:
    """Write assignments by `_id`, with the tombstones of those that they replace.

    Return the attribute that each `_id` had.
    """
    before = await _load_assigned(database, documents, session)
    await pause_if_due()
    new = [each for key, each in documents.items() if before.get(key) != each["attribute_id"]]
    replaced = [
        {**each, "attribute_id": before[each["_id"]]} for each in new if each["_id"] in before
    ]
    writes = {
        key: driver.UpdateOne({"_id": key}, {"$set": document}, upsert=True)
        for key, document in documents.items()
    }
    await end_tombstones(database, ASSIGNMENTS, new, session)
    await add_tombstones(database, ASSIGNMENTS, replaced, session)
    await _bulk_write(database, writes, session)
    return before


async def unassign_attributes(
    database: driver.Database,
    scope: AssetScope,
    group_id: str,
    assignments: Sequence[Assignment],
    origin: audit.Origin | None = None,
    precondition: Precondition | None = None,
) -> None:
    """Delete the assignments; it is no error if one does not exist.

    Raises AttributeGroupNotFoundError, InvalidAssignmentsError, UnavailableError, and what
    `precondition` raises; nothing is written then.
    """

    async def work(session: driver.Session) -> tuple[None, audit.AuditEntry]:
        group = await _load_group(database, group_id, session)
        await _check(database, scope, group, assignments, session)
        await _check_precondition(database, group_id, precondition, session)
        # In a group of one per unit the `_id` does not say which attribute the unit has.
        documents = {
            (document["_id"], document["attribute_id"]): document
            for document in await _build_documents(group, assignments)
        }
        before = await _load_assigned(database, {key for key, _ in documents}, session)
        await pause_if_due()
        writes = {
            (key, attribute_id): driver.DeleteOne({"_id": key, "attribute_id": attribute_id})
            for key, attribute_id in documents
        }
        await _bulk_write(database, writes, session)
        removed = [
            document
            for (key, attribute_id), document in documents.items()
            if before.get(key) == attribute_id
        ]
        await add_tombstones(database, ASSIGNMENTS, removed, session)
        changes = ((document, document["attribute_id"], None) for document in removed)
        return None, _build_entry("attributes.unassigned", group_id, changes)

    with driver.translate_errors():
        await audit.run_audited(database, origin, work)


def _collect_keys(
    group_id: str, assignments: Sequence[Assignment]
) -> Mapping[str, Collection[str]]:
    """Return the keys of what must not be removed meanwhile, by collection."""
    unit_ids = {assignment.unit_id for assignment in assignments}
    values = {(each.unit_id, each.attribute_id) for each in assignments}
    return {
        ATTRIBUTE_GROUPS.name: [group_id],
        UNITS.name: unit_ids,
        ASSIGNMENTS.name: [
            key
            for unit_id, attribute_id in values
            for key in get_stored_keys(ASSIGNMENTS, (group_id, unit_id, attribute_id))
        ],
    }


async def _load_assigned(
    database: driver.Database, keys: Collection[str], session: driver.Session
) -> dict[str, str]:
    """Return the attribute of each assignment that exists, by `_id`."""
    where, fields = {"_id": {"$in": [*keys]}}, {"attribute_id": 1}
    found = database[ASSIGNMENTS.name].find(where, fields, session=session)
    return {each["_id"]: each["attribute_id"] for each in await driver.read_all(found)}


def _build_entry(
    action: audit.Action, group_id: str, changes: Iterable[tuple[Document, str | None, str | None]]
) -> audit.AuditEntry:
    """Build the audit entry: units by the attribute that they had and have, where they differ."""
    unit_ids: dict[tuple[str | None, str | None], list[str]] = defaultdict(list)
    asset_ids = set()
    for document, before, after in changes:
        if before != after:
            unit_ids[before, after].append(document["unit_id"])
            asset_ids.add(document["asset_id"])
    target = audit.AuditTarget(ATTRIBUTE_GROUPS.name, [group_id])
    audited = [
        audit.AuditChange.of_all(
            ASSIGNMENTS.name, _operation(before, after), sorted(ids), before, after
        )
        for (before, after), ids in unit_ids.items()
    ]
    return audit.AuditEntry(action, target, audited, asset_ids)


def _operation(before: str | None, after: str | None) -> audit.Operation:
    return "inserted" if before is None else "removed" if after is None else "updated"


async def _check_precondition(
    database: driver.Database,
    group_id: str,
    precondition: Precondition | None,
    session: driver.Session,
) -> None:
    if precondition is None:
        return
    # Two conditional writes to a group conflict, even if they write to different units: MongoDB
    # runs the later one again, and it sees what the first one wrote.
    await database[CONDITIONAL_WRITES_COLLECTION].update_one(
        {"_id": group_id}, {"$inc": {"count": 1}}, upsert=True, session=session
    )
    await precondition(session)


async def _bulk_write(
    database: driver.Database, writes: Mapping[Any, driver.WriteOperation], session: driver.Session
) -> None:
    # Sorted, so that transactions on the same units lock them in the same order: no deadlocks.
    operations = [writes[key] for key in sorted(writes)]
    await pause_if_due()
    await database[ASSIGNMENTS.name].bulk_write(operations, session=session)


async def _build_documents(
    group: AttributeGroup, assignments: Sequence[Assignment]
) -> list[Document]:
    owner_fields = {"one_attribute_per_unit": group.one_attribute_per_unit}
    return await build_in_parts(
        lambda part: [ASSIGNMENTS.to_document(assignment, owner_fields) for assignment in part],
        assignments,
    )


async def _load_group(
    database: driver.Database, group_id: str, session: driver.Session
) -> AttributeGroup:
    document = await database[ATTRIBUTE_GROUPS.name].find_one({"_id": group_id}, session=session)
    if document is None:
        raise AttributeGroupNotFoundError(group_id)
    return ATTRIBUTE_GROUPS.decode([document])[0]


async def _check(
    database: driver.Database,
    scope: AssetScope,
    group: AttributeGroup,
    assignments: Sequence[Assignment],
    session: driver.Session,
    *,
    is_single: bool = False,
) -> None:
    """Check the assignments against the group and the visible units; with `is_single`, also that no
    unit gets two attributes. Raises InvalidAssignmentsError."""
    unit_ids = sorted({assignment.unit_id for assignment in assignments})
    where, fields = {"_id": {"$in": unit_ids}}, {"asset_id": 1}
    stored = database[UNITS.name].find(where, fields, session=session)
    units = scope.keep_visible(UNITS, await driver.read_all(stored))
    asset_ids = {unit["_id"]: unit["asset_id"] for unit in units}
    await pause_if_due()
    found = _iter_violations(group, asset_ids, assignments, is_single)
    if violations := [*islice(found, MAX_VIOLATIONS)]:
        raise InvalidAssignmentsError(violations)
    await pause_if_due()


def _iter_violations(
    group: AttributeGroup,
    asset_ids: Mapping[str, str],
    assignments: Sequence[Assignment],
    is_single: bool,
) -> Iterator[AssignmentViolation]:
    attribute_ids = {attribute.attribute_id for attribute in group.attributes}
    firsts: dict[str, str] = {}
    for position, assignment in enumerate(assignments):
        faults: dict[str, str] = {}
        unit_id, attribute_id = assignment.unit_id, assignment.attribute_id
        if assignment.group_id != group.group_id:
            faults["group_id"] = f"must be {group.group_id!r}, the group of the request"
        elif attribute_id not in attribute_ids:
            faults["attribute_id"] = "names no attribute of this group"
        if unit_id not in asset_ids:
            faults["unit_id"] = "names no unit visible to this key"
        elif assignment.asset_id != asset_ids[unit_id]:
            faults["asset_id"] = "must be the asset of the unit, visible to this key"
        if is_single and not faults:
            first = firsts.setdefault(unit_id, attribute_id)
            if first != attribute_id:
                faults["attribute_id"] = (
                    f"is the second attribute of this unit, after {first!r}; the group allows one"
                )
        for field, message in faults.items():
            yield AssignmentViolation(position, field, message)
