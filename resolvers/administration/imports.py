"""The mutations that import a bundle, remove records, and process a map."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple, TypeAlias

import strawberry
from strawberry.scalars import JSON

from resolvers.administration.catalog import translate_import_errors
from resolvers.processing.build_task import REQUIRED_PERCENTAGE, ProcessingRequest
from resolvers.processing.stale_networks import (
    NETWORK_POLICIES,
    REPROCESS,
    NetworkPolicy,
    import_and_process,
    process_with_other_maps,
)
from resolvers.request.context import Info, without_deadline
from resolvers.request.errors import InvalidInputError
from resolvers.request.inputs import ID, POSITIVE, Each, Items, Length, OneOf, Syntax, argument
from resolvers.request.kinds import DescribedEnum, RecordKind, describe_enum, graphql_enum
from storage.importing.batches import BundleSource
from storage.importing.change_plan import ChangePlan as ChangePlan
from storage.importing.change_plan import ChangeRequest
from storage.importing.change_plan import RecordChange as RecordChange
from storage.importing.removals import RemovalLimit

describe_enum(
    NetworkPolicy,
    "What happens to routable maps whose drawing, scale, floors or locations change.",
    reprocess="They are processed again, if their plan is stored; otherwise as `withdraw`.",
    withdraw="They are not routable until they are processed.",
)
NetworkPolicyArgument: TypeAlias = Annotated[
    NetworkPolicy,
    argument(
        "What happens to routable maps whose drawing, scale, floors or locations change:"
        " `reprocess` processes them again, if their plan is stored; otherwise, and with"
        " `withdraw`, they are not routable until they are processed.",
        OneOf(*NETWORK_POLICIES),
    ),
]


class ProcessedMap(NamedTuple):
    """The result of processing a map."""

    map_id: str
    is_routable: Annotated[bool, "Whether there are routes and walking distances on the map now."]
    report: Annotated[
        JSON, "What is reached, and what to put right in the plan: causes, remedies, places."
    ]


async def process_map(
    info: Info,
    id: Annotated[strawberry.ID, argument("Id of the map.", ID)],
    plan: Annotated[
        str | None,
        argument(
            "The text of a floor plan; by default the map's own drawing, else the plan that it was"
            " processed from."
        ),
    ] = None,
    asset: Annotated[strawberry.ID | None, argument("Id of the asset of a new map.", ID)] = None,
    feet_per_unit: Annotated[
        float | None,
        argument("Scale of a unit map in SVG; the map's own by default.", POSITIVE),
    ] = None,
    require: Annotated[
        float,
        argument(
            "Percentage of the locations that must reach each other, in each mode.",
            REQUIRED_PERCENTAGE,
        ),
    ] = 0.0,
    strict: Annotated[
        bool,
        argument("Reject a plan with faulty elements, which are left out and reported otherwise."),
    ] = False,
    networks: NetworkPolicyArgument = REPROCESS,
) -> ProcessedMap:
    """Make a map routable: from what is stored of it, or from the text of a floor plan.

    The plan is a unit map in SVG, or OpenStreetMap indoor data in XML or GeoJSON. Where fewer than
    `require` per cent of the locations reach each other, in either mode, nothing changes; where
    none do, the map is no longer routable. The report says why. A plan that changes floors of the
    asset may make other maps stale: notes of the report say what became of these.
    """
    files = {} if plan is None else {"plan": plan.encode()}
    request = ProcessingRequest(
        id, files, None, asset, feet_per_unit, require=require, strict=strict
    )
    with translate_import_errors(), without_deadline("map"):
        outcome = await process_with_other_maps(
            info.context.bypass_caches(),
            request,
            networks,
            origin=info.context.origin,
            pool=info.context.processing_pool,
            owner=info.context.caller.key_id,
        )
    return ProcessedMap(id, outcome.published, JSON(outcome.report))


MAX_KEY_CHARACTERS = 3_000
"""The text of a key may have three ids of 255 characters, written as JSON."""
MAX_REMOVED_IDS = 5_000
MAX_MIRRORED_ASSETS = 1_000
MAX_UNDO_BYTES = 4_000_000
DIGEST_CHARACTERS = 64


@graphql_enum
class PlannedOperation(DescribedEnum):
    """What becomes of a record."""

    ADDED = "added", "It is new."
    CHANGED = "changed", "Some of its fields change."
    REMOVED = "removed", "It is removed."


class ImportedKind(NamedTuple):
    """How many records of one kind were inserted, updated, left unchanged or removed."""

    kind: Annotated[RecordKind, "The array of the bundle, such as `units`."]
    inserted: int
    updated: Annotated[int, "Also those that lose a reference to a removed record."]
    unchanged: int
    removed: int


class ImportResult(NamedTuple):
    """Result of an import or a removal, or of a dry run."""

    kinds: list[ImportedKind]
    notes: Annotated[
        list[str],
        "Warnings: valid data that is probably a mistake, and maps that were routable and that the"
        " import changes.",
    ]
    plan: Annotated[ChangePlan, "What changes, or would."]
    is_repetition: Annotated[
        bool,
        "Whether an import with this `importId` had been made: `kinds` is what it changed then.",
    ]
    refusal: Annotated[
        str | None, "Of a dry run: why it would be refused otherwise; null if it would not."
    ]
    undo: Annotated[
        str | None,
        "If it was asked for: the bundle, in the line form, that brings back what is changed or"
        " removed. Import it with `forceDrawings: true` if drawings had been forced.",
    ]


DryRun: TypeAlias = Annotated[
    bool, argument("Whether to check everything and return the plan without changing anything.")
]
MaxRemovals: TypeAlias = Annotated[
    str | None,
    argument(
        "How many records may be removed in all, such as `100`, or which share of each kind, such"
        " as `30%`.",
        Length(1, 20),
        Syntax(RemovalLimit.parse),
    ),
]
ExpectedPlan: TypeAlias = Annotated[
    str | None,
    argument(
        "The `digest` of a plan that was shown: if the plan is another now, nothing changes.",
        Length(DIGEST_CHARACTERS, DIGEST_CHARACTERS),
    ),
]
Undo: TypeAlias = Annotated[
    bool,
    argument(
        "Whether to return the bundle that undoes it. If that has over"
        f" {MAX_UNDO_BYTES:,} bytes, this is an error, and nothing changes."
    ),
]


ImportId: TypeAlias = Annotated[
    strawberry.ID | None,
    argument(
        "An id of your own for it. Sent again with the same id, by the same key, it is not made"
        " twice: the result says what it changed the first time. Of other content, it is an error.",
        ID,
    ),
]


async def import_catalog_text(
    info: Info,
    bundle: Annotated[str, argument("The text of the bundle.")],
    dry_run: DryRun = False,
    networks: NetworkPolicyArgument = REPROCESS,
    merge: Annotated[
        bool,
        argument(
            "Whether to change only the fields that are given: others keep their stored values, and"
            " null sets null. A new record needs its required fields."
        ),
    ] = False,
    force_drawings: Annotated[
        bool, argument("Whether to import drawings that are mostly an image, and so left out.")
    ] = False,
    sync: Annotated[
        bool,
        argument(
            "Whether to remove what the bundle does not have, of the kinds that it mentions. By"
            " default not more than a fifth of a kind."
        ),
    ] = False,
    assets: Annotated[
        list[strawberry.ID] | None,
        argument(
            "With `sync`: the assets to mirror, to which all members must belong.",
            Items(1, MAX_MIRRORED_ASSETS, "ids"),
            Each(ID),
        ),
    ] = None,
    max_removals: MaxRemovals = None,
    plan: ExpectedPlan = None,
    undo: Undo = False,
    import_id: ImportId = None,
) -> ImportResult:
    """Import a bundle from its text, JSON or newline-delimited: all of it, or nothing.

    Drawings of maps are in the bundle, as data URLs.
    """
    if not sync and (assets is not None or max_removals is not None):
        name = "maxRemovals" if assets is None else "assets"
        raise InvalidInputError(**{name: "needs `sync`"})
    if sync and merge:
        raise InvalidInputError(merge="excludes `sync`, which needs whole records")
    request = ChangeRequest(
        force_drawings=force_drawings,
        merges=merge,
        mirrors=sync,
        asset_ids=None if assets is None else frozenset(assets),
        limit=RemovalLimit() if max_removals is None else RemovalLimit.parse(max_removals),
        expected_digest=plan,
        max_undo_bytes=MAX_UNDO_BYTES if undo else None,
        import_id=import_id,
    )
    return await _import(info, [bundle.encode()], networks, request, dry_run)


async def remove_records(
    info: Info,
    kind: Annotated[RecordKind, argument("The kind of the records.")],
    ids: Annotated[
        list[strawberry.ID],
        argument(
            "Their ids; of kinds with several identifying fields, these with slashes between them,"
            " such as `oak-101/rentwell`, or as a JSON array.",
            Items(1, MAX_REMOVED_IDS, "ids"),
            Each(Length(1, MAX_KEY_CHARACTERS)),
        ),
    ],
    dry_run: DryRun = False,
    networks: NetworkPolicyArgument = REPROCESS,
    max_removals: MaxRemovals = None,
    plan: ExpectedPlan = None,
    undo: Undo = False,
    import_id: ImportId = None,
) -> ImportResult:
    """Remove records and all that depends on them: all of it, or nothing.

    The plan of a dry run shows what is removed with them.
    """
    request = ChangeRequest(
        removed_kind=kind.value,
        removed_keys=tuple(ids),
        limit=RemovalLimit(None) if max_removals is None else RemovalLimit.parse(max_removals),
        expected_digest=plan,
        max_undo_bytes=MAX_UNDO_BYTES if undo else None,
        import_id=import_id,
    )
    return await _import(info, [], networks, request, dry_run)


async def _import(
    info: Info,
    bundles: Sequence[BundleSource],
    networks: str,
    request: ChangeRequest,
    dry_run: bool,
) -> ImportResult:
    context = info.context
    with translate_import_errors(), without_deadline("import"):
        summary = await import_and_process(
            context.bypass_caches(),
            bundles,
            networks,
            dry_run=dry_run,
            origin=context.origin,
            pool=context.processing_pool,
            owner=context.caller.key_id,
            changes=request._replace(is_planned=True),
        )
    kinds = [
        ImportedKind(
            RecordKind(kind), counts.inserted, counts.updated, counts.unchanged, counts.removed
        )
        for kind, counts in summary.kinds.items()
    ]
    assert summary.plan is not None
    return ImportResult(
        kinds,
        summary.notes,
        summary.plan,
        summary.is_repetition,
        summary.refusal,
        summary.undo_bundle,
    )
