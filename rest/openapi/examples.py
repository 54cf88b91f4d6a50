"""Examples of responses, from the demo property.

Each fragment has one example resource; the envelopes build complete response examples from them.
"""

from typing import Any, Final

from rest.envelopes import Envelope, EnvelopedBody, RequestUrl
from rest.openapi.geojson import GEOJSON_EXAMPLE
from rest.openapi.json_schemas import MissingDescriptionError
from schema.operation_inputs import JsonSchema

BASE_URL: Final = "https://localhost:8443"
_TIMESTAMPS: Final = {
    "created_at": "2026-03-02T09:00:00+00:00",
    "updated_at": "2026-03-02T09:00:00+00:00",
}

RESOURCE_EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "Asset": {"id": "alder-court", "market": "multifamily", "name": "Alder Court", **_TIMESTAMPS},
    "Floor": {
        "id": "alder-court-floor-1",
        "asset_id": "alder-court",
        "name": "Ground floor",
        "label": "Ground floor, Alder Court",
        "short_label": "G",
        "sort": 1,
        **_TIMESTAMPS,
    },
    "Unit": {
        "id": "ugwo2tfiznm",
        "asset_id": "alder-court",
        "floor_id": "alder-court-floor-1",
        "name": "101",
        **_TIMESTAMPS,
    },
    "Change": {
        "cursor": "AZM2K0ZqsTuEAAAABwAAAAE",
        "operation": "updated",
        "kind": "units",
        "record_id": "ugwo2tfiznm",
        "asset_id": "alder-court",
        "at": "2026-09-18T12:26:12+00:00",
    },
    "Map": {
        "id": "alder-court-floor-plates",
        "asset_id": "alder-court",
        "background_id": "alder-court-daylight",
        "name": "Floor plates",
        "style": "a",
        "style_type": "floor_plate",
        "tags": ["ils", "mls"],
        "routing_tier": "no_routing",
        "geojson_url": None,
        "url": None,
        **_TIMESTAMPS,
    },
    "Background": {
        "id": "alder-court-daylight",
        "unit_map_id": "alder-court-floor-plates",
        "name": "Daylight",
        **_TIMESTAMPS,
    },
    "LevelTag": {
        "name": "Building",
        "key": "building",
        **_TIMESTAMPS,
        "values": [{"name": "Main building", "value": "alder-court-main", **_TIMESTAMPS}],
    },
    "AssetReference": {
        "id": "rq5xnccaeaz",
        "asset_id": "alder-court",
        "key": "keyring",
        "value": "KR-97043",
        **_TIMESTAMPS,
    },
    "UnitReference": {
        "group_id": "gq5xnccaeaz",
        "asset_id": "alder-court",
        "unit_id": "ugwo2tfiznm",
        "key": "keyring",
        "value": "AL-101",
        **_TIMESTAMPS,
    },
    "AttributeGroup": {
        "group_id": "finish-package",
        "group_name": "Finish package",
        "one_attribute_per_unit": True,
        "attributes": [
            {
                "attribute_id": f"finish-package-{key}",
                "attribute_name": key.capitalize(),
                "attribute_key": key,
            }
            for key in ("classic", "modern", "signature")
        ],
    },
    "ParsedMap": {
        "version": "1.2",
        "type": "application/vnd.map+json",
        "width": 240,
        "height": 172,
        "elements": [
            {
                "type": "Level",
                "uid": "u1",
                "tags": {"building": "alder-court-main", "floor": "alder-court-floor-1"},
                "elements": [
                    {
                        "type": "UnitLayer",
                        "elements": [
                            {
                                "shape": {
                                    "points": "10,10 40,10 40,32 10,32",
                                    "fill": "#f4e3c1",
                                    "type": "Polygon",
                                },
                                "type": "Unit",
                                "uid": "u3",
                                "id": "ugwo2tfiznm",
                            }
                        ],
                    }
                ],
            }
        ],
    },
    "GeoJson": GEOJSON_EXAMPLE,
    "DistanceMatrix": {
        "distance_method": "pathfinding",
        "sources": [
            {
                "id": "l4xusy2pgwt",
                "name": "Fitness centre",
                "x": 437.5,
                "y": 350.0,
                "floor_id": "alder-court-floor-1",
                "index": 0,
                "targets": [
                    {
                        "x": 437.5,
                        "y": 400.0,
                        "floor_id": "alder-court-floor-1",
                        "index": 0,
                        "distance": 5.0,
                        "time": 1.076,
                    }
                ],
            }
        ],
    },
    "Route": {
        "mode": "foot",
        "feet": 5.0,
        "seconds": 1.076,
        "legs": [
            {
                "floor_id": "alder-court-floor-1",
                "to_floor_id": "alder-court-floor-1",
                "feet": 5.0,
                "seconds": 1.076,
                "points": [[437.5, 350.0], [437.5, 400.0]],
                "connector_id": None,
                "connector_kind": None,
                "connector_name": None,
            }
        ],
    },
    "RouteStep": {
        "code": "depart",
        "modifier": None,
        "text": "Walk 5 ft through Fitness centre.",
        "distance": 5.0,
        "time": 1.076,
        "floor_id": "alder-court-floor-1",
        "x": 437.5,
        "y": 350.0,
        "door_ids": [],
        "spaces": ["Fitness centre"],
        "passed": [],
        "connector_id": None,
        "connector_kind": None,
        "connector_name": None,
        "to_floor_id": None,
        "to_floor_name": None,
    },
    "Closures": {
        "connectors": ["alder-court-floor-1#27"],
        "doors": [],
        "spaces": ["alder-court-floor-1#15"],
    },
    "Closable": {
        "id": "alder-court-floor-1#27",
        "part": "connector",
        "kind": "elevator",
        "name": "Lift 1",
        "places": [
            {"floor_id": "alder-court-floor-1", "x": 1120.0, "y": 600.0},
            {"floor_id": "alder-court-floor-2", "x": 1120.0, "y": 600.0},
        ],
    },
    "Assignment": {
        "group_id": "apartment-type",
        "attribute_id": "apartment-type-one-bedroom",
        "asset_id": "alder-court",
        "unit_id": "ugwo2tfiznm",
    },
    "Location": {
        "id": "lvx7jztptwu",
        "asset_id": "alder-court",
        "unit_map_id": "alder-court-floor-plates",
        "name": "Pool",
        "x": 1200.0,
        "y": 1255.0,
        "floors": [{"id": "alder-court-floor-1"}],
        "tags": [
            {"key": "svc:amenity", "value": "yes", **_TIMESTAMPS},
            {"key": "leisure", "value": "swimming_pool", **_TIMESTAMPS},
        ],
        **_TIMESTAMPS,
    },
}
"""By fragment."""

