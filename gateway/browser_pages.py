"""The browser pages: the map explorer, GraphiQL, the API reference, and the assets they load.

`make setup` builds them into `gateway/web/dist/` from the locked npm packages, so serving them
needs no network. The content security policy of every response allows its own origin only.
The server adds `X-Content-Type-Options` to these as to all other responses.
"""

import mimetypes
import re
import secrets
from functools import cache, partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp

from gateway.cache.cached_response import CachedResponse
from gateway.cache.shared_responses import SharedResponses
from rest.errors import not_found_error
from rest.path_routing import PathRoute

DIST_DIR = Path(__file__).parent / "web" / "dist"
EXPLORER_PATH = "/maps"
YEAR_SECONDS = 365 * 24 * 3600

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; style-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
NONCE = "%NONCE%"
# GraphiQL's style sheet embeds its fonts. Monaco, its editor, adds style sheets at run time (they
# get the nonce of the response) and style attributes (which cannot have one).
EDITOR_POLICY = (
    f"{PAGE_POLICY}; font-src data:; "
    f"style-src-elem 'self' 'nonce-{NONCE}'; style-src-attr 'unsafe-inline'"
)
ASSET_POLICY = "default-src 'none'; frame-ancestors 'none'"

SECURITY_HEADERS = {
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
ASSET_HEADERS = SECURITY_HEADERS | {
    "Content-Security-Policy": ASSET_POLICY,
    "Cache-Control": f"public, max-age={YEAR_SECONDS}, immutable",
    "Vary": "Accept-Encoding",
}
_FILE_NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)
NOT_BUILT_HTML = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Floorgate</title>
<p>The browser pages are not built yet: run <code>make setup</code> in the checkout and reload.
The API is served without them; <code>/v1/openapi.json</code> describes it.</p></html>
"""


def graphiql_response() -> Response:
    """Return GraphiQL, for a browser's GET on `/graphql`. 503 while the pages are not built."""
    try:
        html = _read_page("graphiql")
    except FileNotFoundError:
        return _not_built_response()
    # A nonce is valid for one response only, so neither the response nor its encodings are kept.
    nonce = secrets.token_urlsafe(16)
    headers = {**_page_headers(EDITOR_POLICY.replace(NONCE, nonce)), "Cache-Control": "no-store"}
    return HTMLResponse(html.replace(NONCE, nonce), headers=headers)


def reference_response() -> ASGIApp:
    """Return the API reference, for `/v1/openapi`. 503 while the pages are not built."""
    try:
        return _build_page("reference")
    except FileNotFoundError:
        return _not_built_response()


async def explorer(_: Request) -> ASGIApp:
    """Return the map explorer, for `/maps`. 503 while the pages are not built.

    Its script reads the query and the fragment of the address.
    """
    try:
        return _build_page("maps")
    except FileNotFoundError:
        return _not_built_response()


def build_page_routes() -> list[PathRoute]:
    """Return the routes of pages that have an address of their own."""
    return [PathRoute(EXPLORER_PATH, {"GET": explorer})]


class PageAssets:
    """Serve the built assets. Their names contain a content hash, so they never expire.

    Each file is read and compressed once, because anyone may request it.
    """

    def __init__(self) -> None:
        self._files = SharedResponses()

    def build_routes(self) -> list[PathRoute]:
        """Return the route of the assets, which answers 404 while the pages are not built."""
        return [PathRoute("/pages/{name}", {"GET": self.asset})]

    async def asset(self, request: Request) -> CachedResponse:
        """Return an asset. Raises HttpError."""
        name = request.path_params["name"]
        if _FILE_NAME.fullmatch(name or "") is None:
            raise not_found_error()
        try:
            return await self._files.get_or_make(name, partial(_read_asset, name))
        except FileNotFoundError:
            raise not_found_error() from None


def _read_asset(name: str) -> CachedResponse:
    content = (DIST_DIR / "assets" / name).read_bytes()
    file = Response(content, headers=ASSET_HEADERS, media_type=mimetypes.guess_type(name)[0])
    return CachedResponse(file.raw_headers, content)


def static_page_response(html: str, policy: str = ASSET_POLICY) -> Response:
    """Return a page without scripts, and without styles unless the policy admits them."""
    headers = {**_page_headers(policy), "Cache-Control": "no-cache"}
    return HTMLResponse(html, headers=headers)


def _not_built_response() -> Response:
    headers = {**_page_headers(PAGE_POLICY), "Cache-Control": "no-store"}
    return HTMLResponse(NOT_BUILT_HTML, 503, headers)


@cache
def _build_page(name: str) -> CachedResponse:
    page = HTMLResponse(
        _read_page(name).replace(NONCE, ""),  # its policy allows no nonce
        headers=_page_headers(PAGE_POLICY) | {"Cache-Control": "no-cache"},
    )
    return CachedResponse(page.raw_headers, bytes(page.body))


def _page_headers(policy: str) -> dict[str, str]:
    return SECURITY_HEADERS | {"Content-Security-Policy": policy}


@cache
def _read_page(name: str) -> str:
    return (DIST_DIR / f"{name}.html").read_text(encoding="utf-8")
