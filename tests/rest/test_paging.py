"""Pages of lists: numbers outside, keys inside, addresses that can be followed."""

from urllib.parse import quote

import httpx
import pytest

from rest.endpoint_files import Endpoint
from tests.endpoints import ENDPOINTS
from tests.fixtures import (
    ALL_FLAGS,
    BASE_URL,
    MAP,
    UNIT_IDS,
    World,
    data_of,
    gateway_client,
    open_database,
)
from tests.rest.page_walks import EVERY_UNIT, ids, query_of, walk

pytestmark = pytest.mark.anyio


async def test_a_list_is_in_the_order_of_code_points(client: httpx.AsyncClient) -> None:
    page = (await client.get("/v1/units")).json()
    assert ids([page]) == EVERY_UNIT
    assert page["paging"] == {
        "per_page": 100,
        "current_page": 1,
        "prev_url": None,
        "next_url": None,
    }


@pytest.mark.parametrize("per_page", [4, len(EVERY_UNIT) - 1, len(EVERY_UNIT)])
async def test_following_next_url_gives_the_whole_list_once(
    client: httpx.AsyncClient, per_page: int
) -> None:
    """A page by its number alone, and the way back, give the same."""
    pages = await walk(client, f"/v1/units?per-page={per_page}")
    assert ids(pages) == EVERY_UNIT
    assert [page["paging"]["current_page"] for page in pages] == [*range(1, len(pages) + 1)]
    assert {page["paging"]["per_page"] for page in pages} == {per_page}
    assert len(pages) == -(-len(EVERY_UNIT) // per_page)
    back = await walk(client, f"/v1/units?per-page={per_page}&page={len(pages)}", "prev_url")
    assert back == [*reversed(pages)]


@pytest.mark.parametrize("page", [2, 2**31 - 1])
async def test_a_page_past_the_end_is_empty(client: httpx.AsyncClient, page: int) -> None:
    path = "/v1/assets/north/floors"
    response = await client.get(f"{path}?page={page}&per-page=10000")
    assert response.status_code == 200
    assert response.json() == {
        "paging": {
            "per_page": 10000,
            "current_page": page,
            "prev_url": f"{BASE_URL}{path}?per-page=10000&page={page - 1}",
            "next_url": None,
        },
        "data": [],
    }


async def test_urls_start_with_the_base_url_and_not_the_host_header(
    client: httpx.AsyncClient,
) -> None:
    response = await client.get("/v1/units?per-page=1", headers={"Host": "evil.example"})
    assert response.json()["paging"]["next_url"].startswith(f"{BASE_URL}/v1/units?")
    assert "evil.example" not in response.text + response.headers["link"]


@pytest.mark.parametrize(
    ("base_url", "start"),
    [
        (None, "https://inside.example"),  # of the request
        ("https://maps.example/directory", "https://maps.example/directory"),
    ],
)
async def test_a_base_url_may_be_absent_or_have_a_path(
    world: World, base_url: str | None, start: str
) -> None:
    async with gateway_client(world.settings(base_url=base_url), world.keys.full) as client:
        page = await client.get("/v1/units?per-page=1", headers={"Host": "inside.example"})
    assert page.json()["paging"]["next_url"].startswith(f"{start}/v1/units?")


async def test_urls_never_contain_the_key(anonymous: httpx.AsyncClient, world: World) -> None:
    response = await anonymous.get(f"/v1/units?per-page=1&page=2&api-key={world.keys.full}")
    assert response.status_code == 200
    assert world.keys.full not in response.text + str(response.headers)
    assert "api-key" not in response.text


async def test_urls_repeat_every_filter_and_nothing_unknown(
    client: httpx.AsyncClient,
) -> None:
    response = await client.get("/v1/maps?asset=north&tags=ils&per-page=1&colour=red")
    next_url = response.json()["paging"]["next_url"]
    query = query_of(next_url)
    assert query.pop("after")
    assert query == {"per-page": "1", "page": "2", "tags": "ils", "asset": "north"}
    following = (await client.get(next_url)).json()
    assert ids([response.json(), following]) == ["plan-two", "plan/one"]
    assert query_of(following["paging"]["prev_url"])["tags"] == "ils"


async def test_a_list_without_paging_has_a_link_header_too(client: httpx.AsyncClient) -> None:
    headers = {"Experimental-Flags": "locations-resource"}
    path = f"/v1/unitmaps/{quote(MAP, safe='')}/locations"
    first = await client.get(f"{path}?per-page=1&tags=-x", headers=headers)
    assert list(first.json()) == ["data"]
    following = await client.get(first.links["next"]["url"], headers=headers)
    assert [*ids([first.json()]), *ids([following.json()])] == ["loc-1", "loc-2"]
    assert query_of(following.links["prev"]["url"])["tags"] == "-x"


async def test_locations_are_listed_as_a_whole(own_world: World) -> None:
    """Their body has no `paging`, and so cannot say that there is more."""
    path = f"/v1/unitmaps/{quote(MAP, safe='')}/locations"
    async with open_database(own_world) as database:
        one = await database["locations"].find_one({"_id": "loc-2"})
        assert one is not None
        names = [f"more-{number:05}" for number in range(10_000)]
        await database["locations"].insert_many([one | {"_id": name} for name in names])
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        client.headers.update(ALL_FLAGS)
        found = []
        for place in (path, path.replace("unitmaps", "maps")):
            whole = await client.get(f"{place}?tags=svc:amenity")
            rest = await client.get(whole.links["next"]["url"])
            assert ids([whole.json()]) + ids([rest.json()]) == ["loc-2", *names]
            found.append(len(whole.json()["data"]))
            # A cursor has its page size, also in the addresses that have no other.
            small = await client.get(f"{place}?per_page=3")
            after = query_of(small.links["next"]["url"])["after"]
            assert len((await client.get(f"{place}?after={after}")).json()["data"]) == 3
            assert len((await client.get(f"{place}?after=")).json()["data"]) == 10_000
        body = await data_of(client, '{ map(id: "plan/one") { locations { data { id } } } }')
    assert found == [10_000, 10_000]
    assert len(body["map"]["locations"]["data"]) == 100


PAGED = [
    endpoint
    for endpoint in ENDPOINTS
    if endpoint.method == "GET" and "$perPage" in endpoint.document
]


@pytest.mark.parametrize("endpoint", PAGED, ids=lambda endpoint: endpoint.path)
async def test_every_spelling_of_the_page_size_is_read(
    client: httpx.AsyncClient, endpoint: Endpoint
) -> None:
    named = {"asset": "north", "group-id": "view", "map": MAP, "unitMapId": MAP}
    path = endpoint.path.format_map({key: quote(id, safe="") for key, id in named.items()})
    plain = await client.get(f"{path}?per-page=1", headers=ALL_FLAGS)
    assert plain.status_code == 200
    for name in ("perPage", "per_page"):
        same = await client.get(f"{path}?{name}=1", headers=ALL_FLAGS)
        assert (same.content, same.headers["etag"]) == (plain.content, plain.headers["etag"])
        assert same.headers.get("link") == plain.headers.get("link")
        assert "floorgate-ignored-parameters" not in same.headers
        invalid = await client.get(f"{path}?{name}=x", headers=ALL_FLAGS)
        assert invalid.json()["fields"] == {name: ["must be a whole number, not 'x'"]}
        twice = await client.get(f"{path}?{name}=1&per-page=1", headers=ALL_FLAGS)
        error = f"must be given once, not 2 times: per-page, {name}"
        assert twice.json()["fields"] == {"per-page": [error]}
        repeated = await client.get(f"{path}?{name}=1&{name}=1", headers=ALL_FLAGS)
        assert repeated.json()["fields"] == {name: ["must be given once, not 2 times"]}


@pytest.mark.parametrize(
    ("path", "count"),
    [
        ("/v1/units?total-count=true&per-page=2", 27),
        ("/v1/units?total-count=true&ids=unit-1,unit-2,none", 2),
        ("/v1/unitmaps/plan%2Fone/locations?total-count=true&per-page=1", 2),
    ],
)
async def test_a_list_is_counted_on_request(
    client: httpx.AsyncClient, path: str, count: int
) -> None:
    headers = {"Experimental-Flags": "locations-resource"}
    counted = await client.get(path, headers=headers)
    assert counted.headers["floorgate-total-count"] == str(count)
    plain = await client.get(path.replace("total-count=true&", ""), headers=headers)
    assert "floorgate-total-count" not in plain.headers
    assert plain.json() == counted.json()  # so the next page is not counted again


async def test_unknown_parameters_are_ignored(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/units?colour=red&colour=blue&=&Page=0")).status_code == 200
    assert (await client.get("/v1/units/unit-1?page=0&page=x")).status_code == 200


async def test_a_query_string_that_is_not_utf8_is_rejected(client: httpx.AsyncClient) -> None:
    for query in ("tags=%ff", "x=%ed%a0%80", "&".join(f"x{number}" for number in range(101))):
        response = await client.get(f"/v1/maps?{query}")
        assert response.status_code == 422
        assert list(response.json()["fields"]) == ["query"]


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("/v1/units?per-page=2&total-count=true", "floorgate-total-count"),
        ("/v1/maps/plan%2Fone/locations?per-page=2", "link"),
    ],
)
async def test_what_follows_a_page_changes_its_entity_tag(
    own_world: World, path: str, header: str
) -> None:
    """Only headers tell of it."""
    async with (
        open_database(own_world) as database,
        gateway_client(own_world.settings(cache_mb=0), own_world.keys.full) as client,
    ):
        client.headers.update(ALL_FLAGS)
        before = await client.get(path)
        for name, key in (("units", "unit-s"), ("locations", "loc-1")):
            found = await database[name].find_one({"_id": key})
            assert found
            await database[name].insert_one({**found, "_id": "zzz"})
        after = await client.get(path, headers={"If-None-Match": before.headers["etag"]})
    assert after.status_code == 200
    assert after.content == before.content
    assert after.headers[header] != before.headers.get(header)


