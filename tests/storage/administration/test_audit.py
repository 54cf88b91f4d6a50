"""The audit log: one record in the transaction of each change, found by who, what and when."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage import networks
from storage.administration import api_keys, audit
from storage.administration.audit import (
    AUDIT_COLLECTION,
    LATEST_FIRST,
    MAX_LISTED_IDS,
    MAX_SHOWN_CHANGES,
    MAX_SHOWN_IDS,
    Actor,
    AuditChange,
    AuditEntry,
    AuditFilter,
    AuditRecord,
    AuditTarget,
    Origin,
    delete_audit_records,
    get_process_origin,
    iter_audit_records,
    list_audit_records,
)
from storage.attribute_assignments import assign_attributes, unassign_attributes
from storage.catalog import FOOT_ROUTING, Assignment
from storage.importing.import_bundles import ImportRun, finish_interrupted_import, import_bundles
from storage.mongo import driver
from storage.publication import Publication
from storage.records.paging import PageRequest
from storage.records.visibility import ALL_ASSETS
from tests.storage.catalogs import SMALL, small, write_arrays

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

    await audit.run_audited(database, origin, work)


async def list_page(
    database: Any, page: int = 1, per_page: int = 2, after: str | None = None, **given: Any
) -> Any:
    request = PageRequest.from_arguments(page, per_page, after, order=LATEST_FIRST)
    return await list_audit_records(database, AuditFilter(**given), request)


def build_assignment(attribute: str, unit: str, group: str = "plan") -> Assignment:
    asset = unit[0].replace("u", "a").replace("v", "b")
    return Assignment(group_id=group, attribute_id=attribute, asset_id=asset, unit_id=unit)


@pytest.fixture
async def imported(database: Any, tmp_path: Any) -> AsyncIterator[Any]:
    """A small catalog, with an empty audit log."""
    await import_bundles(database, [write_arrays(tmp_path / "small.json", SMALL)])
    await database[AUDIT_COLLECTION].delete_many({})
    yield database


async def test_a_record_says_who_from_where_and_when(database: Any) -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    await write(database, ["u1"])
    [record] = await records_of(database)
    assert (record.actor, record.interface) == (ORIGIN.actor, "rest")
    assert (record.client_address, record.request_id) == ("192.0.2.7", "request-1")
    assert before <= record.at <= datetime.now(UTC)


async def test_without_an_origin_the_operator_of_this_process_acts(database: Any) -> None:
    await api_keys.create_api_key(
        database, name="till", permissions=[], asset_ids=None, expires_at=None
    )
    [record] = await records_of(database)
    assert record.actor == get_process_origin().actor
    assert record.actor.type == "operator"
    assert record.interface == "cli"


async def test_what_fails_leaves_no_record_and_what_cannot_be_recorded_changes_nothing(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def insert_and_fail(session: driver.Session) -> tuple[None, None]:
        await database["api_keys"].insert_one({"_id": "k"}, session=session)
        raise LookupError

    with pytest.raises(LookupError):
        await audit.run_audited(database, ORIGIN, insert_and_fail)

    def fail(*_: object) -> None:
        raise LookupError

    monkeypatch.setattr(audit, "_to_document", fail)
    with pytest.raises(LookupError):
        await api_keys.create_api_key(
            database, name="till", permissions=[], asset_ids=None, expires_at=None
        )
    assert not await database["api_keys"].count_documents({})
    assert await records_of(database) == []


async def test_revoking_a_key_is_recorded_once(database: Any) -> None:
    key, _ = await api_keys.create_api_key(
        database, name="till", permissions=[], asset_ids=["a"], expires_at=None
    )
    for _ in range(2):
        assert await api_keys.revoke_api_key(database, key.id, ORIGIN)
    assert not await api_keys.revoke_api_key(database, "nope", ORIGIN)
    [_, revoked] = await records_of(database)
    assert (revoked.action, revoked.target.ids) == ("key.revoked", [key.id])
    assert revoked.asset_ids == ["a"]
    assert [(change.before, change.after) for change in revoked.changes] == [
        ({"name": "till", "revoked": False}, {"name": "till", "revoked": True})
    ]


async def test_assignments_are_recorded_where_they_change_something(imported: Any) -> None:
    both = [build_assignment("t", "u1"), build_assignment("t", "u2"), build_assignment("t", "v1")]
    await assign_attributes(imported, ALL_ASSETS, "plan", both, ORIGIN)
    await assign_attributes(imported, ALL_ASSETS, "plan", both, ORIGIN)
    [assigned] = await records_of(imported)
    assert (assigned.action, assigned.asset_ids) == ("attributes.assigned", ["a", "b"])
    assert assigned.target == AuditTarget("attribute_groups", ["plan"])
    assert assigned.changes == [
        AuditChange("attribute_assignments", "updated", 1, ["u1"], "s", "t"),
        AuditChange("attribute_assignments", "inserted", 2, ["u2", "v1"], None, "t"),
    ]
    wrong = [build_assignment("s", "u1"), build_assignment("t", "u2")]
    for _ in range(2):
        await unassign_attributes(imported, ALL_ASSETS, "plan", wrong, ORIGIN)
    [_, removed] = await records_of(imported)
    assert removed.action == "attributes.unassigned"
    assert removed.changes == [
        AuditChange("attribute_assignments", "removed", 1, ["u2"], "t", None)
    ]


# Imports


async def test_an_import_is_recorded_with_its_counts_and_its_first_ids(
    database: Any, tmp_path: Any
) -> None:
    bundle = small()
    bundle["units"] += [
        {"id": f"n{number:05}", "asset_id": "a", "floor_id": "a1", "name": str(number)}
        for number in range(MAX_LISTED_IDS)
    ]
    path = write_arrays(tmp_path / "b.json", bundle)
    await import_bundles(database, [path], dry_run=True, origin=ORIGIN)
    assert await records_of(database) == []
    await import_bundles(database, [path], origin=ORIGIN)
    bundle["assets"][0]["name"] = "Renamed"
    await import_bundles(database, [write_arrays(path, bundle)], origin=ORIGIN)
    await import_bundles(database, [path], origin=ORIGIN)  # changes nothing
    first, second = await records_of(database)
    assert first.target == AuditTarget("bundles", [str(path)])
    assert first.asset_ids == ["a", "b"]
    by_kind = {change.kind: change for change in first.changes}
    assert {kind: change.count for kind, change in by_kind.items()} == {
        kind: len(members) for kind, members in bundle.items()
    }
    assert by_kind["assets"].ids == ["a", "b"]
    assert len(by_kind["units"].ids) == MAX_LISTED_IDS
    assert {change.operation for change in first.changes} == {"inserted"}
    assert second.changes == [AuditChange("assets", "updated", 1, ["a"])]
    assert second.actor == ORIGIN.actor


class Killed(BaseException):
    """The end of the process."""


async def test_an_import_has_its_record_from_the_moment_when_it_is_committed(
    database: Any, bundle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(ImportRun, "commit", die)
        with pytest.raises(Killed):
            await import_bundles(database, [bundle], origin=ORIGIN)
    await finish_interrupted_import(database)
    assert await records_of(database) == []
    assert not await database["units"].count_documents({})
    with monkeypatch.context() as patch:
        patch.setattr(ImportRun, "apply", die)
        with pytest.raises(Killed):
            await import_bundles(database, [bundle], origin=ORIGIN)
    [record] = await records_of(database)
    assert not await database["units"].count_documents({})
    await finish_interrupted_import(database)
    assert await database["units"].count_documents({}) == len(SMALL["units"])
    assert await records_of(database) == [record]
    assert record.actor == ORIGIN.actor


async def test_a_publication_is_recorded_with_the_network_before_and_after(imported: Any) -> None:
    for content in (b"one", b"two"):
        publication = Publication("am", content, FOOT_ROUTING, {}, [], origin=ORIGIN)
        await networks.publish_network(imported, publication)
    assert await networks.withdraw_network(imported, "am", {}, ORIGIN)
    assert not await networks.withdraw_network(imported, "am", {}, ORIGIN)
    one, two, withdrawn = await records_of(imported)
    assert [each.action for each in (one, two, withdrawn)] == [
        "map.processed",
        "map.processed",
        "map.withdrawn",
    ]
    assert one.changes[0].before == {"network": None, "routing_tier": "no_routing"}
    assert one.changes[0].after["routing_tier"] == FOOT_ROUTING
    assert one.changes[0].after["network"] != two.changes[0].after["network"]
    assert two.changes[0].before == one.changes[0].after
    assert withdrawn.changes[0].before == two.changes[0].after
    assert withdrawn.changes[0].after == one.changes[0].before


# Reading and deleting


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

    await audit.run_audited(database, ORIGIN, work)
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
