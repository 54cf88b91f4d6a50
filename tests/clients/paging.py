"""Page through locations and parse drawings, with the Python clients: `python paging.py URL KEY`.

They are used without `with`.
"""

import asyncio
import json
import sys

from floorgate_client import AsyncFloorgate, Floorgate, FloorgateError
from floorgate_client.rest.api.locations import list_locations
from floorgate_client.rest.api.maps import parse_map

FLAGS = ["locations-resource"]
MAP = "alder-court-floor-plates"
DRAWING = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'


def read(client: Floorgate) -> dict[str, object]:
    """Read with the client that waits."""
    fetch = list_locations.sync_detailed
    first, again = (
        [each.id for each in client.iterate(fetch, MAP, client=client, per_page=5)]
        for _ in range(2)
    )
    assert again == first  # from memory
    try:
        parse_map.sync(client=client.with_headers({"X-Request-Id": "mine"}), body=b"<svg")
    except FloorgateError as error:
        request_id = error.request_id
    return {
        "locations": first,
        "elements": len(parse_map.sync(client=client, body=DRAWING).elements),
        "request_id": request_id,
    }


async def read_async(client: AsyncFloorgate) -> dict[str, object]:
    """Read with the client for asyncio."""
    fetch = list_locations.asyncio_detailed
    listed = client.iterate(fetch, MAP, client=client, per_page=5)
    try:
        other = client.with_headers({"X-Request-Id": "mine"})
        await parse_map.asyncio(client=other, body=b"<svg")
    except FloorgateError as error:
        request_id = error.request_id
    found: dict[str, object] = {
        "locations": [each.id async for each in listed],
        "elements": len((await parse_map.asyncio(client=client, body=DRAWING)).elements),
        "request_id": request_id,
    }
    await client.aclose()
    return found


def refuse(client: Floorgate) -> str:
    """Call an endpoint for asyncio with the client that waits."""
    try:
        asyncio.run(list_locations.asyncio(MAP, client=client))
    except TypeError as error:
        return str(error)
    return ""


def main() -> None:
    """Print what was found as JSON."""
    url, key = sys.argv[1:]
    client = Floorgate(url, key, flags=FLAGS)
    found = {
        "sync": read(client),
        "async": asyncio.run(read_async(AsyncFloorgate(url, key, flags=FLAGS))),
        "refused": refuse(client),
    }
    json.dump(found, sys.stdout)
    client.close()


if __name__ == "__main__":
    main()
