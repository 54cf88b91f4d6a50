"""FastAPI's two peers; their application is `bench.peers.fastapi_by_hand`, which needs FastAPI."""

from bench.peers.peer import Peer, environment, uvicorn
from bench.shapes import REST

SERVED = frozenset(shape.name for shape in REST if not shape.is_conditional)
WITH_MODELS = Peer(
    "fastapi-model",
    "FastAPI, response model",
    uvicorn("fastapi_by_hand:with_models"),
    environment,
    SERVED,
)
WITH_BYTES = Peer(
    "fastapi-orjson",
    "FastAPI, orjson bytes",
    uvicorn("fastapi_by_hand:with_bytes"),
    environment,
    SERVED,
)
