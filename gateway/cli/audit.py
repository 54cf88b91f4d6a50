"""`floorgate audit`: who changed what, when and from where."""

from datetime import datetime

import click
import msgspec

from gateway.cli.operator import complete_key_id, run_with_database
from gateway.cli.terminal import print_table
from gateway.settings import COUNT_OR_ZERO, Parsed, Settings, id_option, with_storage
from resolvers.request.times import parse_time
from storage.administration.audit import ACTIONS, AuditFilter, AuditRecord, iter_audit_records
from storage.mongo import driver

TIME = Parsed("time", parse_time)
"""A time in ISO 8601, in UTC if it has no offset."""


@click.command()
@click.option("--since", type=TIME, metavar="ISO", help="Only records from this time on.")
@click.option("--until", type=TIME, metavar="ISO", help="Only records from before this time.")
@id_option("--actor", help="Only what this key has changed, or this operator.")
@click.option("--action", type=click.Choice(ACTIONS), help="Only this action.")
@id_option("--target", help="Only changes of this key, map, unit or the like.")
@click.option(
    "--limit", type=COUNT_OR_ZERO, default=100, show_default=True, help="Records; 0 lists all."
)
@click.option("--json", "as_json", is_flag=True, help="Print one whole record per line, as JSON.")
@with_storage
def audit(
    since: datetime | None,
    until: datetime | None,
    actor: str | None,
    action: str | None,
    target: str | None,
    limit: int,
    as_json: bool,
    settings: Settings,
) -> None:
    """List who changed what, when and from where, the latest first."""
    rows: list[list[str]] = []

    async def work(database: driver.Database) -> None:
        audit_filter = AuditFilter(
            since,
            until,
            await complete_key_id(database, actor),
            action,
            await complete_key_id(database, target),
        )
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