# Cursors


async def test_a_cursor_of_another_key_shows_nothing_more(
    client: httpx.AsyncClient, restricted: httpx.AsyncClient
) -> None:
    # The first page of everything ends with a unit that the restricted key may not see.
    page = (await client.get("/v1/units?per-page=1")).json()
    assert ids([page]) == ["!unit-s"]
    assert ids(await walk(restricted, page["paging"]["next_url"])) == UNIT_IDS


async def cursor_of(client: httpx.AsyncClient, address: str) -> str:
    return query_of((await client.get(address)).json()["paging"]["next_url"])["after"]


async def test_a_cursor_alone_continues(client: httpx.AsyncClient) -> None:
    first = (await client.get("/v1/units?per-page=2")).json()
    next_url = first["paging"]["next_url"]
    after = query_of(next_url)["after"]
    followed = (await client.get(next_url)).json()
    for query in ("", "&page=2", "&per-page=2"):
        alone = await client.get(f"/v1/units?after={after}{query}")
        assert alone.json() == followed
    assert followed["paging"]["current_page"] == 2


@pytest.mark.parametrize(
    "path",
    [
        "/v1/maps?",
        f"/v1/maps/{quote(MAP, safe='')}/units?",
        "/v1/units?asset=north&",  # nor is it of another filter
    ],
)
async def test_a_cursor_of_another_list_is_an_error(client: httpx.AsyncClient, path: str) -> None:
    after = await cursor_of(client, "/v1/units?per-page=2")
    response = await client.get(f"{path}after={after}")
    assert response.status_code == 422
    [message] = response.json()["fields"]["after"]
    assert message.startswith("is of another list")
