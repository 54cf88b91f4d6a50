"""The GraphQL operations behind the endpoints.

Aliases give every field its REST name, so an operation's result already is the response. The
fragments are the resources of the specification: the fields of a GraphQL type in snake_case.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from graphql import GraphQLField, GraphQLObjectType, get_named_type, is_leaf_type
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.field import StrawberryField

from rest.names import to_snake_case
from schema.root import GRAPHQL_SCHEMA
from schema.types import MAX_PER_PAGE

TIMESTAMPS: Final = ("createdAt", "updatedAt")


def _build_fragment(
    type_name: str,
    *,
    exclude: Collection[str] = (),
    include: Sequence[str] = (),
    last: Collection[str] = (),
    aliases: Mapping[str, str] | None = None,
    conditions: Mapping[str, str] | None = None,
) -> str:
    """Return the fragment of all fields that a type's records hold, named as the type.

    Fields with a resolver are left out unless `include` names them. The fields in `last` go to the
    end, after those in `include`. `aliases` has the REST names that are not snake_case.
    `conditions` has further fields, with the variables that say whether they are included.
    """
    object_type = _get_object_type(type_name)
    stored = [name for name, field in object_type.fields.items() if _is_stored(field)]
    names = [name for name in stored if name not in exclude and name not in last]
    names += [*include, *(name for name in stored if name in last)]
    selected = [*_select_fields(object_type, names, aliases or {})]
    for name, variable in (conditions or {}).items():
        [field] = _select_fields(object_type, [name], aliases or {})
        selected.append(field.replace(" {", f" @include(if: ${variable}) {{", 1))
    selections = " ".join(selected)
    return f"fragment {type_name} on {type_name} {{ {selections} }}"


def _select_fields(
    parent: GraphQLObjectType, names: Sequence[str], aliases: Mapping[str, str]
) -> Iterator[str]:
    for name in names:
        rest_name = aliases.get(name, to_snake_case(name))
        selection = name if name == rest_name else f"{rest_name}: {name}"
        field_type = get_named_type(parent.fields[name].type)
        if is_leaf_type(field_type):
            yield selection
        elif field_type.name in FRAGMENTS:
            yield f"{selection} {{ ...{field_type.name} }}"
        else:
            nested = _get_object_type(field_type.name)
            stored = [name for name, field in nested.fields.items() if _is_stored(field)]
            yield f"{selection} {{ {' '.join(_select_fields(nested, stored, aliases))} }}"


def _get_object_type(name: str) -> GraphQLObjectType:
    object_type = GRAPHQL_SCHEMA.get_type(name)
    assert isinstance(object_type, GraphQLObjectType)
    return object_type


def _is_stored(field: GraphQLField) -> bool:
    definition = field.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    return isinstance(definition, StrawberryField) and definition.base_resolver is None


FRAGMENTS: Final[dict[str, str]] = {}
"""By type; a fragment may spread those before it."""
# The attributes of a group are in it, but a resolver adds to each which group it is.
RESOLVED_FIELDS = {"AttributeGroup": ("attributes",)}
FRAGMENTS.update(
    (name, _build_fragment(name, include=RESOLVED_FIELDS.get(name, ())))
    for name in (
        "Asset",
        "Floor",
        "Unit",
        "Background",
        "LevelTag",
        "AssetReference",
        "UnitReference",
        "AttributeGroup",
        "Assignment",
        "RouteStep",
        "ReachableArea",
        "Closures",
        "Change",
    )
)
FRAGMENTS["ChangeBatch"] = _build_fragment("ChangeBatch")
FRAGMENTS["Route"] = _build_fragment("Route", conditions={"steps": "steps"})
FRAGMENTS["Map"] = _build_fragment(
    "Map", exclude=("feetPerUnit",), include=("geojsonUrl", "url"), last=TIMESTAMPS
)
FRAGMENTS["Location"] = _build_fragment("Location", aliases={"floorId": "id"})
FRAGMENTS["Closable"] = _build_fragment("Closable", aliases={"partId": "id"})
FRAGMENTS["NearLocation"] = _build_fragment("NearLocation", last=("location",))
FRAGMENTS["NearUnit"] = _build_fragment("NearUnit", last=("unit",))
# With the variables of FIND_REACHABLE. Areas come last, because they are long.
FRAGMENTS["Reachable"] = """fragment Reachable on Reachable {
    mode minutes
    locations(tags: $tags, limit: $limit) { ...NearLocation }
    units(tags: $tags, limit: $limit) { ...NearUnit }
    areas(floorId: $floor) { ...ReachableArea }
}"""
FRAGMENTS["DistanceMatrix"] = _build_fragment("DistanceMatrix", aliases={"waypointId": "id"})

PAGING_FIELDS = """paging { per_page: perPage current_page: currentPage next }
    totalCount @include(if: $totalCount)"""
PAGE_ARGUMENTS = "page: $page, perPage: $perPage, after: $after"
PAGE_VARIABLES = "$page: Int, $perPage: Int, $after: String, $totalCount: Boolean = false"
WHOLE_LIST_VARIABLES = PAGE_VARIABLES.replace("$perPage: Int", f"$perPage: Int = {MAX_PER_PAGE}")
REFERENCE_FILTER_VARIABLES = "$asset: ID, $key: String, $value: String, $updatedSince: DateTime"
REFERENCE_FILTERS = "asset: $asset, key: $key, value: $value, updatedSince: $updatedSince"
FILTER_VARIABLES = "$ids: [ID!], $search: String, $updatedSince: DateTime"
FILTERS = "ids: $ids, search: $search, updatedSince: $updatedSince"
"""Of lists of records that have names."""
TIME_VARIABLE, TIME_FILTER = "$updatedSince: DateTime", "updatedSince: $updatedSince"
UNIT_FILTER_VARIABLES = """$asset: ID, $floor: ID, $map: ID, $attribute: AttributeFilter,
    $reference: ReferenceFilter"""
ORDER_VARIABLE, ORDER = "$orderBy: UnitOrder", "orderBy: $orderBy"
UNIT_FILTERS = """asset: $asset, floor: $floor, map: $map, attribute: $attribute,
        reference: $reference"""


def with_fragments(operation: str) -> str:
    """Append the fragments that an operation spreads, and those that they spread."""
    text = operation
    # Reversed: a fragment spreads only those before it, so all are found in one pass.
    for name, fragment in reversed(FRAGMENTS.items()):
        # The space ends the name: `...Unit ` is not in `...UnitReference `.
        if f"...{name} " in text:
            text += f"\n{fragment}"
    return text


LIST_ASSETS = with_fragments(f"""query ListAssets({PAGE_VARIABLES}, {FILTER_VARIABLES}) {{
    assets({PAGE_ARGUMENTS}, {FILTERS}) {{ {PAGING_FIELDS} data {{ ...Asset }} }}
}}""")

GET_ASSET = with_fragments("""query GetAsset($asset: ID!) {
    asset(id: $asset) { ...Asset }
}""")

LIST_FLOORS = with_fragments(f"""query ListFloors(
    $asset: ID!, {PAGE_VARIABLES}, {TIME_VARIABLE}, $orderBy: FloorOrder = id
) {{
    asset(id: $asset) {{
        floors({PAGE_ARGUMENTS}, {TIME_FILTER}, {ORDER}) {{
            {PAGING_FIELDS} data {{ ...Floor }}
        }}
    }}
}}""")

GET_FLOOR = with_fragments("""query GetFloor($asset: ID!, $floor: ID!) {
    asset(id: $asset) { floor(id: $floor) { ...Floor } }
}""")

LIST_UNITS = with_fragments(f"""query ListUnits(
    {PAGE_VARIABLES}, {UNIT_FILTER_VARIABLES}, {FILTER_VARIABLES}, {ORDER_VARIABLE}
) {{
    units({PAGE_ARGUMENTS}, {UNIT_FILTERS}, {FILTERS}, {ORDER}) {{
        {PAGING_FIELDS} data {{ ...Unit }}
    }}
}}""")

GET_UNIT = with_fragments("""query GetUnit($unit: ID!) {
    unit(id: $unit) { ...Unit }
}""")

LIST_MAPS = with_fragments(f"""query ListMaps(
    {PAGE_VARIABLES}, $tags: String, $asset: ID, {FILTER_VARIABLES}
) {{
    maps({PAGE_ARGUMENTS}, tags: $tags, asset: $asset, {FILTERS}) {{
        {PAGING_FIELDS} data {{ ...Map }}
    }}
}}""")

GET_MAP = with_fragments("""query GetMap($map: ID!) {
    map(id: $map) { ...Map }
}""")

LIST_BACKGROUNDS = with_fragments(f"""query ListBackgrounds(
    $map: ID!, {PAGE_VARIABLES}, {TIME_VARIABLE}
) {{
    map(id: $map) {{
        backgrounds({PAGE_ARGUMENTS}, {TIME_FILTER}) {{ {PAGING_FIELDS} data {{ ...Background }} }}
    }}
}}""")

GET_BACKGROUND = with_fragments("""query GetBackground($map: ID!, $background: ID!) {
    map(id: $map) { background(id: $background) { ...Background } }
}""")

# The endpoint has no pages, so it requests the largest page there is.
LIST_LEVEL_TAGS = with_fragments(f"""query ListLevelTags($map: ID!, {TIME_VARIABLE}) {{
    map(id: $map) {{
        levelTags(perPage: {MAX_PER_PAGE}, {TIME_FILTER}) {{ data {{ ...LevelTag }} }}
    }}
}}""")

LIST_MAP_UNITS = with_fragments(f"""query ListMapUnits(
    $map: ID!, {PAGE_VARIABLES}, {FILTER_VARIABLES}, {ORDER_VARIABLE}
) {{
    map(id: $map) {{
        units({PAGE_ARGUMENTS}, {FILTERS}, {ORDER}) {{ {PAGING_FIELDS} data {{ ...Unit }} }}
    }}
}}""")

GET_MAP_UNIT = with_fragments("""query GetMapUnit($map: ID!, $unit: ID!) {
    map(id: $map) { unit(id: $unit) { ...Unit } }
}""")

LIST_ASSET_REFERENCES = with_fragments(f"""query ListAssetReferences(
    {PAGE_VARIABLES}, {REFERENCE_FILTER_VARIABLES}
) {{
    assetReferences({PAGE_ARGUMENTS}, {REFERENCE_FILTERS}) {{
        {PAGING_FIELDS} data {{ ...AssetReference }}
    }}
}}""")

LIST_UNIT_REFERENCES = with_fragments(f"""query ListUnitReferences(
    {PAGE_VARIABLES}, {REFERENCE_FILTER_VARIABLES}
) {{
    unitReferences({PAGE_ARGUMENTS}, {REFERENCE_FILTERS}) {{
        {PAGING_FIELDS} data {{ ...UnitReference }}
    }}
}}""")

# The body cannot say that there is more, so without a page size it has all that one may have.
LIST_LOCATIONS = with_fragments(f"""query ListLocations(
    $map: ID!, {WHOLE_LIST_VARIABLES}, $tags: String, {FILTER_VARIABLES}
) {{
    map(id: $map) {{
        locations({PAGE_ARGUMENTS}, tags: $tags, {FILTERS}) {{
            {PAGING_FIELDS} data {{ ...Location }}
        }}
    }}
}}""")

LIST_ATTRIBUTE_GROUPS = with_fragments(f"""query ListAttributeGroups {{
    attributeGroups(perPage: {MAX_PER_PAGE}) {{ data {{ ...AttributeGroup }} }}
}}""")

LIST_ASSIGNMENTS = with_fragments(f"""query ListAssignments(
    $group: ID!, {PAGE_VARIABLES}, $asset: ID
) {{
    attributeGroup(id: $group) {{
        assignments({PAGE_ARGUMENTS}, asset: $asset) {{ {PAGING_FIELDS} data {{ ...Assignment }} }}
    }}
}}""")

ASSIGN_ATTRIBUTES = with_fragments("""mutation AssignUnitAttributes(
    $group: ID!, $data: [AssignmentInput!]!
) {
    assignUnitAttributes(input: { groupId: $group, assignments: $data }) {
        assignments { ...Assignment }
    }
}""")

UNASSIGN_ATTRIBUTES = with_fragments("""mutation UnassignUnitAttributes(
    $group: ID!, $data: [AssignmentInput!]!
) {
    unassignUnitAttributes(input: { groupId: $group, assignments: $data }) { __typename }
}""")

PARSE_MAP = with_fragments("""query ParseMap($svg: SvgDocument!, $force: Boolean = false) {
    parsedUnitMap(svg: $svg, force: $force) {
        map
        warnings { code is_note: isNote count places { line name x y } }
    }
}""")

GET_PARSED_MAP = with_fragments("""query GetParsedMap($map: ID!) {
    map(id: $map) { parsed }
}""")

GET_GEOJSON = with_fragments("""query GetGeoJson(
    $map: ID!, $level: ID, $attributes: Boolean, $locations: Boolean
) {
    map(id: $map) { geojson(level: $level, attributes: $attributes, locations: $locations) }
}""")

GET_PICTURE = with_fragments("""query GetPicture(
    $map: ID!, $level: ID, $format: PictureFormat, $width: Int, $unit: ID, $from: WaypointInput,
    $to: WaypointInput, $mode: TravelMode, $avoid: [Avoidable!]
) {
    map(id: $map) {
        picture(
            level: $level, format: $format, width: $width, unit: $unit, from: $from, to: $to,
            mode: $mode, avoid: $avoid
        ) { format content }
    }
}""")

CALCULATE_DISTANCES = with_fragments("""query CalculateDistances(
    $map: ID!, $sources: [WaypointInput!]!, $targets: [WaypointInput!]!, $costing: CostingModel,
    $costingOptions: CostingOptions, $distanceMethod: DistanceMethod
) {
    map(id: $map) {
        distanceMatrix(
            sources: $sources, targets: $targets, costing: $costing,
            costingOptions: $costingOptions, distanceMethod: $distanceMethod
        ) { ...DistanceMatrix }
    }
}""")

FIND_ROUTE = with_fragments("""query FindRoute(
    $map: ID!, $from: WaypointInput!, $to: WaypointInput!, $mode: TravelMode, $avoid: [Avoidable!],
    $steps: Boolean = false
) {
    map(id: $map) { route(from: $from, to: $to, mode: $mode, avoid: $avoid) { ...Route } }
}""")

FIND_NEAREST = with_fragments("""query FindNearest(
    $map: ID!, $from: WaypointInput!, $tags: String, $limit: Int, $mode: TravelMode,
    $avoid: [Avoidable!]
) {
    map(id: $map) {
        nearest(
            from: $from, tags: $tags, limit: $limit, mode: $mode, avoid: $avoid
        ) { ...NearLocation }
    }
}""")

FIND_REACHABLE = with_fragments("""query FindReachable(
    $map: ID!, $from: WaypointInput!, $minutes: Float!, $tags: String, $limit: Int, $floor: ID,
    $mode: TravelMode, $avoid: [Avoidable!]
) {
    map(id: $map) {
        reachable(from: $from, minutes: $minutes, mode: $mode, avoid: $avoid) { ...Reachable }
    }
}""")

GET_CLOSURES = with_fragments("""query GetClosures($map: ID!) {
    map(id: $map) { closures { ...Closures } }
}""")

SET_CLOSURES = with_fragments("""mutation SetClosures(
    $map: ID!, $connectors: [ID!], $doors: [ID!], $spaces: [ID!]
) {
    setClosures(
        input: { map: $map, connectors: $connectors, doors: $doors, spaces: $spaces }
    ) { closures { ...Closures } }
}""")

LIST_CLOSABLE = with_fragments(f"""query ListClosable($map: ID!, {PAGE_VARIABLES}) {{
    map(id: $map) {{ closable({PAGE_ARGUMENTS}) {{ {PAGING_FIELDS} data {{ ...Closable }} }} }}
}}""")

LIST_CHANGES = with_fragments("""query ListChanges(
    $after: String, $limit: Int, $asset: ID, $kinds: [RecordKind!]
) {
    changes(after: $after, limit: $limit, asset: $asset, kinds: $kinds) { ...ChangeBatch }
}""")
