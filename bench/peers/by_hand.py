"""The limit with a database: the two endpoints written by hand on starlette, Motor and orjson.

It answers the same bytes from the same MongoDB and does nothing that these bytes do not need: the
key is compared with the one there is, everybody sees everything, nothing is logged, tagged,
compressed or looked up in a schema.
"""

import base64
import hmac
import os
import sys
from typing import Any

import msgspec
import orjson
from motor.motor_asyncio import AsyncIOMotorClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench.directory import Directory
from bench.peers.peer import BASE_URL, HOST, Peer

FIELDS = ("asset_id", "floor_id", "name", "created_at", "updated_at")
PROJECTION = dict.fromkeys(("_id", *FIELDS), 1)
BY_ID = [("_id", 1)]
MONGO_URL, DATABASE, KEY = "BY_HAND_MONGO_URL", "BY_HAND_DATABASE", "BY_HAND_KEY"


def create() -> Starlette:
    """The application; its settings are in the environment."""
    client: Any = AsyncIOMotorClient(os.environ[MONGO_URL], readConcernLevel="majority")
    collection = client[os.environ[DATABASE]]["units"]
    key = os.environ[KEY]

    async def units(request: Request) -> Response:
        if not hmac.compare_digest(request.headers.get("api-key", ""), key):
            return Response(status_code=403)
        page = int(request.query_params.get("page", "1"))
        per_page = int(request.query_params.get("per-page", "100"))
        limit = per_page + 1
        cursor = collection.find({}, PROJECTION, sort=BY_ID, limit=limit, batch_size=limit)
        found = await cursor.skip((page - 1) * per_page).to_list(None)
        next_url = (
            _next_url(page, per_page, found[per_page - 1]["_id"]) if found[per_page:] else None
        )
        previous_url = _address(page - 1, per_page) if page > 1 else None
        paging = {
            "per_page": per_page,
            "current_page": page,
            "prev_url": previous_url,
            "next_url": next_url,
        }
        return _json({"paging": paging, "data": [_unit(each) for each in found[:per_page]]})

    async def unit(request: Request) -> Response:
        if not hmac.compare_digest(request.headers.get("api-key", ""), key):
            return Response(status_code=403)
        found = await collection.find_one({"_id": request.path_params["unit"]}, PROJECTION)
        return Response(status_code=404) if found is None else _json(_unit(found))

    return Starlette(routes=[Route("/v1/units", units), Route("/v1/units/{unit}", unit)])


def _unit(document: dict[str, Any]) -> dict[str, Any]:
    return {"id": document["_id"], **{name: document[name] for name in FIELDS}}


def _json(body: Any) -> Response:
    return Response(orjson.dumps(body), media_type="application/json")


def _address(page: int, per_page: int) -> str:
    return f"{BASE_URL}/v1/units?per-page={per_page}&page={page}"


def _next_url(page: int, per_page: int, last_id: str) -> str:
    cursor = base64.urlsafe_b64encode(msgspec.msgpack.encode([page + 1, per_page, last_id]))
    return f"{_address(page + 1, per_page)}&after={cursor.decode().rstrip('=')}"


def _command(port: int) -> list[str]:
    return [
        *(sys.executable, "-m", "uvicorn", "--factory", "bench.peers.by_hand:create"),
        *("--host", HOST, "--port", str(port), "--loop", "uvloop", "--http", "httptools"),
        *("--no-access-log", "--log-level", "warning"),
    ]


def _environment(directory: Directory) -> dict[str, str]:
    return {MONGO_URL: directory.mongo_url, DATABASE: directory.database, KEY: directory.key}


BY_HAND = Peer("by-hand", "by hand", _command, _environment)
