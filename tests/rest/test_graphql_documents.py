"""The resources of REST: the stored fields of GraphQL types, in snake_case."""

import pytest

from rest.graphql_documents import FRAGMENTS, GET_UNIT, LIST_LOCATIONS, with_fragments


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        (
            "Unit",
            "id asset_id: assetId floor_id: floorId name created_at: createdAt "
            "updated_at: updatedAt",
        ),
        # url has a resolver, and feetPerUnit is not a field of the specification
        (
            "Map",
            "id asset_id: assetId background_id: backgroundId name style style_type: styleType "
            "tags routing_tier: routingTier geojson_url: geojsonUrl url created_at: createdAt "
            "updated_at: updatedAt",
        ),
        # other names than those of GraphQL
        (
            "DistanceMatrix",
            "distance_method: distanceMethod "
            "sources { id: waypointId name x y floor_id: floorId index "
            "targets { id: waypointId name x y floor_id: floorId index distance time } }",
        ),
        # a field that a parameter of the endpoint asks for
        (
            "Route",
            "mode feet seconds legs { floor_id: floorId to_floor_id: toFloorId feet seconds points "
            "connector_id: connectorId connector_kind: connectorKind "
            "connector_name: connectorName } steps @include(if: $steps) { ...RouteStep }",
        ),
        # fragments in fragments
        ("NearLocation", "distance time location { ...Location }"),
    ],
)
def test_a_resource_has_the_fields_of_its_type(name: str, fields: str) -> None:
    assert FRAGMENTS[name] == f"fragment {name} on {name} {{ {fields} }}"


def test_an_operation_brings_the_fragments_that_it_needs() -> None:
    assert GET_UNIT.count("fragment ") == 1
    assert LIST_LOCATIONS.count("fragment ") == 1
    near = with_fragments("{ nearest { ...NearLocation } }")
    assert near.count("fragment NearLocation ") == near.count("fragment Location ") == 1
