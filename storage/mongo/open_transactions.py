"""Ending transactions that are left open: MongoDB would keep their records locked for a minute.

Drivers abort one that fails, in the time that the request has left: none, if a command was late.
After a commit without an answer they abort nothing, and a process that is killed ends nothing.
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
LOOK_SECONDS = 3.0
"""A transaction is abandoned if it is the same at two looks."""
_PIPELINE = [
    {"$currentOp": {"idleSessions": True}},  # of the own user: that takes no privilege
    {"$match": {"type": "idleSession", "appName": APPLICATION}},
    {"$project": {"lsid.id": 1, "transaction": {"parameters.txnNumber": 1, "timeActiveMicros": 1}}},
]
LIST_IDLE = {"aggregate": 1, "pipeline": _PIPELINE, "cursor": {"batchSize": 1_000}}
_logger = logging.getLogger("floorgate.transactions")


def end_in_background(client: Client, session: Session) -> asyncio.Task[None]:
    """End a session in which something failed, and what MongoDB still does in it.

    A transaction that is committed stays so. `driver.close` waits for it.
    """
    endings = topology.of(client).endings
    ending = asyncio.create_task(_end(client, session), context=Context())  # without the deadline
    endings.add(ending)
    ending.add_done_callback(endings.discard)
    return ending


async def _end(client: Client, session: Session) -> None:
    try:
        with suppress(PyMongoError), pymongo.timeout(LOOK_SECONDS):  # later, looks find it
            await client.admin.command("killSessions", [session.session_id])
    finally:
        await session.end_session()  # then others get its id


async def end_abandoned_transactions(client: Client) -> None:
    """End transactions between two looks at which no command was sent in them, until cancelled.

    If their process is alive after all, and goes on, MongoDB calls the error transient, and
    `driver.run_in_transaction` runs it again. While a command is in progress they are not idle.
    """
    before: list[Any] = []
    while True:
        with suppress(PyMongoError), pymongo.timeout(LOOK_SECONDS):
            reply = await client.admin.command({**LIST_IDLE})
            idle, before = before, reply["cursor"]["firstBatch"]
            if abandoned := [each["lsid"] for each in before if each in idle]:
                await client.admin.command("killSessions", abandoned)
                _logger.warning("%d abandoned transactions were ended", len(abandoned))
        await asyncio.sleep(LOOK_SECONDS)
