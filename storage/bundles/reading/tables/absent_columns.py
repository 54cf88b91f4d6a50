"""Columns that a table needs and lacks, and the misspelt headers that may be meant."""

from collections.abc import Iterator, Mapping, Sequence

from storage.bundles.reading.suggestions import suggest
from storage.bundles.reading.tables.headers import Table
from storage.bundles.reading.tables.names import fold, header_of

KnownHeaders = Mapping[str, Sequence[str]]
"""By what a column holds, the headers that it may have."""
NEEDED_COLUMNS = {
    "asset": ("asset", "asset_id"),
    "floor": ("floor", "floor_id"),
    "unit": ("unit",),
}
"""What makes units in a table of apartments, and the columns that say it."""
MIN_RESEMBLANCE = 0.82
"""Of a misspelt header: "Flooring" is not meant to be "Floor"."""


def describe_absent(header: str, remedy: str, meant: str | None) -> str:
    """Return the message for a table without a column that it needs.

    >>> describe_absent("Name", ", which is required", "Nmae")
    'there is no column "Name", which is required; "Nmae" was not read: did you mean that?'
    """
    hint = f'; "{meant}" was not read: did you mean that?' if meant else ""
    return f'there is no column "{header}"{remedy}{hint}'


def find_meant(table: Table, known_headers: KnownHeaders) -> dict[str, str]:
    """Return the known header that each unread one resembles, of what no column holds."""
    known = [
        header
        for target, headers in known_headers.items()
        if target not in table.targets
        for header in headers
    ]
    found = {each: suggest(fold(each), known, MIN_RESEMBLANCE) for each in table.unread}
    return {header: meant for header, meant in found.items() if meant}


def find_absent(
    table: Table, known_headers: KnownHeaders, *, has_asset: bool
) -> Iterator[tuple[str, str]]:
    """Yield what a table of apartments needs and no column holds, and the message for it.

    A table of facts about units needs no floors, so they are absent only if a header is misspelt.
    The mapping may have the asset.
    """
    by_name = {meant: header for header, meant in find_meant(table, known_headers).items()}
    for needed, targets in NEEDED_COLUMNS.items():
        if table.targets.keys() & {*targets}:
            continue
        names = [name for target in targets for name in known_headers[target]]
        header = next((by_name[name] for name in names if name in by_name), None)
        if needed == "asset" and not has_asset:
            remedy = "; add one, or name it in the mapping: asset: ID"
            yield needed, describe_absent("Property", remedy, header)
        elif needed != "asset" and header:
            message = describe_absent(header_of(needed), ", which is required", header)
            yield needed, f"{message} If not, map it to ignore"
