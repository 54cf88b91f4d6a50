"""All peers that can be compared."""

import importlib.util
from collections.abc import Collection

from bench.peers import node
from bench.peers.by_hand import BY_HAND
from bench.peers.fastapi_peers import WITH_BYTES, WITH_MODELS
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.node import SOFA_JIT, SOFA_JS
from bench.peers.peer import Peer
from bench.peers.raw import RAW
from bench.peers.strawberry_stock import STRAWBERRY


def all_peers(names: Collection[str] = ()) -> tuple[list[Peer], list[str]]:
    """Return the peers that can run on this machine, and a reason for each missing one.

    Installs the packages of the Node.js peers if they are among `names`; none means all.
    """
    peers = [UNCACHED, CACHED, RAW, BY_HAND]
    left_out = []
    if importlib.util.find_spec("fastapi"):
        peers += [WITH_BYTES, WITH_MODELS]
    else:
        left_out.append("fastapi is absent: its peers are left out; `make bench` installs it")
    peers.append(STRAWBERRY)
    if names and not {SOFA_JS.name, SOFA_JIT.name} & {*names}:
        return peers, left_out
    if (reason := node.install_packages()) is None:
        peers += [SOFA_JS, SOFA_JIT]
    else:
        left_out.append(reason)
    return peers, left_out
