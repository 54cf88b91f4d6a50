"""The limit with a database: endpoints written by hand on starlette, Motor and orjson.

It gives the same answers from the same MongoDB with the least work: it knows the keys by heart, has
no visibility rules, and does not log, compress or use a schema. It serves one GraphQL operation
without reading its text. An assignment is one upsert: without a transaction, an audit record, or a
look at the unit.
"""

from collections import defaultdict
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench.data.mix import ASSIGNMENTS, MIX
from bench.data.workloads import NESTED, REST_WORKLOADS
from bench.peers.key_check import require_key
from bench.peers.mongo_reader import MongoReader, RecordedDistances, Row, to_page_envelope
from bench.peers.peer import Peer, peer_environment, uvicorn_command

ASSET_COUNT = 4


def create() -> Starlette:
    """Return the application, configured from the environment."""
    handlers = _Handlers(MongoReader(), RecordedDistances())
    return Starlette(
        routes=[
            Route("/v1/units", require_key(handlers.units)),
            Route(ASSIGNMENTS, require_key(handlers.assignments)),
            Route(ASSIGNMENTS, require_key(handlers.assign), methods=["PUT"]),
            Route("/v1/units/{unit}", require_key(handlers.unit)),
            Route("/v1/maps/{map}/levels/tags", require_key(handlers.level_tags)),
            Route("/v1/maps/{map}/locations", require_key(handlers.locations)),
            Route("/v1/maps/{map}/distance-matrix", require_key(handlers.matrix), methods=["POST"]),
            Route("/graphql", require_key(handlers.nested), methods=["POST"]),
        ]
    )


class _Handlers:
    def __init__(self, reader: MongoReader, distances: RecordedDistances) -> None:
        self.reader = reader
        self.distances = distances

    async def units(self, request: Request) -> Response:
        page = int(request.query_params.get("page", "1"))
        per_page = int(request.query_params.get("per-page", "100"))
        asset = request.query_params.get("asset")
        found = await self.reader.units(page, per_page, asset)
        return _json(to_page_envelope(found, page, per_page))

    async def unit(self, request: Request) -> Response:
        found = await self.reader.unit(request.path_params["unit"])
        return Response(status_code=404) if found is None else _json(found)

    async def assignments(self, request: Request) -> Response:
        per_page = int(request.query_params["per-page"])
        found = await self.reader.assignments(request.query_params["asset"], per_page)
        return _json(to_page_envelope(found, 1, per_page))

    async def assign(self, request: Request) -> Response:
        assignments = orjson.loads(await request.body())["data"]
        await self.reader.assign(assignments)
        return _json({"data": assignments})

    async def level_tags(self, request: Request) -> Response:
        found = await self.reader.level_tags(request.path_params["map"])
        return _json({"data": found})

    async def locations(self, request: Request) -> Response:
        tags = request.query_params["tags"]
        return _json({"data": await self.reader.locations(request.path_params["map"], tags)})

    async def matrix(self, request: Request) -> Response:
        data = orjson.loads(await request.body())["data"]
        return _json(self.distances.matrix(data["sources"], data["targets"]))

    async def nested(self, request: Request) -> Response:
        await request.body()
        cursor = self.reader.database["assets"].find({}, {"name": 1}).sort("_id", 1)
        assets = await cursor.limit(ASSET_COUNT).to_list()
        ids = [asset["_id"] for asset in assets]
        floors = await self.reader.list_rows(
            "floors", {"asset_id": {"$in": ids}}, "asset_id", "name", "short_label"
        )
        floor_ids = [floor["id"] for floor in floors]
        units = await self.reader.list_rows(
            "units", {"floor_id": {"$in": floor_ids}}, "floor_id", "name"
        )
        return _json({"data": {"assets": {"data": _nest_rows(assets, floors, units)}}})


def _nest_rows(assets: list[Row], floors: list[Row], units: list[Row]) -> list[Row]:
    on_floor: dict[str, list[Any]] = defaultdict(list)
    for unit in units:
        on_floor[unit["floor_id"]].append(
            {"id": unit["id"], "name": unit["name"], "floorId": unit["floor_id"]}
        )
    of_asset: dict[str, list[Any]] = defaultdict(list)
    for floor in floors:
        of_asset[floor["asset_id"]].append(
            {
                "id": floor["id"],
                "name": floor["name"],
                "shortLabel": floor["short_label"],
                "units": {"data": on_floor[floor["id"]]},
            }
        )
    return [
        {"id": asset["_id"], "name": asset["name"], "floors": {"data": of_asset[asset["_id"]]}}
        for asset in assets
    ]


def _json(body: Any) -> Response:
    return Response(orjson.dumps(body), media_type="application/json")


BY_HAND = Peer(
    "by-hand",
    "by hand",
    uvicorn_command("by_hand:create"),
    peer_environment,
    frozenset(
        [
            *(workload.name for workload in REST_WORKLOADS if not workload.is_conditional),
            *(NESTED, MIX.name),
        ]
    ),
)
