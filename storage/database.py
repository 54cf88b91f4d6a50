"""Opening the database: the embedded one or another, made ready to serve."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from storage import driver, embedded, setup
from storage.connection import Connection

PING_SECONDS = 3.0
"""How long a MongoDB may take to answer at all; work on it may take longer."""


@asynccontextmanager
async def opened(
    connection: Connection, timeout_seconds: float = 3.0
) -> AsyncIterator[driver.Client]:
    """A client whose database has its collections and indexes.

    Raises EmbeddedServerError and Unavailable.
    """
    server = (
        nullcontext(connection.mongo_url)
        if connection.mongo_url
        else embedded.running(connection.data_dir)
    )
    with server as url:
        client = driver.connect(url, connection.driver, timeout_seconds)
        try:
            await driver.ping(client, PING_SECONDS)
            await setup.prepare(client[connection.database])
            yield client
        finally:
            await driver.close(client)
