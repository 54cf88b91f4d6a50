"""What needs no API key: health probes, browser pages, and the description of the API."""

import asyncio
import base64
import hashlib
import mimetypes
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp

from gateway.authentication import find_api_key
from gateway.exchange import Header, accepts_html
from gateway.responses import CachedResponse, SharedResponses
from gateway.state import GatewayState
from resolvers.request.caller import Caller
from rest.dispatch import Handler, PathRoute
from rest.errors import (
    ERRORS_PATH,
    JSON_MEDIA_TYPE,
    RETRY_AFTER_HEADERS,
    ErrorSource,
    HttpError,
    not_found_error,
    render_errors_page,
)
from rest.openapi.api_index import INDEX_PATH, ROOT_PATH, build_index, build_root
from rest.parameters import report_ignored, split_query_string
from schema.errors import UNAVAILABLE_MESSAGE
from schema.root import GRAPHQL_SCHEMA
from storage.bundles.description import build_bundle_schema
from storage.errors import UnavailableCause, UnavailableError
from storage.mongo import driver, topology

# The page at `/` for browsers: where people go on from, without scripts or an API key.
#
# It needs no built pages. Its one style sheet is in the page, and the policy admits it by its hash.


_STYLE = """
html { background: Canvas; }
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 44rem; margin: 0 auto; padding: 8vh 20px; }
h1 { margin: 0 0 8px; font-size: 2rem; }
pre { padding: 12px; border-radius: 8px; background: light-dark(#eef2f2, #16302e);
  white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; }
ul { padding: 0; list-style: none; }
li { margin: 20px 0; }
.first a { display: inline-block; padding: 12px 20px; border-radius: 8px; background: #0f766e;
  color: #fff; font-weight: 600; text-decoration: none; }
a:not(.first a) { color: light-dark(#0f766e, #5eead4); }
li span, .first span { display: block; }
.first span { margin-top: 8px; }
"""


def _hash_source(style: str) -> str:
    """Return what admits this style sheet in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"


PLAIN_POLICY: Final = (
    f"default-src 'none'; style-src {_hash_source(_STYLE)}; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

_LINKS: Final = {
    "graphql": ("GraphiQL", "Write and run GraphQL operations."),
    "v1/openapi": ("API reference", "Read about the endpoints of the REST API, and try them."),
    "v1/openapi.json": ("openapi.json", "The description of the REST API for programs."),
    "v1/postman.json": ("postman.json", "Requests to import into Postman, Bruno or Insomnia."),
    ERRORS_PATH.lstrip("/"): ("Errors", "What each code means, and whether to repeat the request."),
    "v1/bundle.schema.json": ("bundle.schema.json", "The JSON Schema of a catalog to import."),
    "clients/": ("Clients", "Install them for Python and TypeScript, or show maps in your pages."),
    "health/ready": ("Health", "Whether the service is ready."),
}
"""Name and purpose by address, relative to this page: a proxy may put a path before it."""


def render_plain_page(title: str, main: str) -> str:
    """Return a page that loads nothing, which `PLAIN_POLICY` admits."""
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{_STYLE}</style>
<main>{main}</main></html>
"""


def render_start_page() -> str:
    items = "\n".join(
        f'<li><a href="{address}">{name}</a><span>{purpose}</span>'
        for address, (name, purpose) in _LINKS.items()
    )
    main = f"""<h1>Floorgate</h1>
<p>An indoor-map and unit-directory service. Reading its data needs an API key, which its operator
gives out.
<p class="first"><a href="maps">Open the map explorer</a>
<span>Find units and amenities on the floors, and the way between them.</span>
<h2>For developers and operators</h2>
<ul>
{items}
</ul>
<p>The command <code>floorgate files</code> writes the guides and samples. Programs find all
endpoints at <a href="v1">/v1</a>."""
    return render_plain_page("Floorgate", main)


# The browser pages: the map explorer, GraphiQL, the API reference, and the assets they load.
#
# `make setup` builds them into `gateway/web/dist/` from the locked npm packages, so serving them
# needs no network. The content security policy of every response allows its own origin only.
# The server adds `X-Content-Type-Options` to these as to all other responses.


