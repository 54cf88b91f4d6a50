"""A backup has everything as of one moment; a restore that is killed leaves all or nothing."""

import asyncio
import gzip
import hashlib
import io
import itertools
import json
import signal
import subprocess
import sys
import tarfile
import tracemalloc
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import bson
import pytest
from msgspec.structs import replace
from pymongo import monitoring

from storage.administration import api_keys
from storage.administration.api_keys import (
    create_api_key,
    delete_api_key,
    revoke_api_key,
    rotate_api_key,
    update_api_key,
)
from storage.administration.audit import AUDIT_COLLECTION
from storage.administration.import_lease import LEASE_COLLECTION, STAGING_PREFIX, ImportLease
from storage.administration.saved_endpoints import (
    EndpointPlan,
    SavedEndpoint,
    change_endpoints,
)
from storage.administration.trusted_documents import TrustedDocument, register_documents
from storage.attribute_assignments import assign_attributes
from storage.backup import backups
from storage.backup.backups import (
    OMITTED_COLLECTIONS,
    SAVED_COLLECTIONS,
    BackupReader,
    Header,
    save_backup,
)
from storage.cache.change_feed import ChangeFeed, is_unchanged_since
from storage.cache.read_set import whole
from storage.catalog import RECORD_TYPES, Assignment
from storage.errors import BackupError, ImportRunningError, UnavailableError
from storage.importing.change_plan import ChangeRequest
from storage.importing.import_bundles import (
    ImportProgress,
    finish_interrupted_import,
    import_bundles,
)
from storage.importing.removals import RemovalLimit
from storage.mongo import driver, files, raw_documents
from storage.mongo.raw_documents import SnapshotLostError
from storage.records.visibility import ALL_ASSETS
from storage.setup import preparation
from storage.setup.preparation import prepare_database
from tests.storage.backup.archives import (
    HEADER,
    change_everything,
    documents_in,
    fill_and_save,
    list_members,
    read_archive,
    restore,
    save,
    saved_contents,
    write_archive,
)
from tests.storage.catalogs import SMALL, contents, expire_lease, write_arrays
from tests.storage.importing.killing import Killed, open_with_listener
from tests.waiting import TIMEOUT_SECONDS


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
    endpoint = SavedEndpoint(name="A", method="GET", path="/v1/x/a", text="query A")
    plan = EndpointPlan([endpoint])
    await change_endpoints(database, None, ["A"], lambda _: plan)
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


@pytest.mark.parametrize("state", ["applying", "removing", "restoring"])
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


