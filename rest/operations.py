"""The GraphQL operations behind the endpoints.

Aliases give every field its REST name, so that an operation's result already is the response; the
fragments are the resources of the specification, under their names in the OpenAPI description.
"""

FRAGMENTS = {
    "Asset": """fragment Asset on Asset {
        id market name created_at: createdAt updated_at: updatedAt
    }""",
    "Floor": """fragment Floor on Floor {
        id asset_id: assetId name label short_label: shortLabel sort
        created_at: createdAt updated_at: updatedAt
    }""",
    "Unit": """fragment Unit on Unit {
        id asset_id: assetId floor_id: floorId name created_at: createdAt updated_at: updatedAt
    }""",
    "Map": """fragment Map on Map {
        id asset_id: assetId background_id: backgroundId name style style_type: styleType tags
        routing_tier: routingTier geojson_url: geojsonUrl url
        created_at: createdAt updated_at: updatedAt
    }""",
    "Background": """fragment Background on Background {
        id unit_map_id: unitMapId name created_at: createdAt updated_at: updatedAt
    }""",
    "LevelTag": """fragment LevelTag on LevelTag {
        name key created_at: createdAt updated_at: updatedAt
        values { name value created_at: createdAt updated_at: updatedAt }
    }""",
    "AssetReference": """fragment AssetReference on AssetReference {
        id asset_id: assetId key value created_at: createdAt updated_at: updatedAt
    }""",
    "UnitReference": """fragment UnitReference on UnitReference {
        group_id: groupId asset_id: assetId unit_id: unitId key value
        created_at: createdAt updated_at: updatedAt
    }""",
    "AttributeGroup": """fragment AttributeGroup on AttributeGroup {
        group_id: groupId group_name: groupName one_attribute_per_unit: oneAttributePerUnit
        attributes {
            attribute_id: attributeId attribute_name: attributeName attribute_key: attributeKey
        }
    }""",
    "Assignment": """fragment Assignment on Assignment {
        group_id: groupId attribute_id: attributeId asset_id: assetId unit_id: unitId
    }""",
    "DistanceMatrix": """fragment DistanceMatrix on DistanceMatrix {
        distance_method: distanceMethod
        sources {
            id: locationId name x y floor_id: floorId index
            targets { id: locationId name x y floor_id: floorId index distance time }
        }
    }""",
    "Route": """fragment Route on Route {
        mode feet seconds
        legs {
            floor_id: floorId to_floor_id: toFloorId feet seconds points
            connector_id: connectorId connector_kind: connectorKind connector_name: connectorName
        }
    }""",
    "NearLocation": """fragment NearLocation on NearLocation {
        distance time location { ...Location }
    }""",
    "Location": """fragment Location on Location {
        id asset_id: assetId unit_map_id: unitMapId name x y floors { id: floorId }
        tags { key value created_at: createdAt updated_at: updatedAt }
        created_at: createdAt updated_at: updatedAt
    }""",
}

PAGING_FIELDS = "paging { per_page: perPage current_page: currentPage next }"
PAGE_ARGUMENTS = "page: $page, perPage: $perPage, after: $after"
PAGE_VARIABLES = "$page: Int, $perPage: Int, $after: String"
REFERENCE_FILTER_VARIABLES = "$asset: ID, $key: String"


def with_fragments(operation: str) -> str:
    """An operation followed by the fragments that it spreads, and those that they do."""
    text = operation
    for name, fragment in FRAGMENTS.items():
        if f"...{name} " in text:
            text += f"\n{fragment}"
    return text


LIST_ASSETS = with_fragments(f"""query ListAssets({PAGE_VARIABLES}) {{
    assets({PAGE_ARGUMENTS}) {{ {PAGING_FIELDS} data {{ ...Asset }} }}
}}""")

GET_ASSET = with_fragments("""query GetAsset($asset: ID!) {
    asset(id: $asset) { ...Asset }
}""")

LIST_FLOORS = with_fragments(f"""query ListFloors($asset: ID!, {PAGE_VARIABLES}) {{
    asset(id: $asset) {{ floors({PAGE_ARGUMENTS}) {{ {PAGING_FIELDS} data {{ ...Floor }} }} }}
}}""")

GET_FLOOR = with_fragments("""query GetFloor($asset: ID!, $floor: ID!) {
    asset(id: $asset) { floor(id: $floor) { ...Floor } }
}""")

LIST_UNITS = with_fragments(f"""query ListUnits({PAGE_VARIABLES}) {{
    units({PAGE_ARGUMENTS}) {{ {PAGING_FIELDS} data {{ ...Unit }} }}
}}""")

GET_UNIT = with_fragments("""query GetUnit($unit: ID!) {
    unit(id: $unit) { ...Unit }
}""")

