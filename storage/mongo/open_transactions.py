"""Ending transactions that nobody goes on with: MongoDB keeps their records locked for a minute.

Drivers abort one that fails, in what is left of the request's time: in vain if nothing is, or if
MongoDB does not answer. After a commit without an answer they abort nothing. Only what dies with
its process is known to nobody but MongoDB, which says how long nothing has happened in it.
"""

import asyncio
import logging
from contextlib import suppress
from contextvars import Context
from typing import Any

import pymongo
from pymongo.errors import PyMongoError

from storage.mongo.consistency import topology
from storage.mongo.protocols import Client, Session

APPLICATION = "floorgate"
"""The name of all our connections."""
END_SECONDS = 2.0
LOOK_SECONDS = 3.0
"""How long nothing may happen in a transaction. It is ended before twice that time has passed."""
_MAX_FOUND = 1_000
"""Transactions in which nothing happens, at one look; others are found by later ones."""
_LIST_IDLE = [
    {"$currentOp": {"idleSessions": True}},  # of the own user, which takes no privilege
    {
        "$match": {
            "type": "idleSession",
            "appName": APPLICATION,
            "transaction.timeActiveMicros": {"$exists": True},
        }
    },
    {"$limit": _MAX_FOUND},
]

_logger = logging.getLogger("floorgate.transactions")


def end_in_background(client: Client, session: Session) -> None:
    """End a session in which something has failed, and what MongoDB still does in it.

    Takes no time of the request, and has time of its own, also when the request is cancelled.
    A transaction that has been committed stays so. `driver.close` waits for it.
    """
    ending = asyncio.create_task(_end(client, session), context=Context())
    endings = topology.of(client).endings
    endings.add(ending)
    ending.add_done_callback(endings.discard)


async def _end(client: Client, session: Session) -> None:
    with suppress(PyMongoError), pymongo.timeout(END_SECONDS):  # the next looks find what is left
        await client.admin.command("killSessions", [session.session_id])
        # Not before, and not without an answer: the next operation gets its id.
        await session.end_session()


async def end_abandoned_transactions(client: Client) -> None:
    """Look for transactions in which nothing happens any more, and end them, until cancelled.

    They are those of dead processes, and of live ones that could not end them. One that a live
    process goes on with, such as after it was suspended, is harmless: MongoDB calls the error
    transient, and `driver.run_in_transaction` runs it again. While a command is in progress,
    something happens.
    """
    before: dict[bytes, Any] = {}
    while True:
        with suppress(PyMongoError), pymongo.timeout(LOOK_SECONDS):
            found = await _list_idle(client)
            abandoned = [{"id": id} for id, state in found.items() if before.get(id) == state]
            before = found
            if abandoned:
                await client.admin.command("killSessions", abandoned)
                _logger.warning("%d abandoned transactions were ended", len(abandoned))
        await asyncio.sleep(LOOK_SECONDS)


async def _list_idle(client: Client) -> dict[bytes, Any]:
    """Return how far the transactions are that wait for their next command, by session."""
    options = {"pipeline": _LIST_IDLE, "cursor": {"batchSize": _MAX_FOUND + 1}}
    reply = await client.admin.command("aggregate", 1, **options)
    return {
        each["lsid"]["id"]: (
            each["transaction"]["parameters"]["txnNumber"],
            each["transaction"]["timeActiveMicros"],
        )
        for each in reply["cursor"]["firstBatch"]
    }
