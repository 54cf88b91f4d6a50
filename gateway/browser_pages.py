"""The browser pages: GraphiQL, the API reference, and the assets that both load.

`make setup` builds them into `gateway/web/dist/` from the locked npm packages, so serving them
needs no network. The content security policy of every response allows its own origin only.
The server adds `X-Content-Type-Options` to these as to all other responses.
"""

import os
import secrets
from functools import cache
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import PathLike, StaticFiles
from starlette.types import ASGIApp, Scope

from gateway.cache.cached_response import CachedResponse
from rest.errors import method_not_allowed_error, not_found_error

DIST_DIR = Path(__file__).parent / "web" / "dist"
ASSETS_PREFIX = "/pages"
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
        return _build_reference()
    except FileNotFoundError:
        return _not_built_response()


def static_file_routes() -> list[BaseRoute]:
    """Return the mount of the assets, which answers 404 while the pages are not built."""
    return [
        Mount(
            ASSETS_PREFIX,
            app=PageFiles(directory=DIST_DIR / "assets", check_dir=False),
            name="pages",
        )
    ]


class PageFiles(StaticFiles):
    """Serve the built assets. Their names contain a content hash, so they never expire."""

    async def check_config(self) -> None:
        """Accept a missing directory: the pages tell how to build it, each asset is a 404."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return the asset, or an error with the same JSON body as all other errors."""
        try:
            return await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code == 405:
                return method_not_allowed_error(["GET", "HEAD"]).to_response()
            return not_found_error().to_response()

    def file_response(
        self, full_path: PathLike, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Send the precompressed `.gz` next to the file to clients that accept gzip."""
        gzipped = Path(f"{os.fspath(full_path)}.gz")
        if "gzip" in Headers(scope=scope).get("accept-encoding", "") and gzipped.exists():
            response = super().file_response(gzipped, gzipped.stat(), scope, status_code)
            if isinstance(response, FileResponse):
                response.headers["Content-Encoding"] = "gzip"
        else:
            response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(SECURITY_HEADERS)
        response.headers["Content-Security-Policy"] = ASSET_POLICY
        response.headers["Cache-Control"] = f"public, max-age={YEAR_SECONDS}, immutable"
        response.headers["Vary"] = "Accept-Encoding"
        return response


def _not_built_response() -> Response:
    headers = {**_page_headers(PAGE_POLICY), "Cache-Control": "no-store"}
    return HTMLResponse(NOT_BUILT_HTML, 503, headers)


@cache
def _build_reference() -> CachedResponse:
    page = HTMLResponse(
        _read_page("reference").replace(NONCE, ""),  # its policy allows no nonce
        headers=_page_headers(PAGE_POLICY) | {"Cache-Control": "no-cache"},
    )
    return CachedResponse(page.raw_headers, bytes(page.body))


def _page_headers(policy: str) -> dict[str, str]:
    return SECURITY_HEADERS | {"Content-Security-Policy": policy}


@cache
def _read_page(name: str) -> str:
    return (DIST_DIR / f"{name}.html").read_text(encoding="utf-8")
