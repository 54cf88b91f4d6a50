"""Inspect a database for `floorgate doctor`: change nothing, not even what is missing."""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Literal, TypeAlias

import msgspec

from storage.administration.api_keys import list_expiring_keys
from storage.administration.import_lease import LEASE_COLLECTION, LEASE_ID
from storage.catalog import MAP_FILE_FIELDS, MAPS, RECORD_TYPES
from storage.errors import StorageError
from storage.mongo import driver, files
from storage.mongo.connection import ConnectionSettings
from storage.mongo.unavailable import SNAPSHOT_SECONDS, explain_refusals
from storage.records.kinds import Document
from storage.routing_inputs import REPROCESS_COMMAND, NetworkLoader, list_stale_networks
from storage.setup import preparation
from storage.setup.database import open_database

Status: TypeAlias = Literal["ok", "skipped", "warning", "error"]
FindUnusable: TypeAlias = Callable[[driver.Database], Awaitable[Mapping[str, str]]]
"""Returns why this release cannot run saved endpoints, by name."""
KEY_WARNING = timedelta(days=14)
LAG_WARNING_SECONDS = 10
OPEN_WARNING_SECONDS = 10
DAY_HOURS = 24.0
FULL_OPLOG_SHARE = 0.9
"""MongoDB removes the oldest entries of an oplog that is as full as that."""
TIMEOUT_SECONDS = 3.0
_DOWN = 0  # a member's health
_PRIMARY_LOST = "electionTimeout"
_COMPATIBILITY = "featureCompatibilityVersion"
_RANGES = {
    "transactionLifetimeLimitSeconds": (
        *(1, 5, 60),
        "5 to 60: for so long a dead process locks records if no gateway runs",
    ),
    "minSnapshotHistoryWindowInSeconds": (
        *(1, round(SNAPSHOT_SECONDS), math.inf),
        f"{SNAPSHOT_SECONDS:.0f} or more: an operation reads one moment for so long",
    ),
    "oplogNetworkTimeoutBufferSeconds": (
        *(2, 0, 1),
        "1: for so much longer there are no writes when a primary dies",
    ),
}
"""The least members to which it applies, the lowest and the highest value of each parameter, and a
text with the reason."""
_START_ONCE = (
    "start a gateway, or run any other command, which creates what is missing; one that runs does"
    " it within a minute, and logs it. If records are missing, restore a backup"
)


class Finding(msgspec.Struct, frozen=True):
    """A check: its subject, what was found, and what to do unless it is well."""

    check: str
    status: Status
    message: str
    remedy: str = ""


async def inspect_database(
    connection: ConnectionSettings,
    can_load: NetworkLoader | None = None,
    find_unusable: FindUnusable | None = None,
) -> list[Finding]:
    """Return what is found in the database, or why it cannot be looked at.

    `can_load` tries each network, and `find_unusable` each saved endpoint.
    """
    findings: list[Finding] = []
    try:
        if connection.mongo_url is None and not (connection.data_dir / "mongod").is_dir():
            new = "not started yet: the first start creates the database"
            return [Finding("MongoDB", "ok", new)]
        async with open_database(connection, TIMEOUT_SECONDS, changes_nothing=True) as client:
            database = client[connection.database]
            with explain_refusals(database.name), driver.translate_errors():
                async for finding in _inspect(database, can_load, find_unusable):
                    findings.append(finding)  # noqa: PERF401, those before an error are kept
    except (StorageError, driver.PyMongoError) as error:
        findings.append(Finding("MongoDB", "error", str(error), "then run floorgate doctor again"))
    except OSError as error:
        message = f"{error.filename or connection.data_dir}: {error.strerror}"
        remedy = "make the data directory one that this user may use, or choose another: --data-dir"
        findings.append(Finding("MongoDB", "error", message, remedy))
    return findings


async def _inspect(
    database: driver.Database, can_load: NetworkLoader | None, find_unusable: FindUnusable | None
) -> AsyncIterator[Finding]:
    release = await _read_release(database)
    yield Finding("MongoDB", "ok", f"release {release}, with a primary")
    for check, inspect in _SERVER_CHECKS.items():
        try:
            yield await inspect(database)
        except (driver.PyMongoError, KeyError):  # or of a router
            remedy = "grant MongoDB's role clusterMonitor, if you want it to be checked"
            yield Finding(check, "skipped", "this user may not see it", remedy)
    yield await _inspect_transactions(database)
    # Changes nothing, needs the permission to write, and waits for a majority.
    await database[LEASE_COLLECTION].update_one({"_id": "none"}, {"$unset": {"none": ""}})
    yield Finding("writes", "ok", "permitted, and acknowledged by a majority")
    existing = await preparation.list_collections(database)
    if not existing:
        yield Finding("collections", "ok", "the database is empty: the first start prepares it")
        return
    yield _inspect_collections(existing)
    yield await _inspect_indexes(database, existing)
    yield await _inspect_migrations(database)
    yield await _inspect_import(database)
    yield await _inspect_files(database)
    yield await _inspect_networks(database, can_load)
    if find_unusable is not None:
        reasons = (await find_unusable(database)).items()
        unusable = "; ".join(f"{name}: {reason}" for name, reason in reasons)
        remedy = "correct them, and save them again: floorgate endpoints show, and apply"
        well = "this release can run all that are saved"
        yield _report("endpoints", "error", unusable, remedy, well)
    yield await _inspect_keys(database)


