"""Locations (E17): what is where on a map, filtered by tags."""

import uuid
from collections.abc import AsyncIterator
from itertools import compress, product
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.importing.import_bundles import import_bundles
from tests.fixtures import FLOOR, MAP, SEEN, UNIT, post_graphql
from tests.resolvers.directory import Directory, open_directory
from tests.storage.catalogs import write_arrays

pytestmark = pytest.mark.anyio

FLAG = {"Experimental-Flags": "locations-resource"}
PATH = "/v1/maps/plan%2Fone/locations"


async def test_locations_come_in_data_without_paging(client: httpx.AsyncClient) -> None:
    body = (await client.get(PATH, headers=FLAG)).json()
    former = PATH.replace("maps", "unitmaps")
    assert (await client.get(former, headers=FLAG)).json() == body
    assert list(body) == ["data"]
    first = body["data"][0]
    stamps = {name: first[name] for name in ("created_at", "updated_at")}
    assert stamps == {name: first["tags"][0][name] for name in stamps}
    assert first == {
        "id": "loc-1",
        "asset_id": SEEN,
        "unit_map_id": MAP,
        "name": "Unit 1",
        "x": 1.5,
        "y": 2,
        "floors": [{"id": FLOOR}],
        "tags": [
            {"key": "svc:id", "value": UNIT, **stamps},
            {"key": "svc:type", "value": "unit", **stamps},
        ],
        **stamps,
    }


async def test_pages_are_linked(client: httpx.AsyncClient) -> None:
    response = await client.get(f"{PATH}?per-page=1", headers=FLAG)
    assert [each["name"] for each in response.json()["data"]] == ["Unit 1"]
    response = await client.get(response.links["next"]["url"], headers=FLAG)
    assert [each["name"] for each in response.json()["data"]] == ["Pool"]
    assert list(response.links) == ["prev"]


@pytest.mark.parametrize("tags", ["", "a=b", ",".join("a" * 51)])
async def test_rest_and_graphql_quote_malformed_terms(client: httpx.AsyncClient, tags: str) -> None:
    response = await client.get(PATH, params={"tags": tags}, headers=FLAG)
    assert response.status_code == 422
    assert list(response.json()["fields"]) == ["tags"]
    query = """query ($map: ID!, $tags: String) {
        map(id: $map) { locations(tags: $tags) { data { id } } }
    }"""
    body = await post_graphql(client, query, {"map": MAP, "tags": tags})
    assert body["errors"][0]["extensions"]["fields"] == response.json()["fields"]


TAGS = [("a", "x"), ("a", "Y"), ("B", "x"), ("c:d", "y")]
TAGGED = [[*compress(TAGS, chosen)] for chosen in product([False, True], repeat=len(TAGS))]
"""The tags of sixteen locations on a map: every choice of `TAGS`."""


def location(id: str, map: str, tags: list[tuple[str, str]], asset: str = "a") -> dict[str, Any]:
    pairs = [{"key": key, "value": value} for key, value in tags]
    place = {"asset_id": asset, "unit_map_id": map, "x": 0, "y": 0, "floors": [{"id": f"{asset}1"}]}
    return {"id": id, "name": id, "tags": pairs, **place}


PLACES: dict[str, list[dict[str, Any]]] = {
    "assets": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}],
    "floors": [{"id": f"{asset}1", "asset_id": asset, "name": "First"} for asset in "ab"],
    "maps": [
        {"id": "m", "asset_id": "a", "name": "M"},
        {"id": "n", "asset_id": "a", "name": "N"},
        {"id": "o", "asset_id": "b", "name": "O"},
    ],
    "units": [
        {"id": id, "asset_id": asset, "floor_id": f"{asset}1", "name": id}
        for asset, id in (("a", "unit"), ("a", "UNIT"), ("a", "twice"), ("b", "other"))
    ],
    "locations": [
        *(location(f"l{number:02}", "m", tags) for number, tags in enumerate(TAGGED)),
        location("n-unit", "n", [("svc:id", "unit"), ("a", "x")]),
        location("n-twice", "n", [("svc:id", "twice")]),
        location("m-twice", "m", [("svc:id", "twice")]),
        location("n-unknown", "n", [("svc:id", "unknown")]),
        location("n-other", "n", [("svc:id", "other")]),  # a unit of another asset
        location("o-pool", "o", [("a", "x")], "b"),
    ],
}


