"""The workloads: kinds of REST and GraphQL requests, the same for every peer.

The mix has writes between reads: of 100 requests `WRITE_PERCENT` assign an attribute, in turn to
units of all assets. The others read an asset's units, its assignments, or one of its units, as
likely as these addresses are many, with the key that sees all assets or with one that sees a few.
"""

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

import msgspec
import orjson

from bench.data.directory import (
    ATTRIBUTE_IDS,
    GROUP_ID,
    MAP_ID,
    UNITS_PER_ASSET,
    Directory,
    get_asset_id,
)

UNIQUE_TOKEN = "0000unique"
"""Stands in a path or a body for a number of as many digits that no other request has."""
SEED = 7
SINGLE_UNITS = 500
"""Number of single units requested in turn."""
SOURCES, TARGETS = 5, 10
NEW_MATRICES = 200
"""Number of different orders of the same sources and targets."""
LOCATION_TAGS = "svc:amenity==yes,-disused"
UNIQUE_TAGS = f"{LOCATION_TAGS},-{UNIQUE_TOKEN}"
"""The same locations, by a filter that has not been sent before."""
JSON = {"Content-Type": "application/json"}
Waypoints: TypeAlias = dict[str, list[dict[str, str]]]
"""Sources and targets, as a request names them."""


class LoadRequest(msgspec.Struct, frozen=True):
    """One HTTP request, whichever server gets it."""

    path: str
    method: str = "GET"
    body: bytes = b""
    headers: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Workload:
    """One kind of request; `requests` are sent in turn."""

    name: str
    title: str
    requests: Callable[[Directory], list[LoadRequest]]
    connections: int = 8
    """Connections at saturation: enough to keep one core busy while MongoDB answers."""
    is_conditional: bool = False
    """Each request carries the current ETag in If-None-Match, so that the answer is 304."""
    registrations: tuple[LoadRequest, ...] = ()
    """Sent once before the requests, so that the server has the documents that these name."""

    @property
    def status(self) -> int:
        """Return the expected status of every answer."""
        return 304 if self.is_conditional else 200


def read_documents(path: Path) -> dict[str, str]:
    """Return the operations of a file by their names."""
    texts = re.split(r"\n\n(?=query )", path.read_text().rstrip("\n"))
    return {re.split(r"\W", text, maxsplit=2)[1]: text for text in texts if text[0] != "#"}


def build_workload(name: str, requests: list[LoadRequest]) -> Workload:
    """Return a workload of these requests, in any directory."""
    return Workload(name, name, lambda _: requests)


def _sample_unit_ids(directory: Directory) -> list[str]:
    count = min(SINGLE_UNITS, len(directory.unit_ids))
    return random.Random(SEED).sample(directory.unit_ids, count)


def _for_units(build: Callable[[str], LoadRequest]) -> Callable[[Directory], list[LoadRequest]]:
    """Return what makes a request for each of the sampled units."""
    return lambda directory: [build(id) for id in _sample_unit_ids(directory)]


def _post(path: str, content: Any) -> LoadRequest:
    return LoadRequest(path, "POST", orjson.dumps(content), JSON)


def _get(path: str) -> Callable[[Directory], list[LoadRequest]]:
    return lambda _: [LoadRequest(path)]


def _sample_waypoint_ids(directory: Directory) -> tuple[list[str], list[str]]:
    """Return ids of random sources and targets, the same on every run."""
    count = min(SOURCES + TARGETS, len(directory.location_ids))
    picked = random.Random(SEED).sample(directory.location_ids, count)
    return picked[:SOURCES], picked[SOURCES:]


def _waypoints(directory: Directory) -> Waypoints:
    sources, targets = _sample_waypoint_ids(directory)
    return {"sources": [{"id": id} for id in sources], "targets": [{"id": id} for id in targets]}


def _matrix(directory: Directory) -> list[LoadRequest]:
    return [_matrix_request(_waypoints(directory))]


def _matrix_request(waypoints: Waypoints) -> LoadRequest:
    return _post(f"/v1/maps/{MAP_ID}/distance-matrix", {"data": waypoints})


def _iter_new_waypoints(directory: Directory) -> Iterator[Waypoints]:
    """Yield the same places in other orders, the first of them with a name that is sent once."""
    sources, targets = _sample_waypoint_ids(directory)
    generator = random.Random(SEED)
    for number in range(NEW_MATRICES):
        generator.shuffle(sources)
        generator.shuffle(targets)
        first, *others = ({"id": id} for id in sources)
        yield {
            "sources": [first | {"name": f"{number} {UNIQUE_TOKEN}"}, *others],
            "targets": [{"id": id} for id in targets],
        }


def _new_matrices(directory: Directory) -> list[LoadRequest]:
    return [_matrix_request(waypoints) for waypoints in _iter_new_waypoints(directory)]


def _graphql_request(document: str, **variables: Any) -> LoadRequest:
    return _post("/graphql", {"query": document, "variables": variables})


def _graphql(document: str, **variables: Any) -> Callable[[Directory], list[LoadRequest]]:
    return lambda _: [_graphql_request(document, **variables)]


