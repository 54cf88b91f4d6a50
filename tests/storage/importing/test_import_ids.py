"""An import that is sent twice with the same id is made once, whatever happens in between."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from storage.administration import audit
from storage.administration.audit import Actor, Origin
from storage.administration.import_lease import ImportLease
from storage.errors import BundleError, ImportIdTakenError, ImportInterruptedError
from storage.importing.change_plan import ChangeRequest
from storage.importing.import_bundles import (
    ImportCounts,
    ImportSummary,
    finish_interrupted_import,
    import_bundles,
)
from storage.importing.removals import RemovalLimit
from tests.storage.backup.archives import restore, save
from tests.storage.catalogs import SMALL, contents, expire_lease, small, write_arrays
from tests.storage.importing.killing import Killed, kill_before_write, open_with_listener

MEMBERS = sum(len(array) for array in SMALL.values())
MADE = ImportCounts(inserted=MEMBERS)


async def send(database: Any, *bundles: Any, id: str = "i", **options: Any) -> ImportSummary:
    request = ChangeRequest(import_id=id, is_planned=True, limit=RemovalLimit(None))
    asked = {name: options.pop(name) for name in {*options} & {*ChangeRequest._fields}}
    return await import_bundles(database, bundles, changes=request._replace(**asked), **options)


def origin_of(key_id: str) -> Origin:
    return Origin(Actor("key", key_id, key_id), "graphql", "127.0.0.1", "r")


async def test_an_import_sent_twice_is_made_once(database: Any, bundle: Path) -> None:
    first = await send(database, bundle)
    assert (first.total, first.is_repetition) == (MADE, False)
    await database["units"].update_one({"_id": "u1"}, {"$set": {"name": "of somebody else"}})
    before = await contents(database)
    for options in ({}, {"dry_run": True}, {"limit": RemovalLimit()}):
        again = await send(database, bundle, **options)
        assert (again.kinds, again.total, again.is_repetition) == (first.kinds, MADE, True)
        assert first.plan is not None
        assert again.plan is not None
        assert (again.plan.digest, again.plan.unlisted) == (first.plan.digest, MEMBERS)
        [note] = again.notes
        assert note.startswith("the import 'i' was made at 20")
    assert await contents(database) == before
    assert not (await send(database, bundle, id="j")).is_repetition


async def test_a_removal_sent_twice_is_made_once(database: Any, bundle: Path) -> None:
    await import_bundles(database, [bundle])
    named: dict[str, Any] = {"removed_kind": "unit", "removed_keys": ("u1",)}
    first = await send(database, **named)
    assert first.total.removed
    again = await send(database, **named)  # without the id, there would be no such unit
    assert (again.kinds, again.is_repetition) == (first.kinds, True)
    with pytest.raises(ImportIdTakenError):
        await send(database, **named | {"removed_keys": ("u2",)})


async def test_the_same_id_of_another_content_is_an_error(database: Any, bundle: Path) -> None:
    await send(database, bundle)
    before = await contents(database)
    changed = small()
    changed["assets"][0]["name"] = "Another"
    other = write_arrays(bundle.parent / "other.json", changed)
    for bundles, options in (
        ([other], {}),
        ([bundle, other], {}),
        ([bundle], {"merges": True}),
        ([bundle], {"mirrors": True, "asset_ids": frozenset(["a"])}),
    ):
        with pytest.raises(
            ImportIdTakenError, match=r"^nothing was written: the import 'i', which"
        ):
            await send(database, *bundles, **options)
    assert await contents(database) == before
    assert (await send(database, other, id="k")).total.updated == 1


async def test_each_key_has_ids_of_its_own(database: Any, bundle: Path) -> None:
    """So no key learns of an import of another one, nor keeps it from an id."""
    await send(database, bundle, origin=origin_of("key_a"))
    other = await send(database, b'{"assets": []}', origin=origin_of("key_b"))
    assert not other.is_repetition
    assert (await send(database, bundle, origin=origin_of("key_a"))).is_repetition
    assert not (await send(database, bundle)).is_repetition


async def test_what_changes_nothing_or_fails_takes_no_id(database: Any, bundle: Path) -> None:
    await send(database, bundle, dry_run=True)
    wrong = write_arrays(bundle.parent / "wrong.json", {"units": [{"id": "u9"}]})
    with pytest.raises(BundleError):
        await send(database, wrong)
    assert not (await send(database, bundle)).is_repetition
    assert not (await send(database, bundle, id="j")).is_repetition  # no change, no record


async def test_a_restore_takes_imports_with_it(database: Any, bundle: Path) -> None:
    await import_bundles(database, [])
    archive = await save(database)
    await send(database, bundle)
    await restore(database, archive)
    again = await send(database, bundle)
    assert (again.total, again.is_repetition) == (MADE, False)
    assert (await send(database, bundle)).is_repetition


async def test_both_of_two_at_once_learn_what_one_has_made(database: Any, bundle: Path) -> None:
    both = await asyncio.gather(send(database, bundle), send(database, bundle))
    assert [each.total for each in both] == [MADE, MADE]
    assert sorted(each.is_repetition for each in both) == [False, True]


async def test_an_audit_record_is_found_by_the_id(database: Any, bundle: Path) -> None:
    await send(database, bundle)
    await import_bundles(database, [b'{"assets": [{"id": "i2", "name": "B"}]}'])
    listed = [
        record
        async for record in audit.iter_audit_records(database, audit.AuditFilter(target="i"), 0)
    ]
    assert [record.import_id for record in listed] == ["i"]
    where = {"import_id": {"$eq": "i"}}
    plan = await database.command({"explain": {"find": "audit_log", "filter": where}})
    assert "import_id_1__id_1" in str(plan["queryPlanner"]["winningPlan"])


async def test_an_import_that_loses_its_lease_says_how_to_send_it_again(database: Any) -> None:
    lease = ImportLease(database)
    assert await lease.try_acquire()
    await lease.begin_staging(started_by={"given_id": "i"})
    await expire_lease(database)
    assert await ImportLease(database).try_acquire()
    with pytest.raises(ImportInterruptedError, match=r"send it again with the id 'i'\.$"):
        await lease.update({})


@pytest.mark.slow
async def test_an_import_killed_before_any_write_is_made_once_if_it_is_sent_again(
    database: Any, mongo_url: str, bundle: Path
) -> None:
    seen: list[bool] = []
    is_complete = False
    while not is_complete:
        id = str(len(seen))
        for name in SMALL:
            await database[name].delete_many({})
        async with open_with_listener(mongo_url, kill_before_write(len(seen))) as doomed:
            try:
                await send(doomed[database.name], bundle, id=id)
                is_complete = True
            except Killed:
                pass
        await expire_lease(database)
        if len(seen) % 2:
            assert await finish_interrupted_import(database)
        again = await send(database, bundle, id=id)
        assert again.total == MADE
        assert await database["audit_log"].count_documents({"import_id": id}) == 1
        assert await database["units"].count_documents({}) == len(SMALL["units"])
        seen.append(again.is_repetition)
    assert seen == sorted(seen)  # not made before the commit, made from then on
    assert min(seen.count(False), seen.count(True)) >= 4
