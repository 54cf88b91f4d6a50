"""The audit log: one record in the transaction of each change."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pymongo import monitoring

from storage import networks
from storage.administration import api_keys, audit
from storage.administration.audit import (
    AUDIT_COLLECTION,
    MAX_LISTED_IDS,
    AuditChange,
    AuditTarget,
    get_process_origin,
)
from storage.administration.import_lease import LEASE_COLLECTION
from storage.attribute_assignments import (
    InvalidAssignmentsError,
    assign_attributes,
    unassign_attributes,
)
from storage.attributes import Assignment
from storage.bundles.importing.import_bundles import import_bundles
from storage.bundles.importing.import_run import ImportRun
from storage.bundles.importing.recovery import finish_interrupted_import
from storage.maps import FOOT_ROUTING
from storage.mongo import driver
from storage.mongo.lease import Lease
from storage.publication import Publication
from storage.records.visibility import ALL_ASSETS, AssetScope
from tests.storage.administration.audit_records import ORIGIN, records_of, write
from tests.storage.catalogs import ONE_DRIVER, SMALL, small, write_arrays

pytestmark = pytest.mark.anyio


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
        await audit.run_in_transaction(database, ORIGIN, insert_and_fail)

    def fail(*_: object) -> None:
        raise LookupError

    monkeypatch.setattr(audit, "_to_document", fail)
    with pytest.raises(LookupError):
        await api_keys.create_api_key(
            database, name="till", permissions=[], asset_ids=None, expires_at=None
        )
    assert not await database["api_keys"].count_documents({})
    assert await records_of(database) == []


async def test_a_transaction_that_is_not_committed_leaves_no_record(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = driver.run_in_transaction

    async def fail_to_commit(client: Any, work: Any) -> Any:
        async def write_and_fail(session: driver.Session) -> None:
            await work(session)
            raise LookupError

        await run(client, write_and_fail)

    with monkeypatch.context() as patch, pytest.raises(LookupError):
        patch.setattr(driver, "run_in_transaction", fail_to_commit)
        await write(database, ["u1"])
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


@pytest.mark.slow
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


@pytest.mark.slow
async def test_in_a_group_of_many_per_unit_each_assignment_is_new_or_not(imported: Any) -> None:
    given = [build_assignment(name, "u1", "extras") for name in ("view", "quiet")]
    await unassign_attributes(imported, ALL_ASSETS, "extras", given[:1], ORIGIN)
    await assign_attributes(imported, ALL_ASSETS, "extras", given, ORIGIN)
    removed, assigned = await records_of(imported)
    assert [change.before for change in removed.changes] == ["view"]
    assert [(each.ids, each.before, each.after) for each in assigned.changes] == [
        (["u1"], None, "view")
    ]


@pytest.mark.slow
async def test_an_invalid_assignment_leaves_no_record(imported: Any) -> None:
    scope = AssetScope(frozenset({"a"}))
    with pytest.raises(InvalidAssignmentsError):
        await assign_attributes(
            imported,
            scope,
            "plan",
            [build_assignment("t", "u1"), build_assignment("t", "v1")],
            ORIGIN,
        )
    assert await records_of(imported) == []


class Commands(monitoring.CommandListener):
    """The commands that were sent, by name and collection."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self.sent.append((event.command_name, event.command.get(event.command_name)))

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: monitoring.CommandFailedEvent) -> None: ...


@pytest.mark.slow
@ONE_DRIVER
async def test_an_assignment_reads_whether_a_restore_is_under_way_and_inserts_its_record(
    imported: Any, mongo_url: str
) -> None:
    commands = Commands()
    monitoring.register(commands)
    client = driver.connect(mongo_url, timeout_seconds=30)
    await assign_attributes(
        client[imported.name], ALL_ASSETS, "plan", [build_assignment("t", "u1")], ORIGIN
    )
    await driver.close(client)
    connecting = ("hello", "saslStart", "saslContinue", "endSessions")
    mine = [command for command in commands.sent if command[0] not in connecting]
    assert mine == [
        ("find", LEASE_COLLECTION),
        ("find", "attribute_groups"),
        ("find", "units"),
        ("update", "conditional_writes"),
        ("find", "attribute_assignments"),
        ("delete", "tombstones"),
        ("insert", "tombstones"),  # of the attribute that it replaces
        ("update", "attribute_assignments"),
        ("insert", AUDIT_COLLECTION),
        ("commitTransaction", 1),
    ]


async def test_a_change_too_great_for_a_document_has_several_records(database: Any) -> None:
    ids = [f"{number:05}" + "\U0001f600" * 250 for number in range(15_000)]
    await write(database, ids)
    records = await records_of(database)
    assert len(records) > 1
    assert sorted(id for each in records for change in each.changes for id in change.ids) == ids
    assert sum(change.count for each in records for change in each.changes) == len(ids)
    assert {each.request_id for each in records} == {"request-1"}


async def test_a_usual_change_of_10000_units_has_one_record(database: Any) -> None:
    ids = [f"{number:011}" for number in range(10_000)]
    await write(database, ids, after="floor-plan-one-bedroom")
    [record] = await records_of(database)
    assert record.changes[0].ids == ids


# Imports


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
async def test_an_import_that_loses_its_lease_before_the_commit_leaves_no_record(
    database: Any, bundle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = Lease.update

    async def lose(lease: Lease, fields: Any, session: Any = None) -> None:
        if session is not None:  # the commit
            lease.holder = "another"
        await update(lease, fields, session)

    monkeypatch.setattr(Lease, "update", lose)
    with pytest.raises(Exception, match="lost its lease"):
        await import_bundles(database, [bundle], origin=ORIGIN)
    assert await records_of(database) == []


@pytest.mark.slow
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
