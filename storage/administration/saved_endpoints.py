"""Saved endpoints: the GraphQL operations that operators have made endpoints of REST."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from storage.administration import audit
from storage.administration.audit import AuditEntry
from storage.mongo import driver
from storage.records.kinds import Document, current_timestamp
from storage.write_guards import CONDITIONAL_WRITES_COLLECTION

ENDPOINTS_COLLECTION: Final = "endpoints"
MAX_ENDPOINTS: Final = 2_000
MAX_CHARACTERS: Final = 8_000_000
"""Of all texts together: each worker keeps them in memory."""
_GUARD: Final = "\0endpoints"
"""The counter that every change writes, so that of two at the same time one sees the other."""
_CONTRACT: Final = "contract"


class SavedEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint as it was saved."""

    name: str
    method: str
    path: str
    changes: str = ""
    """The name of the endpoint that reads what this one writes; empty if there is none."""
    text: str
    """The operation with its fragments, as it was written."""
    contract: str = ""
    """What callers rely on, as JSON; empty where it was not read."""
    saved_at: str = ""


class EndpointPlan(NamedTuple):
    """What a change of saved endpoints does."""

    added: Sequence[SavedEndpoint] = ()
    changed: Sequence[SavedEndpoint] = ()
    removed: Sequence[str] = ()
    """The names of endpoints."""
    unchanged: Sequence[SavedEndpoint] = ()
    breaking: Sequence[str] = ()
    """What breaks callers, each as a sentence that begins with the endpoint's name."""


Decide = Callable[[Mapping[str, SavedEndpoint]], EndpointPlan]
"""Decides by the endpoints of this moment, by name; what it raises ends the change."""


async def change_endpoints(
    database: driver.Database,
    origin: audit.Origin | None,
    names: Collection[str],
    decide: Decide,
) -> EndpointPlan:
    """Write what `decide` makes of the saved endpoints: all of it, or nothing.

    Those of `names` have their contracts then. Raises UnavailableError.
    """

    async def change(session: driver.Session) -> tuple[EndpointPlan, AuditEntry]:
        counters = database[CONDITIONAL_WRITES_COLLECTION]
        where = {"_id": _GUARD}
        await counters.update_one(where, {"$inc": {"count": 1}}, upsert=True, session=session)
        plan = decide(await _read_endpoints(database, names, session))
        collection, now = database[ENDPOINTS_COLLECTION], current_timestamp()
        gone = [*plan.removed, *(each.name for each in plan.changed)]
        if gone:
            await collection.delete_many({"_id": {"$in": gone}}, session=session)
        if saved := [
            {"_id": each.name, **msgspec.to_builtins(each), "saved_at": now}
            for each in (*plan.added, *plan.changed)
        ]:
            await collection.insert_many(saved, session=session)
        return plan, _build_entry(plan)

    return await audit.run_audited(database, origin, change)


async def list_endpoints(
    database: driver.Database,
    names: Collection[str] | None = None,
    *,
    with_contracts: bool = False,
) -> list[SavedEndpoint]:
    """Return all endpoints of one moment, or those of some names, by name.

    Raises UnavailableError.
    """
    where: Document = {} if names is None else {"_id": {"$in": [*names]}}
    left_out = None if with_contracts else {_CONTRACT: False}
    with driver.translate_errors():
        found = database[ENDPOINTS_COLLECTION].find(where, left_out, sort=[("_id", 1)])
        return msgspec.convert(await driver.read_all(found), list[SavedEndpoint])


async def find_endpoint(database: driver.Database, name: str) -> SavedEndpoint | None:
    """Return an endpoint with its contract. Raises UnavailableError."""
    found = await list_endpoints(database, [name], with_contracts=True)
    return found[0] if found else None


async def _read_endpoints(
    database: driver.Database, names: Collection[str], session: driver.Session
) -> dict[str, SavedEndpoint]:
    is_named = {"$in": ["$_id", {"$literal": [*names]}]}
    fields = {
        **dict.fromkeys(SavedEndpoint.__struct_fields__, True),
        _CONTRACT: {"$cond": [is_named, f"${_CONTRACT}", ""]},
    }
    stored = await driver.read_all(database[ENDPOINTS_COLLECTION].find({}, fields, session=session))
    return {each.name: each for each in msgspec.convert(stored, list[SavedEndpoint])}


def _build_entry(plan: EndpointPlan) -> AuditEntry:
    is_saved = plan.added or plan.changed
    return audit.build_entry(
        "endpoints.saved" if is_saved else "endpoints.removed",
        ENDPOINTS_COLLECTION,
        {
            "inserted": [each.name for each in plan.added],
            "updated": [each.name for each in plan.changed],
            "removed": plan.removed,
        },
    )
