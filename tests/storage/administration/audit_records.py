"""Write records of the audit log as changes do, and read them back."""

from datetime import timedelta
from typing import Any

from storage.administration import audit
from storage.administration.audit import (
    LATEST_FIRST,
    Actor,
    AuditChange,
    AuditEntry,
    AuditFilter,
    AuditRecord,
    AuditTarget,
    Origin,
    iter_audit_records,
    list_audit_records,
)
from storage.mongo import driver
from storage.records.paging import PageRequest

ORIGIN = Origin(Actor("key", "key_9", "till"), "rest", "192.0.2.7", "request-1")
HOUR = timedelta(hours=1)


async def records_of(database: Any, **given: Any) -> list[AuditRecord]:
    """The whole records, the first first."""
    found = [each async for each in iter_audit_records(database, AuditFilter(**given), 0)]
    return found[::-1]


async def write(
    database: Any, ids: list[str], *, origin: Origin = ORIGIN, after: Any = None
) -> None:
    """Write a record of units that were changed."""
    change = AuditChange.of_all("units", "updated", ids, after=after)
    entry = AuditEntry("attributes.assigned", AuditTarget("attribute_groups", ["g"]), [change])

    async def work(session: driver.Session) -> tuple[None, AuditEntry]:
        return None, entry

    await audit.run_in_transaction(database, origin, work)


async def list_page(
    database: Any, page: int = 1, per_page: int = 2, after: str | None = None, **given: Any
) -> Any:
    request = PageRequest.from_arguments(page, per_page, after, order=LATEST_FIRST)
    return await list_audit_records(database, AuditFilter(**given), request)
