"""The name that an operation has in the client libraries, such as `maps(map).units.list`."""

from typing import Final

from rest.names import to_snake_case

SDK_METHODS: Final = {
    "listAssets": "assets.list",
    "getAsset": "assets.get",
    "listFloors": "assets(asset).floors.list",
    "getFloor": "assets(asset).floors.get",
    "listAssetReferences": "assets.references.list",
    "listUnits": "units.list",
    "getUnit": "units.get",
    "listUnitReferences": "units.references.list",
    "listMaps": "maps.list",
    "parseMap": "maps.parse",
    "getMap": "maps.get",
    "getParsedMap": "maps(map).parsed",
    "getGeoJson": "maps(map).geojson",
    "getPicture": "maps(map).picture",
    "listBackgrounds": "maps(map).backgrounds.list",
    "getBackground": "maps(map).backgrounds.get",
    "listLevelTags": "maps(map).level_tags.list",
    "listMapUnits": "maps(map).units.list",
    "getMapUnit": "maps(map).units.get",
    "listMapLocations": "maps(map).locations.list",
    "calculateMapDistances": "maps(map).distances",
    "findRoute": "maps(map).route",
    "findNearest": "maps(map).nearest",
    "findReachable": "maps(map).reachable",
    "getClosures": "maps(map).closures.get",
    "setClosures": "maps(map).closures.set",
    "listClosable": "maps(map).closures.candidates",
    "listAttributeGroups": "attribute_groups.list",
    "listAssignments": "attribute_groups(group-id).assignments.list",
    "assignUnitAttributes": "attribute_groups(group-id).assignments.add",
    "unassignUnitAttributes": "attribute_groups(group-id).assignments.remove",
    "listChanges": "changes.list",
}
"""Methods by operation id. An operation that is another's at a second path has none.

A resource has the parameter of its path in parentheses; a method takes the others.
"""


def own_sdk_method(operation_id: str) -> str:
    """Return the method of an operator's endpoint, with words joined by underscores.

    Those are all methods of `x`, by their own names, which are unique.
    """
    return f"x.{to_snake_case(operation_id)}"