def _graphql_query(document: str, **variables: Any) -> Callable[[Directory], list[LoadRequest]]:
    parameters = {"query": document} | ({"variables": _to_text(variables)} if variables else {})
    return _get(f"/graphql?{urlencode(parameters)}")


def _to_text(value: Any) -> str:
    return orjson.dumps(value).decode()


def _name_persisted(document: str) -> dict[str, Any]:
    return {"persistedQuery": {"version": 1, "sha256Hash": _digest(document)}}


def _digest(document: str) -> str:
    return hashlib.sha256(document.encode()).hexdigest()


def _register(document: str, **variables: Any) -> LoadRequest:
    sent = {"query": document, "variables": variables, "extensions": _name_persisted(document)}
    return _post("/graphql", sent)


def _persisted_nested(_: Directory) -> list[LoadRequest]:
    extensions = _to_text(_name_persisted(NESTED_QUERY))
    return [LoadRequest(f"/graphql?{urlencode({'extensions': extensions})}", headers=JSON)]


def _graphql_matrix(directory: Directory) -> list[LoadRequest]:
    return [_graphql_request(DOCUMENTS["Matrix"], map=MAP_ID, **_waypoints(directory))]


def _new_graphql_matrices(directory: Directory) -> list[LoadRequest]:
    return [
        _graphql_request(DOCUMENTS["Matrix"], map=MAP_ID, **waypoints)
        for waypoints in _iter_new_waypoints(directory)
    ]


DOCUMENTS = read_documents(Path(__file__).with_suffix(".graphql"))
UNIT_QUERY, NESTED_QUERY = DOCUMENTS["Unit"], DOCUMENTS["Nested"]

LIST = "units-1000"
UNIT = "unit"
NOT_MODIFIED = "not-modified"
MATRIX, GRAPHQL_MATRIX = "matrix", "graphql-matrix"
NESTED = "graphql-nested"
LEVEL_TAGS, LOCATIONS = "level-tags", "locations"
GRAPHQL_NOT_MODIFIED = "graphql-not-modified"
NEW_MATRIX, NEW_GRAPHQL_MATRIX = "unique-matrix", "graphql-unique-matrix"
MATRICES = (MATRIX, GRAPHQL_MATRIX, NEW_MATRIX, NEW_GRAPHQL_MATRIX)
UNIQUE = ("unique", "graphql-unique", "graphql-unique-text", NEW_MATRIX, NEW_GRAPHQL_MATRIX)
"""No two requests are equal, so that no cache can have the response, nor, of the third, the
operation."""
PERSISTED = ("graphql-persisted", "graphql-persisted-get")

REST_WORKLOADS = (
    Workload(UNIT, "one unit", _for_units(lambda id: LoadRequest(f"/v1/units/{id}"))),
    Workload("units-100", "100 units", _get("/v1/units?per-page=100")),
    Workload(LIST, "1,000 units", _get("/v1/units?per-page=1000")),
    Workload("units-10000", "10,000 units", _get("/v1/units?per-page=10000"), connections=3),
    Workload(LEVEL_TAGS, "level tags", _get(f"/v1/maps/{MAP_ID}/levels/tags")),
    Workload(
        LOCATIONS,
        "90 locations by tag",
        _get(f"/v1/maps/{MAP_ID}/locations?tags={quote(LOCATION_TAGS, safe='')}"),
    ),
    Workload(
        NOT_MODIFIED, "304 for 1,000 units", _get("/v1/units?per-page=1000"), is_conditional=True
    ),
    Workload(MATRIX, "matrix of 50 pairs", _matrix),
    Workload(
        UNIQUE[0],
        "90 locations, each filter new",
        _get(f"/v1/maps/{MAP_ID}/locations?tags={quote(UNIQUE_TAGS, safe='')}"),
    ),
    Workload(NEW_MATRIX, "matrix of 50 pairs, each new", _new_matrices),
)
GRAPHQL_WORKLOADS = (
    Workload(
        "graphql-unit",
        "one unit, GraphQL",
        _for_units(lambda id: _graphql_request(UNIT_QUERY, id=id)),
    ),
    Workload("graphql-units-100", "100 units, GraphQL", _graphql(DOCUMENTS["Units"], perPage=100)),
    Workload(
        "graphql-units-1000",
        "1,000 units, GraphQL",
        _graphql(DOCUMENTS["Units"], perPage=1000),
    ),
    Workload(
        "graphql-units-10000",
        "10,000 units, GraphQL",
        _graphql(DOCUMENTS["Units"], perPage=10_000),
        connections=3,
    ),
    Workload(
        "graphql-level-tags",
        "level tags, GraphQL",
        _graphql(DOCUMENTS["LevelTags"], map=MAP_ID),
    ),
    Workload(
        "graphql-locations",
        "90 locations by tag, GraphQL",
        _graphql(DOCUMENTS["Locations"], map=MAP_ID, tags=LOCATION_TAGS),
    ),
    Workload(NESTED, "1,000 units in 3 levels, GraphQL", _graphql(NESTED_QUERY)),
    Workload(
        GRAPHQL_NOT_MODIFIED,
        "304 for 1,000 units in 3 levels, GraphQL",
        _graphql_query(NESTED_QUERY),
        is_conditional=True,
    ),
    Workload(GRAPHQL_MATRIX, "matrix of 50 pairs, GraphQL", _graphql_matrix),
    Workload(
        UNIQUE[1],
        "90 locations, all variables new, GraphQL",
        _graphql(DOCUMENTS["Locations"], map=MAP_ID, tags=UNIQUE_TAGS),
    ),
    Workload(
        UNIQUE[2],
        "one unit, each text new, GraphQL",
        _for_units(
            lambda id: _graphql_request(UNIT_QUERY.replace("Unit", f"Unit{UNIQUE_TOKEN}", 1), id=id)
        ),
    ),
    Workload(NEW_GRAPHQL_MATRIX, "matrix of 50 pairs, each new, GraphQL", _new_graphql_matrices),
    Workload(
        PERSISTED[0],
        "one unit, persisted GraphQL",
        _for_units(
            lambda id: _post(
                "/graphql", {"variables": {"id": id}, "extensions": _name_persisted(UNIT_QUERY)}
            )
        ),
        registrations=(_register(UNIT_QUERY, id=""),),
    ),
    Workload(
        PERSISTED[1],
        "1,000 units in 3 levels, persisted GraphQL by GET",
        _persisted_nested,
        registrations=(_register(NESTED_QUERY),),
    ),
)
WORKLOADS = (*REST_WORKLOADS, *GRAPHQL_WORKLOADS)


