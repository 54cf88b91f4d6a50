"""Locations (E17), those nearest to a waypoint, and what clients avoid on the way."""

import time
import uuid
from collections.abc import AsyncIterator
from itertools import compress, product
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resolvers import routes
from routing.search.router import Router
from storage.importing.import_bundles import import_bundles
from tests.fixtures import FLOOR, MAP, SEEN, UNIT, data_of, post_graphql
from tests.resolvers.conftest import LATER
from tests.resolvers.directory import Directory, open_directory
from tests.resolvers.worlds import PLACES, measure
from tests.storage.catalogs import write_arrays

GYM = {"id": "gym"}
BY_THE_GYM = {"x": 90, "y": 25, "floorId": "lower"}
CLOSET = {"x": 65, "y": 10, "floorId": "upper", "name": "Closet"}
"""A room with a door that is too narrow for wheelchairs."""
NOWHERE = {"x": 50, "y": 500, "floorId": "lower"}
FROM_SOURCES = """query (
    $sources: [WaypointInput!]!, $tags: String, $limit: Int, $mode: TravelMode, $avoid: [Avoidable!]
) { map(id: "tower") {
    nearestFromSources(sources: $sources, tags: $tags, limit: $limit, mode: $mode, avoid: $avoid) {
        index waypointId name locations { distance time location { id } }
    }
} }"""
FROM_ONE = """query (
    $map: ID! = "tower", $from: WaypointInput!, $tags: String, $limit: Int, $mode: TravelMode,
    $avoid: [Avoidable!]
) { map(id: $map) {
    nearest(from: $from, tags: $tags, limit: $limit, mode: $mode, avoid: $avoid) {
        distance time location { id }
    }
} }"""
OF_UNITS = """query ($limit: Int, $map: ID, $tags: String) {
    units(asset: "tower", perPage: 5) { data { id nearest(limit: $limit, map: $map, tags: $tags) {
        distance time location { id }
    } } }
}"""


async def find_nearest(walker: httpx.AsyncClient, start: Any, **given: Any) -> Any:
    return (await data_of(walker, FROM_ONE, {"from": start, **given}))["map"]["nearest"]


async def find_from_sources(walker: httpx.AsyncClient, *sources: Any, **given: Any) -> Any:
    data = await data_of(walker, FROM_SOURCES, {"sources": sources, **given})
    return data["map"]["nearestFromSources"]


