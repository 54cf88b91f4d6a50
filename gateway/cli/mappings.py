"""The mapping of spreadsheets, for commands that read them."""

from collections.abc import Sequence
from pathlib import Path

import click

from storage.bundles.reading.batches import BundleSource, is_table
from storage.bundles.reading.tables.mapping.files import read_mapping
from storage.bundles.reading.tables.reader import Spreadsheet

MAPPING_OPTION = click.option(
    "--mapping",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What the sheets and columns of spreadsheets hold (YAML).",
)


def with_mapping(paths: Sequence[str], mapping: Path | None) -> list[BundleSource]:
    """Return the paths, the spreadsheets among them with the mapping."""
    if mapping is None:
        return [*paths]
    read = read_mapping(mapping)
    sources: list[BundleSource] = [
        Spreadsheet(Path(path), read, str(mapping)) if is_table(path) else path for path in paths
    ]
    if not any(isinstance(source, Spreadsheet) for source in sources):
        raise click.UsageError("--mapping is for spreadsheets, and there is none among the files")
    return sources
