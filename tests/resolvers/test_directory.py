"""The directory: what each list has, which record leads to which, and how few reads that takes."""

from typing import Any

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
)
from tests.resolvers.directory import Directory

pytestmark = pytest.mark.anyio

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