async def find_of_units(walker: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    body = (await walker.post("/graphql", json={"query": OF_UNITS, "variables": given})).json()
    return {unit["id"]: unit["nearest"] for unit in body["data"]["units"]["data"]}


async def test_every_location_of_the_network_is_as_far_as_its_route_and_the_nearest_come_first(
    walker: httpx.AsyncClient,
) -> None:
    query = """query ($from: WaypointInput!, $to: WaypointInput!) {
        map(id: "tower") { route(from: $from, to: $to) { feet seconds } }
    }"""
    found = await find_nearest(walker, BY_THE_GYM)
    listed = (await walker.get("/v1/maps/tower/locations")).json()["data"]
    routable = {each["id"] for each in listed} - {each["id"] for each in LATER}
    assert {near["location"]["id"] for near in found} == routable
    assert found[0]["location"]["id"] == "gym"
    assert [near["time"] for near in found] == sorted(near["time"] for near in found)
    for near in found:
        ends = {"from": BY_THE_GYM, "to": near["location"]}
        route = (await data_of(walker, query, ends))["map"]["route"]
        walk = pytest.approx((route["feet"], route["seconds"]), abs=0.002)
        assert (near["distance"], near["time"]) == walk
    path = "/v1/maps/tower/nearest?from=90,25,lower&tags=svc:id&limit=2"
    first = (await walker.get(path)).json()["data"]
    assert [each["location"]["id"] for each in first] == [
        each["location"]["id"] for each in found[:2]
    ]


async def test_a_location_and_its_unit_are_not_among_what_is_nearest_to_them(
    walker: httpx.AsyncClient,
) -> None:
    expected = await find_nearest(walker, GYM)
    assert expected
    assert "gym" not in [near["location"]["id"] for near in expected]
    for start in ({"id": "lower-east"}, {"unitId": "lower-east"}):
        assert await find_nearest(walker, start) == expected


async def test_a_location_precedes_a_unit_of_the_same_id(walker: httpx.AsyncClient) -> None:
    # "twin" is a location in the west and, elsewhere, the unit of another location
    [west] = await find_nearest(walker, {"id": "twin"}, limit=1)
    [east] = await find_nearest(walker, {"unitId": "twin"}, limit=1)
    assert west["location"]["id"] != east["location"]["id"] == "gym"


@pytest.mark.parametrize(
    ("tags", "found"), [("sport==yes", ["gym"]), ("sport,-svc:id", []), ("-svc:id", [])]
)
async def test_the_nearest_meet_every_term(
    walker: httpx.AsyncClient, tags: str, found: list[str]
) -> None:
    nearest = await find_nearest(walker, BY_THE_GYM, tags=tags)
    assert [near["location"]["id"] for near in nearest] == found


async def test_as_many_are_found_as_are_asked_for(
    walker: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "DEFAULT_NEAREST", 2)
    assert len(await find_nearest(walker, GYM, limit=None)) == 2
    assert len(await find_nearest(walker, GYM, limit=3)) == 3
    for limit, status in ((0, 422), (1, 200), (100, 200), (101, 422)):
        response = await walker.get(f"/v1/maps/tower/nearest?from=gym&limit={limit}")
        assert response.status_code == status


@pytest.mark.parametrize(("most", "is_found"), [(7, False), (8, True)])
async def test_more_candidates_than_can_be_compared_are_an_error(
    walker: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, most: int, is_found: bool
) -> None:
    monkeypatch.setattr(routes, "MAX_CANDIDATES", most)
    response = await walker.get("/v1/maps/tower/nearest?from=90,25,lower")
    assert (response.status_code == 200) is is_found
    if not is_found:
        message = "must leave fewer than 7 locations; add a term"
        assert response.json()["fields"] == {"tags": [message]}
    assert await find_nearest(walker, BY_THE_GYM, tags="sport")


async def test_a_map_without_a_network_has_nothing_near(walker: httpx.AsyncClient) -> None:
    refused = await walker.get("/v1/maps/plain/nearest?from=p1")
    assert refused.status_code == 422
    assert "'plain' has not been processed for pathfinding" in refused.json()["message"]
    assert await data_of(walker, FROM_ONE, {"map": "none", "from": GYM}) == {"map": None}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"limit": 1, "tags": "sport"},
        {"mode": "wheelchair"},
        {"avoid": ["lifts", "stairs"]},
    ],
)
async def test_each_source_has_what_is_nearest_to_it_alone(
    walker: httpx.AsyncClient, given: dict[str, Any]
) -> None:
    sources = [GYM, BY_THE_GYM, CLOSET, {"unitId": "upper-west"}, GYM, NOWHERE]
    found = await find_from_sources(walker, *sources, **given)
    for source, row in zip(sources, found, strict=True):
        assert row["locations"] == await find_nearest(walker, source, **given)


async def test_sources_come_in_the_order_of_the_request_and_repeat_its_ids(
    walker: httpx.AsyncClient,
) -> None:
    found = await find_from_sources(walker, {"unitId": "lower-east"}, CLOSET, GYM)
    assert [(row["index"], row["waypointId"], row["name"]) for row in found] == [
        (0, "lower-east", "Gym"),
        (1, None, "Closet"),
        (2, "gym", "Gym"),
    ]


async def test_all_sources_take_one_matrix(
    walker: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    compute = Router.matrix

    def count(router: Router, sources: Any, *others: Any) -> Any:
        sizes.append(len(sources))
        return compute(router, sources, *others)

    monkeypatch.setattr(Router, "matrix", count)
    await find_from_sources(walker, *[BY_THE_GYM] * 20)
    assert sizes == [20]
    sizes.clear()
    found = await find_of_units(walker, map="tower")
    assert sizes == [len(found)]


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([], "sources: must hold 1 to 20 waypoints, not 0"),
        ([GYM] * 21, "The operation passes 21 waypoints in one list, over the limit of 20"),
        ([GYM, {"id": "none"}], "sources[1].id: must be a location of this map"),
    ],
)
async def test_what_is_wrong_with_a_source_is_named(
    walker: httpx.AsyncClient, sources: list[Any], message: str
) -> None:
    request = {"query": FROM_SOURCES, "variables": {"sources": sources}}
    body = (await walker.post("/graphql", json=request)).json()
    [error] = body["errors"]
    assert error["message"].startswith(message)
    assert body.get("data") in ({"map": {"nearestFromSources": None}}, None)


