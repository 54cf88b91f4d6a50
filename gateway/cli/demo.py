"""The demo property: loaded at the start of a gateway, with an API key for it."""

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path

import click

from gateway.cli.administration import CREATE_KEY
from gateway.cli.catalog import DEMO_BUNDLE
from gateway.cli.operations import execute
from gateway.cli.operator import run_with_database
from gateway.server import server
from gateway.settings import Settings
from resolvers.administration.catalog import import_catalog
from resolvers.processing.pipeline import ProcessingRequest, is_processed, process_and_publish
from resolvers.request.caller import ADMIN_PERMISSION, PERMISSIONS
from resolvers.request.kinds import name_word
from storage.administration.api_keys import delete_api_key
from storage.catalog import MAPS
from storage.embedded import embedded_mongo
from storage.importing.import_bundles import hold_import_lease
from storage.mongo import driver
from storage.records import visibility
from storage.store import Store

DEMO_ASSET = "alder-court"
DEMO_MAP = "alder-court-floor-plates"
DEMO_KEY_DAYS = 30


def load_demo(settings: Settings) -> None:
    """Load the demo property unless it exists."""
    run_with_database(settings, load_demo_property)
    # The process that multiprocessing has started for the pools would be left as a zombie by a
    # reload: the program that takes over does not know it.
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


async def load_demo_property(database: driver.Database) -> None:
    """Load the demo property unless it exists: never overwrite later changes to it.

    Make its map routable unless it has been made so by a version with the same network format.
    """
    store = Store(database.client, database.name)
    async with hold_import_lease(database):  # also finishes an import that was killed
        demo_map = await store.load_record(MAPS, visibility.ALL_ASSETS, DEMO_MAP)
    if demo_map is None:
        await import_catalog(database, [DEMO_BUNDLE])
    if not await is_processed(store, DEMO_MAP):
        click.echo("Making the demo map routable (only on the first start)", err=True)
        await process_and_publish(store, ProcessingRequest(DEMO_MAP, {}))


@contextmanager
def create_key(settings: Settings) -> Iterator[str]:
    """Yield a new key for the demo property, and delete those of gateways that no longer run.

    `<data directory>/demo-keys` has an empty file for each key, named by its id, which its gateway
    keeps locked. So several gateways may use the directory or the database at once, and no key is
    left after the next start but theirs.
    """
    folder = settings.data_dir / "demo-keys"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in folder.glob("key_*"):
        with embedded_mongo.open_lock_file(path) as file:
            # The file of a key that is in another database stays: that may be served again.
            if embedded_mongo.try_lock(file, embedded_mongo.EXCLUSIVE) and run_with_database(
                settings, partial(delete_api_key, key_id=path.name)
            ):
                path.unlink(missing_ok=True)
    expires = datetime.now(UTC) + timedelta(days=DEMO_KEY_DAYS)
    key = {
        "name": "demo",
        "permissions": [name_word(word) for word in PERMISSIONS if word != ADMIN_PERMISSION],
        "assetIds": [DEMO_ASSET],
        "expires": expires.isoformat(timespec="seconds"),
    }
    create = partial(execute, document=CREATE_KEY, variables={"input": key})
    created = run_with_database(settings, create)["createApiKey"]
    key_id = created["apiKey"]["id"]
    path = folder / f"new-{key_id}"
    with embedded_mongo.open_lock_file(path) as ours:
        embedded_mongo.try_lock(ours, embedded_mongo.EXCLUSIVE)
        path.rename(folder / key_id)
        os.set_inheritable(ours, True)  # the program that takes over on SIGHUP keeps the key
        yield created["key"]


def build_announcement(key: str, certificate: tuple[str, str] | None) -> Callable[[str], None]:
    """Return what prints, once the gateway is ready, where it is and a command to try."""
    trust = ["--cacert", str(Path(certificate[0]).resolve())] if certificate else []

    def announce(url: str) -> None:
        server.announce_ready(url)
        command = ["curl", *trust, "-H", f"API-Key: {key}", f"{url}/v1/units?per-page=10"]
        click.echo(
            f"""
Explorer   {url}/maps#key={key}
REST       {url}/v1/units
GraphiQL   {url}/graphql
Reference  {url}/v1/openapi
Clients    {url}/clients/
API key    {key}  (expires in {DEMO_KEY_DAYS} days)

{shlex.join(command)}
"""
        )

    return announce
