"""`floorgate keys`: making, listing and ending API keys."""

from collections.abc import Iterator
from typing import Any

import click
import orjson
from rich.console import Console
from rich.table import Table

from gateway.cli.operator import run_document
from gateway.settings import STORAGE_OPTIONS, Settings, settings_from_parameters, with_options
from resolvers.request.caller import PERMISSIONS

CREATE_KEY = """mutation CreateKey(
    $name: String!, $permissions: [String!], $assetIds: [ID!],
    $allAssets: Boolean!, $expires: String
) {
    createApiKey(
        name: $name, permissions: $permissions, assetIds: $assetIds, allAssets: $allAssets,
        expires: $expires
    ) { id key }
}"""
FIND_ASSET = "query FindAsset($id: ID!) { asset(id: $id) { id } }"
REVOKE_KEY = "mutation RevokeKey($id: ID!) { revokeApiKey(id: $id) }"
LIST_KEYS = """query ListKeys($page: Int, $after: String) {
    apiKeys(page: $page, perPage: 10000, after: $after) {
        paging { currentPage next }
        data {
            id name permissions asset_ids: assetIds created_at: createdAt expires_at: expiresAt
            revoked_at: revokedAt last_used_at: lastUsedAt
        }
    }
}"""


@click.group()
def keys() -> None:
    """Make, list and end API keys."""


@keys.command()
@click.option("--name", required=True, help="What the key is for.")
@click.option(
    "--permission",
    "permissions",
    multiple=True,
    type=click.Choice(PERMISSIONS),
    help="A permission; may be given several times.",
)
@click.option(
    "--asset", "assets", multiple=True, metavar="ID", help="An asset that the key sees; repeatable."
)
@click.option("--all-assets", is_flag=True, help="The key sees every asset, also those to come.")
@click.option("--expires", metavar="ISO", help="When the key ends, such as 2027-01-31T12:00:00Z.")
@click.option("--json", "as_json", is_flag=True, help='Print {"id": ..., "key": ...}.')
@with_options(*STORAGE_OPTIONS)
def create(
    name: str,
    permissions: tuple[str, ...],
    assets: tuple[str, ...],
    all_assets: bool,
    expires: str | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Make a key and print it, this once."""
    if all_assets and assets:
        raise click.UsageError("give --asset or --all-assets, not both")
    created = run_document(
        settings_from_parameters(values),
        CREATE_KEY,
        {
            "name": name,
            "permissions": list(permissions),
            "assetIds": list(assets),
            "allAssets": all_assets,
            "expires": expires,
        },
    )["createApiKey"]
    if not assets and not all_assets:
        click.echo("Note: this key sees no asset; --asset and --all-assets give it some.", err=True)
    for asset in assets:
        if (
            run_document(settings_from_parameters(values), FIND_ASSET, {"id": asset})["asset"]
            is None
        ):
            click.echo(f"Note: there is no asset {asset!r} yet.", err=True)
    if as_json:
        click.echo(orjson.dumps(created))
    else:
        click.echo(f"{created['id']}\n{created['key']}")
        click.echo("The key is shown this once; it is not stored.", err=True)


@keys.command()
@click.argument("key_id", metavar="ID")
@with_options(*STORAGE_OPTIONS)
def revoke(key_id: str, **values: Any) -> None:
    """End a key, on every gateway within a second."""
    run_document(settings_from_parameters(values), REVOKE_KEY, {"id": key_id})
    click.echo(f"revoked {key_id}")


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@with_options(*STORAGE_OPTIONS)
def list_(as_json: bool, **values: Any) -> None:
    """List all keys, ended ones included."""
    found = sorted(_iter_keys(settings_from_parameters(values)), key=lambda key: key["created_at"])
    if as_json:
        click.echo(orjson.dumps(found))
        return
    table = Table("Id", "Name", "Assets", "Permissions", "Created", "Ends", "Last used")
    for key in found:
        assets = key["asset_ids"]
        table.add_row(
            key["id"],
            key["name"],
            "all" if assets is None else "\n".join(assets),
            "\n".join(key["permissions"]),
            key["created_at"],
            f"revoked {key['revoked_at']}" if key["revoked_at"] else key["expires_at"],
            key["last_used_at"],
        )
    Console().print(table)


def _iter_keys(settings: Settings) -> Iterator[dict[str, Any]]:
    paging: dict[str, Any] = {"currentPage": 0, "next": None}
    while paging["currentPage"] == 0 or paging["next"]:
        variables = {"page": paging["currentPage"] + 1, "after": paging["next"]}
        found = run_document(settings, LIST_KEYS, variables)["apiKeys"]
        yield from found["data"]
        paging = found["paging"]
