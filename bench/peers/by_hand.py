"""The limit with a database: endpoints written by hand on starlette, Motor and orjson.

It gives the same answers from the same MongoDB with the least work: it knows the keys by heart, has
no visibility rules, and does not log, compress or use a schema. It serves one GraphQL operation
without reading its text. An assignment is one upsert: without a transaction, an audit record, or a
look at the unit. `MongoReader` is also that of the other peers in Python: the fewest commands for a
request, and rows as they are stored, without checks that the requests do not need.
"""

import base64
import os
from collections import defaultdict
from typing import Any, NamedTuple

import msgspec
import orjson
from motor.motor_asyncio import AsyncIOMotorClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench.data.directory import GROUP_ID
from bench.data.workloads import ASSIGNMENTS, MIX, NESTED, REST_WORKLOADS
from bench.peers.peer import (
    ANSWERS_VARIABLE,
    BASE_URL,
    DATABASE_VARIABLE,
    MONGO_URL_VARIABLE,
    Peer,
    peer_environment,
    read_recorded_answers,
    require_key,
    uvicorn_command,
)
from storage.records.kinds import KEY_SEPARATOR

Row = dict[str, Any]

BY_ID = [("_id", 1)]
UNIT = ("asset_id", "floor_id", "name", "created_at", "updated_at")
ASSIGNMENT = ("group_id", "attribute_id", "asset_id", "unit_id")
LEVEL_TAG = ("name", "key", "created_at", "updated_at", "values")
LOCATION = (
    *("asset_id", "unit_map_id", "name", "x", "y", "floors", "tags"),
    *("created_at", "updated_at"),
)
PER_PAGE = 100


class RowPage(NamedTuple):
    """One page of rows, and whether another follows."""

    rows: list[Row]
    has_next: bool


class MongoReader:
    """Queries on the collections of the directory."""

    def __init__(self) -> None:
        client: Any = AsyncIOMotorClient(
            os.environ[MONGO_URL_VARIABLE], readConcernLevel="majority"
        )
        self.database = client[os.environ[DATABASE_VARIABLE]]

    async def unit(self, id: str) -> Row | None:
        """Return one unit, None if absent."""
        found = await self.database["units"].find_one({"_id": id}, _projection(UNIT))
        return None if found is None else _resource(found)

    async def units(self, page: int, per_page: int, asset: str | None = None) -> RowPage:
        """Return a page of all units, or of those of an asset."""
        where = {} if asset is None else {"asset_id": asset}
        cursor = self._find("units", where, UNIT, per_page + 1)
        found = await cursor.sort(BY_ID).skip((page - 1) * per_page).to_list(None)
        return RowPage([_resource(row) for row in found[:per_page]], len(found) > per_page)

    async def assignments(self, asset: str, per_page: int) -> RowPage:
        """Return the first page of an asset's assignments."""
        where = {"group_id": GROUP_ID, "asset_id": asset}
        cursor = self.database["attribute_assignments"].find(
            where, dict.fromkeys(ASSIGNMENT, 1) | {"_id": 0}, limit=per_page + 1
        )
        found = await cursor.sort(BY_ID).to_list(None)
        return RowPage(found[:per_page], len(found) > per_page)

    async def assign(self, assignments: list[Row]) -> None:
        """Write assignments; a unit has one attribute of the group."""
        flag = {"one_attribute_per_unit": True}
        for assignment in assignments:
            id = KEY_SEPARATOR.join((assignment["group_id"], assignment["unit_id"]))
            await self.database["attribute_assignments"].update_one(
                {"_id": id}, {"$set": {**assignment, **flag}}, upsert=True
            )

    async def level_tags(self, map_id: str) -> list[Row]:
        """Return the level tags of a map."""
        where = {"map_id": map_id}
        found: list[Row] = (
            await self.database["level_tags"]
            .find(where, {**_projection(LEVEL_TAG), "_id": 0})
            .sort(BY_ID)
            .to_list(None)
        )
        return found

    async def locations(self, map_id: str, tags: str) -> list[Row]:
        """Return the first locations of a map that match a tag filter without escapes."""
        terms = tags.casefold().replace("==", KEY_SEPARATOR).split(",")
        words = {
            "$all": [term for term in terms if not term.startswith("-")],
            "$nin": [term[1:] for term in terms if term.startswith("-")],
        }
        where = {"unit_map_id": map_id, "words": words}
        cursor = self._find("locations", where, LOCATION, PER_PAGE)
        return [_resource(row) for row in await cursor.sort(BY_ID).to_list(None)]

    async def list_rows(self, collection: str, where: Row, *fields: str) -> list[Row]:
        """Return rows of a collection sorted by id."""
        cursor = self.database[collection].find(where, _projection(fields), batch_size=10_000)
        return [_resource(row) for row in await cursor.sort(BY_ID).to_list(None)]

    def _find(self, collection: str, where: Row, fields: tuple[str, ...], limit: int) -> Any:
        # Without a batch size, the driver's first batch is 101 documents.
        return self.database[collection].find(
            where, _projection(fields), limit=limit, batch_size=limit
        )