DIST_DIR = Path(__file__).parent / "web" / "dist"
EXPLORER_PATH = "/maps"
"""The address of the map explorer; its script reads the query and the fragment."""
YEAR_SECONDS = 365 * 24 * 3600

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; style-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
NONCE = "%NONCE%"
# GraphiQL's style sheet embeds its fonts. Its editor, Monaco, and the reference's Scalar add style
# sheets at run time (they get the nonce of the response) and style attributes (which cannot).
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
    "Vary": "Accept-Encoding, Origin",
}
_FILE_NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)
NOT_BUILT_HTML = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<title>Floorgate</title><main><h1>Floorgate</h1>
<p>The {what} are not built yet: run <code>make {target}</code> in the checkout and reload.
The API is served without them; <code>/v1/openapi.json</code> describes it.</p></main></html>
"""


def page_response(name: str) -> ASGIApp:
    """Return a built page. 503 while the pages are not built."""
    try:
        return _build_page(name) if name == "maps" else _make_page_with_nonce(name)
    except FileNotFoundError:
        return not_built_response("browser pages", "setup")


async def respond_with_page(name: str, _: Request) -> ASGIApp:
    return page_response(name)


def _make_page_with_nonce(name: str) -> Response:
    # A nonce is valid for one response only, so neither the response nor its encodings are kept.
    nonce = secrets.token_urlsafe(16)
    headers = {**page_headers(EDITOR_POLICY.replace(NONCE, nonce)), "Cache-Control": "no-store"}
    return HTMLResponse(_read_page(name).replace(NONCE, nonce), headers=headers)


def build_asset_routes() -> list[PathRoute]:
    """Return the route of the built assets, which answers 404 while the pages are not built.

    Their names contain a content hash, so they never expire. Each file is read and compressed once,
    because anyone may request it.
    """
    files = SharedResponses()

    async def asset(request: Request) -> CachedResponse:
        name = request.path_params["name"]
        if _FILE_NAME.fullmatch(name or "") is None:
            raise not_found_error()
        try:
            return await files.get_or_make(name, partial(read_file, DIST_DIR / "assets" / name))
        except FileNotFoundError:
            raise not_found_error() from None

    return [PathRoute("/pages/{name}", {"GET": asset})]


def read_file(file: Path, more_headers: Mapping[str, str] = MappingProxyType({})) -> CachedResponse:
    """Return a file, by default as an asset of the pages. Raises FileNotFoundError."""
    content = file.read_bytes()
    media_type = mimetypes.guess_type(file.name)[0]
    response = Response(content, headers={**ASSET_HEADERS, **more_headers}, media_type=media_type)
    return CachedResponse(response.raw_headers, content)


def not_built_response(what: str, target: str) -> Response:
    """Return a 503 that names the target of make which builds it."""
    headers = {**page_headers(PAGE_POLICY), "Cache-Control": "no-store"}
    return HTMLResponse(NOT_BUILT_HTML.format(what=what, target=target), 503, headers)


@cache
def _build_page(name: str) -> CachedResponse:
    # The policy of these pages allows no nonce, but the style sheet that is in the page.
    html = _read_page(name).replace(NONCE, "")
    style = html.partition("<style>")[2].partition("</style>")[0]
    policy = PAGE_POLICY.replace("style-src", f"style-src {_hash_source(style)}")
    return _keep_page(html, policy)


def _keep_page(html: str, policy: str, *headers: Header) -> CachedResponse:
    page = HTMLResponse(html, headers=page_headers(policy) | {"Cache-Control": "no-cache"})
    return CachedResponse([*page.raw_headers, *headers], bytes(page.body))


def page_headers(policy: str) -> dict[str, str]:
    return SECURITY_HEADERS | {"Content-Security-Policy": policy}


@cache
def _read_page(name: str) -> str:
    return (DIST_DIR / f"{name}.html").read_text(encoding="utf-8")


_VARY_ACCEPT = (b"vary", b"Accept, Accept-Encoding, Origin")
_START_PAGE = "start page"
_JSON = "/v1/openapi.json"
_YAML = "/v1/openapi.yaml"
_POSTMAN = "/v1/postman.json"

Authenticate = Callable[[Request], Awaitable[Caller]]
"""Returns the caller of a request. Raises HttpError."""
LoadContracts = Callable[[], Awaitable[tuple[Hashable, Sequence[str]]]]
"""Returns the contracts of the operator's own endpoints, and the version of all of them."""


