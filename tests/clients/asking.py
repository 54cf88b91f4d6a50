"""Ask services that fail, with both Python clients: `python asking.py '[[URL, [NAME, ...]], ...]'`.

They are used without `with`. Print what went wrong, by client and name.
"""

import asyncio
import json
import sys
from typing import Any

from floorgate_client import AsyncFloorgate, Floorgate, FloorgateError, ResponseError
from floorgate_client.params import AssignmentInput

BODY: list[AssignmentInput] = [
    {"group_id": "a", "attribute_id": "b", "asset_id": "c", "unit_id": "d"}
]
FLAGS = ["changes", "distances"]
Errors = dict[str, dict[str, Any]]


def describe(error: FloorgateError) -> dict[str, Any]:
    """Return what a program and its user can know of an error."""
    found = {"type": type(error).__name__, "message": str(error), "retry_after": error.retry_after}
    if not isinstance(error, ResponseError):
        return found
    return found | {
        "status": error.status,
        "code": error.code,
        "fields": error.fields,
        "request_id": error.request_id,
        "docs": error.docs,
    }


def ask(url: str, names: list[str]) -> Errors:
    """Ask with the synchronous client."""
    errors = {}
    client = Floorgate(url, "key", flags=FLAGS)
    for name in names:
        try:
            if name == "post":
                client.attribute_groups("post-sync").assignments.remove(BODY)
            else:
                client.maps(f"{name}-sync").level_tags.list()
        except FloorgateError as error:
            errors[name] = describe(error)
    client.close()
    return errors


async def ask_async(url: str, names: list[str]) -> Errors:
    """Ask with the client for asyncio."""
    errors = {}
    client = AsyncFloorgate(url, "key", flags=FLAGS)
    for name in names:
        try:
            if name == "post":
                await client.attribute_groups("post-async").assignments.remove(BODY)
            else:
                await client.maps(f"{name}-async").level_tags.list()
        except FloorgateError as error:
            errors[name] = describe(error)
    await client.close()
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
