"""`floorgate serve`: start the service, with the demo property on request.

The server, the application and their libraries take a second to import. They are imported within
functions, so that mongod starts in the meantime and other commands do not wait for them.
"""

import functools
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gateway.settings import ALL_OPTIONS, Settings, settings_from_parameters, with_options
from storage.embedded import embedded_mongo
from storage.maps import MAPS
from storage.mongo import driver

if TYPE_CHECKING:
    from gateway.server.config import CreateApplication

DEMO_BUNDLE = Path(__file__).parents[2] / "samples" / "demo" / "bundle.json"
DEMO_ASSET = "alder-court"
DEMO_MAP = "alder-court-floor-plates"
DEMO_KEY_DAYS = 30


@click.command()
@click.option("--demo", is_flag=True, help="Load the demo property and print a key for it.")
@with_options(*ALL_OPTIONS)
def serve(demo: bool, **values: Any) -> None:
    """Serve /v1 and /graphql until SIGTERM; print one line when ready."""
    settings = settings_from_parameters(values)
    if bool(settings.tls_cert) != bool(settings.tls_key):
        raise click.UsageError("--tls-cert and --tls-key must be used together")
    if settings.behind_proxy and settings.tls_cert:
        raise click.UsageError("--behind-proxy serves plain HTTP and excludes --tls-cert")
    with ExitStack() as stack:
        create_application = _start_mongod_and_import_application(settings, stack)
        from gateway.server import server
        from gateway.server.config import ConnectionLimits, ServerConfig

        certificate = _get_certificate_paths(settings)
        on_ready: Callable[[str], None] = server.announce_ready
        if demo:
            on_ready = _build_demo_announcement(_prepare_demo(settings), certificate)
        status = server.serve(
            ServerConfig(
                create_application,
                certificate,
                ConnectionLimits(
                    max_connections=settings.max_connections,
                    max_connections_per_address=(
                        0 if settings.behind_proxy else settings.max_connections_per_address
                    ),
                ),
                proxy_hops=settings.proxy_hops if settings.behind_proxy else 0,
                drain_seconds=settings.drain_seconds,
                headers=server.security_headers(
                    use_hsts=settings.behind_proxy or settings.tls_cert is not None
                ),
                log_level=settings.log_level,
                log_format=settings.log_format,
            ),
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            on_ready=on_ready,
        )
    sys.exit(status)


def _start_mongod_and_import_application(
    settings: Settings, stack: ExitStack
) -> "CreateApplication":
    """Start the embedded mongod, if used, while the application is imported."""
    with ThreadPoolExecutor(1) as pool:
        starting = None
        if not settings.mongo_url:
            starting = pool.submit(
                stack.enter_context, embedded_mongo.run_embedded_mongo(settings.data_dir)
            )
        from gateway.app import create_application

        if starting is not None:
            starting.result()
    return functools.partial(create_application, settings)


def _get_certificate_paths(settings: Settings) -> tuple[str, str] | None:
    if settings.behind_proxy:
        return None
    if settings.tls_cert and settings.tls_key:
        return str(settings.tls_cert), str(settings.tls_key)
    from gateway.server import tls

    certificate, key = tls.ensure_certificate(settings.data_dir)
    return str(certificate), str(key)


def _prepare_demo(settings: Settings) -> str:
    """Load the demo property unless it exists, and create an API key for it."""
    from gateway.cli.keys import CREATE_KEY
    from gateway.cli.operator import run_document, run_with_database
    from resolvers.request.caller import ADMIN_PERMISSION, PERMISSIONS

    run_with_database(settings, _load_demo)
    expires = datetime.now(UTC) + timedelta(days=DEMO_KEY_DAYS)
    created = run_document(
        settings,
        CREATE_KEY,
        {
            "name": "demo",
            "permissions": [
                permission for permission in PERMISSIONS if permission != ADMIN_PERMISSION
            ],
            "assetIds": [DEMO_ASSET],
            "allAssets": False,
            "expires": expires.isoformat(timespec="seconds"),
        },
    )
    key: str = created["createApiKey"]["key"]
    return key


async def _load_demo(database: driver.Database) -> None:
    """Load the demo property unless it exists: never overwrite later changes to it.

    Make its map routable unless it has been made so by a version with the same network format.
    """
    from resolvers.catalog import import_catalog
    from resolvers.processing.pipeline import ProcessingRequest, is_processed, process_and_publish
    from storage.bundles.importing.recovery import hold_import_lease
    from storage.records import visibility
    from storage.store import Store

    store = Store(database.client, database.name)
    async with hold_import_lease(database):  # also finishes an import that was killed
        demo_map = await store.find_record(MAPS, visibility.ALL_ASSETS, {"_id": DEMO_MAP})
    if demo_map is None:
        await import_catalog(database, [DEMO_BUNDLE])
    if not await is_processed(store, DEMO_MAP):
        click.echo("Making the demo map routable (only on the first start)", err=True)
        await process_and_publish(store, ProcessingRequest(DEMO_MAP, {}))


def _build_demo_announcement(
    key: str, certificate: tuple[str, str] | None
) -> Callable[[str], None]:
    from gateway.server import server

    cacert_option = f"--cacert {Path(certificate[0]).resolve()} " if certificate else ""

    def announce(url: str) -> None:
        server.announce_ready(url)
        click.echo(
            f"""
REST       {url}/v1/units
GraphiQL   {url}/graphql
Reference  {url}/v1/openapi
API key    {key}  (expires in {DEMO_KEY_DAYS} days)

curl {cacert_option}-H 'API-Key: {key}' '{url}/v1/units?per-page=10'
"""
        )

    return announce
