"""MongoDB's change stream, read by a thread that may block.

The event loop does not take part, so a busy one neither delays what the stream reports nor makes a
healthy stream look silent (docs/decisions/server/response-cache.md).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymongo
from pymongo.client_session import ClientSession

from storage.mongo.consistency.cluster_clock import ClusterClock
from storage.mongo.driver import BlockingClient, Client, connect_blocking
from storage.mongo.protocols import Pipeline
from storage.records.kinds import Document

OPEN_SECONDS = 3.0
"""For each command that opens the stream."""
REPLY_SLACK_SECONDS = 5.0
"""How much later than announced MongoDB may report before the stream counts as lost."""
_MAJORITY_READ: dict[str, Any] = {"readConcern": {"level": "majority"}}


@contextmanager
def open_client(client: Client, wait_ms: int) -> Iterator[BlockingClient]:
    """Connect to the MongoDB of `client` once more, for `tail_changes` with this wait."""
    with connect_blocking(client, OPEN_SECONDS, wait_ms / 1000 + REPLY_SLACK_SECONDS) as blocking:
        yield blocking


@contextmanager
def tail_changes(
    client: BlockingClient, clock: ClusterClock, database: str, pipeline: Pipeline, wait_ms: int
) -> Iterator[Iterator[list[Document]]]:
    """Open a change stream on a database and yield an iterator over its batches of events.

    A batch is empty if nothing changed for `wait_ms`; the first one comes at once. Errors end the
    stream and are raised, not resumed from, so that the caller knows that events may have been
    missed. The `pipeline` must keep the field `clusterTime` of events.

    Every read that begins after the stream has opened sees all writes before the stream's start
    time, and one that begins after a batch sees what that reports: `clock` is advanced to these
    times. The stream reports all writes after its start. To guarantee that, its time is chosen
    here.
    MongoDB's default is the time of the primary's newest write, which majority reads do not see
    until it has been replicated. After a failover that can take long, and such a write would
    neither be seen by a read nor be reported.
    """
    # Causal consistency would make the driver add the session's cluster time to each command.
    with client.start_session(causal_consistency=False) as session:
        # The operation time of a majority read is the newest majority-committed time.
        read = client[database].command("find", "any", limit=1, session=session, **_MAJORITY_READ)
        start = read.get("operationTime")  # absent on a standalone, which has no change streams
        opened = client[database].command(
            "aggregate",
            1,
            pipeline=[{"$changeStream": {"startAtOperationTime": start}}, *pipeline],
            cursor={"batchSize": 0},
            # Makes the server reply only once its majority reads include `start`, even if that
            # time came from another member.
            readConcern={"level": "majority", "afterClusterTime": start},
            session=session,
        )
        clock.advance(start)
        yield _iter_batches(client, clock, database, session, opened["cursor"], wait_ms)


def _iter_batches(
    client: BlockingClient,
    clock: ClusterClock,
    database: str,
    session: ClientSession,
    cursor: Document,
    wait_ms: int,
) -> Iterator[list[Document]]:
    collection = cursor["ns"].partition(".")[2]
    next_wait_ms = 1  # nothing is known to be complete before the first batch
    while cursor["id"]:
        # Turns off the client's timeoutMS, which the driver would send as maxTimeMS.
        with pymongo.timeout(0):
            reply = client[database].command(
                "getMore",
                cursor["id"],
                collection=collection,
                maxTimeMS=next_wait_ms,
                session=session,
            )
        next_wait_ms, cursor = wait_ms, reply["cursor"]
        if batch := cursor["nextBatch"]:
            clock.advance(batch[-1]["clusterTime"])
        yield batch
