"""`floorgate keys`, `documents` and `audit`: the API keys, the GraphQL documents that gateways with
--trusted-documents run, and who changed what, when and from where.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
import orjson

from gateway.cli.operator import find_missing_assets, run_with_database
from gateway.cli.terminal import print_notes, print_table
from gateway.settings import COUNT_OR_ZERO, STORABLE_TEXT, Parsed, Settings, id_option, with_storage
from resolvers.request.caller import ADMIN_PERMISSION, PERMISSIONS
from resolvers.request.times import parse_time

if TYPE_CHECKING:
    from storage.administration.api_keys import ApiKey
    from storage.administration.audit import AuditRecord
    from storage.mongo import driver

NEVER = "never"

CREATE_KEY = """mutation CreateKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { apiKey { id } key }
}"""
UPDATE_KEY = """mutation UpdateKey($input: UpdateApiKeyInput!) {
    updateApiKey(input: $input) { apiKey { id } }
}"""
ROTATE_KEY = """mutation RotateKey($input: RotateApiKeyInput!) {
    rotateApiKey(input: $input) {
        apiKey { id expires_at: expiresAt } key replaced { id expires_at: expiresAt }
    }
}"""
REVOKE_KEY = """mutation RevokeKey($input: RevokeApiKeyInput!) {
    revokeApiKey(input: $input) { apiKey { id } }
}"""
OPERATIONS = "gateway.cli.operations"
"""Imported only by commands that change keys: it takes a second, and `list` does without."""


SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def _parse_overlap(text: str) -> int:
    """Return the seconds of a number of seconds, minutes, hours or days. Raises ValueError."""
    match = re.fullmatch(r"([0-9]{1,9})([smhd])|0", text)
    if match is None:
        raise ValueError(f"must be 0, or a number with s, m, h or d, such as 24h, not {text!r}")
    from storage.administration import api_keys

    seconds = 0 if text == "0" else int(match[1]) * SECONDS[match[2]]
    if seconds > api_keys.MAX_OVERLAP_DAYS * SECONDS["d"]:
        raise ValueError(f"must be at most {api_keys.MAX_OVERLAP_DAYS}d, not {text}")
    return seconds


_permission_option = partial(
    click.option, "--permission", "permissions", multiple=True, type=click.Choice(PERMISSIONS)
)


_origin_option = partial(click.option, "--origin", "origins", multiple=True, metavar="ORIGIN")


@click.group()
def keys() -> None:
    """Create, list, update, rotate and revoke API keys."""


@keys.command()
@click.option(
    "--name", type=STORABLE_TEXT, required=True, help="A name that tells you who uses the key."
)
@_permission_option(help="A permission; repeatable.")
@id_option("--asset", "assets", multiple=True, help="An asset that the key can see; repeatable.")
@click.option(
    "--all-assets", is_flag=True, help="The key can see every asset, including future ones."
)
@_origin_option(
    help="Web pages that may use the key, such as https://www.example.com; repeatable. All, if none"
    " is given."
)
@click.option(
    "--expires", metavar="ISO", help="When the key expires, such as 2027-01-31T12:00:00Z."
)
@click.option("--json", "as_json", is_flag=True, help='Print {"id": ..., "key": ...}.')
@with_storage
def create(
    name: str,
    permissions: tuple[str, ...],
    assets: tuple[str, ...],
    all_assets: bool,
    origins: tuple[str, ...],
    expires: str | None,
    as_json: bool,
    settings: Settings,
) -> None:
    """Create a key and print it. It cannot be shown again."""
    if all_assets and assets:
        raise click.UsageError("--asset and --all-assets exclude each other")
    if ADMIN_PERMISSION in permissions and not all_assets:
        raise click.UsageError(f"--permission {ADMIN_PERMISSION} needs --all-assets")
    variables = {
        "name": name,
        "permissions": list(permissions),
        "assetIds": list(assets),
        "allAssets": all_assets,
        "origins": list(origins),
        "expires": expires,
    }

    async def work(database: driver.Database) -> tuple[dict[str, str], list[str]]:
        payload = (await _execute(database, CREATE_KEY, variables))["createApiKey"]
        created = {"id": payload["apiKey"]["id"], "key": payload["key"]}
        return created, await _build_asset_notes(database, assets)

    created, notes = run_with_database(settings, work, needs=OPERATIONS, writes=True)
    if not assets and not all_assets:
        click.echo("Note: this key can see no asset; use --asset or --all-assets.", err=True)
    if expires is None:
        click.echo("Note: this key never expires; --expires sets an end.", err=True)
    print_notes(notes)
    _print_key(created, as_json=as_json)


@keys.command()
@click.argument("key_id", type=STORABLE_TEXT, metavar="ID")
@click.option("--name", type=STORABLE_TEXT, help="Its new name.")
@_permission_option(help="A permission; repeatable. The key has these and no others.")
@click.option("--no-permissions", is_flag=True, help="The key has no permission.")
@id_option(
    "--asset",
    "assets",
    multiple=True,
    help="An asset that it sees; repeatable. The key sees these and no others.",
)
@id_option("--add-asset", "added", multiple=True, help="An asset that it sees in addition.")
@id_option("--remove-asset", "removed", multiple=True, help="An asset it no longer sees.")
@click.option("--all-assets", is_flag=True, help="The key sees every asset, also future ones.")
@_origin_option(help="Web pages that may use it; repeatable. These may and no others.")
@click.option("--any-origin", is_flag=True, help="All web pages may use it.")
@click.option("--expires", metavar="ISO", help=f"When it expires; `{NEVER}` removes its end.")
@click.option("--json", "as_json", is_flag=True, help="Print the changed key as JSON.")
@with_storage
def update(
    key_id: str,
    name: str | None,
    permissions: tuple[str, ...],
    no_permissions: bool,
    assets: tuple[str, ...],
    added: tuple[str, ...],
    removed: tuple[str, ...],
    all_assets: bool,
    origins: tuple[str, ...],
    any_origin: bool,
    expires: str | None,
    as_json: bool,
    settings: Settings,
) -> None:
    """Change a key. Every gateway applies it within a second; what is not given stays.

    ID may be the beginning of the id, if no other begins so.
    """
    if permissions and no_permissions:
        raise click.UsageError("--permission and --no-permissions exclude each other")
    if sum(map(bool, (assets, added or removed, all_assets))) > 1:
        raise click.UsageError(
            "--asset, --all-assets, and --add-asset or --remove-asset exclude each other"
        )
    if origins and any_origin:
        raise click.UsageError("--origin and --any-origin exclude each other")
    if name is expires is None and not any(
        (permissions, no_permissions, assets, added, removed, all_assets, origins, any_origin)
    ):
        raise click.UsageError("give at least one option that says what to change")
    variables = {
        "name": name,
        "permissions": list(permissions) if permissions or no_permissions else None,
        "assetIds": list(assets) or None,
        "addAssetIds": list(added),
        "removeAssetIds": list(removed),
        "allAssets": all_assets,
        "origins": list(origins) if origins or any_origin else None,
        "expires": None if expires == NEVER else expires,
        "neverExpires": expires == NEVER,
    }

    async def work(database: driver.Database) -> tuple[dict[str, Any], list[str]]:
        id = (await find_key(database, key_id)).id
        await _execute(database, UPDATE_KEY, {**variables, "id": id})
        return _describe_key(await find_key(database, id)), await _build_asset_notes(
            database, (*assets, *added)
        )

    changed, notes = run_with_database(settings, work, needs=OPERATIONS, writes=True)
    print_notes(notes)
    click.echo(orjson.dumps(changed) if as_json else f"updated {changed['id']}")


@keys.command()
@click.argument("key_id", type=STORABLE_TEXT, metavar="ID")
@click.option(
    "--overlap",
    type=Parsed("duration", _parse_overlap),
    default="24h",
    show_default=True,
    help="How long the old key goes on working, such as 30m or 7d; 0 ends it at once.",
)
@click.option(
    "--expires",
    metavar="ISO",
    help="When the new key expires; by default it lasts as long as the old one was to.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the new key and the old as JSON.")
@with_storage
def rotate(
    key_id: str, overlap: int, expires: str | None, as_json: bool, settings: Settings
) -> None:
    """Replace a key by a new one with the same name, permissions, assets and origins; print it.

    ID may be the beginning of the id, if no other begins so.
    """

    async def work(database: driver.Database) -> tuple[dict[str, Any], list[str]]:
        found = await find_key(database, key_id)
        variables = {"id": found.id, "overlapSeconds": overlap, "expires": expires}
        payload = (await _execute(database, ROTATE_KEY, variables))["rotateApiKey"]
        new, old = payload["apiKey"], payload["replaced"]
        rotated = {
            "id": new["id"],
            "key": payload["key"],
            "expires_at": new["expires_at"],
            "replaced_id": old["id"],
            "replaced_expires_at": old["expires_at"],
        }
        return rotated, await _build_asset_notes(database, found.asset_ids or ())

    rotated, notes = run_with_database(settings, work, needs=OPERATIONS, writes=True)
    print_notes(notes)
    _print_key(rotated, as_json=as_json)
    if as_json:
        return
    end = rotated["expires_at"]
    click.echo(
        f"The new key {f'expires at {end}' if end else 'never expires'}; the old one,"
        f" {rotated['replaced_id']}, expires at {rotated['replaced_expires_at']}.",
        err=True,
    )


@keys.command()
@click.argument("key_id", type=STORABLE_TEXT, metavar="ID")
@with_storage
def revoke(key_id: str, settings: Settings) -> None:
    """Revoke a key. Every gateway rejects it within a second.

    ID may be the beginning of the id, if no other begins so.
    """

    async def work(database: driver.Database) -> str:
        id = (await find_key(database, key_id)).id
        await _execute(database, REVOKE_KEY, {"id": id})
        return id

    id = run_with_database(settings, work, needs=OPERATIONS, writes=True)
    click.echo(f"revoked {id}")


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@with_storage
def list_keys(as_json: bool, settings: Settings) -> None:
    """List all keys, including expired and revoked ones."""
    from storage.administration import api_keys

    found = run_with_database(settings, api_keys.list_api_keys)
    found.sort(key=lambda key: (key.created_at, key.id))
    records = [_describe_key(key) for key in found]
    if as_json:
        click.echo(orjson.dumps(records))
        return
    rows = (
        (
            key["id"],
            key["name"],
            "all" if key["asset_ids"] is None else "\n".join(key["asset_ids"]),
            "\n".join(_describe_permissions(key)),
            "\n".join(key["origins"]) or "any",
            key["created_at"],
            f"revoked {key['revoked_at']}" if key["revoked_at"] else key["expires_at"],
            key["last_used_at"],
        )
        for key in records
    )
    print_table(
        ("Id", "Name", "Assets", "Permissions", "Origins", "Created", "Expires", "Last used"), rows
    )


MIN_PREFIX_CHARACTERS = 8
"""`key_` and four more."""
MAX_CANDIDATES = 10


async def find_key(database: driver.Database, text: str) -> ApiKey:
    """Return the key with this id, or else the only one with an id that begins so.

    Raises ClickException, which says what is right.
    """
    from storage.administration import api_keys

    found = await api_keys.list_keys_by_prefix(database, text, MAX_CANDIDATES + 1)
    if found and found[0].id == text:
        return found[0]
    if len(text) < MIN_PREFIX_CHARACTERS:
        raise click.ClickException(
            f"There is no key with the id {text!r}: give a whole id of `floorgate keys list`, or at"
            f" least its first {MIN_PREFIX_CHARACTERS} characters"
        )
    if not found:
        raise click.ClickException(
            f"There is no key with the id {text!r}, and none that begins so: `floorgate keys list`"
            " shows all ids"
        )
    if len(found) > 1:
        candidates = ", ".join(
            f"{key.id} ({key.name}{', revoked' if key.revoked_at else ''})"
            for key in found[:MAX_CANDIDATES]
        )
        more = ", ..." if len(found) > MAX_CANDIDATES else ""
        raise click.ClickException(
            f"Several keys have ids that begin with {text!r}: {candidates}{more}"
        )
    return found[0]


async def complete_key_id(database: driver.Database, text: str | None) -> str | None:
    """Return the id of the only key that begins so; the text itself if no key does, as ids of
    other records may be meant. Raises ClickException if several do."""
    from storage.administration import api_keys

    is_prefix = text is not None and len(text) >= MIN_PREFIX_CHARACTERS
    if text is None or not is_prefix or not await api_keys.list_keys_by_prefix(database, text, 1):
        return text
    return (await find_key(database, text)).id


def _print_key(created: dict[str, Any], *, as_json: bool) -> None:
    """Print a new key, which is not stored."""
    try:
        click.echo(orjson.dumps(created) if as_json else f"{created['id']}\n{created['key']}")
    except OSError as error:
        raise click.ClickException(
            f"standard output: {error.strerror}; the key {created['id']} was created, and its text"
            f" is lost: revoke it with floorgate keys revoke {created['id']}"
        ) from error
    if as_json:
        return
    click.echo("Only a hash of the key is stored: it cannot be shown again.", err=True)


def _describe_permissions(key: dict[str, Any]) -> list[str]:
    """Return the permissions of a key, with a note at one that older releases could give it."""
    notes = {} if key["asset_ids"] is None else {ADMIN_PERMISSION: " (no effect: not all assets)"}
    return [name + notes.get(name, "") for name in key["permissions"]]


def _describe_key(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "permissions": key.permissions,
        "asset_ids": key.asset_ids,
        "origins": key.origins,
        "created_at": key.created_at.isoformat(),
        "expires_at": _format(key.expires_at),
        "revoked_at": _format(key.revoked_at),
        "last_used_at": _format(key.last_used_at),
    }


def _format(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


async def _execute(
    database: driver.Database, document: str, inputs: dict[str, Any]
) -> dict[str, Any]:
    from gateway.cli.operations import execute
    from resolvers.request.kinds import name_word

    if permissions := inputs.get("permissions"):
        inputs = {**inputs, "permissions": [name_word(word) for word in permissions]}
    return await execute(database, document, {"input": inputs})


async def _build_asset_notes(database: driver.Database, asset_ids: Sequence[str]) -> list[str]:
    """Return a note for each asset that does not exist, with the ids that it may have meant."""
    missing = await find_missing_assets(database, asset_ids)
    return [f"there is no asset {asset!r} yet{hint or '.'}" for asset, hint in missing.items()]


@click.group()
def documents() -> None:
    """Register the GraphQL documents of your clients, and list and remove them.

    Clients send the id of a registered document instead of its text. Gateways that were started
    with --trusted-documents run no others.
    """


@documents.command()
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="FILE_OR_DIR...",
    type=click.Path(path_type=Path, exists=True),
)
@with_storage
def register(paths: tuple[Path, ...], settings: Settings) -> None:
    """Register all documents of some files, or none if one of them is invalid.

    A file has one document (.graphql, .gql), or is a manifest (.json) of Apollo's
    generate-persisted-query-manifest, of Relay's compiler, or of graphql-codegen's client preset.
    Documents that are registered already stay as they are. Gateways run new ones at once.
    """
    # Here, as the schema takes long to import.
    from gateway.cli.document_files import read_documents
    from storage.administration import trusted_documents

    found = read_documents(paths)
    work = partial(trusted_documents.register_documents, documents=found)
    result = run_with_database(settings, work, writes=True)
    click.echo(
        f"{result.added:,} registered, {result.changed:,} with new ids,"
        f" {result.unchanged:,} were registered already"
    )


@documents.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one document per line, as JSON.")
@with_storage
def list_documents(as_json: bool, settings: Settings) -> None:
    """List the registered documents by the names of their operations."""
    from storage.administration import trusted_documents

    found = run_with_database(settings, trusted_documents.list_documents)
    if as_json:
        for document in found:
            click.echo(msgspec.json.encode(document))
        return
    rows = (
        (each.sha256, ", ".join(each.operations), "\n".join(each.ids[1:]), each.registered_at)
        for each in found
    )
    print_table(("SHA-256", "Operations", "Other ids", "Registered"), rows)


@documents.command("remove")
@click.argument("ids", nargs=-1, metavar="[ID]...", type=STORABLE_TEXT)
@click.option("--all", "is_all", is_flag=True, help="Remove all documents.")
@with_storage
def remove_documents(ids: tuple[str, ...], is_all: bool, settings: Settings) -> None:
    """Remove documents by their SHA-256, or any other of their ids."""
    if is_all == bool(ids):
        raise click.UsageError("give at least one ID, or --all")
    from storage.administration import trusted_documents

    wanted = None if is_all else [id.removeprefix("sha256:") for id in ids]
    work = partial(trusted_documents.remove_documents, ids=wanted)
    removed = run_with_database(settings, work, writes=True)
    for digest in removed:
        click.echo(f"removed: {digest}")
    if not removed:
        click.echo("no such document is registered")


def _parse_action(text: str) -> str:
    """Return an action of the audit log. Raises ValueError."""
    from storage.administration.audit import ACTIONS

    if text not in ACTIONS:
        raise ValueError(f"must be one of {', '.join(ACTIONS)}, not {text!r}")
    return text


TIME = Parsed("time", parse_time)
"""A time in ISO 8601, in UTC if it has no offset."""


@click.command()
@click.option("--since", type=TIME, metavar="ISO", help="Only records from this time on.")
@click.option("--until", type=TIME, metavar="ISO", help="Only records from before this time.")
@id_option("--actor", help="Only what this key has changed, or this operator.")
@click.option("--action", type=Parsed("action", _parse_action), help="Such as key.created.")
@id_option("--target", help="Only changes of this key, map, unit, import or the like.")
@click.option(
    "--limit", type=COUNT_OR_ZERO, default=100, show_default=True, help="Records; 0 lists all."
)
@click.option("--json", "as_json", is_flag=True, help="Print one whole record per line, as JSON.")
@with_storage
def audit(limit: int, as_json: bool, settings: Settings, **wanted: Any) -> None:
    """List who changed what, when and from where, the latest first."""
    from storage.administration.audit import AuditFilter, iter_audit_records

    rows: list[list[str]] = []

    async def work(database: driver.Database) -> None:
        for name in ("actor", "target"):
            wanted[name] = await complete_key_id(database, wanted[name])
        audit_filter = AuditFilter(**wanted)
        async for record in iter_audit_records(database, audit_filter, limit):
            if as_json:
                click.echo(msgspec.json.encode(record))
            else:
                rows.append(_build_row(record))

    run_with_database(settings, work)
    if not as_json:
        print_table(("Time", "Actor", "From", "Action", "Target", "Changes"), rows)


def _build_row(record: AuditRecord) -> list[str]:
    actor = record.actor
    return [
        record.at.isoformat(timespec="seconds"),
        actor.actor_id if actor.name == actor.actor_id else f"{actor.actor_id}\n{actor.name}",
        f"{record.interface}\n{record.client_address}",
        record.action,
        "\n".join(record.target.ids),
        "\n".join(
            f"{change.count:,} {change.kind} {change.operation}" for change in record.changes
        ),
    ]