_PAGING: Final = {
    "per_page": 20,
    "current_page": 1,
    "next": "kwIUq3VjM3FudXBrNmky",
    "totalCount": None,  # only on request
}

RESOURCE_EXAMPLES["Route"]["steps"] = [
    RESOURCE_EXAMPLES["RouteStep"],
    {
        **RESOURCE_EXAMPLES["RouteStep"],
        "code": "arrive",
        "text": "Arrive at Fitness centre.",
        "distance": 0.0,
        "time": 0.0,
        "y": 400.0,
        "spaces": [],
    },
]
RESOURCE_EXAMPLES["ChangeBatch"] = {
    "data": [RESOURCE_EXAMPLES["Change"]],
    "cursor": RESOURCE_EXAMPLES["Change"]["cursor"],
    "has_more": False,
}
RESOURCE_EXAMPLES["NearLocation"] = {
    "distance": 121.4,
    "time": 26.121,
    "location": RESOURCE_EXAMPLES["Location"],
}
RESOURCE_EXAMPLES["NearUnit"] = {
    "distance": 34.2,
    "time": 7.359,
    "unit": RESOURCE_EXAMPLES["Unit"],
}
RESOURCE_EXAMPLES["ReachableArea"] = {
    "floor_id": "alder-court-floor-1",
    "square_feet": 600.0,
    "polygons": [
        [[[400.0, 300.0], [430.0, 300.0], [430.0, 320.0], [400.0, 320.0], [400.0, 300.0]]]
    ],
}
RESOURCE_EXAMPLES["Reachable"] = {
    "mode": "foot",
    "minutes": 2.5,
    "locations": [RESOURCE_EXAMPLES["NearLocation"]],
    "units": [RESOURCE_EXAMPLES["NearUnit"]],
    "areas": [RESOURCE_EXAMPLES["ReachableArea"]],
}


def build_example_response(
    envelope: Envelope, resource_schema: JsonSchema, path: str
) -> EnvelopedBody:
    """Return an example of a response at a path, from the schema of its resource."""
    data = _build_example(resource_schema)
    for name in reversed(envelope.result_path):
        data = {name: data}
    return envelope.wrap(data, RequestUrl(BASE_URL + path, []))


def _build_example(schema: JsonSchema) -> Any:
    if schema.get("title") in RESOURCE_EXAMPLES:
        example = RESOURCE_EXAMPLES[schema["title"]]
        # A nullable member without an example is shown as null.
        return {
            name: example.get(name)
            for name, member in schema["properties"].items()
            if name in example or _is_nullable(member)
        }
    match schema:
        case {"properties": members}:
            return {
                name: _PAGING[name] if name in _PAGING else _build_example(member)
                for name, member in members.items()
            }
        case {"items": items}:
            return [_build_example(items)]
    raise MissingDescriptionError(
        f"rest.openapi.examples.RESOURCE_EXAMPLES has no example of {schema}"
    )


def _is_nullable(schema: JsonSchema) -> bool:
    return isinstance(schema.get("type"), list) and "null" in schema["type"]


SVG_EXAMPLE: Final = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 172">
  <g data-type="Level" data-tags="building=alder-court-main;floor=alder-court-floor-1">
    <g data-type="UnitLayer">
      <polygon id="ugwo2tfiznm" points="10,10 40,10 40,32 10,32" fill="#f4e3c1"/>
    </g>
  </g>
</svg>
"""
"""It parses to the example of a parsed map."""
