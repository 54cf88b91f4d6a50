"""The GraphQL documents that are sent to `/graphql`, whoever answers there."""

UNIT_FIELDS = "id assetId floorId name createdAt updatedAt"

UNIT = f"""query Unit($id: ID!) {{
    unit(id: $id) {{ {UNIT_FIELDS} }}
}}"""

UNITS = f"""query Units($perPage: Int) {{
    units(perPage: $perPage) {{ paging {{ hasNext }} data {{ {UNIT_FIELDS} }} }}
}}"""

LEVEL_TAGS = """query LevelTags($map: ID!) {
    map(id: $map) {
        levelTags {
            data {
                name key createdAt updatedAt
                values { name value createdAt updatedAt }
            }
        }
    }
}"""

LOCATIONS = """query Locations($map: ID!, $tags: String) {
    map(id: $map) {
        locations(tags: $tags) {
            data {
                id assetId unitMapId name x y floors { floorId }
                tags { key value createdAt updatedAt }
                createdAt updatedAt
            }
        }
    }
}"""

NESTED = """query Nested {
    assets(perPage: 4) {
        data {
            id name
            floors(perPage: 8) {
                data {
                    id name shortLabel
                    units(perPage: 32) { data { id name floorId } }
                }
            }
        }
    }
}"""
"""250 units to an asset, on eight floors."""

MATRIX = """query Matrix($map: ID!, $sources: [WaypointInput!]!, $targets: [WaypointInput!]!) {
    map(id: $map) {
        distanceMatrix(sources: $sources, targets: $targets) {
            distanceMethod
            sources {
                waypointId name x y floorId index
                targets { waypointId name x y floorId index distance time }
            }
        }
    }
}"""