LIST_MAPS = with_fragments(f"""query ListMaps({PAGE_VARIABLES}, $asset: ID, $tags: String) {{
    maps({PAGE_ARGUMENTS}, asset: $asset, tags: $tags) {{ {PAGING_FIELDS} data {{ ...Map }} }}
}}""")

GET_MAP = with_fragments("""query GetMap($map: ID!) {
    map(id: $map) { ...Map }
}""")

LIST_BACKGROUNDS = with_fragments(f"""query ListBackgrounds($map: ID!, {PAGE_VARIABLES}) {{
    map(id: $map) {{ backgrounds({PAGE_ARGUMENTS}) {{ {PAGING_FIELDS} data {{ ...Background }} }} }}
}}""")

GET_BACKGROUND = with_fragments("""query GetBackground($map: ID!, $background: ID!) {
    map(id: $map) { background(id: $background) { ...Background } }
}""")

LIST_LEVEL_TAGS = with_fragments("""query ListLevelTags($map: ID!) {
    map(id: $map) { levelTags(perPage: 10000) { data { ...LevelTag } } }
}""")

LIST_MAP_UNITS = with_fragments(f"""query ListMapUnits($map: ID!, {PAGE_VARIABLES}) {{
    map(id: $map) {{ units({PAGE_ARGUMENTS}) {{ {PAGING_FIELDS} data {{ ...Unit }} }} }}
}}""")

GET_MAP_UNIT = with_fragments("""query GetMapUnit($map: ID!, $unit: ID!) {
    map(id: $map) { unit(id: $unit) { ...Unit } }
}""")

LIST_ASSET_REFERENCES = with_fragments(f"""query ListAssetReferences({PAGE_VARIABLES}, {REFERENCE_FILTER_VARIABLES}) {{
    assetReferences({PAGE_ARGUMENTS}, asset: $asset, key: $key) {{
        {PAGING_FIELDS} data {{ ...AssetReference }}
    }}
}}""")

LIST_UNIT_REFERENCES = with_fragments(f"""query ListUnitReferences({PAGE_VARIABLES}, {REFERENCE_FILTER_VARIABLES}) {{
    unitReferences({PAGE_ARGUMENTS}, asset: $asset, key: $key) {{
        {PAGING_FIELDS} data {{ ...UnitReference }}
    }}
}}""")

LIST_LOCATIONS = with_fragments(f"""query ListLocations($map: ID!, {PAGE_VARIABLES}, $tags: String) {{
    map(id: $map) {{ locations({PAGE_ARGUMENTS}, tags: $tags) {{ {PAGING_FIELDS} data {{ ...Location }} }} }}
}}""")

LIST_ATTRIBUTE_GROUPS = with_fragments("""query ListAttributeGroups {
    attributeGroups(perPage: 10000) { data { ...AttributeGroup } }
}""")

LIST_ASSIGNMENTS = with_fragments(f"""query ListAssignments($group: ID!, {PAGE_VARIABLES}, $asset: ID) {{
    attributeGroup(id: $group) {{
        assignments({PAGE_ARGUMENTS}, asset: $asset) {{ {PAGING_FIELDS} data {{ ...Assignment }} }}
    }}
}}""")

ASSIGN_ATTRIBUTES = with_fragments("""mutation AssignUnitAttributes($group: ID!, $data: [AssignmentInput!]!) {
    assignUnitAttributes(groupId: $group, data: $data) { ...Assignment }
}""")

UNASSIGN_ATTRIBUTES = with_fragments("""mutation UnassignUnitAttributes($group: ID!, $data: [AssignmentInput!]!) {
    unassignUnitAttributes(groupId: $group, data: $data)
}""")

PARSE_MAP = with_fragments("""query ParseMap($svg: SvgDocument!) {
    parsedUnitMap(svg: $svg)
}""")

GET_PARSED_MAP = with_fragments("""query GetParsedMap($map: ID!) {
    map(id: $map) { parsed }
}""")

CALCULATE_DISTANCES = with_fragments("""query CalculateDistances(
    $map: ID!, $sources: [WaypointInput!]!, $targets: [WaypointInput!]!, $costing: String,
    $costingOptions: CostingOptions, $distanceMethod: String
) {
    map(id: $map) {
        distanceMatrix(
            sources: $sources, targets: $targets, costing: $costing,
            costingOptions: $costingOptions, distanceMethod: $distanceMethod
        ) { ...DistanceMatrix }
    }
}""")

FIND_ROUTE = with_fragments("""query FindRoute(
    $map: ID!, $from: WaypointInput!, $to: WaypointInput!, $mode: String
) {
    map(id: $map) { route(from: $from, to: $to, mode: $mode) { ...Route } }
}""")

FIND_NEAREST = with_fragments("""query FindNearest(
    $map: ID!, $from: WaypointInput!, $tags: String, $limit: Int, $mode: String
) {
    map(id: $map) {
        nearest(from: $from, tags: $tags, limit: $limit, mode: $mode) { ...NearLocation }
    }
}""")
