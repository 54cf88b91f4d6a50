"""`floorgate erase`: erase what is left of an asset that was removed, or of a key."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from gateway.cli.administration import complete_key_id
from gateway.cli.operator import run_with_database
from gateway.cli.terminal import print_notes, print_table
from gateway.settings import Settings, id_option, with_storage

if TYPE_CHECKING:
    from storage.administration.erasure import Erasure, Subject
    from storage.mongo import driver

REST = "backups, undo files and logs have it, and MongoDB's own files for a while: see the docs"


@click.command()
@id_option("--asset", help="An asset that was removed from the catalog.")
@id_option("--key", help="A key that was revoked, or deleted.")
@click.option("--dry-run", is_flag=True, help="Show what would be erased, and erase nothing.")
@click.option("--yes", is_flag=True, help="Erase without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print what was erased as JSON.")
@with_storage
def erase(
    asset: str | None, key: str | None, dry_run: bool, yes: bool, as_json: bool, settings: Settings
) -> None:
    """Erase what is left of an asset or a key, also in the audit log. Shows what, and asks.

    Records of the audit log stay, without what they say of it.
    """
    if (asset is None) == (key is None):
        raise click.UsageError("give --asset or --key")

    async def work(database: driver.Database) -> Erasure:
        from storage.administration.erasure import erase_traces, plan_erasure

        id = asset or await complete_key_id(database, key) or ""
        traces: tuple[Subject, str] = ("asset" if asset else "key", id)
        planned = await plan_erasure(database, *traces)
        if not as_json:
            rows = ((each.kind, f"{each.count:,}", each.operation) for each in planned.changes)
            print_table(("Collection", "Documents", "How"), rows)
            print_notes(f"{each} has it in its text, which stays" for each in planned.mentions)
        if dry_run or not planned.changes:
            return planned
        if not yes and (as_json or not sys.stdin.isatty()):
            raise click.UsageError("nothing was erased: --yes erases without asking")
        if not yes:
            click.confirm("Erase this? Nothing brings it back.", abort=True, err=True)
        await erase_traces(database, *traces)
        return planned

    erased = run_with_database(settings, work, writes=not dry_run)
    if as_json:
        click.echo(msgspec.json.encode(erased._asdict()))
    elif dry_run or not erased.changes:
        reason = "this was a dry run" if erased.changes else "there is nothing of it"
        click.echo(f"Nothing was erased: {reason}.", err=True)
    else:
        print_notes([REST])
