"""Ask services that fail, with both Python clients: `python asking.py '[[URL, [NAME, ...]], ...]'`.

They are used without `with`. Print what went wrong, by client and name.
"""

import asyncio
import json
import sys
from typing import Any

import httpx
from floorgate_client import AsyncFloorgate, Floorgate, FloorgateError
from floorgate_client.rest.api.maps import list_level_tags
from floorgate_client.rest.api.unit_attributes import unassign_unit_attributes
from floorgate_client.rest.models import AssignmentInput, Assignments

BODY = Assignments(
    data=[AssignmentInput(group_id="a", attribute_id="b", asset_id="c", unit_id="d")]
)
Errors = dict[str, dict[str, Any]]


def describe(error: FloorgateError | httpx.TransportError) -> dict[str, Any]:
    """Return what a program and its user can know of an error."""
    if not isinstance(error, FloorgateError):
        return {"type": type(error).__name__, "message": str(error)}
    return {
        "type": type(error).__name__,
        "message": str(error),
        "status": error.status,
        "code": error.code,
        "fields": error.fields,
        "request_id": error.request_id,
        "docs": error.docs,
        "retry_after": error.retry_after,
    }


def ask(url: str, names: list[str]) -> Errors:
    """Ask with the client that waits."""
    errors = {}
    client = Floorgate(url, "key", flags=["changes", "distances"])
    for name in names:
        try:
            if name == "post":
                unassign_unit_attributes.sync_detailed("post-sync", client=client, body=BODY)
            else:
                list_level_tags.sync(f"{name}-sync", client=client)
        except (FloorgateError, httpx.TransportError) as error:
            errors[name] = describe(error)
    client.close()
    return errors


async def ask_async(url: str, names: list[str]) -> Errors:
    """Ask with the client for asyncio."""
    errors = {}
    client = AsyncFloorgate(url, "key", flags=["changes", "distances"])
    for name in names:
        try:
            if name == "post":
                await unassign_unit_attributes.asyncio_detailed(
                    "post-async", client=client, body=BODY
                )
            else:
                await list_level_tags.asyncio(f"{name}-async", client=client)
        except (FloorgateError, httpx.TransportError) as error:
            errors[name] = describe(error)
    await client.aclose()
    return errors


async def main(asked: list[tuple[str, list[str]]]) -> None:
    """Ask with both at once, and print the errors as JSON."""
    found: dict[str, Errors] = {"sync": {}, "async": {}}
    for url, names in asked:
        waiting, concurrent = await asyncio.gather(
            asyncio.to_thread(ask, url, names), ask_async(url, names)
        )
        found["sync"] |= waiting
        found["async"] |= concurrent
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
