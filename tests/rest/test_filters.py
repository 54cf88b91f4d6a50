"""Filters and `fields` in the query: what they leave, who may use them, what they share."""

from urllib.parse import quote

import pytest
from msgspec.structs import replace

from storage.records.visibility import AssetScope
from tests.fixtures import HIDDEN, HIDDEN_MAP, MAP, OTHER_MAP, SEEN, UNIT, UNIT_IDS
from tests.resolvers.directory import Directory
from tests.rest.test_endpoints import ANYBODY, Endpoints

pytestmark = pytest.mark.anyio

REFERENCED = "/v1/units?reference=crm:1_2"
ATTRIBUTED = "/v1/units?attribute=view/sea"
NAMED_UNIT = ["unit-1", "unit-2", "unit-3", "unit-4", "unit-5"]


@pytest.fixture(scope="module")
def prepared(directory: Directory) -> Endpoints:
    return Endpoints(directory.store)


@pytest.fixture
def endpoints(prepared: Endpoints) -> Endpoints:
    prepared.caller, prepared.keys = ANYBODY, []
    return prepared


async def listed(endpoints: Endpoints, path: str) -> list[str]:
    response = await endpoints.request("GET", path)
    assert response.status_code == 200, response.text
    return [each["id"] for each in response.json()["data"]]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        (f"map={quote(OTHER_MAP)}&asset={SEEN}", UNIT_IDS),
        (f"map={quote(HIDDEN_MAP)}", ["!unit-s", "unit-s"]),
        (f"map={quote(HIDDEN_MAP)}&asset={SEEN}", []),
        ("floor=n-2", [UNIT_IDS[-1]]),
        ("reference=crm:1_2", [UNIT]),
        ("reference=crm:2", []),
        ("ids=unit-1,none,unit-s", ["unit-1", "unit-s"]),
        ("ids=unit-1,unit-s&asset=north", ["unit-1"]),
        ("search=UNIT", NAMED_UNIT),
        ("search=uni%204", ["unit-4"]),
        ("search=%23", []),  # a search box sends it before `#7`
        ("updated_since=2000-01-31T12:00:00+00:00&ids=unit-1", ["unit-1"]),  # not percent-encoded
        ("updated_since=2000-01-31t12:00:00z&ids=unit-1", ["unit-1"]),
        ("updated_since=2000-01-31T12:00:00%2B00:00&ids=unit-1", ["unit-1"]),
        ("updated_since=2100-01-31T12:00:00%2B00:00", []),
    ],
)
async def test_units_meet_all_filters(endpoints: Endpoints, query: str, ids: list[str]) -> None:
    assert await listed(endpoints, f"/v1/units?{query}") == ids


async def test_what_a_key_does_not_see_is_no_filter(endpoints: Endpoints) -> None:
    endpoints.caller = replace(ANYBODY, scope=AssetScope(frozenset({SEEN})))
    for query in (f"asset={quote(HIDDEN)}", f"map={HIDDEN_MAP}", "floor=s-1", "ids=unit-s"):
        assert await listed(endpoints, f"/v1/units?{query}") == []
    assert await listed(endpoints, "/v1/units?reference=crm:S") == []


@pytest.mark.parametrize("path", [REFERENCED, ATTRIBUTED])
async def test_a_filter_needs_what_its_list_needs(endpoints: Endpoints, path: str) -> None:
    """Also if the response is cached: for other callers."""
    endpoints.caller = replace(ANYBODY, flags=frozenset())
    assert (await endpoints.request("GET", path + "&page=0")).status_code == 400
    endpoints.caller = replace(ANYBODY, permissions=frozenset())
    response = await endpoints.request("GET", path + "&page=0")
    assert response.status_code == 403
    assert "lacks the permission" in response.json()["message"]
    assert endpoints.keys == []
    endpoints.caller = ANYBODY
    assert (await endpoints.request("GET", path)).status_code == 200


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("search=1%202%203%204%205%206%207%208%209%2010%2011", "search"),
        ("updated_since=yesterday", "updated_since"),
        ("ids=", "ids"),
        ("attribute=view", "attribute"),
        ("reference=crm", "reference"),
        ("reference=CRM:1", "reference"),
        ("fields=id,size", "fields"),
    ],
)
async def test_a_wrong_filter_is_named(endpoints: Endpoints, query: str, name: str) -> None:
    response = await endpoints.request("GET", f"/v1/units?{query}")
    assert response.status_code == 422
    assert [*response.json()["fields"]] == [name]


PLAN = quote(MAP, safe="")


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/assets/north?", ["name"]),
        ("/v1/maps?tags=ils&", ["id", "tags"]),
        (f"/v1/maps/{PLAN}/locations?", ["id", "x", "y"]),
        (f"/v1/maps/{PLAN}/closures?", ["doors"]),
    ],
)
async def test_fields_choose_the_members_of_resources(
    endpoints: Endpoints, path: str, fields: list[str]
) -> None:
    whole = (await endpoints.request("GET", path)).json()
    found = (await endpoints.request("GET", f"{path}fields={','.join(fields)}")).json()
    wholes, chosen = (each.get("data", each) for each in (whole, found))
    if not isinstance(wholes, list):
        wholes, chosen = [wholes], [chosen]
    assert chosen == [{name: each[name] for name in fields} for each in wholes]
    one, other = endpoints.keys[-2:]
    assert one != other  # no cache shares them


async def test_unknown_fields_are_answered_with_the_known_ones(endpoints: Endpoints) -> None:
    response = await endpoints.request("GET", "/v1/units/unit-1?fields=id,size")
    assert response.json()["fields"] == {
        "fields": ["must be among id, asset_id, floor_id, name, created_at, updated_at, not 'size'"]
    }


async def test_pages_keep_the_filters_and_fields(endpoints: Endpoints) -> None:
    path = "/v1/units?per-page=2&search=unit&fields=id"
    page = (await endpoints.request("GET", path)).json()
    found = [each["id"] for each in page["data"]]
    following = (await endpoints.request("GET", page["paging"]["next_url"])).json()
    assert found + [each["id"] for each in following["data"]] == NAMED_UNIT[:4]
    assert [*following["data"][0]] == ["id"]
