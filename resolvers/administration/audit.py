"""The resolver of the audit log, for operators."""

from typing import Annotated

import strawberry

from resolvers.request.arguments import (
    MAX_INT32,
    AfterCursor,
    PageNumber,
    parse_page_request,
)
from resolvers.request.caller import ADMIN_PERMISSION
from resolvers.request.context import Info
from resolvers.request.errors import PermissionRequiredError
from resolvers.request.input_rules import ID, OneOf, Range, Syntax, argument
from resolvers.request.times import parse_time
from storage.administration.audit import (
    ACTIONS,
    MAX_SHOWN_CHANGES,
    MAX_SHOWN_IDS,
    Actor,
    AuditChange,
    AuditFilter,
    AuditRecord,
    list_audit_records,
)
from storage.records.paging import Page

__all__ = ["Actor", "AuditChange", "AuditRecord", "list_audit_log"]

MAX_AUDIT_PER_PAGE = 100


async def list_audit_log(
    info: Info,
    page: PageNumber = 1,
    per_page: Annotated[
        int | None,
        argument(
            "How many records a page holds."
            f" More than {MAX_AUDIT_PER_PAGE} is served as {MAX_AUDIT_PER_PAGE}.",
            Range(1, MAX_INT32),
        ),
    ] = MAX_AUDIT_PER_PAGE,
    after: AfterCursor = None,
    since: Annotated[
        str | None,
        argument("Only records from this time on, in ISO 8601.", Syntax(parse_time)),
    ] = None,
    until: Annotated[
        str | None, argument("Only records from before this time.", Syntax(parse_time))
    ] = None,
    actor: Annotated[
        strawberry.ID | None, argument("Only what this key has changed, or this operator.", ID)
    ] = None,
    action: Annotated[
        str | None, argument("Only this action, such as `key.created`.", OneOf(*ACTIONS))
    ] = None,
    target: Annotated[
        strawberry.ID | None,
        argument("Only changes of the record with this id, such as a key, a map or a unit.", ID),
    ] = None,
) -> Page[AuditRecord]:
    caller = info.context.caller
    if caller.scope.asset_ids is not None:
        raise PermissionRequiredError(ADMIN_PERMISSION, " for all assets")
    page_request = parse_page_request(
        page, min(per_page or MAX_AUDIT_PER_PAGE, MAX_AUDIT_PER_PAGE), after
    )
    audit_filter = AuditFilter(
        since=None if since is None else parse_time(since),
        until=None if until is None else parse_time(until),
        actor=actor,
        action=action,
        target=target,
    )
    database = info.context.bypass_caches().database
    records = await list_audit_records(database, audit_filter, page_request)
    info.context.budget.count_read(len(records.data))
    return records


list_audit_log.__doc__ = f"""List who changed what, when and from where, the latest first.

The key must see all assets. A record has its first {MAX_SHOWN_CHANGES} changes and
{MAX_SHOWN_IDS} assets, and a change its first {MAX_SHOWN_IDS} ids; with `target`, a change of
the record with this id has only its id. `floorgate audit --json` has all of them.
"""