@pytest.fixture(scope="module")
async def places(
    mongo_url: str, tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[Directory]:
    """A directory with `PLACES`."""
    name = uuid.uuid4().hex
    async with open_directory(mongo_url, name) as directory:
        bundle = write_arrays(tmp_path_factory.mktemp("places") / "bundle.json", PLACES)
        await import_bundles(directory.store.database, [bundle])
        yield directory
        await directory.store.client.drop_database(name)


LIST = """query ($map: ID!, $tags: String, $page: Int, $perPage: Int) {
    map(id: $map) { locations(tags: $tags, page: $page, perPage: $perPage) { data { id } } }
}"""


async def listed(places: Directory, map: str, tags: str | None = None, **page: Any) -> list[str]:
    data = await places.read(LIST, map=map, tags=tags, **page)
    return [each["id"] for each in data["map"]["locations"]["data"]]


TERMS = st.tuples(
    st.booleans(),
    st.sampled_from(["a", "A", "b", "c:d", "x", "none"]),
    st.sampled_from([None, "x", "y", "X", "none"]),
)


def holds(tags: list[tuple[str, str]], term: tuple[bool, str, str | None]) -> bool:
    """Whether a location with these tags meets a term."""
    negated, key, value = term
    has_tag = any(
        own.lower() == key.lower() and value in (None, text.lower(), text.upper())
        for own, text in tags
    )
    return has_tag != negated


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TERMS, min_size=1, max_size=4))
async def test_the_locations_that_meet_every_term_are_listed_in_order(
    places: Directory, terms: list[tuple[bool, str, str | None]]
) -> None:
    tags = ",".join(
        ("-" if negated else "") + key + ("" if value is None else f"=={value}")
        for negated, key, value in terms
    )
    expected = [
        f"l{number:02}"
        for number, own in enumerate(TAGGED)
        if all(holds(own, term) for term in terms)
    ]
    found = await listed(places, "m", tags)
    assert [id for id in found if id != "m-twice"] == expected


async def test_a_map_lists_its_own_locations_in_pages(places: Directory) -> None:
    numbered = [f"l{number:02}" for number in range(16)]
    assert await listed(places, "m") == [*numbered, "m-twice"]
    assert await listed(places, "m", page=2, perPage=10) == [*numbered[10:], "m-twice"]
    assert await listed(places, "m", "a==x,b", page=2, perPage=3) == ["l15"]
    assert await listed(places, "o") == ["o-pool"]
    assert await listed(places, "m", page=3, perPage=10) == []


async def test_the_rarest_word_is_looked_up_first(places: Directory) -> None:
    await listed(places, "m", "a")
    assert places.collections_read == ["maps", "locations"]
    for tags in ("a,c:d==y", "c:d==y,a", "c:d==y,-b,a"):
        assert await listed(places, "m", tags)
        assert places.collections_read == ["maps", "locations", "locations"]  # one counts
        # 12 locations have the key a, 8 this value of c:d
        assert places.commands.filters[-1]["words"]["$all"] == ["c:d\0y", "a"]


async def test_the_locations_of_all_maps_are_filtered_at_once(places: Directory) -> None:
    query = '{ maps { data { id locations(tags: "a==x,-svc:id,-b,-c:d") { data { id } } } } }'
    maps = (await places.read(query))["maps"]["data"]
    assert {map["id"]: [each["id"] for each in map["locations"]["data"]] for map in maps} == {
        "m": ["l08", "l12"],
        "n": [],
        "o": ["o-pool"],
    }
    assert places.collections_read == ["maps", "locations"]


@pytest.mark.parametrize(
    ("unit", "map", "location"),
    [
        ("unit", None, "n-unit"),
        ("UNIT", None, None),  # ids are compared with their case, unlike the terms of a filter
        ("twice", None, "m-twice"),  # the first by id
        ("twice", "m", "m-twice"),
        ("twice", "n", "n-twice"),
        ("twice", "o", None),
        ("twice", "none", None),
        ("other", None, None),  # its id is on a map of another asset
    ],
)
async def test_a_unit_leads_to_its_location(
    places: Directory, unit: str, map: str | None, location: str | None
) -> None:
    query = "query ($unit: ID!, $map: ID) { unit(id: $unit) { location(map: $map) { id } } }"
    found = await places.read(query, unit=unit, map=map)
    assert found == {"unit": {"location": location and {"id": location}}}


async def test_a_location_leads_to_a_unit_that_the_key_sees(places: Directory) -> None:
    query = "{ maps { data { locations { data { id unit { id } } } } } }"
    for assets, other in ((None, {"id": "other"}), (["a"], None)):
        maps = (await places.read(query, assets))["maps"]["data"]
        units = {each["id"]: each["unit"] for map in maps for each in map["locations"]["data"]}
        assert units["n-unit"] == {"id": "unit"}
        assert units["m-twice"] == units["n-twice"] == {"id": "twice"}
        assert units["n-other"] == other
        assert units["n-unknown"] is units["l00"] is None
        assert places.collections_read == ["maps", "locations", "units"]


@pytest.mark.parametrize(
    ("field", "collections"),
    [
        ("map { id }", ["maps"]),
        ("asset { id }", ["assets"]),
        ("floors { id: floorId floor { id } }", ["floors"]),
    ],
)
async def test_what_is_around_a_location_is_read_at_once(
    places: Directory, field: str, collections: list[str]
) -> None:
    query = f"{{ maps {{ data {{ locations {{ data {{ unitMapId assetId {field} }} }} }} }} }}"
    maps = (await places.read(query))["maps"]["data"]
    assert places.collections_read == ["maps", "locations", *collections]
    for each in (each for map in maps for each in map["locations"]["data"]):
        assert each.get("map", {"id": each["unitMapId"]}) == {"id": each["unitMapId"]}
        assert each.get("asset", {"id": each["assetId"]}) == {"id": each["assetId"]}
        floors = each.get("floors", [{"id": "a1", "floor": {"id": "a1"}}])
        assert [floor["floor"]["id"] for floor in floors] == [floor["id"] for floor in floors]
