"""Ask a service that fails first, with the Python clients: `python retries.py URL`."""

import asyncio
import json
import sys
from typing import Any

from floorgate_client import AsyncFloorgate, Floorgate, FloorgateError
from floorgate_client.rest.api.maps import list_level_tags
from floorgate_client.rest.api.unit_attributes import unassign_unit_attributes
from floorgate_client.rest.models import AssignmentInput, Assignments

REPEATED = ("seconds", "date", "lost", "same", "same")
FAILING = ("down", "broken", "invalid", "later", "closed")
BODY = Assignments(
    data=[AssignmentInput(group_id="a", attribute_id="b", asset_id="c", unit_id="d")]
)


def describe(error: FloorgateError) -> dict[str, Any]:
    """Return what a program can know of an error."""
    return {
        "type": type(error).__name__,
        "status": error.status,
        "code": error.code,
        "fields": error.fields,
        "request_id": error.request_id,
        "docs": error.docs,
        "retry_after": error.retry_after,
    }


def ask(url: str) -> list[dict[str, Any]]:
    """Ask with the client that waits; return the errors."""
    errors = []
    with Floorgate(url, "key", flags=["changes", "distances"]) as client:
        for name in REPEATED:
            list_level_tags.sync(f"{name}-sync", client=client)
        unassign_unit_attributes.sync_detailed("post-sync", client=client, body=BODY)
        for name in FAILING:
            try:
                list_level_tags.sync(f"{name}-sync", client=client)
            except FloorgateError as error:
                errors.append(describe(error))
    return errors


async def ask_async(url: str) -> list[dict[str, Any]]:
    """Ask with the client for asyncio; return the errors."""
    errors = []
    async with AsyncFloorgate(url, "key", flags=["changes", "distances"]) as client:
        for name in REPEATED:
            await list_level_tags.asyncio(f"{name}-async", client=client)
        await unassign_unit_attributes.asyncio_detailed("post-async", client=client, body=BODY)
        for name in FAILING:
            try:
                await list_level_tags.asyncio(f"{name}-async", client=client)
            except FloorgateError as error:
                errors.append(describe(error))
    return errors


async def main(url: str) -> None:
    """Ask with both at once, and print the errors as JSON."""
    waiting, concurrent = await asyncio.gather(asyncio.to_thread(ask, url), ask_async(url))
    json.dump({"sync": waiting, "async": concurrent}, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
