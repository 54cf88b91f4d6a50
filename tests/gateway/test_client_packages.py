"""`/clients/`: who may load the files, how long they are kept, and commands that can be copied."""

import base64
import gzip
import hashlib
import re
from html import unescape
from pathlib import Path

import pytest

from gateway import client_packages
from tests.fixtures import World, gateway_client

WHEEL = "floorgate_client-1.20261121.3-py3-none-any.whl"
VERSIONED = {
    WHEEL: "application/octet-stream",
    "floorgate-client-1.20261121.3.tgz": "application/gzip",
    "floorgate-map-1.20261121.3.js": "text/javascript; charset=utf-8",
    "floorgate-map-1.20261121.3.tgz": "application/gzip",
}


@pytest.fixture(autouse=True)
def dist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of the packages, instead of what `make clients` may have built."""
    monkeypatch.setattr(client_packages, "DIST_DIR", tmp_path / "dist")
    return tmp_path / "dist"


@pytest.fixture
def built(dist: Path) -> Path:
    dist.mkdir()
    for name in VERSIONED:
        (dist / name).write_text(f"{name}\n" * 100)
    return dist


async def test_a_file_with_a_version_is_kept_for_ever_and_for_pages_of_any_origin(
    world: World, built: Path
) -> None:
    async with gateway_client(world.settings()) as anonymous:
        for name, media_type in VERSIONED.items():
            response = await anonymous.get(f"/clients/{name}", headers={"Origin": "https://a.test"})
            assert response.content == (built / name).read_bytes()
            assert response.headers["content-type"] == media_type
            assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert response.headers["access-control-allow-origin"] == "*"
            assert response.headers["cross-origin-resource-policy"] == "cross-origin"
            head = await anonymous.head(f"/clients/{name}")
            assert head.headers["content-length"] == str((built / name).stat().st_size)


async def test_the_origins_that_may_read_data_do_not_limit_who_loads_the_files(
    world: World, built: Path
) -> None:
    settings = world.settings(cors_origins="https://allowed.test")
    async with gateway_client(settings) as client:
        for origin in ("https://allowed.test", "https://other.test"):
            response = await client.get("/clients/floorgate-map.js", headers={"Origin": origin})
            assert response.headers.get_list("access-control-allow-origin") == ["*"]


async def test_a_name_that_stays_is_asked_for_again(world: World, built: Path) -> None:
    async with gateway_client(world.settings()) as anonymous:
        for name in ("floorgate-client.tgz", "floorgate-map.tgz", "floorgate-map.js"):
            response = await anonymous.get(f"/clients/{name}")
            versioned = name.replace(".", "-1.20261121.3.")
            assert response.content == (built / versioned).read_bytes()
            assert response.headers["cache-control"] == "no-cache"
            known = {"If-None-Match": response.headers["etag"]}
            assert (await anonymous.get(f"/clients/{name}", headers=known)).status_code == 304


async def test_the_files_of_a_new_version_replace_those_of_the_old_one(
    world: World, built: Path
) -> None:
    async with gateway_client(world.settings()) as anonymous:
        assert (await anonymous.get("/clients/floorgate-map.js")).status_code == 200
        for file in built.iterdir():
            file.rename(built / file.name.replace("1121.3", "1121.4"))
        (built / "floorgate-map-1.20261121.4.js").write_text("newer")
        assert (await anonymous.get("/clients/floorgate-map.js")).text == "newer"
        old = await anonymous.get("/clients/floorgate-map-1.20261121.3.js")
        assert old.status_code == 404
        message = old.json()["message"]
        assert message == "Not found: /clients/ lists the files, which are of version 1.20261121.4"


@pytest.mark.parametrize(
    "path", ["/clients/build.py", "/clients/..%2fbuild.py", "/clients/%00", "/clients/a/b"]
)
async def test_nothing_but_the_packages_is_served(world: World, built: Path, path: str) -> None:
    (built / "build.py").touch()
    async with gateway_client(world.settings()) as anonymous:
        assert (await anonymous.get(path)).status_code == 404


async def test_the_page_has_commands_with_the_address_of_the_service(
    world: World, built: Path
) -> None:
    settings = world.settings(base_url="https://maps.example")
    async with gateway_client(settings) as anonymous:
        moved = await anonymous.get("/clients")
        assert (moved.status_code, moved.headers["location"]) == (
            308,
            "https://maps.example/clients/",
        )
        page = await anonymous.get("/clients/", headers={"Accept-Encoding": "gzip"})
        shown = [
            unescape(each) for each in re.findall("<pre><code>(.*?)</code></pre>", page.text, re.S)
        ]
        address = "https://maps.example/clients"
        assert shown[0] == f"pip install {address}/{WHEEL}"
        assert shown[1] == f"npm install {address}/floorgate-client-1.20261121.3.tgz"
        component = built / "floorgate-map-1.20261121.3.js"
        digest = base64.b64encode(hashlib.sha384(component.read_bytes()).digest()).decode()
        assert f'src="{address}/{component.name}"\n  integrity="sha384-{digest}"' in shown[2]
        for name in re.findall(r'href="(floorgate.+?)"', page.text):
            assert (await anonymous.get(f"/clients/{name}")).status_code == 200
        known = {"If-None-Match": page.headers["etag"]}
        assert (await anonymous.get("/clients/", headers=known)).status_code == 304


async def test_without_a_configured_address_the_page_has_the_one_it_was_asked_at(
    world: World, built: Path
) -> None:
    async with gateway_client(world.settings(base_url=None)) as anonymous:
        page = await anonymous.get("/clients/", headers={"Host": 'a"<b>&c'})
        assert "https://a&quot;&lt;b&gt;&amp;c/clients/" in page.text
        assert "<b>" not in page.text


async def test_without_packages_all_of_it_names_the_command_that_builds_them(
    world: World,
) -> None:
    async with gateway_client(world.settings()) as anonymous:
        for name in ("", "floorgate-map.js"):
            response = await anonymous.get(f"/clients/{name}")
            assert response.status_code == 503
            assert "<code>make clients</code>" in response.text
            assert response.headers["cache-control"] == "no-store"


async def test_a_file_is_compressed_for_those_who_accept_it(world: World, built: Path) -> None:
    async with gateway_client(world.settings()) as anonymous:
        address, headers = "/clients/floorgate-map.js", {"Accept-Encoding": "gzip"}
        async with anonymous.stream("GET", address, headers=headers) as response:
            assert response.headers["content-encoding"] == "gzip"
            sent = b"".join([part async for part in response.aiter_raw()])
        assert gzip.decompress(sent) == (built / "floorgate-map-1.20261121.3.js").read_bytes()
