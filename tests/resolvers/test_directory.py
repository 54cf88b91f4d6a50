"""The directory: what each list has and in which order, which record leads to which, attributes."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.fixtures import (
    BACKGROUND,
    FLOOR,
    HIDDEN,
    HIDDEN_MAP,
    MAP,
    ODD_IDS,
    OTHER_MAP,
    SEEN,
    UNIT,
    UNIT_IDS,
    World,
    data_of,
    gateway_client,
    make_key,
    open_database,
    post_graphql,
)
from tests.resolvers.directory import Directory
from tests.rest.error_bodies import read_error

SOUTHERN = ["!unit-s", "unit-s"]
ON_EVERY_MAP = UNIT_IDS[:-1]
"""Units that name no maps; the last one names a map."""


def read_leaves(data: Any) -> list[Any]:
    """Return the values of all fields without fields of their own, in their order."""
    if isinstance(data, list):
        return [leaf for each in data for leaf in read_leaves(each)]
    if isinstance(data, dict):
        return [leaf for each in data.values() for leaf in read_leaves(each)]
    return [data]


@pytest.mark.parametrize(
    ("path", "north", "south", "collections"),
    [
        ("assets id", [SEEN], [HIDDEN], "assets"),
        ("units id", UNIT_IDS, SOUTHERN, "units"),
        ("maps id", [OTHER_MAP, MAP], [HIDDEN_MAP], "maps"),
        ("assetReferences id", ["ref-1", "ref-2"], ["ref-s"], "asset_references"),
        ("unitReferences value", ["3", "1_2", "2"], ["S"], "unit_references"),
        ("assets floors id", [FLOOR, "n-2"], ["s-1"], "assets floors"),
        ("assets units id", UNIT_IDS, SOUTHERN, "assets units"),
        ("assets maps id", [OTHER_MAP, MAP], [HIDDEN_MAP], "assets maps"),
        ("assets references value", ["N", "1"], ["S"], "assets asset_references"),
        ("assets floors units id", UNIT_IDS, SOUTHERN, "assets floors units"),
        ("maps units id", [*UNIT_IDS, *ON_EVERY_MAP], SOUTHERN, "maps units"),
        ("maps backgrounds id", [BACKGROUND, "bg-2"], ["bg-s"], "maps backgrounds"),
        ("maps levelTags key", ["building", "floor"], ["floor"], "maps level_tags"),
        ("maps locations id", ["loc-1", "loc-2"], ["loc-s"], "maps locations"),
        ("units references value", ["3", "1_2", "2"], ["S"], "units unit_references"),
        ("units attributes attributeId", ["yard", "sea"], ["sea"], "units attribute_assignments"),
    ],
)
async def test_a_list_has_what_the_key_sees_in_its_order_and_takes_one_read(
    directory: Directory, path: str, north: list[str], south: list[str], collections: str
) -> None:
    *names, leaf = path.split()
    query = leaf
    for name in reversed(names):
        query = f"{name} {{ data {{ {query} }} }}"
    for assets, expected in (([SEEN], north), ([HIDDEN], south), ([], []), (["none"], [])):
        assert read_leaves(await directory.read(f"{{ {query} }}", assets)) == expected
    everything = read_leaves(await directory.read(f"{{ {query} }}"))
    assert sorted(everything) == sorted(north + south)
    assert directory.collections_read == collections.split()


@pytest.mark.parametrize(
    "head",
    [
        "assets(",
        "maps(",
        "units(",
        "unitReferences(",
        f'asset(id: "{SEEN}") {{ floors(',
        f'asset(id: "{SEEN}") {{ maps(',
        f'map(id: "{MAP}") {{ backgrounds(',
        f'map(id: "{MAP}") {{ levelTags(',
        f'map(id: "{OTHER_MAP}") {{ units(',
        f'map(id: "{MAP}") {{ locations(',
        f'unit(id: "{UNIT}") {{ maps(',
        f'unit(id: "{UNIT}") {{ references(',
        'attributeGroup(id: "view") { assignments(',
    ],
)
async def test_a_list_comes_in_pages_by_number_and_by_cursor(
    directory: Directory, head: str
) -> None:
    async def read(**page: Any) -> tuple[list[str], str | None, bool]:
        ends = "}" * head.count("{")
        query = f"""query ($page: Int, $perPage: Int, $after: String) {{
            {head}page: $page, perPage: $perPage, after: $after) {{
                data {{ nodeId }} paging {{ next hasNext }}
            }} {ends} }}"""
        found = await directory.read(query, **page)
        while "paging" not in found:
            [found] = found.values()
        return read_leaves(found["data"]), found["paging"]["next"], found["paging"]["hasNext"]

    everything, *end = await read()
    assert len(everything) > 1
    assert end == [None, False]
    after = None
    for number, node in enumerate(everything, 1):
        by_number, cursor, has_next = await read(page=number, perPage=1)
        by_cursor = await read(page=number, perPage=1, after=after)
        assert (by_number, has_next) == ([node], number < len(everything))
        assert by_cursor == (by_number, cursor, has_next)
        after = cursor
    assert await read(page=len(everything) + 1, perPage=1) == ([], None, False)


@pytest.mark.parametrize("unit", ODD_IDS, ids=lambda id: ascii(id)[1:30])
async def test_a_unit_is_found_by_its_id(directory: Directory, unit: str) -> None:
    query = "query ($unit: ID!) { unit(id: $unit) { id } }"
    assert await directory.read(query, unit=unit) == {"unit": {"id": unit}}


@pytest.mark.parametrize(
    ("owner", "field", "ids"),
    [
        (f'asset(id: "{SEEN}")', "floor", {FLOOR, "n-2"}),
        (f'asset(id: "{HIDDEN}")', "floor", {"s-1"}),
        (f'map(id: "{MAP}")', "background", {BACKGROUND, "bg-2"}),
        (f'map(id: "{OTHER_MAP}")', "background", set()),
        (f'map(id: "{HIDDEN_MAP}")', "background", {"bg-s"}),
        (f'map(id: "{MAP}")', "unit", {*ON_EVERY_MAP}),
        (f'map(id: "{OTHER_MAP}")', "unit", {*UNIT_IDS}),
        (f'map(id: "{HIDDEN_MAP}")', "unit", {*SOUTHERN}),
    ],
)
async def test_a_record_is_found_in_its_own_owner_alone(
    directory: Directory, owner: str, field: str, ids: set[str]
) -> None:
    every = ["none", FLOOR.upper(), FLOOR, "n-2", "s-1", BACKGROUND, "bg-2", "bg-s"]
    every += [*UNIT_IDS, *SOUTHERN]
    declared = ", ".join(f"$id{n}: ID!" for n in range(len(every)))
    fields = " ".join(f"f{n}: {field}(id: $id{n}) {{ id }}" for n in range(len(every)))
    given: dict[str, Any] = {f"id{n}": id for n, id in enumerate(every)}
    found = await directory.read(f"query ({declared}) {{ {owner} {{ {fields} }} }}", **given)
    [fields_found] = found.values()
    assert {each["id"] for each in fields_found.values() if each} == ids


@pytest.mark.parametrize(
    ("query", "hidden"),
    [
        ("query ($id: ID!) { asset(id: $id) { id floors { data { id } } } }", HIDDEN),
        ("query ($id: ID!) { floor(id: $id) { id } }", "s-1"),
        ("query ($id: ID!) { unit(id: $id) { id } }", "unit-s"),
        ("query ($id: ID!) { map(id: $id) { id locations { data { id } } } }", HIDDEN_MAP),
        ("query ($id: ID!) { background(id: $id) { id } }", "bg-s"),
        ("query ($id: ID!) { location(id: $id) { id } }", "loc-s"),
        ("query ($id: ID!) { maps(asset: $id) { data { id } } }", HIDDEN),
        ("query ($id: ID!) { assetReferences(asset: $id) { data { id } } }", HIDDEN),
        ("query ($id: ID!) { unitReferences(asset: $id) { data { value } } }", HIDDEN),
    ],
)
async def test_what_a_key_does_not_see_is_as_absent_as_what_there_is_not(
    directory: Directory, query: str, hidden: str
) -> None:
    found, reads = await directory.read(query, [SEEN], id=hidden), directory.collections_read
    assert read_leaves(found) in ([None], [])
    for absent in ("none", hidden.upper(), f"{hidden} "):
        assert await directory.read(query, [SEEN], id=absent) == found
        assert directory.collections_read == reads
    assert read_leaves(await directory.read(query, id=hidden)) not in ([None], [])


@pytest.mark.parametrize(
    ("path", "expected", "collections"),
    [
        ("units asset id", {SEEN, HIDDEN}, "units assets"),
        ("maps asset id", {SEEN, HIDDEN}, "maps assets"),
        ("assetReferences asset id", {SEEN, HIDDEN}, "asset_references assets"),
        ("unitReferences asset id", {SEEN, HIDDEN}, "unit_references assets"),
        ("unitReferences unit id", {"a/b", UNIT, "unit-s"}, "unit_references units"),
        ("units floor id", {FLOOR, "n-2", "s-1"}, "units floors"),
        ("maps chosenBackground name", {"Plain", None}, "maps backgrounds"),
    ],
)
async def test_the_records_of_a_list_lead_to_others_in_one_read(
    directory: Directory, path: str, expected: set[str | None], collections: str
) -> None:
    name, link, leaf = path.split()
    found = await directory.read(f"{{ {name} {{ data {{ {link} {{ {leaf} }} }} }} }}")
    assert {*read_leaves(found)} == expected
    assert directory.collections_read == collections.split()


@pytest.mark.parametrize(
    ("owners", "children", "key", "link"),
    [
        ("assets", "floors", "assetId", "asset"),
        ("assets", "references", "assetId", "asset"),
        ("maps", "backgrounds", "unitMapId", "map"),
        ("maps", "locations", "unitMapId", "map"),
        ("units", "references", "unitId", "unit"),
        ("units", "attributes", "unitId", "unit"),
    ],
)
async def test_what_belongs_to_a_record_leads_back_to_it(
    directory: Directory, owners: str, children: str, key: str, link: str
) -> None:
    fields = f"id {children} {{ data {{ {key} {link} {{ id }} }} }}"
    found = (await directory.read(f"{{ {owners} {{ data {{ {fields} }} }} }}"))[owners]["data"]
    assert any(owner[children]["data"] for owner in found)
    for owner in found:
        for child in owner[children]["data"]:
            assert (child[key], child[link]["id"]) == (owner["id"], owner["id"])


async def test_units_lead_to_the_maps_that_lead_to_them(directory: Directory) -> None:
    units = (await directory.read("{ units { data { id maps { data { id } } } } }"))["units"]
    assert directory.collections_read == ["units", "maps"]
    on_maps = {unit["id"]: read_leaves(unit["maps"]) for unit in units["data"]}
    assert on_maps[UNIT] == [OTHER_MAP, MAP]
    assert on_maps[UNIT_IDS[-1]] == [OTHER_MAP]
    assert on_maps["unit-s"] == [HIDDEN_MAP]
    maps = (await directory.read("{ maps { data { id units { data { id } } } } }"))["maps"]
    assert {(map["id"], unit) for map in maps["data"] for unit in read_leaves(map["units"])} == {
        (map, unit) for unit, maps in on_maps.items() for map in maps
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            f'asset(id: "{HIDDEN}") {{ id name market }}',
            {"id": HIDDEN, "name": "South House", "market": "office"},
        ),
        (f'asset(id: "{SEEN}") {{ market }}', {"market": "multifamily"}),
        (
            f'floor(id: "{FLOOR}") {{ assetId name label shortLabel sort }}',
            {"assetId": SEEN, "name": "First", "label": "First", "shortLabel": "1", "sort": 1},
        ),
        (
            'floor(id: "n-2") { name label shortLabel sort }',
            {"name": "Second", "label": "Second", "shortLabel": "Second", "sort": 2},
        ),
        (
            f"""map(id: "{MAP}") {{ assetId backgroundId name style styleType tags routingTier
                geojsonUrl feetPerUnit chosenBackground {{ id unitMapId name }} }}""",
            {
                "assetId": SEEN,
                "backgroundId": BACKGROUND,
                "name": "All floors",
                "style": "a",
                "styleType": "floor_plate",
                "tags": ["ils", "mls"],
                "routingTier": "no_routing",
                "geojsonUrl": "https://directory.test/v1/maps/plan%2Fone/geojson",
                "feetPerUnit": None,
                "chosenBackground": {"id": BACKGROUND, "unitMapId": MAP, "name": "Plain"},
            },
        ),
        (
            f'map(id: "{MAP}") {{ levelTags {{ data {{ key name values {{ name value }} }} }} }}',
            {
                "levelTags": {
                    "data": [
                        {"key": "building", "name": "Building", "values": []},
                        {
                            "key": "floor",
                            "name": "Floor",
                            "values": [
                                {"name": "First", "value": FLOOR},
                                {"name": "Second", "value": "n-2"},
                            ],
                        },
                    ]
                }
            },
        ),
    ],
)
async def test_a_record_has_its_fields_and_the_defaults_of_those_that_a_bundle_leaves_out(
    directory: Directory, query: str, expected: dict[str, Any]
) -> None:
    [found] = (await directory.read(f"{{ {query} }}")).values()
    assert found == expected


async def test_records_have_the_times_of_their_import(directory: Directory) -> None:
    query = f"""{{ map(id: "{MAP}") {{ levelTags {{ data {{
        createdAt updatedAt values {{ createdAt updatedAt }}
    }} }} }} }}"""
    assert len({*read_leaves(await directory.read(query))}) == 1


MAPS = """query ($asset: ID, $tags: String, $page: Int, $perPage: Int) {
    maps(asset: $asset, tags: $tags, page: $page, perPage: $perPage) { data { id } }
}"""


@pytest.mark.parametrize(
    ("filters", "listed"),
    [
        ({"asset": None, "tags": None}, [OTHER_MAP, MAP, HIDDEN_MAP]),
        ({"asset": SEEN}, [OTHER_MAP, MAP]),
        ({"asset": HIDDEN}, [HIDDEN_MAP]),
        ({"tags": "ils"}, [OTHER_MAP, MAP]),
        ({"tags": "ils, mls"}, [MAP]),
        ({"tags": "ils,ils"}, [OTHER_MAP, MAP]),
        ({"asset": HIDDEN, "tags": "mls"}, []),
        ({"tags": "ILS"}, []),
        ({"tags": "ils", "perPage": 1, "page": 2}, [MAP]),
    ],
)
async def test_maps_are_filtered_by_asset_and_by_every_tag(
    directory: Directory, filters: dict[str, Any], listed: list[str]
) -> None:
    assert read_leaves(await directory.read(MAPS, **filters)) == listed
    assert directory.collections_read == ["maps"]


@pytest.mark.parametrize("tags", ["", " ", "ils,", ",ils", "ils,,mls", "a\0"])
async def test_tags_that_are_no_list_are_rejected(directory: Directory, tags: str) -> None:
    assert [*await directory.invalid_fields(MAPS, tags=tags)] == ["tags"]


REFERENCES = """query ($asset: ID, $key: String, $value: String) {
    assetReferences(asset: $asset, key: $key, value: $value) { data { value } }
    unitReferences(asset: $asset, key: $key, value: $value) { data { value } }
}"""


@pytest.mark.parametrize(
    ("filters", "values"),
    [
        ({"asset": SEEN}, ["N", "1", "3", "1_2", "2"]),
        ({"key": "crm"}, ["N", "S", "3", "1_2", "S"]),
        ({"key": "crm-unit-ids"}, ["2"]),  # one system may have two keys
        ({"key": "unknown"}, []),
        ({"value": "S"}, ["S", "S"]),
        ({"asset": SEEN, "key": "crm"}, ["N", "3", "1_2"]),
        ({"asset": HIDDEN, "key": "erp"}, []),
    ],
)
async def test_references_are_filtered_by_asset_system_and_value(
    directory: Directory, filters: dict[str, Any], values: list[str]
) -> None:
    assert read_leaves(await directory.read(REFERENCES, **filters)) == values


@pytest.mark.parametrize("key", ["", "a", "A1", "1a", "a_b", "a" * 256, "$gt"])
async def test_a_key_of_a_system_has_a_form(directory: Directory, key: str) -> None:
    errors = (await directory.run(REFERENCES, key=key)).errors
    assert [[*(each.extensions or {})["fields"]] for each in errors] == [["key"], ["key"]]


UNITS = """query (
    $orderBy: UnitOrder, $after: String, $perPage: Int, $asset: ID, $floor: ID, $map: ID
    $ids: [ID!], $search: String
) {
    units(
        orderBy: $orderBy, after: $after, perPage: $perPage
        asset: $asset, floor: $floor, map: $map, ids: $ids, search: $search
    ) { totalCount data { id name updatedAt } pageInfo { hasNextPage endCursor } }
}"""
SortKey = Callable[[dict[str, str]], tuple[str, ...]]
ORDERS: dict[str, tuple[SortKey, bool]] = {
    "id": (lambda unit: (unit["id"],), False),
    "id_desc": (lambda unit: (unit["id"],), True),
    "name": (lambda unit: (unit["name"], unit["id"]), False),
    "name_desc": (lambda unit: (unit["name"], unit["id"]), True),
    "updated_at": (lambda unit: (unit["updatedAt"], unit["id"]), False),
    "updated_at_desc": (lambda unit: (unit["updatedAt"], unit["id"]), True),
}


async def walk(directory: Directory, **arguments: Any) -> list[dict[str, str]]:
    """Read a list to its end by cursors."""
    units: list[dict[str, str]] = []
    info: dict[str, Any] = {"endCursor": None}
    while info.get("hasNextPage", True):
        after = info["endCursor"]
        found = await directory.read(UNITS, [SEEN], after=after, **arguments)
        units += found["units"]["data"]
        info = found["units"]["pageInfo"]
        assert len(units) <= found["units"]["totalCount"]
    return units


@pytest.mark.parametrize(
    ("order", "filters"),
    [
        *((order, {}) for order in ORDERS),
        ("name_desc", {"floor": FLOOR}),
        ("name", {"map": MAP, "asset": SEEN}),
        ("updated_at_desc", {"ids": UNIT_IDS[3:9]}),
        ("id_desc", {"search": "u"}),
    ],
)
async def test_cursors_lead_through_every_order_with_every_filter(
    directory: Directory, order: str, filters: dict[str, Any]
) -> None:
    every = (await directory.read(UNITS, [SEEN], **filters))["units"]["data"]
    key, is_descending = ORDERS[order]
    expected = sorted(every, key=key, reverse=is_descending)
    assert await walk(directory, orderBy=order, perPage=4, **filters) == expected


@pytest.mark.parametrize(
    ("order", "floors"),
    [
        (None, [FLOOR, "n-2"]),
        ("sort_desc", ["n-2", FLOOR]),
        ("id", ["n-2", FLOOR]),
        ("id_desc", [FLOOR, "n-2"]),
    ],
)
async def test_floors_come_from_the_lowest_up_or_in_another_order(
    directory: Directory, order: str | None, floors: list[str]
) -> None:
    query = """query ($asset: ID!, $order: FloorOrder) {
        asset(id: $asset) { floors(orderBy: $order) { data { id } } }
    }"""
    found = (await directory.read(query, asset=SEEN, order=order))["asset"]["floors"]["data"]
    assert [floor["id"] for floor in found] == floors
    assert directory.collections_read == ["assets"]  # the floors with the same command


@pytest.mark.parametrize("other", [None, "name_desc", "updated_at", "id"])
async def test_a_cursor_continues_only_its_own_order(
    directory: Directory, other: str | None
) -> None:
    first = await directory.read(UNITS, orderBy="name", perPage=2)
    after = first["units"]["pageInfo"]["endCursor"]
    fields = await directory.invalid_fields(UNITS, orderBy=other, after=after)
    [message] = fields["after"]
    assert message.startswith("is of another list")


async def test_an_unknown_order_is_refused_with_the_words_that_there_are(
    directory: Directory,
) -> None:
    [error] = (await directory.run(UNITS, orderBy="sort")).errors  # an order of floors
    assert error.message == (
        "Variable '$orderBy' has invalid value: A value of UnitOrder must be id, id_desc, name, "
        "name_desc, updated_at or updated_at_desc, not 'sort'"
    )


@pytest.mark.parametrize(
    "parents",
    ["assets { data { units", "assets { data { floors { data { units", "maps { data { units"],
)
async def test_the_ordered_lists_of_many_parents_are_read_at_once(
    directory: Directory, parents: str
) -> None:
    depth = parents.count("{")
    query = f"{{ {parents}(orderBy: %s) {{ data {{ id name }} }} {'}' * depth} }}"
    by_id = await directory.read(query % "id")
    by_name = await directory.read(query % "name_desc")
    assert len(directory.collections_read) == 1 + depth // 2
    assert find_lists(by_name) == [
        sorted(units, key=lambda unit: (unit["name"], unit["id"]), reverse=True)
        for units in find_lists(by_id)
    ]


def find_lists(data: Any) -> list[list[dict[str, str]]]:
    """Return all lists of units in a response."""
    if isinstance(data, list):
        return [found for each in data for found in find_lists(each)]
    if not isinstance(data, dict):
        return []
    own = [data["units"]["data"]] if "units" in data else []
    return own + [found for each in data.values() for found in find_lists(each)]


async def test_a_page_by_number_has_the_order_too(directory: Directory) -> None:
    query = """query ($id: ID!) { map(id: $id) {
        all: units(orderBy: name) { data { id } }
        second: units(orderBy: name, page: 2, perPage: 3) { data { id } }
    } }"""
    found = (await directory.read(query, id=OTHER_MAP))["map"]
    assert found["second"]["data"] == found["all"]["data"][3:6]


FLAG = {"Experimental-Flags": "unit-attributes-resource"}
GROUPS = "/v1/units/attribute-groups"
VIEW = f"{GROUPS}/view/assignments"


def build_assignment(
    attribute: str, unit: str = UNIT, group: str = "view", asset: str = SEEN
) -> Any:
    return {"group_id": group, "attribute_id": attribute, "asset_id": asset, "unit_id": unit}


async def list_assignments(client: httpx.AsyncClient, path: str = VIEW) -> list[tuple[str, str]]:
    found = (await client.get(path, headers=FLAG)).json()["data"]
    return [(each["unit_id"], each["attribute_id"]) for each in found]


async def put(client: httpx.AsyncClient, *data: Any, path: str = VIEW) -> httpx.Response:
    return await client.put(path, json={"data": data}, headers=FLAG)


async def remove(client: httpx.AsyncClient, *data: Any, path: str = VIEW) -> httpx.Response:
    return await client.post(f"{path}/remove", json={"data": data}, headers=FLAG)


async def test_groups_come_with_their_attributes(client: httpx.AsyncClient) -> None:
    response = await client.get(GROUPS, headers=FLAG)
    assert response.json() == {
        "data": [
            {
                "group_id": "fit/out %",
                "group_name": "Fittings",
                "one_attribute_per_unit": False,
                "attributes": [
                    {"attribute_id": "oven", "attribute_name": "Oven", "attribute_key": "oven"}
                ],
            },
            {
                "group_id": "view",
                "group_name": "View",
                "one_attribute_per_unit": True,
                "attributes": [
                    {"attribute_id": "sea", "attribute_name": "Sea", "attribute_key": "sea"},
                    {"attribute_id": "yard", "attribute_name": "Yard", "attribute_key": "yard"},
                ],
            },
        ]
    }


async def test_assignments_are_paged_and_filtered_by_asset(client: httpx.AsyncClient) -> None:
    assert await list_assignments(client) == [("a/b", "yard"), (UNIT, "sea"), ("unit-s", "sea")]
    assert await list_assignments(client, f"{VIEW}?asset={quote(HIDDEN, safe='')}") == [
        ("unit-s", "sea")
    ]
    page = (await client.get(f"{VIEW}?per-page=1&page=2", headers=FLAG)).json()
    assert [each["unit_id"] for each in page["data"]] == [UNIT]
    assert page["paging"]["per_page"] == 1


async def test_units_that_have_all_attributes(own_world: World) -> None:
    query = """query ($wanted: [AttributeFilter!], $one: AttributeFilter) {
        units(attributes: $wanted, attribute: $one) { data { id } }
    }"""
    sea, yard = ({"groupId": "view", "attributeId": each} for each in ("sea", "yard"))
    oven = {"groupId": "fit/out %", "attributeId": "oven"}
    fittings = quote("fit/out %", safe="")
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        fitted = [build_assignment("oven", each, "fit/out %") for each in ("a/b", UNIT)]
        path = f"{GROUPS}/{fittings}/assignments"
        assert (await put(client, *fitted, path=path)).status_code == 200
        for wanted, ids in (
            ({}, UNIT_IDS),
            ({"wanted": []}, UNIT_IDS),
            ({"wanted": [oven]}, ["a/b", UNIT]),
            ({"wanted": [oven, sea]}, [UNIT]),
            ({"wanted": [oven], "one": yard}, ["a/b"]),
            ({"wanted": [sea, yard]}, []),
        ):
            data = await data_of(client, query, wanted)
            found = {each["id"] for each in data["units"]["data"]}
            assert found >= {*ids} if ids is UNIT_IDS else found == {*ids}


async def test_assigning_replaces_where_a_unit_has_one_and_echoes(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        response = await put(client, build_assignment("yard"), build_assignment("sea", "a+b"))
        assert response.status_code == 200
        assert response.json() == {
            "data": [build_assignment("yard"), build_assignment("sea", "a+b")]
        }
        assert await list_assignments(client, f"{VIEW}?asset={SEEN}") == [
            ("a+b", "sea"),
            ("a/b", "yard"),
            (UNIT, "yard"),
        ]
        assert (await put(client, build_assignment("yard"))).status_code == 200
        assert len(await list_assignments(client)) == 4


async def test_unassigning_answers_204_whether_it_was_assigned_or_not(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        for _ in range(2):
            response = await remove(client, build_assignment("sea"), build_assignment("sea", "a/b"))
            assert (response.status_code, response.content) == (204, b"")
            assert await list_assignments(client) == [("a/b", "yard"), ("unit-s", "sea")]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (build_assignment("nope"), "attribute_id"),
        (build_assignment("oven"), "attribute_id"),  # of another group
        (build_assignment("sea", "nope"), "unit_id"),
        (build_assignment("sea", "unit-s"), "asset_id"),  # of another asset
        (build_assignment("sea", group="fit/out %"), "group_id"),
        (build_assignment("sea", ""), "unit_id"),
        ({**build_assignment("sea"), "unit_id": {"$gt": ""}}, "unit_id"),
    ],
)
async def test_one_wrong_assignment_is_named_and_stops_them_all(
    client: httpx.AsyncClient, wrong: Any, field: str
) -> None:
    before = await list_assignments(client)
    for write in (put, remove):
        valid = build_assignment("yard"), build_assignment("sea", "a/b")
        response = await write(client, *valid, wrong)
        assert response.status_code == 422
        assert list(response.json()["fields"]) == [f"data[2].{field}"]
        assert await list_assignments(client) == before


async def test_a_unit_that_the_key_does_not_see_is_as_unknown_as_any(own_world: World) -> None:
    async with open_database(own_world) as database:
        _, key = await make_key(
            database,
            "writer",
            permissions=("service.unit-attributes.write", "service.unit-attributes.read"),
            asset_ids=[SEEN],
        )
    async with gateway_client(own_world.settings(), key) as client:
        hidden = await put(client, build_assignment("sea", "unit-s", asset=HIDDEN))
        unknown = await put(client, build_assignment("sea", "nowhere", asset=HIDDEN))
        assert hidden.status_code == 422
        assert read_error(hidden) == read_error(unknown)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"data": []}', 422, "data: must hold 1 to 10000 assignments, not 0"),
        (
            b'{"data": [%s]}'
            % b",".join([b'{"group_id":"","attribute_id":"","asset_id":"","unit_id":""}'] * 10_001),
            422,
            "data: must hold 1 to 10000 assignments, not 10001",
        ),
        (b'{"data": [{"group_id": 1}]}', 422, "data[0].group_id: must be a string, not a number"),
        (b'{"data": [', 400, "line 1, column 11"),
    ],
    ids=lambda value: value[:30].decode("ascii", "replace") if isinstance(value, bytes) else "",
)
async def test_bodies_with_the_wrong_members_are_rejected(
    client: httpx.AsyncClient, body: bytes, status: int, said: str
) -> None:
    headers = {**FLAG, "Content-Type": "application/json"}
    for method, path in (("PUT", VIEW), ("POST", f"{VIEW}/remove")):
        response = await client.request(method, path, content=body, headers=headers)
        assert response.status_code == status
        assert said in response.json()["message"]


async def test_the_same_through_graphql(own_world: World) -> None:
    mutation = """mutation ($data: [AssignmentInput!]!) {
        assignUnitAttributes(input: { groupId: "view", assignments: $data }) {
            assignments { attributeId attribute { attributeName } }
            units { id attributes { data { attributeId } } }
        }
    }"""
    given = {"groupId": "view", "attributeId": "yard", "assetId": SEEN, "unitId": UNIT}
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        data = await data_of(client, mutation, {"data": [given]})
        assert data["assignUnitAttributes"] == {
            "assignments": [{"attributeId": "yard", "attribute": {"attributeName": "Yard"}}],
            "units": [{"id": UNIT, "attributes": {"data": [{"attributeId": "yard"}]}}],
        }
        body = await post_graphql(client, mutation, {"data": [given | {"unitId": "nope"}]})
        assert body["errors"][0]["extensions"] == {
            "code": "INVALID_INPUT",
            "fields": {"input.assignments[0].unitId": ["names no unit visible to this key"]},
        }
        removal = mutation.replace("assignUnit", "unassignUnit")
        removal = removal.replace("assignments {", "removedAssignments {")
        data = await data_of(client, removal, {"data": [given]})
        assert data["unassignUnitAttributes"] == {
            "removedAssignments": [{"attributeId": "yard", "attribute": {"attributeName": "Yard"}}],
            "units": [{"id": UNIT, "attributes": {"data": []}}],
        }
        assert (UNIT, "yard") not in await list_assignments(client)


ASSIGNMENTS = """query ($group: ID!, $asset: ID, $page: Int, $perPage: Int) {
    attributeGroup(id: $group) {
        assignments(asset: $asset, page: $page, perPage: $perPage) {
            data { unitId attributeId attribute { attributeName } }
        }
    }
}"""
ALL_ASSIGNED = [("a/b", "yard"), (UNIT, "sea"), ("unit-s", "sea")]


async def run_assign_mutation(
    directory: Directory, assets: list[str] | None = None, **given: Any
) -> Any:
    group = (await directory.read(ASSIGNMENTS, assets, **given))["attributeGroup"]
    return [(each["unitId"], each["attributeId"]) for each in group["assignments"]["data"]]


async def test_groups_are_for_every_key_but_assignments_for_those_that_see_the_unit(
    directory: Directory,
) -> None:
    assert await run_assign_mutation(directory, [SEEN], group="view") == ALL_ASSIGNED[:2]
    assert await run_assign_mutation(directory, [SEEN], group="view", asset=HIDDEN) == []
    assert await run_assign_mutation(directory, [], group="view") == []
    assert await run_assign_mutation(directory, group="fit/out %") == []


async def test_the_groups_of_all_assigned_attributes_are_read_at_once(
    directory: Directory,
) -> None:
    query = "{ units { data { id attributes { data { attribute { attributeName } } } } } }"
    units = (await directory.read(query))["units"]["data"]
    assert {
        unit["id"]: [each["attribute"]["attributeName"] for each in unit["attributes"]["data"]]
        for unit in units
        if unit["attributes"]["data"]
    } == {"a/b": ["Yard"], UNIT: ["Sea"], "unit-s": ["Sea"]}
    assert directory.collections_read == ["units", "attribute_assignments", "attribute_groups"]


async def test_an_attribute_that_left_its_group_is_null(own_world: World) -> None:
    query = '{ attributeGroup(id: "view") { assignments { data { attribute { attributeId } } } } }'
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        async with open_database(own_world) as database:
            await database["attribute_groups"].update_one(
                {"_id": "view"}, {"$pull": {"attributes": {"attribute_id": "sea"}}}
            )
        group = (await data_of(client, query))["attributeGroup"]
    attributes = [each["attribute"] for each in group["assignments"]["data"]]
    assert attributes == [{"attributeId": "yard"}, None, None]
