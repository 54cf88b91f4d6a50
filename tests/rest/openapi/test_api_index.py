"""The index of the API: where everything is, with the endpoints of the table."""

import httpx
import pytest

from rest.openapi.api_index import LINKS, build_index, build_root
from schema.root import GRAPHQL_SCHEMA
from tests.endpoints import ENDPOINTS
from tests.fixtures import BASE_URL

pytestmark = pytest.mark.anyio

# GraphQL needs a key, and the pages need to be built.
EXPECTED = {"graphql": (401,), **dict.fromkeys(("reference", "explorer", "clients"), (200, 503))}


async def test_the_index_lists_every_endpoint_to_anyone(anonymous: httpx.AsyncClient) -> None:
    response = await anonymous.get("/v1")
    assert response.status_code == 200
    listed = response.json()["endpoints"]
    assert [(row["method"], row["path"]) for row in listed] == [
        (row.method, row.path) for row in ENDPOINTS
    ]
    by_path = {row["path"]: row for row in listed}
    assert by_path["/v1/units"] == {
        "method": "GET",
        "path": "/v1/units",
        "summary": "List units",
        "flags": [],
        "permissions": [],
    }
    references = by_path["/v1/assets/references"]
    assert references["flags"] == ["references"]
    assert references["permissions"] == ["service.asset-references.read"]


async def test_every_link_leads_somewhere(anonymous: httpx.AsyncClient) -> None:
    root = (await anonymous.get("/")).json()
    assert root["name"] == "Floorgate"
    assert root["links"] == (await anonymous.get("/v1")).json()["links"]
    for name, link in root["links"].items():
        expected = EXPECTED.get(name, (200,))
        response = await anonymous.get(link, params={"api_key": "x"})
        assert response.status_code in expected, name
        if name not in ("clients", "explorer", "graphql", "health"):
            ignored = response.headers["floorgate-ignored-parameters"]
            assert ignored == '"api_key";did-you-mean="api-key"'


def test_links_are_absolute_once_the_service_knows_its_address() -> None:
    assert build_root()["links"] == LINKS
    for base_url in (BASE_URL, f"{BASE_URL}/"):
        index = build_index(GRAPHQL_SCHEMA, base_url, endpoints=())
        assert index["links"] == {name: BASE_URL + path for name, path in LINKS.items()}


async def test_the_index_is_read_only(anonymous: httpx.AsyncClient) -> None:
    path = "/v1"
    got, headed = await anonymous.get(path), await anonymous.head(path)
    assert (headed.status_code, headed.content) == (200, b"")
    assert headed.headers["etag"] == got.headers["etag"]
    options = await anonymous.options(path)
    assert (options.status_code, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS")
    refused = await anonymous.post(path)
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