async def test_a_backup_does_not_wait_for_ever(
    filled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.importing.import_bundles.WAIT_SECONDS", 0.0)
    lease = ImportLease(filled)
    assert await lease.try_acquire()
    await lease.update({"state": "applying"})
    with pytest.raises(ImportRunningError, match="did not end within 0 s"):
        await save_backup(filled, io.BytesIO())


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


UNIT = {"_id": "u", "name": "101"}


@pytest.fixture
async def saved(database: Any, bundle: Path) -> bytes:
    """An archive of a catalog with a key, a drawing and a network."""
    return await fill_and_save(database, bundle)


async def structure(database: Any) -> dict[str, Any]:
    """Validators and indexes of all collections."""
    found = {}
    for name in sorted(await database.list_collection_names()):
        reply = await database.command({"listCollections": 1, "filter": {"name": name}})
        indexes = await database.command({"listIndexes": name})
        found[name] = (
            reply["cursor"]["firstBatch"][0]["options"],
            sorted((index["name"], index["key"]) for index in indexes["cursor"]["firstBatch"]),
        )
    return found


async def staged_names(database: Any) -> list[str]:
    return [
        name for name in await database.list_collection_names() if name.startswith(STAGING_PREFIX)
    ]


async def test_a_changed_database_is_as_it_was(database: Any, saved: bytes, tmp_path: Path) -> None:
    before, structure_before = await saved_contents(database), await structure(database)
    await change_everything(database, tmp_path)
    assert await saved_contents(database) != before
    await restore(database, saved)
    assert await saved_contents(database) == before
    assert await structure(database) == structure_before
    summary = await import_bundles(database, [write_arrays(tmp_path / "b.json", SMALL)])
    assert summary.total.inserted == 0


async def test_an_empty_database_gets_everything(database: Any, saved: bytes) -> None:
    before = await saved_contents(database)
    await database.client.drop_database(database.name)
    summary = await restore(database, saved)
    assert await saved_contents(database) == before
    assert summary.before == {}
    assert await staged_names(database) == []


async def test_types_are_kept(database: Any) -> None:
    values = {"float": 1.0, "long": bson.Int64(1), "text": "\0", "none": None, "bytes": b"\xff"}
    await prepare_database(database)
    await database["api_key_uses"].insert_one({"_id": "k", **values})
    [before] = documents_in(await save(database))["api_key_uses"]
    await restore(database, await save(database))
    [after] = documents_in(await save(database))["api_key_uses"]
    assert bson.encode(after) == bson.encode(before) == bson.encode({"_id": "k", **values})


async def test_the_audit_log_keeps_its_records_and_has_the_restore(
    database: Any, saved: bytes, tmp_path: Path
) -> None:
    await change_everything(database, tmp_path)
    kept = await database["audit_log"].find().sort("_id", 1).to_list(None)
    await database["audit_log"].delete_one({"_id": kept[0]["_id"]})
    await restore(database, saved)
    *others, last = await database["audit_log"].find().sort("_id", 1).to_list(None)
    assert others == kept
    assert (last["action"], last["target"]) == (
        "catalog.restored",
        {"kind": "backups", "ids": ["archive.tar"]},
    )
    assert last["asset_ids"] == ["a", "b"]
    of_assets = next(change for change in last["changes"] if change["kind"] == "assets")
    assert of_assets["before"] == {"documents": 3}
    assert of_assets["after"]["documents"] == 2


async def revoke(database: Any, key_id: str) -> None:
    assert await revoke_api_key(database, key_id)


async def end(database: Any, key_id: str) -> None:
    await rotate_api_key(database, key_id, timedelta(0), lambda old: None)


async def limit(database: Any, key_id: str) -> None:
    await update_api_key(database, key_id, lambda key: replace(key, asset_ids=[]))


async def delete(database: Any, key_id: str) -> None:
    assert await delete_api_key(database, key_id)


async def rename(database: Any, key_id: str) -> None:
    await update_api_key(database, key_id, lambda key: replace(key, name="other"))


@pytest.mark.parametrize(
    ("change", "is_named"),
    [(revoke, True), (end, True), (limit, True), (delete, True), (rename, False)],
)
async def test_keys_that_get_back_what_they_had_lost_are_named(
    database: Any,
    saved: bytes,
    change: Callable[[Any, str], Awaitable[None]],
    is_named: bool,
) -> None:
    [key] = await api_keys.list_api_keys(database)
    await change(database, key.id)
    assert (await restore(database, saved)).regained_keys == [key.id] * is_named
    assert await api_keys.list_api_keys(database) == [key]


async def test_nothing_is_written_while_collections_are_replaced(
    database: Any, saved: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be acknowledged, and gone with the collection."""
    [key] = await api_keys.list_api_keys(database)
    rename_collection, refused = raw_documents.rename_collection, []

    async def write_and_rename(*given: Any) -> None:
        try:
            await revoke_api_key(database, key.id)
        except UnavailableError as error:
            refused.append(str(error))
        await rename_collection(*given)

    monkeypatch.setattr(raw_documents, "rename_collection", write_and_rename)
    await restore(database, saved)
    assert set(refused) == {"a restore is being finished"}
    assert await api_keys.list_api_keys(database) == [key]
    assert await revoke_api_key(database, key.id)


async def test_the_change_feed_reports_every_collection_that_is_replaced(
    database: Any, saved: bytes
) -> None:
    names = (*(kind.name for kind in RECORD_TYPES), api_keys.KEYS_COLLECTION)
    async with ChangeFeed(database).run() as feed:
        while (before := feed.take_snapshot()) is None:
            await asyncio.sleep(0.01)
        await restore(database, saved)
        unreported = set(names)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while unreported:
                await asyncio.sleep(0.01)
                if (now := feed.take_snapshot()) is not None:
                    unreported = {
                        name for name in names if is_unchanged_since(before, now, whole(name))
                    }


@pytest.mark.parametrize(
    ("archive_content", "message"),
    [
        (write_archive({"units": [bson.encode(UNIT)]})[:2000], "not whole|damaged"),
        (write_archive({"units": [bson.encode(UNIT)] * 2}), "duplicate key"),
        (write_archive({"units": [b"no BSON"]}), "damaged"),
        (write_archive({"visits": [bson.encode(UNIT)]}), "visits/000000.bson.gz"),
        (
            write_archive({}, backups.Header(release="9.0.0", migration=999, created="")),
            r"of release 9\.0\.0, whose migration 999",
        ),
    ],
    ids=["short", "twice", "damaged", "other kind", "newer"],
)
async def test_an_archive_that_is_wrong_changes_nothing(
    database: Any, bundle: Path, archive_content: bytes, message: str
) -> None:
    await import_bundles(database, [bundle])
    before = await contents(database)
    with pytest.raises(BackupError, match=message):
        await restore(database, archive_content)
    assert await contents(database) == before
    assert await staged_names(database) == []


async def test_a_database_that_a_newer_release_has_migrated_is_left_alone(
    database: Any, saved: bytes
) -> None:
    """Else that release would take it for migrated, or one that is older than it is."""
    await database["migrations"].update_one({}, {"$set": {"number": 999}})
    await database.command("collMod", "units", validator={})
    before = await contents(database), await structure(database)
    with pytest.raises(BackupError, match=r"its migration is 999, and the last of this release"):
        await restore(database, saved)
    assert (await contents(database), await structure(database)) == before
    assert (await database["migrations"].find_one({}))["number"] == 999


async def test_a_newer_release_may_migrate_the_database_while_an_archive_is_read(
    database: Any, saved: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def migrate(staged: Any) -> None:
        await database["migrations"].update_one({}, {"$set": {"number": 999}})

    before = await contents(database)
    monkeypatch.setattr(backups, "run_pending", migrate)
    with pytest.raises(BackupError, match="a newer release has migrated the database"):
        await restore(database, saved)
    assert await contents(database) == before
    assert await staged_names(database) == []


async def test_a_disk_without_room_changes_nothing(
    database: Any, saved: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await contents(database)
    free = await raw_documents.get_free_bytes(database)
    assert free is not None
    monkeypatch.setattr(backups, "MIN_FREE_BYTES", 10 * free)
    with pytest.raises(BackupError, match="MB left; nothing was changed: make room"):
        await restore(database, saved)
    assert await contents(database) == before


async def test_documents_that_a_validator_would_reject_are_restored_too(database: Any) -> None:
    """Such as those of a release with other rules: they have to stay readable or repairable."""
    await restore(database, write_archive({"units": [bson.encode(UNIT)]}))
    assert await database["units"].find_one({}) == UNIT


async def test_an_archive_of_an_older_release_is_migrated_before_it_is_seen(
    database: Any, bundle: Path
) -> None:
    await import_bundles(database, [bundle])
    published = {"network": "n", "routing_tier": "some_earlier_tier"}
    await database["maps"].update_one({"_id": "am"}, {"$set": published})
    await database["migrations"].update_one({}, {"$set": {"number": 0}})
    old = await save(database)
    await database.client.drop_database(database.name)
    await restore(database, old)
    restored = await database["maps"].find_one({"_id": "am"})
    assert (restored["routing_tier"], restored["network"]) == ("no_routing", None)
    state = await database["migrations"].find_one({})
    assert state["number"] == preparation.MIGRATIONS[-1].number


async def test_a_restore_waits_for_an_import(
    database: Any, saved: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.importing.import_bundles.WAIT_SECONDS", 0.0)
    lease = ImportLease(database)
    assert await lease.try_acquire()
    with pytest.raises(ImportRunningError):
        await backups.restore_backup(database, io.BytesIO(saved), "")
    await lease.release()
    await restore(database, saved)


@pytest.mark.slow
async def test_memory_does_not_grow_with_the_number_of_documents(
    database: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(backups, "PART_BYTES", 1 << 18)
    monkeypatch.setattr("storage.backup.backups.PART_BYTES", 1 << 18)
    await prepare_database(database)

    async def save_and_restore(count: int) -> tuple[int, int]:
        """The most bytes of Python objects during a backup and a restore, and its parts."""
        for start in range(0, count, 1000):
            documents = [{"_id": f"{n:06}", "text": "a" * 200} for n in range(start, start + 1000)]
            await database["api_key_uses"].insert_many(documents)
        path = tmp_path / str(count)
        tracemalloc.start()
        with path.open("wb") as file:
            manifest = await save_backup(database, file)
        with path.open("rb") as file:
            await backups.restore_backup(database, file, "")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        await database["api_key_uses"].delete_many({})
        return peak, len(manifest.parts)

    few, parts_of_few = await save_and_restore(4_000)
    many, parts_of_many = await save_and_restore(20_000)
    assert parts_of_many > 4 * parts_of_few
    assert many < 1.5 * few


@pytest.fixture
async def archive(database: Any, bundle: Path, tmp_path: Path) -> Path:
    """An archive of another state than the database has."""
    path = tmp_path / "archive.tar"
    path.write_bytes(await fill_and_save(database, bundle))
    await change_everything(database, tmp_path)
    await database["api_keys"].delete_many({})
    return path


async def finish(database: Any) -> None:
    while not await finish_interrupted_import(database):
        await asyncio.sleep(0.1)
    names = await database.list_collection_names()
    assert not [name for name in names if name.startswith(STAGING_PREFIX)]


def kill_before(
    command: str, number: int, seen: list[str]
) -> Callable[[monitoring.CommandStartedEvent], None]:
    """Let so many commands of a kind be sent; the next one is not, nor is any after it."""

    def count(event: monitoring.CommandStartedEvent) -> None:
        if event.command_name == command:
            seen.append(command)
        if len(seen) > number:
            raise Killed

    return count


@pytest.mark.parametrize(
    ("command", "number", "is_restored"),
    [
        ("insert", 1, False),  # the catalog is staged
        ("insert", 5, False),
        ("commitTransaction", 0, False),  # it is not yet committed
        ("renameCollection", 0, True),  # it is, and no collection is replaced
        ("renameCollection", 4, True),
    ],
)
async def test_a_restore_killed_at_any_point_is_whole_or_has_not_happened(
    database: Any, mongo_url: str, archive: Path, command: str, number: int, is_restored: bool
) -> None:
    old, seen = await saved_contents(database), list[str]()
    async with open_with_listener(mongo_url, kill_before(command, number, seen)) as doomed:
        with pytest.raises(Killed):
            content = io.BytesIO(archive.read_bytes())
            await backups.restore_backup(doomed[database.name], content, "archive.tar")
    assert len(seen) > number
    await expire_lease(database)
    await finish(database)
    found = await saved_contents(database)
    recorded = await database["audit_log"].count_documents({"action": "catalog.restored"})
    assert (found == old, recorded) == ((False, 1) if is_restored else (True, 0))
    if is_restored:
        await backups.restore_backup(database, io.BytesIO(archive.read_bytes()), "archive.tar")
        assert await saved_contents(database) == found


RESTORE = """
import asyncio, sys
from storage.backup import backups as restoring
from storage.mongo import driver, lease

url, name, path = sys.argv[1:]
lease.LEASE_SECONDS, lease.HEARTBEAT_SECONDS = 5.0, 0.2

async def main():
    client = driver.connect(url, timeout_seconds=30)
    report = lambda progress: print(progress.phase, flush=True)
    with open(path, "rb") as file:
        await restoring.restore_backup(client[name], file, "archive.tar", progress=report)
    await driver.close(client)

asyncio.run(main())
"""


@pytest.mark.slow
async def test_a_restore_that_stood_still_does_not_write_over_what_came_later(
    database: Any, mongo_url: str, archive: Path, bundle: Path
) -> None:
    command = [sys.executable, "-c", RESTORE, mongo_url, database.name, str(archive)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "switching\n":
                process.send_signal(signal.SIGSTOP)
                break
        await finish(database)
        await import_bundles(database, [bundle])
        await database["units"].delete_many({})
        before = await contents(database)
        process.send_signal(signal.SIGCONT)
        process.wait()
    assert process.returncode != 0
    assert await contents(database) == before


UNITS = [bson.encode({"_id": "u1", "name": "101"}), bson.encode({"_id": "u2", "name": "102"})]
WHOLE = write_archive({"units": UNITS, "assets": [bson.encode({"_id": "a"})]})


def test_an_archive_is_a_tar_of_compressed_bson_with_checksums() -> None:
    with tarfile.open(fileobj=io.BytesIO(WHOLE)) as tar:
        contents = {
            name: file.read()
            for name in tar.getnames()
            if (file := tar.extractfile(name)) is not None
        }
    assert [*contents] == [
        "header.json",
        "units/000000.bson.gz",
        "units/000001.bson.gz",
        "assets/000000.bson.gz",
        "manifest.json",
        "manifest.json.sha256",
    ]
    assert bson.decode(gzip.decompress(contents["units/000001.bson.gz"]))["name"] == "102"
    digest = hashlib.sha256(contents["manifest.json"]).hexdigest()
    assert contents["manifest.json.sha256"].decode() == f"{digest}  manifest.json\n"
    first = json.loads(contents["manifest.json"])["parts"][0]
    assert first == {
        "name": "units/000000.bson.gz",
        "documents": 1,
        "bytes": len(UNITS[0]),
        "sha256": hashlib.sha256(contents["units/000000.bson.gz"]).hexdigest(),
    }
    assert {member.mode for member in list_members(WHOLE)} == {0o600}


def test_the_documents_come_out_as_they_went_in() -> None:
    reader = BackupReader(io.BytesIO(WHOLE))
    assert reader.header == HEADER
    loaded = [(each.part.collection, each.content) for each in reader.iter_parts()]
    assert loaded[:2] == [("units", UNITS[0]), ("units", UNITS[1])]
    assert reader.manifest is not None
    assert reader.manifest.count_documents() == {"units": 2, "assets": 1}


def test_no_archive_that_is_cut_off_is_whole() -> None:
    end = list_members(WHOLE)[-1].offset_data + 1  # a tar may lack the empty blocks at its end
    for length in range(0, end, 97):
        with pytest.raises(BackupError):
            read_archive(WHOLE[:length])


def test_a_changed_byte_of_any_member_is_found() -> None:
    for member in list_members(WHOLE):
        for position in range(member.offset_data, member.offset_data + member.size, 11):
            changed = bytearray(WHOLE)
            changed[position] ^= 0x20
            with pytest.raises(BackupError):
                read_archive(bytes(changed))


def test_a_part_that_is_left_out_is_missed() -> None:
    _, first, second, *_ = list_members(WHOLE)
    with pytest.raises(BackupError, match="has other parts than manifest"):
        read_archive(WHOLE[: first.offset] + WHOLE[second.offset :])


def test_a_member_after_the_manifest_is_named() -> None:
    output = io.BytesIO(WHOLE)
    with tarfile.open(fileobj=output, mode="a") as tar:
        tar.addfile(tarfile.TarInfo("units/000002.bson.gz"))
    with pytest.raises(BackupError, match=r"has 'units/000002.bson.gz' after 'manifest.json.sha"):
        read_archive(output.getvalue())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not whole|no backup"),
        (b"no tar at all" * 100, "no backup"),
        (gzip.compress(WHOLE), "no backup"),
    ],
    ids=["empty", "text", "compressed"],
)
def test_what_is_no_archive_is_said_to_be_none(content: bytes, message: str) -> None:
    with pytest.raises(BackupError, match=message):
        read_archive(content)


def test_another_tar_is_said_to_be_no_backup() -> None:
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("photo.jpg"))
    with pytest.raises(BackupError, match="not a backup: it has 'photo"):
        read_archive(output.getvalue())


def test_the_format_of_a_newer_release_is_refused() -> None:
    newer = write_archive({}, Header(format=2, release="9.0.0", migration=1, created=""))
    with pytest.raises(BackupError, match="has format 2, and this release reads 1"):
        read_archive(newer)


@pytest.mark.parametrize(
    "content",
    [b"no BSON", UNITS[0] + b"\0", UNITS[0][:-1], b"\xff\xff\xff\xff" * 4],
)
def test_a_part_that_is_no_bson_is_damaged(content: bytes) -> None:
    with pytest.raises(BackupError, match=r"units/000000.bson.gz of the archive is damaged"):
        read_archive(write_archive({"units": [content]}))


def test_a_part_that_would_take_too_much_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backups, "MAX_PART_BYTES", 1000)
    with pytest.raises(BackupError, match="too large"):
        read_archive(write_archive({"units": [bson.encode({"_id": "u", "name": "a" * 2000})]}))
