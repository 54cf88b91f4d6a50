"""What is asked for: one row per shape, the same requests for every peer, at both doors."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson

from bench import documents
from bench.directory import MAP, Directory
from bench.load import Request

SEED = 7
SINGLE_UNITS = 500
"""Units asked for one by one, in turn."""
SOURCES, TARGETS = 5, 10
LOCATION_TAGS = "svc:amenity==yes,-disused"
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Shape:
    """One sort of request; `requests` are asked in turn."""

    name: str
    title: str
    requests: Callable[[Directory], list[Request]]
    connections: int = 8
    """At saturation: enough to keep one core busy while MongoDB answers."""
    is_conditional: bool = False
    """Whether each request brings the tag of what it asks for, to be answered 304."""

    @property
    def status(self) -> int:
        """Of every answer."""
        return 304 if self.is_conditional else 200


def _one_by_one(directory: Directory) -> list[str]:
    count = min(SINGLE_UNITS, len(directory.unit_ids))
    return random.Random(SEED).sample(directory.unit_ids, count)


def _unit(directory: Directory) -> list[Request]:
    return [Request(f"/v1/units/{id}") for id in _one_by_one(directory)]


def _get(path: str) -> Callable[[Directory], list[Request]]:
    return lambda _: [Request(path)]


def _ends(directory: Directory) -> tuple[list[str], list[str]]:
    """Waypoints of the matrix."""
    count = min(SOURCES + TARGETS, len(directory.location_ids))
    picked = random.Random(SEED).sample(directory.location_ids, count)
    return picked[:SOURCES], picked[SOURCES:]


def _waypoints(directory: Directory) -> dict[str, list[dict[str, str]]]:
    sources, targets = _ends(directory)
    return {"sources": [{"id": id} for id in sources], "targets": [{"id": id} for id in targets]}


def _matrix(directory: Directory) -> list[Request]:
    body = orjson.dumps({"data": _waypoints(directory)})
    return [Request(f"/v1/maps/{MAP}/distance-matrix", "POST", body, JSON)]


def _post(document: str, **variables: Any) -> Request:
    body = orjson.dumps({"query": document, "variables": variables})
    return Request("/graphql", "POST", body, JSON)


def _ask(document: str, **variables: Any) -> Callable[[Directory], list[Request]]:
    return lambda _: [_post(document, **variables)]


def _graphql_unit(directory: Directory) -> list[Request]:
    return [_post(documents.UNIT, id=id) for id in _one_by_one(directory)]


def _graphql_matrix(directory: Directory) -> list[Request]:
    return [_post(documents.MATRIX, map=MAP, **_waypoints(directory))]


LIST = "units-1000"
UNIT = "unit"
NOT_MODIFIED = "not-modified"
MATRIX, GRAPHQL_MATRIX = "matrix", "graphql-matrix"
NESTED = "graphql-nested"

REST = (
    Shape(UNIT, "one unit", _unit),
    Shape("units-100", "100 units", _get("/v1/units?per-page=100")),
    Shape(LIST, "1,000 units", _get("/v1/units?per-page=1000")),
    Shape("units-10000", "10,000 units", _get("/v1/units?per-page=10000"), connections=3),
    Shape("level-tags", "level tags", _get(f"/v1/maps/{MAP}/levels/tags")),
    Shape(
        "locations",
        "90 locations by tag",
        _get(f"/v1/maps/{MAP}/locations?tags={quote(LOCATION_TAGS, safe='')}"),
    ),
    Shape(
        NOT_MODIFIED, "304 for 1,000 units", _get("/v1/units?per-page=1000"), is_conditional=True
    ),
    Shape(MATRIX, "matrix of 50 pairs", _matrix),
)
GRAPHQL = (
    Shape("graphql-unit", "one unit, GraphQL", _graphql_unit),
    Shape("graphql-units-100", "100 units, GraphQL", _ask(documents.UNITS, perPage=100)),
    Shape("graphql-units-1000", "1,000 units, GraphQL", _ask(documents.UNITS, perPage=1000)),
    Shape(
        "graphql-units-10000",
        "10,000 units, GraphQL",
        _ask(documents.UNITS, perPage=10_000),
        connections=3,
    ),
    Shape("graphql-level-tags", "level tags, GraphQL", _ask(documents.LEVEL_TAGS, map=MAP)),
    Shape(
        "graphql-locations",
        "90 locations by tag, GraphQL",
        _ask(documents.LOCATIONS, map=MAP, tags=LOCATION_TAGS),
    ),
    Shape(NESTED, "1,000 units in 3 levels, GraphQL", _ask(documents.NESTED)),
    Shape(GRAPHQL_MATRIX, "matrix of 50 pairs, GraphQL", _graphql_matrix),
)
SHAPES = (*REST, *GRAPHQL)


def all_but(*names: str) -> frozenset[str]:
    """The names of all other shapes."""
    return frozenset(shape.name for shape in SHAPES if shape.name not in names)
