"""`floorgate keys`: create, list and revoke API keys."""

from collections.abc import Iterator
from typing import Any

import click
import orjson
from rich.console import Console
from rich.table import Column, Table

from gateway.cli.operator import run_document
from gateway.settings import STORAGE_OPTIONS, Settings, settings_from_parameters, with_options
from resolvers.request.arguments import MAX_PER_PAGE
from resolvers.request.caller import ADMIN_PERMISSION, PERMISSIONS

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
LIST_KEYS = f"""query ListKeys($page: Int, $after: String) {{
    apiKeys(page: $page, perPage: {MAX_PER_PAGE}, after: $after) {{
        paging {{ currentPage next }}
        data {{
            id name permissions asset_ids: assetIds created_at: createdAt expires_at: expiresAt
            revoked_at: revokedAt last_used_at: lastUsedAt
        }}
    }}
}}"""


@click.group()
def keys() -> None:
    """Create, list and revoke API keys."""


@keys.command()
@click.option("--name", required=True, help="A name that tells you who uses the key.")
@click.option(
    "--permission",
    "permissions",
    multiple=True,
    type=click.Choice(PERMISSIONS),
    help="A permission; repeatable.",
)
@click.option(
    "--asset",
    "assets",
    multiple=True,
    metavar="ID",
    help="An asset that the key can see; repeatable.",
)
@click.option(
    "--all-assets", is_flag=True, help="The key can see every asset, including future ones."
)
@click.option(
    "--expires", metavar="ISO", help="When the key expires, such as 2027-01-31T12:00:00Z."
)
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
    """Create a key and print it. It cannot be shown again."""
    if all_assets and assets:
        raise click.UsageError("--asset and --all-assets exclude each other")
    if ADMIN_PERMISSION in permissions and not all_assets:
        raise click.UsageError(f"--permission {ADMIN_PERMISSION} needs --all-assets")
    settings = settings_from_parameters(values)
    created = run_document(
        settings,
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
        click.echo("Note: this key can see no asset; use --asset or --all-assets.", err=True)
    if expires is None:
        click.echo("Note: this key never expires; --expires sets an end.", err=True)
    for asset in assets:
        if run_document(settings, FIND_ASSET, {"id": asset})["asset"] is None:
            click.echo(f"Note: there is no asset {asset!r} yet.", err=True)
    if as_json:
        click.echo(orjson.dumps(created))
    else:
        click.echo(f"{created['id']}\n{created['key']}")
        click.echo("Only a hash of the key is stored: it cannot be shown again.", err=True)


@keys.command()
@click.argument("key_id", metavar="ID")
@with_options(*STORAGE_OPTIONS)
def revoke(key_id: str, **values: Any) -> None:
    """Revoke a key. Every gateway rejects it within a second."""
    run_document(settings_from_parameters(values), REVOKE_KEY, {"id": key_id})
    click.echo(f"revoked {key_id}")


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@with_options(*STORAGE_OPTIONS)
def list_(as_json: bool, **values: Any) -> None:
    """List all keys, including expired and revoked ones."""
    records = sorted(
        _iter_keys(settings_from_parameters(values)), key=lambda record: record["created_at"]
    )
    if as_json:
        click.echo(orjson.dumps(records))
        return
    # Cells fold in a narrow terminal: rich would cut them, and an id must stay one word to copy.
    table = Table(Column("Id", no_wrap=True))
    for title in ("Name", "Assets", "Permissions", "Created", "Expires", "Last used"):
        table.add_column(title, overflow="fold")
    for key in records:
        assets = key["asset_ids"]
        table.add_row(
            key["id"],
            key["name"],
            "all" if assets is None else "\n".join(assets),
            "\n".join(_describe_permissions(key)),
            key["created_at"],
            f"revoked {key['revoked_at']}" if key["revoked_at"] else key["expires_at"],
            key["last_used_at"],
        )
    Console(markup=False, emoji=False).print(table)  # names may hold [brackets] and :colons:


def _describe_permissions(key: dict[str, Any]) -> list[str]:
    """Return the permissions of a key, with a note at one that older releases could give it."""
    notes = {} if key["asset_ids"] is None else {ADMIN_PERMISSION: " (no effect: not all assets)"}
    return [name + notes.get(name, "") for name in key["permissions"]]


def _iter_keys(settings: Settings) -> Iterator[dict[str, Any]]:
    paging: dict[str, Any] = {"currentPage": 0, "next": None}
    while paging["currentPage"] == 0 or paging["next"]:
        variables = {"page": paging["currentPage"] + 1, "after": paging["next"]}
        page = run_document(settings, LIST_KEYS, variables)["apiKeys"]
        yield from page["data"]
        paging = page["paging"]
