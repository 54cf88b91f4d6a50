"""Records of the audit log are found by who, what and when, and deleted when they are old."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.administration import api_keys, audit
from storage.administration.audit import (
    AUDIT_COLLECTION,
    MAX_SHOWN_CHANGES,
    MAX_SHOWN_IDS,
    Actor,
    AuditChange,
    AuditEntry,
    AuditTarget,
    Origin,
    delete_audit_records,
)
from storage.cache.change_events import FOLLOWED_COLLECTIONS
from storage.mongo import driver
from tests.storage.administration.audit_records import HOUR, ORIGIN, list_page, records_of, write

pytestmark = pytest.mark.anyio


async def test_pages_have_the_latest_records_first(database: Any) -> None:
    for name in "abcde":
        await write(database, [name])
    first = await list_page(database)
    second = await list_page(database, 2, after=first.paging.next)
    third = await list_page(database, 3)
    found = [page.data for page in (first, second, third)]
    assert [[each.changes[0].ids for each in page] for page in found] == [
        [["e"], ["d"]],
        [["c"], ["b"]],
        [["a"]],
    ]
    assert third.paging.next is None


async def test_records_are_found_by_actor_action_target_and_time(database: Any) -> None:
    await write(database, ["u1", "u2"])
    other = Origin(Actor("key", "key_2", "other"), "graphql", "", "request-2")
    key, _ = await api_keys.create_api_key(
        database, name="k", permissions=[], asset_ids=None, expires_at=None, origin=other
    )
    now = datetime.now(UTC)
    for given, actions in (
        ({"actor": "key_9"}, ["attributes.assigned"]),
        ({"actor": "key_2"}, ["key.created"]),
        ({"action": "key.created"}, ["key.created"]),
        ({"target": "u2"}, ["attributes.assigned"]),
        ({"target": "g"}, ["attributes.assigned"]),
        ({"target": key.id}, ["key.created"]),
        ({"target": "u2", "actor": "key_2"}, []),
        ({"since": now - HOUR, "until": now + HOUR}, ["attributes.assigned", "key.created"]),
        ({"since": now + HOUR}, []),
        ({"until": now - HOUR}, []),
    ):
        assert [each.action for each in await records_of(database, **given)] == actions, given
        page = await list_page(database, **given)
        assert [each.action for each in page.data] == actions[::-1], given


@pytest.mark.parametrize("given", ["$gt", {"$gt": ""}])
async def test_a_filter_is_never_an_operator(database: Any, given: Any) -> None:
    await write(database, ["u1"])
    for name in ("actor", "action", "target"):
        assert await records_of(database, **{name: given}) == []
        assert (await list_page(database, **{name: given})).data == []


async def test_a_page_has_the_first_changes_and_ids_or_those_of_the_target(database: Any) -> None:
    groups = [
        AuditChange.of_all("units", "updated", [f"{group}-{n}" for n in range(50)], after=group)
        for group in range(MAX_SHOWN_CHANGES + 1)
    ]
    entry = AuditEntry("attributes.assigned", AuditTarget("attribute_groups", ["g"]), groups)

    async def work(session: driver.Session) -> tuple[None, AuditEntry]:
        return None, entry._replace(asset_ids=map(str, range(50)))

    await audit.run_in_transaction(database, ORIGIN, work)
    [shown] = (await list_page(database)).data
    assert len(shown.changes) == MAX_SHOWN_CHANGES
    assert {len(change.ids) for change in shown.changes} == {MAX_SHOWN_IDS}
    assert {change.count for change in shown.changes} == {50}
    assert len(shown.asset_ids) == MAX_SHOWN_IDS
    [of_unit] = (await list_page(database, target=f"{MAX_SHOWN_CHANGES}-49")).data
    assert [(change.ids, change.after) for change in of_unit.changes] == [
        ([f"{MAX_SHOWN_CHANGES}-49"], MAX_SHOWN_CHANGES)
    ]
    [of_group] = (await list_page(database, target="g")).data
    assert of_group.changes == shown.changes


async def test_old_records_are_deleted_and_later_ones_kept(database: Any) -> None:
    await write(database, ["u1"])
    [record] = await records_of(database)
    assert await delete_audit_records(database, record.at) == 0
    assert await delete_audit_records(database, record.at + timedelta(milliseconds=1)) == 1
    assert await records_of(database) == []


def test_records_invalidate_no_cache() -> None:
    assert AUDIT_COLLECTION not in FOLLOWED_COLLECTIONS
