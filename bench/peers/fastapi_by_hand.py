"""A FastAPI application: with response models, and with bytes from orjson."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Query
from pydantic import BaseModel

from bench.data.workloads import ASSIGNMENTS
from bench.peers.by_hand import (
    MongoReader,
    RecordedDistances,
    Row,
    to_json,
    to_page_envelope,
)
from bench.peers.peer import read_keys


class Stamped(BaseModel):
    created_at: str
    updated_at: str


class Unit(Stamped):
    id: str
    asset_id: str
    floor_id: str
    name: str


class Paging(BaseModel):
    per_page: int
    current_page: int
    prev_url: str | None
    next_url: str | None


class UnitPage(BaseModel):
    paging: Paging
    data: list[Unit]


class Assignment(BaseModel):
    group_id: str
    attribute_id: str
    asset_id: str
    unit_id: str


class AssignmentList(BaseModel):
    data: list[Assignment]


class AssignmentPage(AssignmentList):
    paging: Paging


class LevelTagValue(Stamped):
    name: str
    value: str


class LevelTag(Stamped):
    name: str
    key: str
    values: list[LevelTagValue]


class LevelTagList(BaseModel):
    data: list[LevelTag]


class LocationFloor(BaseModel):
    id: str


class LocationTag(Stamped):
    key: str
    value: str


class Location(Stamped):
    id: str
    asset_id: str
    unit_map_id: str
    name: str
    x: float
    y: float
    floors: list[LocationFloor]
    tags: list[LocationTag]


class LocationList(BaseModel):
    data: list[Location]


class Waypoint(BaseModel):
    id: str
    name: str | None = None


class MatrixData(BaseModel):
    sources: list[Waypoint]
    targets: list[Waypoint]


class MatrixRequest(BaseModel):
    data: MatrixData


class Place(BaseModel):
    id: str
    name: str
    x: float
    y: float
    floor_id: str
    index: int


class Target(Place):
    distance: float | None
    time: float | None


class Source(Place):
    targets: list[Target]


class Matrix(BaseModel):
    distance_method: str
    sources: list[Source]


class MatrixAnswer(BaseModel):
    data: Matrix


PerPage = Annotated[int, Query(alias="per-page", ge=1, le=10_000)]


def _key_dependency() -> Callable[..., Awaitable[None]]:
    keys = read_keys()

    async def check(api_key: Annotated[str, Header()] = "") -> None:
        if api_key not in keys:
            raise HTTPException(403)

    return check


class _Endpoints:
    """Endpoints that return a body, or a response made from it by `answer`."""

    def __init__(self, answer: Callable[[Row], Any]) -> None:
        self.reader = MongoReader()
        self.distances = RecordedDistances()
        self.answer = answer

    async def units(
        self,
        page: Annotated[int, Query(ge=1)] = 1,
        per_page: PerPage = 100,
        asset: str | None = None,
    ) -> Any:
        found = await self.reader.units(page, per_page, asset)
        return self.answer(to_page_envelope(found, page, per_page))

    async def assignments(self, asset: str, per_page: PerPage = 100) -> Any:
        found = await self.reader.assignments(asset, per_page)
        return self.answer(to_page_envelope(found, 1, per_page))

    async def assign(self, body: AssignmentList) -> Any:
        assignments = [assignment.model_dump() for assignment in body.data]
        await self.reader.assign(assignments)
        return self.answer({"data": assignments})

    async def unit(self, unit: str) -> Any:
        found = await self.reader.unit(unit)
        if found is None:
            raise HTTPException(404)
        return self.answer(found)

    async def level_tags(self, map: str) -> Any:
        return self.answer({"data": await self.reader.level_tags(map)})

    async def locations(self, map: str, tags: str) -> Any:
        return self.answer({"data": await self.reader.locations(map, tags)})

    async def matrix(self, map: str, body: MatrixRequest) -> Any:
        waypoints = body.data.model_dump(exclude_unset=True)
        return self.answer(self.distances.matrix(**waypoints))


def with_models() -> FastAPI:
    """Return the application that validates and serializes responses with models."""
    return _application(_Endpoints(lambda body: body), is_modelled=True)


def with_bytes() -> FastAPI:
    """Return the application that serializes responses with orjson."""
    return _application(_Endpoints(to_json), is_modelled=False)


def _application(endpoints: _Endpoints, *, is_modelled: bool) -> FastAPI:
    application = FastAPI(openapi_url=None, dependencies=[Depends(_key_dependency())])
    rows: list[tuple[str, str, Callable[..., Any], type[BaseModel]]] = [
        ("GET", "/v1/units", endpoints.units, UnitPage),
        ("GET", ASSIGNMENTS, endpoints.assignments, AssignmentPage),
        ("PUT", ASSIGNMENTS, endpoints.assign, AssignmentList),
        ("GET", "/v1/units/{unit}", endpoints.unit, Unit),
        ("GET", "/v1/maps/{map}/levels/tags", endpoints.level_tags, LevelTagList),
        ("GET", "/v1/maps/{map}/locations", endpoints.locations, LocationList),
        ("POST", "/v1/maps/{map}/distance-matrix", endpoints.matrix, MatrixAnswer),
    ]
    for method, path, endpoint, model in rows:
        application.add_api_route(
            path, endpoint, methods=[method], response_model=model if is_modelled else None
        )
    return application
