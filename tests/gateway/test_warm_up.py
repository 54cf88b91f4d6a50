"""What a gateway leaves until it is ready is there soon after, and for the first request."""

import pytest

from gateway.app import Gateway
from rest.endpoint_table import ENDPOINTS
from rest.endpoints import EndpointHandler
from tests.fixtures import World, gateway_client

pytestmark = pytest.mark.anyio


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the endpoints that have been prepared."""
    paths: list[str] = []
    prepare = EndpointHandler.__init__

    def note(self: EndpointHandler, *arguments: object) -> None:
        prepare(self, *arguments)  # type: ignore[arg-type]
        paths.append(self.endpoint.path)

    monkeypatch.setattr(EndpointHandler, "__init__", note)
    return paths


async def test_a_gateway_is_built_without_its_endpoints_and_prepares_each_once(
    world: World, prepared: list[str]
) -> None:
    gateway = Gateway(world.settings())
    application = gateway.build_app_with_fast_path()
    assert not prepared
    assert application.warm_up is not None
    await application.warm_up()
    assert sorted(prepared) == sorted(row.path for row in ENDPOINTS)
    await application.warm_up()
    assert len(prepared) == len(ENDPOINTS)


async def test_the_first_request_prepares_its_endpoint(world: World, prepared: list[str]) -> None:
    async with gateway_client(world.settings(), world.keys.full) as client:
        for _ in range(2):
            assert (await client.get("/v1/units/unit-1")).status_code == 200
    assert prepared == ["/v1/units/{unit}"]