async def test_a_unit_has_what_is_nearest_to_its_location(walker: httpx.AsyncClient) -> None:
    found = await find_of_units(walker, map="tower", limit=3)
    assert len(found) == 4
    assert {*(await find_of_units(walker, map="none")).values()} == {None}
    for unit_id, nearest in found.items():
        assert nearest == await find_nearest(walker, {"unitId": unit_id}, limit=3)
        assert len(nearest) == 3


async def test_a_unit_starts_at_its_first_location_as_the_field_location_has_it(
    walker: httpx.AsyncClient,
) -> None:
    body = (await walker.post("/graphql", json={"query": OF_UNITS})).json()
    found = {unit["id"]: unit["nearest"] for unit in body["data"]["units"]["data"]}
    # The first location of this unit is on a map without a network; the others keep their data.
    assert found.pop("lower-east") is None
    assert all(found.values())
    [error] = body["errors"]
    assert error["path"][-1] == "nearest"
    assert error["message"] == "map: 'plain' has not been processed for pathfinding"


async def test_too_many_candidates_are_an_error_of_each_unit(
    walker: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MAX_CANDIDATES", 2)
    query = {"query": OF_UNITS, "variables": {"map": "tower", "limit": 9}}
    body = (await walker.post("/graphql", json=query)).json()
    errors = body["errors"]
    assert len(errors) == 4
    assert {error["message"] for error in errors} == {
        "tags: must leave fewer than 2 locations; add a term"
    }


async def test_searches_of_a_map_run_one_at_a_time(
    walker: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: list[str] = []

    def alone(search: Any) -> Any:
        def run(*arguments: Any) -> Any:
            assert not running  # two at once end the process
            running.append("search")
            time.sleep(0.01)  # time for another thread to begin
            found = search(*arguments)
            running.clear()
            return found

        return run

    for name in ("matrix", "route"):
        monkeypatch.setattr(Router, name, alone(getattr(Router, name)))
    waypoints = {"a": BY_THE_GYM, "b": CLOSET}
    fields = (
        "distanceMatrix(sources: [$a], targets: [$b]) { distanceMethod }",
        "route(from: $a, to: $b) { feet }",
        "nearest(from: $a) { time }",
    )
    selected = " ".join(f"f{n}_{m}: {text}" for n in range(5) for m, text in enumerate(fields))
    text = f'query ($a: WaypointInput!, $b: WaypointInput!) {{ map(id: "tower") {{ {selected} }} }}'
    found = (await data_of(walker, text, waypoints))["map"]
    assert len(found) == 15


ROUTE = """query (
    $from: WaypointInput!, $to: WaypointInput!, $mode: TravelMode, $avoid: [Avoidable!]
) {
    map(id: "yard") { route(from: $from, to: $to, mode: $mode, avoid: $avoid) {
        legs { connectorKind }
    } }
}"""


async def kinds(walker: httpx.AsyncClient, ends: str, **given: Any) -> list[str] | None:
    """The kinds of connectors on a route; None if there is no route."""
    start, end = (PLACES[name] for name in ends)
    found = await data_of(walker, ROUTE, {"from": start, "to": end, **given})
    route = found["map"]["route"]
    return route and [leg["connectorKind"] for leg in route["legs"] if leg["connectorKind"]]


async def test_a_route_avoids_stairs_and_lifts(walker: httpx.AsyncClient) -> None:
    assert await kinds(walker, "BD") == ["steps"]
    for nothing in (None, [], ["escalators"]):
        assert await kinds(walker, "BD", avoid=nothing) == ["steps"]
    assert await kinds(walker, "BD", avoid=["stairs"]) == ["elevator"]
    assert await kinds(walker, "BD", avoid=["lifts"]) == ["steps"]
    assert await kinds(walker, "BD", avoid=["stairs", "lifts"]) is None
    assert await kinds(walker, "BD", avoid=["lifts"], mode="wheelchair") is None


async def test_what_is_outdoors_is_avoided_upstairs(walker: httpx.AsyncClient) -> None:
    assert await kinds(walker, "AB") == []
    assert await kinds(walker, "AB", avoid=["outdoors"]) == ["elevator", "steps"]
    assert await kinds(walker, "AB", avoid=["outdoors", "stairs"]) is None
    assert await kinds(walker, "CD", avoid=["outdoors"]) == []


async def test_a_matrix_avoids_as_a_route_does(walker: httpx.AsyncClient) -> None:
    straight = await measure(walker, "AB")
    assert straight > 160
    assert await measure(walker, "AB", avoid=["outdoors"]) > straight
    assert await measure(walker, "AB", avoid=["outdoors", "lifts"]) is None
    assert await measure(walker, "AB", "wheelchair", avoid=["outdoors"]) is None


async def test_straight_lines_avoid_nothing(walker: httpx.AsyncClient) -> None:
    start, end = ({**PLACES[name], "floor_id": "lower"} for name in "AB")
    data = {
        "sources": [start],
        "targets": [end],
        "distance_method": "euclidean",
        "costing_options": {"pedestrian": {"avoid": ["outdoors", "lifts"]}},
    }
    response = await walker.post("/v1/maps/yard/distance-matrix", json={"data": data})
    assert response.json()["data"]["sources"][0]["targets"][0]["distance"] == 160


async def test_what_is_avoided_is_no_reason_for_straight_lines(walker: httpx.AsyncClient) -> None:
    in_the_yard = {"x": 50, "y": 35, "floor_id": "lower"}
    data = {
        "sources": [{"x": 10, "y": 10, "floor_id": "lower"}],
        "targets": [in_the_yard],
        "costing_options": {"pedestrian": {"avoid": ["outdoors"]}},
    }
    response = await walker.post("/v1/maps/yard/distance-matrix", json={"data": data})
    body = response.json()["data"]
    assert body["distance_method"] == "pathfinding"
    assert body["sources"][0]["targets"][0]["distance"] is None


async def test_rest_has_a_list_with_commas(walker: httpx.AsyncClient) -> None:
    path = "/v1/maps/yard/route?from=90,10,lower&to=90,10,upper"
    avoiding = (await walker.get(f"{path}&avoid=stairs,escalators")).json()["data"]
    assert avoiding["legs"][1]["connector_kind"] == "elevator"
    assert (await walker.get(f"{path}&avoid=stairs,lifts")).json() == {"data": None}
    located = (await walker.get("/v1/maps/yard/locations")).json()["data"]
    names = {each["id"]: each["name"] for each in located}
    near = "/v1/maps/yard/nearest?from=10,10,lower&limit=10"
    found = (await walker.get(f"{near}&avoid=outdoors,lifts")).json()["data"]
    assert [names[each["location"]["id"]] for each in found] == ["lower west"]
    assert len((await walker.get(near)).json()["data"]) == 4


@pytest.mark.parametrize("avoid", ["stairs,rain", "stairs,"])
async def test_only_what_can_be_avoided_is_accepted(walker: httpx.AsyncClient, avoid: str) -> None:
    response = await walker.get(f"/v1/maps/yard/nearest?from=10,10,lower&avoid={avoid}")
    assert response.status_code == 422
    wrong = avoid.rpartition(",")[2]
    expected = f"must be stairs, escalators, lifts or outdoors, not {wrong!r}"
    assert response.json()["fields"] == {"avoid": [expected]}


async def test_a_matrix_names_where_the_wrong_value_is(walker: httpx.AsyncClient) -> None:
    place = {"x": 10, "y": 10, "floor_id": "lower"}
    for avoid, error in {
        ("rain",): "must be stairs, escalators, lifts or outdoors, not 'rain'",
        ("stairs",) * 5: "must hold 0 to 4 values, not 5",
    }.items():
        options = {"pedestrian": {"avoid": avoid}}
        data = {"sources": [place], "targets": [place], "costing_options": options}
        response = await walker.post("/v1/maps/yard/distance-matrix", json={"data": data})
        assert response.status_code == 422
        path = "data.costing_options.pedestrian.avoid"
        assert response.json()["fields"] == {path: [error]}


async def test_what_is_within_reach_is_so_without_what_is_avoided(
    walker: httpx.AsyncClient,
) -> None:
    async def reach(avoid: str = "") -> tuple[set[str], set[str]]:
        """The units and floors within reach."""
        path = f"/v1/maps/yard/reachable?from=10,10,lower&minutes=60{avoid}"
        found = (await walker.get(path)).json()["data"]
        units = {each["unit"]["id"] for each in found["units"]}
        return units, {area["floor_id"] for area in found["areas"]}

    units, floors = await reach()
    assert len(units) == 4
    assert floors == {"lower", "upper"}
    assert await reach("&avoid=outdoors") == (units, floors)
    alone, below = await reach("&avoid=outdoors,lifts")
    assert len(alone) == 1
    assert below == {"lower"}


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


LOCATIONS: dict[str, list[dict[str, Any]]] = {
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
    """A directory with `LOCATIONS`."""
    name = uuid.uuid4().hex
    async with open_directory(mongo_url, name) as directory:
        bundle = write_arrays(tmp_path_factory.mktemp("places") / "bundle.json", LOCATIONS)
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
