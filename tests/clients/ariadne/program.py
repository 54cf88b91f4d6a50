"""A program with the client that ariadne-codegen makes: `python program.py URL KEY`."""

import asyncio
import json
import sys
from datetime import datetime
from typing import Any

from floorgate_graphql import Client, CostingOptions, PedestrianOptions, TravelMode, WaypointInput

MAP = "alder-court-floor-plates"


async def measure(url: str, key: str) -> dict[str, Any]:
    """Return the distances from one location to two others."""
    headers = {"API-Key": key, "Experimental-Flags": "distances,locations-resource"}
    async with Client(f"{url}/graphql", headers=headers) as client:
        found = (await client.locations(MAP)).map_
        assert found is not None and found.locations is not None
        created: datetime = found.created_at
        first, *others = [WaypointInput(id=each.id) for each in found.locations.data]
        options = CostingOptions(pedestrian=PedestrianOptions(mode=TravelMode.wheelchair))
        measured = (await client.distances(MAP, [first], others, options)).map_
        assert measured is not None and measured.distance_matrix is not None
        [row] = measured.distance_matrix.sources
        return {
            "year": created.year,
            "method": measured.distance_matrix.distance_method.value,
            "targets": [each.waypoint_id for each in row.targets],
            "distances": [each.distance for each in row.targets],
        }


if __name__ == "__main__":
    json.dump(asyncio.run(measure(*sys.argv[1:])), sys.stdout)