def _report(check: str, status: Status, found: str, remedy: str, well: str) -> Finding:
    """Return what was found; `well` if it is nothing."""
    return Finding(check, status, found, remedy) if found else Finding(check, "ok", well)


def _name(what: str, names: Iterable[str]) -> str:
    """Return what is the matter with the names, nothing if there are none."""
    listed = ", ".join(names)
    return f"{what}: {listed}" if listed else ""


async def _read_release(database: driver.Database) -> str:
    return str((await database.client.admin.command("buildInfo"))["version"])


async def _inspect_members(database: driver.Database) -> Finding:
    members = (await _read_status(database))["members"]
    down = [each["name"] for each in members if each["health"] == _DOWN]
    if down:
        found = _name("cannot be reached", down)
        return Finding("members", "warning", found, "start them again")
    newest = max(each["optimeDate"] for each in members if "optimeDate" in each)
    late = [
        each["name"]
        for each in members
        if each["stateStr"] == "SECONDARY"
        and (newest - each["optimeDate"]).total_seconds() > LAG_WARNING_SECONDS
    ]
    found = _name(f"lag by over {LAG_WARNING_SECONDS} s", late)
    remedy = "look at their load, disks and network"
    return _report("members", "warning", found, remedy, f"{len(members)}, and none lags")


async def _read_status(database: driver.Database) -> Document:
    status: Document = await database.client.admin.command("replSetGetStatus")
    return status


async def _inspect_elections(database: driver.Database) -> Finding:
    status = await _read_status(database)
    last, term = status["electionCandidateMetrics"], status["term"]
    reason = last["lastElectionReason"]
    hours = (status["date"] - last["lastElectionDate"]).total_seconds() / 3600
    message = f"the last one {hours:.1f} hours ago ({reason}), which began term {term}"
    # One member alone is elected at each start, and some do so on request, as before maintenance.
    was_lost = len(status["members"]) > 1 and term > 1 and reason == _PRIMARY_LOST
    if was_lost and hours < DAY_HOURS:
        remedy = "find out in the logs of the members why they lost their primary then"
        return Finding("elections", "warning", message, remedy)
    return Finding("elections", "ok", message)


async def _inspect_parameters(database: driver.Database) -> Finding:
    wanted = {"getParameter": 1, _COMPATIBILITY: 1} | dict.fromkeys(_RANGES, 1)
    found = await database.client.admin.command(wanted)
    members = len((await _read_status(database))["members"])
    release, compatibility = await _read_release(database), found[_COMPATIBILITY]["version"]
    problems = [
        f"{name} is {found[name]} and should be {right}"
        for name, (least_members, least, most, right) in _RANGES.items()
        if name in found and members >= least_members and not least <= found[name] <= most
    ]
    if not release.startswith(f"{compatibility}."):
        problems.append(
            f"{_COMPATIBILITY} is {compatibility}, of an earlier release than {release}: finish the"
            " upgrade with setFeatureCompatibilityVersion"
        )
    well = "those of MongoDB that matter are as they should be"
    remedy = "set parameters with --setParameter, for all members"
    return _report("parameters", "warning", "; ".join(problems), remedy, well)


async def _inspect_oplog(database: driver.Database) -> Finding:
    times = (await database.client.admin.command({"serverStatus": 1, "oplog": 1}))["oplog"]
    sizes = await database.client["local"].command("collStats", "oplog.rs")
    hours = (times["latestOptime"].time - times["earliestOptime"].time) / 3600
    share = sizes["size"] / sizes["maxSize"]
    message = f"it goes back {hours:.1f} hours, and is {share:.0%} full"
    if share >= FULL_OPLOG_SHARE and hours < DAY_HOURS:
        remedy = (
            "enlarge it with replSetResizeOplog: whoever follows changes, and a member that is"
            " down, cannot go on after a longer break"
        )
        return Finding("oplog", "warning", message, remedy)
    return Finding("oplog", "ok", message)


async def _inspect_transactions(database: driver.Database) -> Finding:
    """Look for those of the own user: that takes no privilege."""
    pipeline = [
        {"$currentOp": {"idleSessions": True}},
        {"$match": {"transaction.timeOpenMicros": {"$gt": OPEN_WARNING_SECONDS * 1_000_000}}},
        {"$sort": {"transaction.timeOpenMicros": -1}},
    ]
    command = {"aggregate": 1, "pipeline": pipeline, "cursor": {"batchSize": 1_000}}
    found = (await database.client.admin.command(command))["cursor"]["firstBatch"]
    if not found:
        return Finding("transactions", "ok", f"none is open for over {OPEN_WARNING_SECONDS} s")
    oldest = found[0]
    seconds = oldest["transaction"]["timeOpenMicros"] / 1_000_000
    message = (
        f"{len(found)} open for over {OPEN_WARNING_SECONDS} s, the oldest for {seconds:.0f} s, of"
        f" {oldest.get('appName', 'an unnamed program')}"
    )
    remedy = (
        "a gateway that runs ends those of gateways within seconds; end others in mongosh with"
        " killSessions"
    )
    return Finding("transactions", "warning", message, remedy)


