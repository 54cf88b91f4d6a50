"""importCatalog: the operator's import through GraphQL."""

import base64
import json

import httpx
import pytest

from tests.fixtures import SEEN, World, data_of, gateway_client, post_graphql

pytestmark = pytest.mark.anyio

IMPORT = """mutation ($bundle: String!, $dryRun: Boolean!) {
    importCatalog(input: { bundle: $bundle, dryRun: $dryRun }) {
        kinds { kind inserted updated unchanged } notes
    }
}"""
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def bundle(**maps: str) -> str:
    members = [{"id": id, "asset_id": SEEN, "name": id, "source": at} for id, at in maps.items()]
    return json.dumps({"assets": [{"id": "new", "name": "New"}], "maps": members})


def inlined(svg: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


async def test_a_bundle_is_imported_with_its_drawings(own_world: World) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        text = bundle(m=inlined(SVG))
        planned = await data_of(client, IMPORT, {"bundle": text, "dryRun": True})
        assert await data_of(client, '{ asset(id: "new") { id } }') == {"asset": None}
        done = await data_of(client, IMPORT, {"bundle": text, "dryRun": False})
        assert planned == done
        assert done["importCatalog"]["kinds"] == [
            {"kind": "assets", "inserted": 1, "updated": 0, "unchanged": 0},
            {"kind": "maps", "inserted": 1, "updated": 0, "unchanged": 0},
        ]
        found = await data_of(client, '{ map(id: "m") { parsed } }')
        assert found["map"]["parsed"]["width"] == 1


@pytest.mark.parametrize("source", ["/etc/passwd", "drawing.svg"])
async def test_no_file_of_the_server_is_read(own_world: World, source: str) -> None:
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        body = await post_graphql(client, IMPORT, {"bundle": bundle(m=source), "dryRun": False})
        assert body["errors"][0]["extensions"]["code"] == "REFUSED_DOCUMENT"
        assert body["errors"][0]["message"] == (
            "bundle: $.maps[0].source: must be a data URL, because the bundle is not a file"
        )
        assert await data_of(client, '{ asset(id: "new") { id } }') == {"asset": None}


async def test_only_operators_may_import(restricted: httpx.AsyncClient) -> None:
    body = await post_graphql(restricted, IMPORT, {"bundle": "{}", "dryRun": True})
    assert body["errors"][0]["message"].endswith("lacks the permission service.admin")
