"""`floorgate documents`: the GraphQL documents that gateways with --trusted-documents run."""

from pathlib import Path

import click
import msgspec

from gateway.cli.operator import run_with_database
from gateway.cli.terminal import print_table
from gateway.settings import STORABLE_TEXT, Settings, with_storage
from storage.administration import trusted_documents


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

    found = read_documents(paths)
    result = run_with_database(
        settings,
        lambda database: trusted_documents.register_documents(database, found),
        writes=True,
    )
    click.echo(
        f"{result.added:,} registered, {result.changed:,} with new ids,"
        f" {result.unchanged:,} were registered already"
    )


@documents.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one document per line, as JSON.")
@with_storage
def list_(as_json: bool, settings: Settings) -> None:
    """List the registered documents by the names of their operations."""
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


@documents.command()
@click.argument("ids", nargs=-1, metavar="[ID]...", type=STORABLE_TEXT)
@click.option("--all", "is_all", is_flag=True, help="Remove all documents.")
@with_storage
def remove(ids: tuple[str, ...], is_all: bool, settings: Settings) -> None:
    """Remove documents by their SHA-256, or any other of their ids."""
    if is_all == bool(ids):
        raise click.UsageError("give at least one ID, or --all")
    wanted = None if is_all else [id.removeprefix("sha256:") for id in ids]
    removed = run_with_database(
        settings,
        lambda database: trusted_documents.remove_documents(database, wanted),
        writes=True,
    )
    for digest in removed:
        click.echo(f"removed: {digest}")
    if not removed:
        click.echo("no such document is registered")
