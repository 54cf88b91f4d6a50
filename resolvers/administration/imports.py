"""The mutation that imports a bundle."""

from typing import Annotated, NamedTuple

from resolvers.administration.catalog import translate_import_errors
from resolvers.administration.import_and_process import import_and_process
from resolvers.processing.other_maps import NetworkPolicyArgument
from resolvers.processing.stale_networks import REPROCESS
from resolvers.request.context import Info
from resolvers.request.input_rules import argument
from resolvers.request.limits.deadlines import without_deadline


class ImportedKind(NamedTuple):
    """How many members of one kind were inserted, updated or unchanged."""

    kind: Annotated[str, "The array of the bundle, such as `units`."]
    inserted: int
    updated: int
    unchanged: int


class ImportResult(NamedTuple):
    """Result of an import or of a dry run."""

    kinds: list[ImportedKind]
    notes: Annotated[
        list[str],
        "Warnings: valid data that is probably a mistake, and maps that were routable and that the"
        " import changes.",
    ]


async def import_catalog_text(
    info: Info,
    bundle: Annotated[str, argument("The text of the bundle.")],
    dry_run: Annotated[
        bool, argument("Whether to check the bundle and count the changes without making them.")
    ] = False,
    networks: NetworkPolicyArgument = REPROCESS,
    merge: Annotated[
        bool,
        argument(
            "Whether to change only the fields that are given: others keep their stored values, and"
            " null sets null. A new record needs its required fields."
        ),
    ] = False,
) -> ImportResult:
    """Import a bundle from its text, JSON or newline-delimited: all of it, or nothing.

    Drawings of maps are in the bundle, as data URLs.
    """
    context = info.context
    with translate_import_errors(), without_deadline():
        summary = await import_and_process(
            context.bypass_caches(),
            [bundle.encode()],
            networks,
            dry_run=dry_run,
            merge=merge,
            origin=context.origin,
            pool=context.processing_pool,
            owner=context.caller.key_id,
        )
    kinds = [
        ImportedKind(kind, counts.inserted, counts.updated, counts.unchanged)
        for kind, counts in summary.kinds.items()
    ]
    return ImportResult(kinds, summary.notes)