def _projection(fields: tuple[str, ...]) -> dict[str, int]:
    return dict.fromkeys(("_id", *fields), 1)


def _resource(row: Row) -> Row:
    return {"id": row.pop("_id"), **row}


def to_page_envelope(slice: RowPage, page: int, per_page: int) -> Row:
    """Return a page in the specification's envelope."""
    next_url = None
    if slice.has_next:
        cursor = msgspec.msgpack.encode([page + 1, per_page, slice.rows[-1]["id"]])
        token = base64.urlsafe_b64encode(cursor).decode().rstrip("=")
        next_url = f"{_page_url(page + 1, per_page)}&after={token}"
    paging = {
        "per_page": per_page,
        "current_page": page,
        "prev_url": _page_url(page - 1, per_page) if page > 1 else None,
        "next_url": next_url,
    }
    return {"paging": paging, "data": slice.rows}


def _page_url(page: int, per_page: int) -> str:
    return f"{BASE_URL}/v1/units?per-page={per_page}&page={page}"


class RecordedDistances:
    """A table of distances from Floorgate's recorded answer."""

    def __init__(self) -> None:
        answers = read_recorded_answers(os.environ[ANSWERS_VARIABLE])
        answer = next(x for x in answers if x.path.endswith("/distance-matrix"))
        matrix = msgspec.json.decode(answer.content)["data"]
        self.method = matrix["distance_method"]
        self.places: dict[str, Row] = {}
        self.table: dict[tuple[str, str], tuple[float, float]] = {}
        for source in matrix["sources"]:
            for target in source["targets"]:
                self.table[source["id"], target["id"]] = target["distance"], target["time"]
                self.places[target["id"]] = _waypoint_fields(target)
            self.places[source["id"]] = _waypoint_fields(source)

    def matrix(self, sources: list[Row], targets: list[Row]) -> Row:
        """Return the answer to a distance-matrix request; a waypoint is an id, with or without
        another name than its own.
        """
        rows = [
            {
                **self.places[source["id"]],
                **source,
                "index": at,
                "targets": [
                    self._target(source["id"], target, to) for to, target in enumerate(targets)
                ],
            }
            for at, source in enumerate(sources)
        ]
        return {"data": {"distance_method": self.method, "sources": rows}}

    def _target(self, source_id: str, target: Row, index: int) -> Row:
        distance, time = self.table[source_id, target["id"]]
        place = self.places[target["id"]]
        return {**place, **target, "index": index, "distance": distance, "time": time}


def _waypoint_fields(waypoint: Row) -> Row:
    return {name: waypoint[name] for name in ("id", "name", "x", "y", "floor_id")}


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
        return to_json(to_page_envelope(found, page, per_page))

    async def unit(self, request: Request) -> Response:
        found = await self.reader.unit(request.path_params["unit"])
        return Response(status_code=404) if found is None else to_json(found)

    async def assignments(self, request: Request) -> Response:
        per_page = int(request.query_params["per-page"])
        found = await self.reader.assignments(request.query_params["asset"], per_page)
        return to_json(to_page_envelope(found, 1, per_page))

    async def assign(self, request: Request) -> Response:
        assignments = orjson.loads(await request.body())["data"]
        await self.reader.assign(assignments)
        return to_json({"data": assignments})

    async def level_tags(self, request: Request) -> Response:
        found = await self.reader.level_tags(request.path_params["map"])
        return to_json({"data": found})

    async def locations(self, request: Request) -> Response:
        tags = request.query_params["tags"]
        return to_json({"data": await self.reader.locations(request.path_params["map"], tags)})

    async def matrix(self, request: Request) -> Response:
        data = orjson.loads(await request.body())["data"]
        return to_json(self.distances.matrix(data["sources"], data["targets"]))

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
        return to_json({"data": {"assets": {"data": _nest_rows(assets, floors, units)}}})


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


def to_json(body: Any) -> Response:
    """Return a body as a response."""
    return Response(orjson.dumps(body), media_type="application/json")


REST_WITHOUT_CONDITIONS = frozenset(
    [*(workload.name for workload in REST_WORKLOADS if not workload.is_conditional), MIX.name]
)
BY_HAND = Peer(
    "by-hand",
    "by hand",
    uvicorn_command("by_hand:create"),
    peer_environment,
    REST_WITHOUT_CONDITIONS | {NESTED},
)
# They are here because importing their module needs FastAPI.
WITH_MODELS = Peer(
    "fastapi-model",
    "FastAPI, response model",
    uvicorn_command("fastapi_by_hand:with_models"),
    peer_environment,
    REST_WITHOUT_CONDITIONS,
)
WITH_BYTES = Peer(
    "fastapi-orjson",
    "FastAPI, orjson bytes",
    uvicorn_command("fastapi_by_hand:with_bytes"),
    peer_environment,
    REST_WITHOUT_CONDITIONS,
)
