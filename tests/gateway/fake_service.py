"""A fake of the gateway's HTTP API with two units, for the tests of the browser pages.

It answers `/graphql` and one REST operation to requests with the right `API-Key`, from canned
data, so that the pages are tested without a database.
"""

from typing import Any

import strawberry
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp
from strawberry.schema.config import StrawberryConfig

from gateway import browser_pages
from rest.path_routing import PathRouter

KEY = "the-right-key"


@strawberry.type
class Asset:
    id: strawberry.ID
    name: str


@strawberry.type
class Floor:
    name: str
    short_label: str


@strawberry.type
class Unit:
    id: strawberry.ID
    name: str
    floor: Floor
    asset: Asset


@strawberry.type
class Map:
    id: strawberry.ID
    name: str


@strawberry.type
class Paging:
    per_page: int
    current_page: int
    has_next: bool


@strawberry.type
class Units:
    data: list[Unit]
    paging: Paging


ASSETS = [Asset(id=strawberry.ID("a1"), name="Harbour Court")]
MAPS = [Map(id=strawberry.ID("m1"), name="All floors")]
FLOOR = Floor(name="First floor", short_label="1")
UNITS = [
    Unit(id=strawberry.ID("u1"), name="101", floor=FLOOR, asset=ASSETS[0]),
    Unit(id=strawberry.ID("u2"), name="102", floor=FLOOR, asset=ASSETS[0]),
]


@strawberry.type
class Query:
    @strawberry.field
    def assets(self) -> list[Asset]:
        return ASSETS

    @strawberry.field
    def asset(self, id: strawberry.ID) -> Asset | None:
        return next((asset for asset in ASSETS if asset.id == id), None)

    @strawberry.field
    def units(self, page: int = 1, per_page: int = 100) -> Units:
        paging = Paging(per_page=per_page, current_page=page, has_next=False)
        return Units(data=UNITS[:per_page], paging=paging)

    @strawberry.field
    def unit(self, id: strawberry.ID) -> Unit | None:
        return next((unit for unit in UNITS if unit.id == id), None)

    @strawberry.field
    def maps(self) -> list[Map]:
        return MAPS

    @strawberry.field
    def map(self, id: strawberry.ID) -> Map | None:
        return next((map for map in MAPS if map.id == id), None)


SCHEMA = strawberry.Schema(Query, config=StrawberryConfig(auto_camel_case=True))


def refusal(request: Request) -> Response | None:
    key = request.headers.get("api-key")
    if not key:
        return JSONResponse({"message": "No API key found in request"}, 401)
    if key != KEY:
        return JSONResponse({"message": "Invalid authentication credentials"}, 403)
    return None


async def graphql(request: Request) -> Response:
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        return browser_pages.graphiql_response()
    if refused := refusal(request):
        return refused
    posted = await request.json()
    result = await SCHEMA.execute(
        posted["query"], posted.get("variables"), operation_name=posted.get("operationName")
    )
    answer: dict[str, Any] = {"data": result.data}
    if result.errors:
        answer["errors"] = [error.formatted for error in result.errors]
    return JSONResponse(answer)


async def list_units(request: Request) -> Response:
    units = [{"id": unit.id, "name": unit.name} for unit in UNITS]
    return refusal(request) or JSONResponse({"data": units})


DESCRIPTION = {
    "openapi": "3.1.0",
    "info": {"title": "Floorgate", "version": "v1.20260101", "description": "Units and maps."},
    # another name of the same host, as a configured base address may be
    "servers": [{"url": "https://floorgate.example/"}],
    "security": [{"ApiKey": []}],
    "tags": [{"name": "Units"}],
    "paths": {
        "/v1/units": {
            "get": {
                "operationId": "listUnits",
                "summary": "List units",
                "tags": ["Units"],
                "parameters": [
                    {
                        "name": "per-page",
                        "in": "query",
                        "schema": {"type": "integer", "minimum": 1, "default": 100},
                    }
                ],
                "responses": {
                    "200": {
                        "description": "A page of units",
                        "content": {
                            "application/json": {
                                "schema": {"type": "object"},
                                "example": {"data": [{"id": "u1", "name": "101"}]},
                            }
                        },
                    }
                },
            }
        }
    },
    "components": {
        "securitySchemes": {"ApiKey": {"type": "apiKey", "in": "header", "name": "API-Key"}}
    },
}


async def describe(request: Request) -> Response:
    return JSONResponse(DESCRIPTION)


async def reference(request: Request) -> ASGIApp:
    return browser_pages.reference_response()


APP = PathRouter(
    [*browser_pages.build_page_routes(), *browser_pages.PageAssets().build_routes()],
    Starlette(
        routes=[
            Route("/graphql", graphql, methods=["GET", "POST"]),
            Route("/v1/units", list_units),
            Route("/v1/openapi.json", describe),
            Route("/v1/openapi", reference),
        ]
    ),
)
