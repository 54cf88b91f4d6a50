"""What the service sends is described, member by member, with limits that hold."""

from urllib.parse import quote

import httpx
import jsonschema_rs
import pytest

from rest.endpoint_table import ENDPOINTS
from tests.fixtures import ALL_FLAGS, BACKGROUND, FLOOR, MAP, SEEN, UNIT
from tests.rest.openapi.described import COMPONENTS, DESCRIPTION, errors_of

pytestmark = pytest.mark.anyio

IDS = {"asset": SEEN, "floor": FLOOR, "unit": UNIT, "background": BACKGROUND, "group-id": "view"}
HERE = {"from": "0,0," + FLOOR, "to": "1,1," + FLOOR, "minutes": "1"}
GETS = [row.path for row in ENDPOINTS if row.method == "GET"]


@pytest.mark.parametrize("path", GETS)
async def test_a_response_has_nothing_that_is_not_described(
    client: httpx.AsyncClient, path: str
) -> None:
    ids = {name: quote(value, safe="") for name, value in IDS.items()}
    url = path.format(map=quote(MAP, safe=""), unitMapId=quote(MAP, safe=""), **ids)
    parameters: dict[str, str] = HERE if path.endswith(("route", "nearest", "reachable")) else {}
    response = await client.get(url, params=parameters, headers=ALL_FLAGS)
    assert response.status_code in (200, 404, 422)
    if response.headers["content-type"] == "image/svg+xml":
        return  # no JSON
    assert errors_of(response, path) == []


@pytest.mark.parametrize("floor", ["floor_id", "floorId"])
async def test_both_names_of_a_floor_are_described_and_accepted(
    client: httpx.AsyncClient, floor: str
) -> None:
    path = "/v1/maps/{map}/distance-matrix"
    waypoint = {"id": "here", "name": "", "x": 0, "y": 0, floor: FLOOR}
    body = {"data": {"sources": [waypoint], "targets": [waypoint]}}
    request = DESCRIPTION["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    schema = {**request["schema"], "components": COMPONENTS}
    assert [*jsonschema_rs.Draft202012Validator(schema).iter_errors(body)] == []
    response = await client.post(path.format(map=quote(MAP, safe="")), json=body, headers=ALL_FLAGS)
    # The map has no scale; but the waypoints are complete.
    assert [*response.json()["fields"]] == ["data.distance_method"]


@pytest.mark.parametrize("method", ["DELETE", "PATCH"])
async def test_every_path_describes_the_error_for_other_methods(
    client: httpx.AsyncClient, method: str
) -> None:
    response = await client.request(method, "/v1/units")
    assert response.status_code == 405
    assert response.headers["Allow"] == "GET, HEAD, OPTIONS"
    for operations in DESCRIPTION["paths"].values():
        assert all("405" in each["responses"] for each in operations.values())
