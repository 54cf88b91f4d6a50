"""The browser pages: GraphiQL, the API reference, and the assets that both load.

`make setup` builds them into `gateway/web/dist/` from the locked npm packages; serving them needs
no network. Every response carries a content security policy that names no origin but its own.
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
from starlette.types import Scope

from rest.errors import method_not_allowed_error, not_found_error

DIST_DIR = Path(__file__).parent / "web" / "dist"
ASSETS_PREFIX = "/pages"
YEAR_SECONDS = 365 * 24 * 3600

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; style-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
# GraphiQL's style sheet holds its fonts. Monaco adds style sheets at run time, which carry the
# nonce of the response, and writes its lines as HTML with style attributes, which can carry none.
EDITOR_POLICY = (
    f"{PAGE_POLICY}; font-src data:; "
    "style-src-elem 'self' 'nonce-%NONCE%'; style-src-attr 'unsafe-inline'"
)
ASSET_POLICY = "default-src 'none'; frame-ancestors 'none'"

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
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
    """GraphiQL, for a browser's GET on `/graphql`: 200, or 503 while the pages are not built."""
    return _page_response("graphiql", EDITOR_POLICY)


def reference_response() -> Response:
    """The API reference, for `/v1/openapi`: 200, or 503 while the pages are not built."""
    return _page_response("reference", PAGE_POLICY)


def asset_routes() -> list[BaseRoute]:
    """The mount of the assets; without a build it answers 404."""
    return [
        Mount(
            ASSETS_PREFIX,
            app=StaticAssets(directory=DIST_DIR / "assets", check_dir=False),
            name="pages",
        )
    ]


class StaticAssets(StaticFiles):
    """The built assets: their names hold a hash of the content, so a browser may keep them."""

    async def check_config(self) -> None:
        """Let a missing build be a 404 on each asset; the pages themselves say what to do."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The asset, or an error of the one shape that all errors have."""
        try:
            return await super().get_response(path, scope)
        except HTTPException as error:
            wrong_method = error.status_code == 405
            return (
                method_not_allowed_error(["GET", "HEAD"]) if wrong_method else not_found_error()
            ).to_response()

    def file_response(
        self, full_path: PathLike, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Serve the gzipped neighbour of the file to whoever accepts it."""
        zipped = Path(f"{os.fspath(full_path)}.gz")
        if "gzip" in Headers(scope=scope).get("accept-encoding", "") and zipped.exists():
            response = super().file_response(zipped, zipped.stat(), scope, status_code)
            if isinstance(response, FileResponse):
                response.headers["Content-Encoding"] = "gzip"
        else:
            response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(SECURITY_HEADERS)
        response.headers["Content-Security-Policy"] = ASSET_POLICY
        response.headers["Cache-Control"] = f"public, max-age={YEAR_SECONDS}, immutable"
        response.headers["Vary"] = "Accept-Encoding"
        return response


def _page_response(name: str, policy: str) -> Response:
    try:
        html, status = _read_page(name), 200
    except FileNotFoundError:
        html, status = NOT_BUILT_HTML, 503
    nonce = secrets.token_urlsafe(16)
    headers = SECURITY_HEADERS | {
        "Content-Security-Policy": policy.replace("%NONCE%", nonce),
        "Cache-Control": "no-store",  # a nonce must not be used twice
    }
    return HTMLResponse(html.replace("%NONCE%", nonce), status, headers)


@cache
def _read_page(name: str) -> str:
    return (DIST_DIR / f"{name}.html").read_text(encoding="utf-8")
