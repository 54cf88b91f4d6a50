"""`/clients/`: the typed clients and the map component, to install and to load from the service.

`make clients` builds them, and a wheel has them in it. The files are public: pages of any origin
may load them, and check them with `integrity`. A name with a version always means the same bytes;
names that stay mean the version of this service.
"""

import base64
import hashlib
from collections.abc import Callable
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp

from gateway.public_endpoints import (
    PLAIN_POLICY,
    not_built_response,
    page_headers,
    read_file,
    render_plain_page,
)
from gateway.responses import SharedResponses
from gateway.settings import FILES
from rest.dispatch import PathRoute
from rest.errors import not_found_error

DIST_DIR: Final = FILES / "clients" / "dist"
CLIENTS_PATH: Final = "/clients/"
_WHEEL: Final = "floorgate_client-{}-py3-none-any.whl"
_NAMES_THAT_STAY: Final = {
    "floorgate-client.tgz": "floorgate-client-{}.tgz",
    "floorgate-map.js": "floorgate-map-{}.js",
    "floorgate-map.tgz": "floorgate-map-{}.tgz",
}
"""Each with the name that has the version. pip installs no wheel without a version in its name."""
_FOR_ALL_ORIGINS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
_MEDIA_TYPES: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".tgz": "application/gzip",
    ".whl": "application/octet-stream",
}


class ClientPackages:
    """Serves the page and its files; each file is read and compressed once."""

    def __init__(self, get_base_url: Callable[[Request], str]) -> None:
        self._get_base_url = get_base_url
        self._files = SharedResponses()

    def build_routes(self) -> list[PathRoute]:
        return [
            PathRoute(CLIENTS_PATH.rstrip("/"), {"GET": self._add_slash}),
            PathRoute(CLIENTS_PATH, {"GET": self._get_page}),
            PathRoute(f"{CLIENTS_PATH}{{name}}", {"GET": self._get_file}),
        ]

    async def _add_slash(self, request: Request) -> ASGIApp:
        return RedirectResponse(f"{self._get_base_url(request)}{CLIENTS_PATH}", 308)

    async def _get_page(self, request: Request) -> ASGIApp:
        if (version := _find_version()) is None:
            return not_built_response("clients", "clients")
        page = render_page(self._get_base_url(request), version)
        headers = page_headers(PLAIN_POLICY) | {"Cache-Control": "no-cache"}
        return HTMLResponse(page, headers=headers)

    async def _get_file(self, request: Request) -> ASGIApp:
        if (version := _find_version()) is None:
            return not_built_response("clients", "clients")
        name = request.path_params["name"]
        versioned = {alias: each.format(version) for alias, each in _NAMES_THAT_STAY.items()}
        file = versioned.get(name, name)
        if file not in {_WHEEL.format(version), *versioned.values()}:
            message = f"{CLIENTS_PATH} lists the files, which are of version {version}"
            raise not_found_error(message)
        headers = {**_FOR_ALL_ORIGINS, "Content-Type": _MEDIA_TYPES[Path(file).suffix]}
        if file != name:
            headers["Cache-Control"] = "no-cache"
        read = partial(read_file, DIST_DIR / file, headers)
        return await self._files.get_or_make(f"{version}/{name}", read)


def _find_version() -> str | None:
    """Return the version of what is built, if it is."""
    wheels = DIST_DIR.glob(_WHEEL.format("*"))
    return next((wheel.name.split("-")[1] for wheel in wheels), None)


@cache
def _compute_integrity(component: Path) -> str:
    digest = hashlib.sha384(component.read_bytes()).digest()
    return f"sha384-{base64.b64encode(digest).decode()}"


def render_page(base_url: str, version: str) -> str:
    """Return the page with the commands that install from this address."""
    url = base_url + CLIENTS_PATH
    wheel = _WHEEL.format(version)
    client, component, _ = names = [each.format(version) for each in _NAMES_THAT_STAY.values()]
    script = f"""<script async src="{url}{component}"
  integrity="{_compute_integrity(DIST_DIR / component)}"
  crossorigin="anonymous"></script>
<floorgate-map url="{base_url}" api-key="fgk_…" map="my-map"></floorgate-map>"""
    main = f"""<a href="../">Floorgate</a>
<h1>Clients</h1>
<p>Version {version}, for the <a href="../v1/openapi">API</a> of this service. They are installed
without an API key. The guide of each is the file <code>README.md</code> in it.
<h2>Python</h2>
{_show(f"pip install {url}{wheel}")}
<h2>TypeScript and JavaScript</h2>
{_show(f"npm install {url}{client}")}
<h2>Maps in web pages</h2>
{_show(script)}
<h2>If the service has made its certificate itself</h2>
<p>Its operator has the certificate: <code>tls/cert.pem</code> in the data directory. These trust it
in addition to others; pip does from 24.2 on, which <code>pip install -U pip</code> installs.
{_show(f"pip install --cert cert.pem {url}{wheel}")}
{_show(f"NODE_EXTRA_CA_CERTS=cert.pem npm install {url}{client}")}
<h2>Files</h2>
<ul>{_link(wheel, *names)}</ul>
<p>A name with a version always means the same file. These mean the one of the service's version:
<ul>{_link(*_NAMES_THAT_STAY)}</ul>"""
    return render_plain_page("Clients of Floorgate", main)


def _show(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def _link(*names: str) -> str:
    return "\n".join(f'<li><a href="{name}">{name}</a>' for name in names)