class OpenApiEndpoints:
    """`/`, `/v1`, `/v1/openapi`, its documents, `/v1/bundle.schema.json` and `/v1/errors`.

    Each document is rendered once, in a thread, and so is each of its encodings: anyone may request
    it, and writing YAML takes seconds. Only the Postman collection, which takes a millisecond, has
    the address that its request was sent to.

    With a valid key, descriptions have the operator's own endpoints, too.
    """

    def __init__(
        self,
        base_url: str | None,
        authenticate: Authenticate | None = None,
        load_contracts: LoadContracts | None = None,
    ) -> None:
        self._base_url = base_url
        self._authenticate = authenticate
        self._load_contracts = load_contracts
        self._documents = SharedResponses()
        self._version: Hashable = None
        self._own_documents = SharedResponses()
        """The description with own endpoints, of the newest version of these."""
        self._makers: dict[str, Callable[[], CachedResponse]] = {
            ROOT_PATH: lambda: _keep_json(build_root(base_url), _VARY_ACCEPT),
            INDEX_PATH: lambda: _keep_json(build_index(GRAPHQL_SCHEMA, base_url)),
            _JSON: lambda: self._keep_description(_JSON),
            _YAML: lambda: self._keep_description(_YAML),
            "/v1/bundle.schema.json": lambda: _keep(
                orjson.dumps(build_bundle_schema()), "application/schema+json"
            ),
            ERRORS_PATH: lambda: _keep_page(render_errors_page(), ASSET_POLICY),
            _START_PAGE: lambda: _keep_page(render_start_page(), PLAIN_POLICY, _VARY_ACCEPT),
        }

    def build_routes(self) -> list[PathRoute]:
        handlers: dict[str, Handler] = {
            path: partial(self._respond, path) for path in self._makers if path != _START_PAGE
        }
        handlers[_POSTMAN] = partial(self._respond, _POSTMAN)
        handlers["/v1/openapi"] = partial(respond_with_page, "reference")
        return [
            PathRoute(EXPLORER_PATH, {"GET": partial(respond_with_page, "maps")}),
            *(
                PathRoute(path, {"GET": partial(_report_parameters, handler)})
                for path, handler in handlers.items()
            ),
        ]

    async def get_document(self, name: str) -> CachedResponse:
        return await self._documents.get_or_make(name, self._makers[name])

    async def _respond(self, path: str, request: Request) -> ASGIApp:
        """Return a document; at `/`, where everything is, browsers get a page."""
        key = find_api_key(request.scope)
        contracts: Sequence[str] = ()
        is_description = path in (_JSON, _YAML, _POSTMAN)
        if is_description and self._authenticate and (key.text or key.is_repeated):
            await self._authenticate(request)
            if self._load_contracts is not None:
                version, contracts = await self._load_contracts()
                if path != _POSTMAN:
                    return await self._get_own_document(path, version, contracts)
        if path == _POSTMAN:
            base_url = self._base_url or ErrorSource.from_scope(request.scope).base_url
            return await asyncio.to_thread(self._build_collection, base_url, contracts)
        is_page = path == ROOT_PATH and accepts_html(request.headers.get("accept", ""))
        return await self.get_document(_START_PAGE if is_page else path)

    async def _get_own_document(
        self, path: str, version: Hashable, contracts: Sequence[str]
    ) -> CachedResponse:
        """Return the description with own endpoints; that of an older version is not kept."""
        if version != self._version:
            self._version, self._own_documents = version, SharedResponses()
        make = partial(self._keep_description, path, contracts)
        return await self._own_documents.get_or_make(path, make)

    @cached_property
    def _description(self) -> dict[str, Any]:
        from rest.openapi import description  # takes long to import, and is seldom needed

        return description.build_description(GRAPHQL_SCHEMA, self._base_url)

    def _build_collection(self, base_url: str, contracts: Sequence[str]) -> Response:
        from rest.openapi import contracts as own
        from rest.openapi import postman

        described = own.add_contracts(self._description, contracts)
        collection = postman.build_collection(described, base_url)
        return Response(orjson.dumps(collection), media_type=JSON_MEDIA_TYPE)

    def _keep_description(self, path: str, contracts: Sequence[str] = ()) -> CachedResponse:
        from rest.openapi import contracts as own
        from rest.openapi import description

        described = own.add_contracts(self._description, contracts)
        if path == _JSON:
            return _keep_json(described)
        return _keep(description.to_yaml(described).encode(), "application/yaml")


