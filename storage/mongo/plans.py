"""Explain how MongoDB carries out a read: the index that it uses, and how much it looks at."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import bson
from bson.errors import InvalidDocument
from pymongo.errors import PyMongoError

from storage.errors import UnavailableError
from storage.mongo import driver
from storage.records.kinds import Document

MAX_EXPLAINED_BYTES = 256_000
"""The greatest command to explain. MongoDB repeats its values in the plan, many times over."""
_EXPLAINED = frozenset(
    {"find", "filter", "projection", "sort", "skip", "limit", "aggregate", "pipeline", "cursor"}
)
"""What a read says of its documents. The rest is of its connection."""
_INDEX_STAGES = frozenset({"IXSCAN", "COUNT_SCAN", "DISTINCT_SCAN", "EXPRESS_IXSCAN"})
_ID_STAGES = frozenset({"IDHACK", "EXPRESS_IXSCAN", "CLUSTERED_IXSCAN", "EXPRESS_CLUSTERED_IXSCAN"})
_ID_INDEX: Document = {"_id": 1}
_KEY = re.compile(r"([\w.]+): (-?1)")


class Scan(NamedTuple):
    """A stage that looks at an index or at the whole collection."""

    stage: str
    index_name: str | None
    index_keys: Document | None
    """The fields of the index with their directions; None without an index."""


class CommandPlan(NamedTuple):
    """The plan by which MongoDB carries out a command."""

    scans: tuple[Scan, ...]
    """The different ones, in the order of the plan."""
    candidates: tuple[Scan, ...]
    """The scans of all plans that MongoDB considered, sorted: unlike its choice, they do not
    depend on the data."""
    keys_examined: int
    documents_examined: int
    milliseconds: int
    """The time of MongoDB alone, without the way there and back."""


async def explain_commands(
    database: driver.Database, reads: Sequence[Mapping[str, Any]], seconds: float, *, again: bool
) -> list[CommandPlan | None]:
    """Return the plan of each `find` or `aggregate`; None for those that MongoDB does not tell in
    time.

    To count what they examine, MongoDB runs them `again`.
    """
    with driver.limit_time(seconds):
        return [await explain_command(database, read, again=again) for read in reads]


async def explain_command(
    database: driver.Database, read: Mapping[str, Any], *, again: bool = True
) -> CommandPlan | None:
    """Return the plan of a read; None if MongoDB does not tell, or not in time."""
    command = {name: value for name, value in read.items() if name in _EXPLAINED}
    verbosity = "executionStats" if again else "queryPlanner"
    try:
        if len(bson.encode(command)) > MAX_EXPLAINED_BYTES:
            return None
        with driver.translate_errors():
            reply = await database.command({"explain": command, "verbosity": verbosity})
    except (UnavailableError, PyMongoError, InvalidDocument, OverflowError):
        return None
    return read_plan(reply)


def read_plan(reply: Document) -> CommandPlan:
    """Return the plan in the reply to an `explain` of a `find` or an `aggregate`.

    >>> stage = {"stage": "FETCH", "inputStage": {"stage": "IXSCAN", "indexName": "i",
    ...     "keyPattern": {"asset_id": 1}}}
    >>> stats = {"totalKeysExamined": 3, "totalDocsExamined": 3, "executionTimeMillis": 1}
    >>> read_plan({"queryPlanner": {"winningPlan": stage}, "executionStats": stats}).scans
    (Scan(stage='IXSCAN', index_name='i', index_keys={'asset_id': 1}),)
    """
    chosen: list[Scan] = []
    rejected: list[Scan] = []
    keys = documents = milliseconds = 0
    for part in _iter_documents(reply):
        # Parts of an aggregation have their own plans: those of `$unionWith` are nested.
        if isinstance(planner := part.get("queryPlanner"), dict):
            chosen += _iter_scans(planner.get("winningPlan"))
            rejected += _iter_scans(planner.get("rejectedPlans"))
        if isinstance(stats := part.get("executionStats"), dict):
            keys += stats.get("totalKeysExamined", 0)
            documents += stats.get("totalDocsExamined", 0)
            milliseconds += stats.get("executionTimeMillis", 0)
    return CommandPlan(
        _without_repetitions(chosen),
        _without_repetitions(sorted([*chosen, *rejected], key=repr)),
        keys,
        documents,
        milliseconds,
    )


def _without_repetitions(scans: list[Scan]) -> tuple[Scan, ...]:
    return tuple({repr(scan): scan for scan in scans}.values())


def _iter_scans(plans: Any) -> Iterator[Scan]:
    return (scan for stage in _iter_documents(plans) if (scan := _read_scan(stage)))


def _read_scan(stage: Document) -> Scan | None:
    name = stage.get("stage")
    if name == "COLLSCAN":
        return Scan(name, None, None)
    if name in _ID_STAGES and "keyPattern" not in stage:
        return Scan(name, "_id_", _ID_INDEX)
    if name in _INDEX_STAGES:
        keys = stage.get("keyPattern")
        if isinstance(keys, str):  # of an EXPRESS stage of MongoDB 8
            keys = {field: int(direction) for field, direction in _KEY.findall(keys)}
        return Scan(name, stage.get("indexName"), keys if isinstance(keys, dict) else None)
    return None


def _iter_documents(value: Any) -> Iterator[Document]:
    """Yield a document and all documents in it, outer ones first."""
    if isinstance(value, dict):
        yield value
        value = [*value.values()]
    if isinstance(value, list):
        for member in value:
            yield from _iter_documents(member)
