"""Locations (E17): what is where on a map, filtered by tags."""

import re
import uuid
from collections.abc import AsyncIterator
from itertools import compress, product
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from resolvers.locations import LocationTags
from resolvers.request.input_checks import read_annotation
from storage.bundles.importing.import_bundles import import_bundles
from storage.records import location_filter
from tests.fixtures import FLOOR, HIDDEN_MAP, MAP, OTHER_MAP, SEEN, UNIT, data_of, post_graphql
from tests.resolvers.directory import Directory, open_directory
from tests.rest.error_bodies import read_error
from tests.storage.catalogs import write_arrays

pytestmark = pytest.mark.anyio

FLAG = {"Experimental-Flags": "locations-resource"}
PATHS = ["/v1/unitmaps/plan%2Fone/locations", "/v1/maps/plan%2Fone/locations"]


async def found(client: httpx.AsyncClient, path: str, tags: str | None = None) -> list[str]:
    response = await client.get(path, params={} if tags is None else {"tags": tags}, headers=FLAG)
    assert response.status_code == 200, response.text
    return [each["name"] for each in response.json()["data"]]


@pytest.mark.parametrize("path", PATHS)
async def test_locations_come_in_data_without_paging(client: httpx.AsyncClient, path: str) -> None:
    body = (await client.get(path, headers=FLAG)).json()
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


@pytest.mark.parametrize("path", PATHS)
async def test_pages_are_linked(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(f"{path}?per-page=1", headers=FLAG)
    assert [each["name"] for each in response.json()["data"]] == ["Unit 1"]
    response = await client.get(response.links["next"]["url"], headers=FLAG)
    assert [each["name"] for each in response.json()["data"]] == ["Pool"]
    assert list(response.links) == ["prev"]


@pytest.mark.parametrize(
    ("tags", "names"),
    [
        (None, ["Unit 1", "Pool"]),
        ("svc:amenity==yes", ["Pool"]),
        ("SVC:Amenity==YES,-svc:id", ["Pool"]),
        ("-svc:amenity", ["Unit 1"]),
        ("svc:type,svc:id", ["Unit 1"]),
        (f"svc:id=={UNIT.replace('-', chr(92) + '-')}", ["Unit 1"]),
        ("svc:type==unit,svc:amenity", []),
        (" svc:type , svc:id", ["Unit 1"]),
    ],
)
async def test_all_terms_must_hold(
    client: httpx.AsyncClient, tags: str | None, names: list[str]
) -> None:
    assert await found(client, PATHS[0], tags) == names


@pytest.mark.parametrize("tags", ["", "a=b", "a,,b", "a==", "--a", "a\\", ",".join("a" * 51)])
async def test_rest_and_graphql_quote_malformed_terms(client: httpx.AsyncClient, tags: str) -> None:
    response = await client.get(PATHS[0], params={"tags": tags}, headers=FLAG)
    assert response.status_code == 422
    assert list(response.json()["fields"]) == ["tags"]
    query = """query ($map: ID!, $tags: String) {
        map(id: $map) { locations(tags: $tags) { data { id } } }
    }"""
    body = await post_graphql(client, query, {"map": MAP, "tags": tags})
    assert body["errors"][0]["extensions"]["fields"] == response.json()["fields"]


async def test_the_flag_is_needed(client: httpx.AsyncClient) -> None:
    response = await client.get(PATHS[0])
    assert response.status_code == 400
    assert response.json()["message"].endswith("must include locations-resource")


async def test_a_map_that_the_key_does_not_see_is_not_found(restricted: httpx.AsyncClient) -> None:
    hidden = await restricted.get("/v1/unitmaps/south-plan/locations", headers=FLAG)
    unknown = await restricted.get("/v1/unitmaps/nope/locations", headers=FLAG)
    assert hidden.status_code == unknown.status_code == 404
    assert read_error(hidden) == read_error(unknown)


async def test_units_maps_and_locations_lead_to_each_other(client: httpx.AsyncClient) -> None:
    query = """query ($unit: ID!, $map: ID!) {
        unit(id: $unit) {
            location { name map { id } unit { id } floors { floor { name } } }
            there: location(map: $map) { name }
            elsewhere: location(map: "plan-two") { name }
        }
    }"""
    unit = (await data_of(client, query, {"unit": UNIT, "map": MAP}))["unit"]
    assert unit["location"] == {
        "name": "Unit 1",
        "map": {"id": MAP},
        "unit": {"id": UNIT},
        "floors": [{"floor": {"name": "First"}}],
    }
    assert (unit["there"], unit["elsewhere"]) == ({"name": "Unit 1"}, None)


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


@pytest.mark.slow
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


async def test_a_map_without_locations_or_beyond_the_scope(directory: Directory) -> None:
    assert await listed(directory, OTHER_MAP) == []
    for map in (HIDDEN_MAP, "none"):
        assert await directory.read(LIST, [SEEN], map=map) == {"map": None}


TAG_RULES = read_annotation(LocationTags)[1].rules
PATTERN = next(filter(None, (rule.json_schema().get("pattern") for rule in TAG_RULES)))


@given(st.text(st.sampled_from("ab:\n -,=\\é"), max_size=12))
@example("svc:amenity==yes,-amenity")
@example("--a")
@example(r"\--a,\=")
@example("a==b==c")
@example("")
def test_the_described_pattern_accepts_the_same_terms_as_the_resolver(text: str) -> None:
    described = re.fullmatch(PATTERN[1:-1], text)
    assert bool(described) == (not any(rule.check(text) for rule in TAG_RULES))


def test_as_many_terms_are_described_as_are_taken() -> None:
    most, too_many = (
        ",".join("a" * count)
        for count in (location_filter.MAX_TERMS, location_filter.MAX_TERMS + 1)
    )
    assert re.match(PATTERN, most)
    assert not re.match(PATTERN, too_many)
