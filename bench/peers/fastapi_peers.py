"""The two FastAPI peers. Importing this module does not need FastAPI, unlike their application."""

from bench.data.mix import MIX
from bench.data.workloads import REST_WORKLOADS
from bench.peers.peer import Peer, peer_environment, uvicorn_command

SERVED_WORKLOADS = frozenset(
    [*(workload.name for workload in REST_WORKLOADS if not workload.is_conditional), MIX.name]
)
WITH_MODELS = Peer(
    "fastapi-model",
    "FastAPI, response model",
    uvicorn_command("fastapi_by_hand:with_models"),
    peer_environment,
    SERVED_WORKLOADS,
)
WITH_BYTES = Peer(
    "fastapi-orjson",
    "FastAPI, orjson bytes",
    uvicorn_command("fastapi_by_hand:with_bytes"),
    peer_environment,
    SERVED_WORKLOADS,
)
