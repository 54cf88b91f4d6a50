"""Ending an import as the death of its process does: before one of its commands to MongoDB."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from pymongo import AsyncMongoClient, monitoring

from storage.mongo import driver, topology
from storage.mongo.topology import Deployment

WRITES = {"insert", "update", "delete", "findAndModify", "drop", "commitTransaction"}


class Killed(BaseException):
    """The end of the process: neither the driver nor the import handles it."""


class BeforeCommand(monitoring.CommandListener):
    """Calls a function before each command is sent; what it raises keeps it from being sent."""

    def __init__(self, call: Callable[[monitoring.CommandStartedEvent], None]) -> None:
        self.call = call

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self.call(event)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        pass

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        pass


@asynccontextmanager
async def open_with_listener(
    mongo_url: str, call: Callable[[monitoring.CommandStartedEvent], None]
) -> AsyncIterator[driver.Client]:
    """A client that calls a function before each of its commands."""
    listener = BeforeCommand(call)
    deployment = Deployment.at(mongo_url)
    client = AsyncMongoClient[dict[str, Any]](
        mongo_url, w="majority", event_listeners=[listener, deployment.listener]
    )
    topology.describe(client, deployment)
    try:
        yield client
    finally:
        listener.call = lambda event: None
        await client.close()


def is_heartbeat(command: Mapping[str, Any]) -> bool:
    update = command.get("update")
    is_renewal = isinstance(update, list) and update[0].get("$set", {}).keys() == {"expires"}
    return is_renewal and "autocommit" not in command  # which commands of transactions have


def kill_before_write(number: int) -> Callable[[monitoring.CommandStartedEvent], None]:
    """Let so many writes be sent; the next one is not, nor is any command after it.

    Heartbeats of the lease do not count: how many there are depends on the time.
    """
    sent = 0

    def count(event: monitoring.CommandStartedEvent) -> None:
        nonlocal sent
        sent += event.command_name in WRITES and not is_heartbeat(event.command)
        if sent > number:
            raise Killed

    return count