_SERVER_CHECKS: dict[str, Callable[[driver.Database], Awaitable[Finding]]] = {
    "members": _inspect_members,
    "elections": _inspect_elections,
    "oplog": _inspect_oplog,
    "parameters": _inspect_parameters,
}
"""The checks that take more privileges than a gateway needs."""


def _inspect_collections(existing: dict[str, Any]) -> Finding:
    missing = sorted(preparation.COLLECTIONS - existing.keys())
    if missing:
        return Finding("collections", "error", _name("missing", missing), _START_ONCE)
    other = [
        kind.name
        for kind in RECORD_TYPES
        if existing[kind.name]["options"].get("validator") != preparation.build_validator(kind)
    ]
    found = _name("validators of another release", other)
    remedy, well = "start a gateway of this release", "all there, with their validators"
    return _report("collections", "warning", found, remedy, well)


async def _inspect_indexes(database: driver.Database, existing: dict[str, Any]) -> Finding:
    missing = []
    for name, indexes in preparation.INDEXES.items():
        found = []
        if name in existing:
            reply = await database.command("listIndexes", name)
            found = [[*index["key"].items()] for index in reply["cursor"]["firstBatch"]]
        wanted = [[*index.document["key"].items()] for index in indexes]
        missing += [f"{name}.{'+'.join(dict(key))}" for key in wanted if key not in found]
    return _report("indexes", "error", _name("missing", missing), _START_ONCE, "all there")


async def _inspect_migrations(database: driver.Database) -> Finding:
    state = await database[preparation.MIGRATIONS_COLLECTION].find_one(
        {"_id": preparation.STATE_ID}
    )
    number, newest = (state or {}).get("number", 0), preparation.MIGRATIONS[-1].number
    if number < newest:
        message = f"{newest - number} of this release have not run"
        return Finding("migrations", "warning", message, "start a gateway, which runs them")
    if number > newest:
        message = f"{number - newest} of a newer release have run"
        return Finding("migrations", "warning", message, "use the newest release everywhere")
    return Finding("migrations", "ok", f"all {number} have run")


async def _inspect_import(database: driver.Database) -> Finding:
    where = {"_id": LEASE_ID, "state": {"$nin": [None, "idle"]}}
    fields = {"import_id": 1, "started_by": 1, "is_dead": {"$lt": ["$expires", "$$NOW"]}}
    found = await database[LEASE_COLLECTION].find_one(where, fields)
    if found is None or not found["is_dead"]:
        return Finding("import", "ok", "one is running" if found else "none is interrupted")
    remedy = "start a gateway, which finishes or undoes it within seconds"
    by = found.get("started_by", {}).get("actor", "an earlier release")
    name = found.get("started_by", {}).get("given_id") or found.get("import_id")
    message = f"one was interrupted and is not finished: {name}, begun by {by}"
    return Finding("import", "error", message, remedy)


async def _inspect_files(database: driver.Database) -> Finding:
    before = await _list_file_uses(database)
    whole = await files.list_whole_files(database)
    # An import that ran meanwhile may have deleted files that it has replaced.
    uses = before & await _list_file_uses(database)
    broken: dict[str, list[str]] = {}
    for map_id, field, digest in sorted(uses):
        if digest not in whole:
            broken.setdefault(map_id, []).append(field)
    names = (f"{map_id} ({', '.join(fields)})" for map_id, fields in broken.items())
    found = _name("missing or incomplete, of maps", names)
    remedy = (
        "floorgate maps process MAP_ID if only its network is missing, with SOURCE if it has no"
        " drawing of its own, else import its drawing again"
    )
    return _report("files", "error", found, remedy, "those that maps refer to are there")


async def _list_file_uses(database: driver.Database) -> set[tuple[str, str, str]]:
    """Return the files that maps refer to, as ids of maps, fields and digests."""
    names = {field.rpartition(".")[2]: f"${field}" for field in MAP_FILE_FIELDS}
    maps = await driver.read_all(database[MAPS.name].find({}, names))
    return {
        (unit_map["_id"], name, unit_map[name])
        for unit_map in maps
        for name in names
        if unit_map.get(name)
    }


async def _inspect_networks(database: driver.Database, can_load: NetworkLoader | None) -> Finding:
    stale = await list_stale_networks(database, can_load)
    found = _name("outdated", (f"{each.map_id} ({each.reason})" for each in stale))
    return _report("networks", "error", found, REPROCESS_COMMAND, "all match their maps")


async def _inspect_keys(database: driver.Database) -> Finding:
    within = f"within {KEY_WARNING.days} days"
    expiring = await list_expiring_keys(database, KEY_WARNING)
    found = _name(f"expire {within}", (f"{key.id} ({key.name})" for key in expiring))
    remedy = "floorgate keys rotate ID, or keys update ID --expires"
    return _report("keys", "warning", found, remedy, f"none expires {within}")