def list_persisted_documents() -> dict[str, str]:
    """Return the documents that requests name, by their SHA-256."""
    documents = (UNIT_QUERY, NESTED_QUERY)
    return {_digest(document): document for document in documents}


def names_except(*names: str) -> frozenset[str]:
    """Return the names of all other workloads."""
    return frozenset(workload.name for workload in WORKLOADS if workload.name not in names)


# Writes between reads

WRITE_PERCENT = 6
ASSIGNED_PER_ASSET = 2
READ_PER_ASSET = 10
"""Single units of an asset that are read."""
ASSIGNMENTS = f"/v1/units/attribute-groups/{GROUP_ID}/assignments"


def list_writes(
    directory: Directory, assets: Sequence[int] | None = None, per_asset: int = ASSIGNED_PER_ASSET
) -> list[LoadRequest]:
    """Return requests that assign each attribute in turn to some units of assets, or of all."""
    return [
        build_assignment(_unit_of(directory, asset, number), attribute, get_asset_id(asset))
        for attribute in ATTRIBUTE_IDS
        for number in range(per_asset)
        for asset in (range(_count_assets(directory)) if assets is None else assets)
    ]


def list_reads(directory: Directory) -> list[LoadRequest]:
    """Return every read of the mix."""
    assets = range(_count_assets(directory))
    return [request for asset in assets for request in list_reads_of(directory, asset)]


def list_reads_of(directory: Directory, asset: int) -> list[LoadRequest]:
    """Return the reads of one asset."""
    return [
        LoadRequest(path, headers={"API-Key": key})
        for key in (directory.key, directory.scoped_keys[asset % len(directory.scoped_keys)])
        for path in _paths(directory, asset)
    ]


def build_mix(directory: Directory) -> list[LoadRequest]:
    """Return the requests of the mix, which writes everything once."""
    writes, picked = list_writes(directory), random.Random(SEED)
    reads = list_reads(directory)
    count = len(writes) * (100 - WRITE_PERCENT) // WRITE_PERCENT
    mixed = list(islice(cycle(picked.sample(reads, len(reads))), count))
    for at, write in enumerate(writes):
        mixed.insert(at * 100 // WRITE_PERCENT, write)
    return mixed


def _count_assets(directory: Directory) -> int:
    return len(directory.unit_ids) // UNITS_PER_ASSET


def _unit_of(directory: Directory, asset: int, number: int) -> str:
    return directory.unit_ids[asset * UNITS_PER_ASSET + number]


def build_assignment(unit_id: str, attribute: str, asset_id: str) -> LoadRequest:
    """Return the request that assigns an attribute to a unit in place of its other one."""
    assignment = {
        "group_id": GROUP_ID,
        "attribute_id": attribute,
        "asset_id": asset_id,
        "unit_id": unit_id,
    }
    return LoadRequest(ASSIGNMENTS, "PUT", orjson.dumps({"data": [assignment]}), JSON)


def _paths(directory: Directory, asset: int) -> Iterator[str]:
    selected = f"asset={get_asset_id(asset)}&per-page={UNITS_PER_ASSET}"
    yield f"/v1/units?{selected}"
    yield f"{ASSIGNMENTS}?{selected}"
    for number in range(READ_PER_ASSET):
        yield f"/v1/units/{_unit_of(directory, asset, number)}"


WRITES = Workload("writes", "one assignment", list_writes)
MIX = Workload("mix", f"{WRITE_PERCENT} % assignments, reads by several keys", build_mix)
