"""Stock strawberry behind the same routes: `Schema.execute` with parser and validation caches.

Its schema is the part of Floorgate's that the benchmark uses, written as in strawberry's guide:
types built from MongoDB rows, data loaders for nested fields.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson
import strawberry
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from strawberry.dataloader import DataLoader
from strawberry.extensions import ParserCache, ValidationCache

from bench.data.workloads import (
    GRAPHQL_NOT_MODIFIED,
    MATRICES,
    NOT_MODIFIED,
    PERSISTED,
    names_except,
    read_documents,
)
from bench.peers.by_hand import MongoReader, Row, RowPage, to_json, to_page_envelope
from bench.peers.peer import Peer, peer_environment, require_key, uvicorn_command


class Loaders:
    """The context of one request."""

    def __init__(self, reader: MongoReader) -> None:
        self.reader = reader
        self.floors = DataLoader(load_fn=self._floors)
        self.units = DataLoader(load_fn=self._units)

    async def _floors(self, asset_ids: list[str]) -> list[list[Row]]:
        fields = ("asset_id", "name", "short_label")
        return await self._grouped("floors", "asset_id", asset_ids, *fields)

    async def _units(self, floor_ids: list[str]) -> list[list[Row]]:
        fields = ("asset_id", "floor_id", "name", "created_at", "updated_at")
        return await self._grouped("units", "floor_id", floor_ids, *fields)

    async def _grouped(
        self, collection: str, owner: str, ids: list[str], *fields: str
    ) -> list[list[Row]]:
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in await self.reader.list_rows(collection, {owner: {"$in": ids}}, *fields):
            groups[row[owner]].append(row)
        return [groups[id] for id in ids]


Info = strawberry.Info[Loaders, None]


@strawberry.type
class Paging:
    per_page: int
    current_page: int
    has_next: bool
    next: str | None


@strawberry.type
class Stamped:
    created_at: str
    updated_at: str


@strawberry.type
class Unit(Stamped):
    id: strawberry.ID
    asset_id: strawberry.ID
    floor_id: strawberry.ID
    name: str


@strawberry.type
class UnitPage:
    paging: Paging
    data: list[Unit]


@strawberry.type
class Floor:
    id: strawberry.ID
    name: str
    short_label: str

    @strawberry.field
    async def units(self, info: Info, per_page: int = 100) -> UnitPage:
        rows = await info.context.units.load(self.id)
        return _unit_page(_first_page(rows, per_page), 1, per_page)


@strawberry.type
class FloorPage:
    data: list[Floor]


@strawberry.type
class Asset:
    id: strawberry.ID
    name: str

    @strawberry.field
    async def floors(self, info: Info, per_page: int = 100) -> FloorPage:
        rows = (await info.context.floors.load(self.id))[:per_page]
        return FloorPage(
            data=[
                Floor(id=row["id"], name=row["name"], short_label=row["short_label"])
                for row in rows
            ]
        )


@strawberry.type
class AssetPage:
    data: list[Asset]


@strawberry.type
class LevelTagValue(Stamped):
    name: str
    value: strawberry.ID


@strawberry.type
class LevelTag(Stamped):
    name: str
    key: str
    values: list[LevelTagValue]


@strawberry.type
class LevelTagPage:
    data: list[LevelTag]


@strawberry.type
class LocationFloor:
    id: strawberry.ID = strawberry.field(name="floorId")


@strawberry.type
class LocationTag(Stamped):
    key: str
    value: str


@strawberry.type
class Location(Stamped):
    id: strawberry.ID
    asset_id: strawberry.ID
    unit_map_id: strawberry.ID
    name: str
    x: float
    y: float
    floors: list[LocationFloor]
    tags: list[LocationTag]


@strawberry.type
class LocationPage:
    data: list[Location]


@strawberry.type
class Map:
    id: strawberry.ID

    @strawberry.field
    async def level_tags(self, info: Info) -> LevelTagPage:
        rows = await info.context.reader.level_tags(self.id)
        return LevelTagPage(data=[_level_tag(row) for row in rows])

    @strawberry.field
    async def locations(self, info: Info, tags: str = "") -> LocationPage:
        rows = await info.context.reader.locations(self.id, tags)
        return LocationPage(data=[_location(row) for row in rows])


@strawberry.type
class Query:
    @strawberry.field
    async def unit(self, info: Info, id: strawberry.ID) -> Unit | None:
        found = await info.context.reader.unit(id)
        return None if found is None else Unit(**found)

    @strawberry.field
    async def units(self, info: Info, page: int = 1, per_page: int = 100) -> UnitPage:
        return _unit_page(await info.context.reader.units(page, per_page), page, per_page)

    @strawberry.field
    async def assets(self, info: Info, per_page: int = 100) -> AssetPage:
        cursor = info.context.reader.database["assets"].find({}, {"name": 1}).sort("_id", 1)
        rows = await cursor.limit(per_page).to_list()
        return AssetPage(data=[Asset(id=row["_id"], name=row["name"]) for row in rows])

    @strawberry.field
    def map(self, id: strawberry.ID) -> Map:
        return Map(id=id)


def _first_page(rows: list[Row], per_page: int) -> RowPage:
    return RowPage(rows[:per_page], len(rows) > per_page)


def _unit_page(slice: RowPage, page: int, per_page: int) -> UnitPage:
    next = to_page_envelope(slice, page, per_page)["paging"]["next_url"]
    paging = Paging(per_page=per_page, current_page=page, has_next=slice.has_next, next=next)
    return UnitPage(paging=paging, data=[Unit(**row) for row in slice.rows])


def _level_tag(row: Row) -> LevelTag:
    return LevelTag(**{**row, "values": [LevelTagValue(**value) for value in row["values"]]})


def _location(row: Row) -> Location:
    floors = [LocationFloor(**floor) for floor in row["floors"]]
    tags = [LocationTag(**tag) for tag in row["tags"]]
    return Location(**{**row, "floors": floors, "tags": tags})


SCHEMA = strawberry.Schema(Query, extensions=[ParserCache, ValidationCache])


DOCUMENTS = read_documents(Path(__file__).with_suffix(".graphql"))


class _RestHandlers:
    def __init__(self) -> None:
        self.reader = MongoReader()

    async def run(self, operation: str, variables: Row) -> Any:
        """Return the data of an endpoint's operation."""
        return await self.execute(DOCUMENTS[operation], variables)

    async def execute(self, document: str, variables: Row) -> Any:
        """Return the data of an operation."""
        result = await SCHEMA.execute(document, variables, context_value=Loaders(self.reader))
        if result.errors:
            raise result.errors[0]
        return result.data

    async def graphql(self, request: Request) -> Response:
        body = orjson.loads(await request.body())
        return to_json({"data": await self.execute(body["query"], body["variables"])})

    async def units(self, request: Request) -> Response:
        variables = {
            "page": int(request.query_params.get("page", "1")),
            "perPage": int(request.query_params.get("per-page", "100")),
        }
        page = (await self.run("ListUnits", variables))["units"]
        next_url = page["paging"].pop("next")
        page["paging"] |= {"prev_url": None, "next_url": next_url}
        return to_json(page)

    async def unit(self, request: Request) -> Response:
        data = await self.run("GetUnit", request.path_params)
        return to_json(data["unit"]) if data["unit"] else Response(status_code=404)

    async def level_tags(self, request: Request) -> Response:
        data = await self.run("ListLevelTags", request.path_params)
        return to_json({"data": data["map"]["levelTags"]["data"]})

    async def locations(self, request: Request) -> Response:
        variables = {**request.path_params, "tags": request.query_params["tags"]}
        data = await self.run("ListLocations", variables)
        return to_json({"data": data["map"]["locations"]["data"]})


def create() -> Starlette:
    """Return the application, configured from the environment."""
    handlers = _RestHandlers()
    return Starlette(
        routes=[
            Route("/v1/units", require_key(handlers.units)),
            Route("/v1/units/{unit}", require_key(handlers.unit)),
            Route("/v1/maps/{map}/levels/tags", require_key(handlers.level_tags)),
            Route("/v1/maps/{map}/locations", require_key(handlers.locations)),
            Route("/graphql", require_key(handlers.graphql), methods=["POST"]),
        ]
    )


SERVED_WORKLOADS = names_except(NOT_MODIFIED, GRAPHQL_NOT_MODIFIED, *MATRICES, *PERSISTED)
STRAWBERRY = Peer(
    "strawberry",
    "stock strawberry",
    uvicorn_command("strawberry_stock:create"),
    peer_environment,
    SERVED_WORKLOADS,
)
