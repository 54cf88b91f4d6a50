"""A backup has everything as of one moment, and nothing of an import that is half applied."""

import asyncio
import io
import itertools
from pathlib import Path
from typing import Any

import pytest

from storage.administration.api_keys import create_api_key
from storage.administration.audit import AUDIT_COLLECTION
from storage.administration.import_lease import LEASE_COLLECTION, ImportLease
from storage.administration.trusted_documents import TrustedDocument, register_documents
from storage.attribute_assignments import assign_attributes
from storage.attributes import Assignment
from storage.backup.contents import OMITTED_COLLECTIONS, SAVED_COLLECTIONS
from storage.backup.saving import save_backup
from storage.bundles.changes.change_request import ChangeRequest
from storage.bundles.importing.import_bundles import ImportProgress, import_bundles
from storage.bundles.removing.limits import RemovalLimit
from storage.errors import ImportRunningError
from storage.mongo import driver, files, raw_documents
from storage.mongo.raw_documents import SnapshotLostError
from storage.records.visibility import ALL_ASSETS
from tests.storage.backup.archives import documents_in, read_archive, save
from tests.storage.catalogs import SMALL
from tests.waiting import TIMEOUT_SECONDS

pytestmark = pytest.mark.anyio


@pytest.fixture
async def filled(database: Any, bundle: Path) -> Any:
    """A database with something in every collection that the service makes."""
    await import_bundles(database, [bundle])
    await import_bundles(database, [b'{"assets": [{"id": "gone", "name": "Gone"}]}'])
    gone = ChangeRequest(removed_kind="asset", removed_keys=("gone",), limit=RemovalLimit(None))
    await import_bundles(database, [], changes=gone)
    record, _ = await create_api_key(
        database, name="k", permissions=[], asset_ids=None, expires_at=None
    )
    await database["api_key_uses"].insert_one({"_id": record.id})
    await files.write_file(database, b"a drawing")
    await register_documents(database, [TrustedDocument(ids=["1f"], text="{ __typename }")])
    return database


async def test_everything_that_a_service_stores_is_saved(filled: Any) -> None:
    stored = {
        name: count
        for name in await filled.list_collection_names()
        if (count := await filled[name].count_documents({}))
    }
    saved = read_archive(await save(filled)).count_documents()
    assert saved == {name: stored[name] for name in stored if name not in OMITTED_COLLECTIONS}
    assert saved.keys() == set(SAVED_COLLECTIONS)


async def test_a_new_database_can_be_saved(database: Any) -> None:
    await import_bundles(database, [])
    assert read_archive(await save(database)).count_documents() == {}


async def test_what_is_written_during_a_backup_is_not_in_it(filled: Any) -> None:
    """The moment is that of the beginning, for all collections alike."""
    before = {name: await filled[name].count_documents({}) for name in SAVED_COLLECTIONS}
    changed = False

    def change(progress: ImportProgress) -> None:
        nonlocal changed
        changed = True
        tasks.extend(
            asyncio.ensure_future(filled[name].delete_many({})) for name in SAVED_COLLECTIONS
        )

    tasks: list[asyncio.Future[Any]] = []
    output = io.BytesIO()
    manifest = await save_backup(filled, output, progress=change)
    await asyncio.gather(*tasks)
    assert changed
    assert manifest.count_documents() == before
    assert read_archive(output.getvalue()) == manifest


@pytest.mark.parametrize("state", ["applying", "merging", "removing", "restoring"])
async def test_a_backup_waits_while_another_process_applies(filled: Any, state: str) -> None:
    lease = ImportLease(filled)
    assert await lease.try_acquire()
    await lease.update({"state": state})
    waiting = asyncio.Event()

    def notice(progress: ImportProgress) -> None:
        if progress.phase == "waiting":
            waiting.set()

    async with lease.keep_alive():
        task = asyncio.ensure_future(save_backup(filled, io.BytesIO(), progress=notice))
        noticed = asyncio.ensure_future(waiting.wait())
        await asyncio.wait([task, noticed], return_when=asyncio.FIRST_COMPLETED)
        assert not task.done()
        await filled["units"].delete_many({})
        await lease.finish()
    assert "units" not in (await task).count_documents()


async def test_a_backup_does_not_wait_for_ever(filled: Any) -> None:
    lease = ImportLease(filled)
    assert await lease.try_acquire()
    await lease.update({"state": "applying"})
    with pytest.raises(ImportRunningError, match="did not end within 0 s"):
        await save_backup(filled, io.BytesIO(), wait_seconds=0)


async def test_a_backup_does_not_wait_for_an_import_that_only_stages(filled: Any) -> None:
    lease = ImportLease(filled)
    assert await lease.try_acquire()
    await lease.begin_staging()
    await filled["staging.x.units"].insert_one({"_id": 1})
    assert read_archive(await save(filled)).count_documents()["units"] == len(SMALL["units"])


async def test_a_backup_finishes_an_import_that_was_killed(filled: Any) -> None:
    lease = ImportLease(filled)
    assert await lease.try_acquire()
    await lease.update({"state": "applying"})
    await lease.release()
    await save(filled)
    assert (await filled[LEASE_COLLECTION].find_one({}))["state"] == "idle"


async def test_a_snapshot_that_is_lost_is_explained(
    filled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collection that was replaced meanwhile, as by a restore, cannot be read any more."""
    read = raw_documents.iter_raw_batches

    async def replace_and_read(*arguments: Any) -> Any:
        monkeypatch.undo()
        await filled["other"].insert_one({"_id": "x"})
        await raw_documents.rename_collection(filled, "other", AUDIT_COLLECTION)
        async for batch in read(*arguments):
            yield batch

    monkeypatch.setattr(raw_documents, "iter_raw_batches", replace_and_read)
    with pytest.raises(SnapshotLostError, match="replaced while the backup ran: try again"):
        await save_backup(filled, io.BytesIO())


@pytest.mark.slow
async def test_a_backup_that_takes_too_long_is_told_what_helps(forgetful_database: Any) -> None:
    units = forgetful_database["units"]
    await units.insert_one({})
    async with driver.open_snapshot_session(units.database.client) as session:
        with pytest.raises(SnapshotLostError, match="minSnapshotHistoryWindowInSeconds"):
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while [each async for each in raw_documents.iter_raw_batches(units, 1, session)]:
                    await units.insert_one({})


async def test_assignments_and_their_audit_records_are_of_one_moment(filled: Any) -> None:
    """A writer sets one and the other in turn: in no backup is a change without its record."""
    stopping = False

    async def write() -> None:
        for attribute in itertools.cycle("ts"):
            if stopping:
                return
            assignment = Assignment(
                group_id="plan", attribute_id=attribute, asset_id="a", unit_id="u1"
            )
            await assign_attributes(filled, ALL_ASSETS, "plan", [assignment])

    writer = asyncio.ensure_future(write())
    lengths: set[int] = set()
    while len(lengths) < 10:
        saved = documents_in(await save(filled))
        changes = [change for record in saved["audit_log"] for change in record["changes"]]
        assigned = [change["after"] for change in changes if change["after"] in ("s", "t")]
        [current] = [each for each in saved["attribute_assignments"] if each["group_id"] == "plan"]
        assert assigned.count("t") - assigned.count("s") == (current["attribute_id"] == "t")
        lengths.add(len(assigned))
    stopping = True
    await writer
