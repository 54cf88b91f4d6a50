"""The package of the map component: what is published, and that TypeScript accepts it."""

import json
import tarfile
from pathlib import Path

import pytest

from tests.clients.map.pages import PACKAGE
from tests.rest.packages import install, npm

pytestmark = [pytest.mark.xdist_group("map"), pytest.mark.slow]

MAP_PAGE = """import { ENGLISH, readLink, type FloorgateMap } from '@floorgate/map'
const map: FloorgateMap = document.createElement('floorgate-map')
map.apiKey = 'fgk_of_a_website'
map.state = { ...map.state, ...readLink(location.search) }
map.texts = { search: ENGLISH.search.toUpperCase() }
map.addEventListener('unitselect', ({ detail }) => console.log(detail?.name.length))
// @ts-expect-error: there is no such way of travel
map.change({ mode: 'car' })
"""


def test_the_map_component_is_one_file_with_its_types(bundle: None, tmp_path: Path) -> None:
    installed = install(PACKAGE)
    installed.run(*npm(), "pack", "--silent", "--pack-destination", str(tmp_path))
    [archive] = tmp_path.glob("floorgate-map-*.tgz")
    modules = tmp_path / "node_modules"
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    (modules / "@floorgate").mkdir(parents=True)
    package = (tmp_path / "package").rename(modules / "@floorgate" / "map")
    names = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    own = {name for name in names if not name.endswith(".d.ts")}
    assert own == {"package.json", "README.md", "LICENSE", "dist/floorgate-map.js"}

    for dependency in json.loads((package / "package.json").read_text())["dependencies"]:
        (modules / dependency).symlink_to(PACKAGE / "node_modules" / dependency)
    (page := tmp_path / "page.ts").write_text(MAP_PAGE)
    resolution = ("--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom,dom.iterable")
    installed.tool("tsc", "--noEmit", "--strict", *resolution, page)