async def _report_parameters(handler: Handler, request: Request) -> ASGIApp:
    """Return the handler's response, which names all parameters: none of them has any."""
    with suppress(HttpError):  # a query that cannot be read has no parameter to name
        report_ignored(request.scope, split_query_string(request.scope["query_string"]), ())
    return await handler(request)


def _keep_json(document: Any, *headers: Header) -> CachedResponse:
    return _keep(orjson.dumps(document), JSON_MEDIA_TYPE, *headers)


def _keep(document: bytes, media_type: str, *headers: Header) -> CachedResponse:
    return CachedResponse([(b"content-type", media_type.encode()), *headers], document)


READINESS_TIMEOUT_SECONDS = 1.0
READINESS_TTL_SECONDS = 0.5
"""The time that a result of the check is used: probes of anyone cost two pings a second at most."""


class HealthEndpoints:
    """`/health/live` and `/health/ready`."""

    def __init__(self, get_state: Callable[[], GatewayState | None]) -> None:
        self._get_state = get_state
        """Returns None while no more requests should be sent."""
        self._ping: asyncio.Task[UnavailableCause | None] | None = None
        self._ping_expires = 0.0

    def build_routes(self) -> list[PathRoute]:
        return [
            PathRoute("/health/live", {"GET": self.liveness}),
            PathRoute("/health/ready", {"GET": self.readiness}),
        ]

    async def liveness(self, _: Request) -> Response:
        """Answer 200: the process runs and its event loop is responsive."""
        return Response(orjson.dumps({"status": "live"}), media_type=JSON_MEDIA_TYPE)

    async def readiness(self, _: Request) -> Response:
        """Answer 200 if MongoDB can be read and the gateway does not stop. Raises HttpError 503."""
        state = self._get_state()
        if state is None:
            raise _NotReadyError(UnavailableCause.RESTARTING, {})
        cause, known = await self._find_cause(state.store.database), _describe_database(state)
        if cause is not None:
            raise _NotReadyError(cause, known)
        return Response(orjson.dumps({"status": "ready", **known}), media_type=JSON_MEDIA_TYPE)

    async def _find_cause(self, database: driver.Database) -> UnavailableCause | None:
        """Return the result of the ping in progress, of a recent one, or else of a new one."""
        now = time.monotonic()
        if self._ping is None or (self._ping.done() and now >= self._ping_expires):
            self._ping = asyncio.create_task(_ping(database))
            self._ping_expires = now + READINESS_TTL_SECONDS
        return await asyncio.shield(self._ping)


class _NotReadyError(HttpError):
    """The 503 of a probe, which also says what was found."""

    def __init__(self, cause: UnavailableCause, known: dict[str, Any]) -> None:
        super().__init__(503, UNAVAILABLE_MESSAGE, cause.value, headers=RETRY_AFTER_HEADERS)
        self._known = known

    def describe(self, source: ErrorSource) -> dict[str, Any]:
        return {"status": "unavailable", **self._known, **super().describe(source)}


def _describe_database(state: GatewayState) -> dict[str, Any]:
    """Return what is known without asking MongoDB. Anyone may read it: it names no member."""
    deployment = topology.of(state.store.database.client)
    primary, majority = deployment.has_primary(), deployment.has_majority()
    # The listener hears of a new primary a moment later.
    seconds = 0.0 if primary else deployment.listener.seconds_without_primary()
    lag = state.change_feed.get_lag_seconds()
    return {
        "primary": primary,
        "seconds_without_primary": round(seconds, 1),
        "majority": majority,
        "writes": primary and majority,
        "change_stream_lag_seconds": None if lag is None else round(lag, 1),
    }


async def _ping(database: driver.Database) -> UnavailableCause | None:
    """Return why MongoDB cannot be read, or None if it can."""
    try:
        async with asyncio.timeout(READINESS_TIMEOUT_SECONDS):
            await driver.ping(database.client, READINESS_TIMEOUT_SECONDS)
    except UnavailableError as error:
        return error.cause
    except TimeoutError:
        deployment = topology.of(database.client)
        is_known = deployment.has_primary()
        return UnavailableCause.DATABASE_UNREACHABLE if is_known else deployment.find_cause()
    return None
