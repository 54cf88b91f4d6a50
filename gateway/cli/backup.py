"""`floorgate backup` and `floorgate restore`: save and restore the whole database."""

from __future__ import annotations

import errno
import glob
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from gateway.cli.operator import run_with_database
from gateway.cli.terminal import show_progress
from gateway.settings import (
    STORAGE_OPTIONS,
    Settings,
    settings_from_parameters,
    with_options,
    with_storage,
)

if TYPE_CHECKING:
    from storage.backup.backups import Manifest, RestoreSummary
    from storage.mongo import driver

TIMEOUT_SECONDS = 120.0
STANDARD_STREAM = Path("-")
ARCHIVE_TYPE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


@click.command()
@click.argument("archive", type=ARCHIVE_TYPE, metavar="ARCHIVE")
@with_storage
def backup(archive: Path, settings: Settings) -> None:
    """Save the whole database, as of one moment, to the file ARCHIVE.

    It holds the catalog, drawings, routing networks, API keys (their digests) and the audit log. -
    writes to standard output. Gateways go on meanwhile. An existing ARCHIVE is replaced once the
    new one is complete.
    """
    from storage.backup import backups

    with _open_output(archive) as output, show_progress() as progress:

        async def work(database: driver.Database) -> Manifest:
            return await backups.save_backup(database, output, progress=progress)

        manifest = run_with_database(settings, work, TIMEOUT_SECONDS)
    click.echo(f"Saved {_describe(manifest)}.", err=True)


@click.command()
@click.argument("archive", type=ARCHIVE_TYPE, metavar="ARCHIVE")
@click.option("--check", is_flag=True, help="Only check the archive; no database is needed.")
@click.option("--yes", is_flag=True, help="Replace what is in the database without asking.")
@with_options(*STORAGE_OPTIONS)
def restore(archive: Path, check: bool, yes: bool, **values: Any) -> None:
    """Replace the whole database by what floorgate backup has saved: all of it, or nothing.

    Records, networks and API keys that ARCHIVE lacks are gone afterwards; the audit log keeps its
    records. Gateways go on meanwhile. - reads standard input.
    """
    from storage.backup import backups
    from storage.embedded import embedded_mongo

    with ExitStack() as stack:
        is_stream = archive == STANDARD_STREAM
        source = sys.stdin.buffer if is_stream else stack.enter_context(archive.open("rb"))
        if check:
            manifest = backups.read_manifest(source)
            _print_counts(("Documents", manifest.count_documents()))
            click.echo(f"The archive is whole: {_describe(manifest)}.", err=True)
            return
        settings = settings_from_parameters(values)
        if not settings.mongo_url:  # so that asking and restoring share one start
            stack.enter_context(embedded_mongo.run_embedded_mongo(settings.data_dir))
        if not yes:
            _confirm(settings, source)
        with show_progress() as progress:

            async def work(database: driver.Database) -> RestoreSummary:
                return await backups.restore_backup(
                    database, source, archive.name, progress=progress
                )

            summary = run_with_database(settings, work, TIMEOUT_SECONDS, writes=True)
    _print_counts(("Before", summary.before), ("Restored", summary.manifest.count_documents()))
    click.echo(f"Restored {_describe(summary.manifest)}.", err=True)
    if summary.regained_keys:
        click.echo(
            "Note: keys that had been revoked, ended or limited since are valid again as they were;"
            f" revoke them with floorgate keys revoke: {', '.join(summary.regained_keys)}",
            err=True,
        )


@contextmanager
def _open_output(archive: Path) -> Iterator[BinaryIO]:
    """Open a file that gets the name of the archive at the end, if nothing fails."""
    if archive == STANDARD_STREAM:
        if sys.stdout.isatty():
            raise click.UsageError("an archive is not text: send it to a file or another program")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from storage.embedded import embedded_mongo

    archive = archive.resolve()
    if archive.exists() and not archive.is_file():  # a pipe or a device
        with archive.open("wb") as device:
            yield device
        return
    partial = archive.with_name(f".{archive.name}.{os.getpid()}.partial")
    try:
        _remove_leftovers(archive)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            embedded_mongo.try_lock(descriptor, embedded_mongo.EXCLUSIVE)
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(archive)
        _sync_directory(archive.parent)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        raise click.ClickException(
            f"{archive}: {error.strerror or error}; no archive was written"
        ) from error
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()


def _remove_leftovers(archive: Path) -> None:
    """Remove the unlocked partial files of killed backups to this archive."""
    from storage.embedded import embedded_mongo

    for leftover in archive.parent.glob(f".{glob.escape(archive.name)}.*.partial"):
        with suppress(OSError):  # another user's, or removed meanwhile
            descriptor = os.open(leftover, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if embedded_mongo.try_lock(descriptor, embedded_mongo.EXCLUSIVE):
                    leftover.unlink()
            finally:
                os.close(descriptor)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _confirm(settings: Settings, source: BinaryIO) -> None:
    """Ask before anything is replaced. Raises click.Abort, or ClickException if none can answer."""
    from storage.administration.audit import AUDIT_COLLECTION
    from storage.backup import backups

    before = run_with_database(settings, backups.count_saved_documents, TIMEOUT_SECONDS)
    if not before.keys() - {AUDIT_COLLECTION}:
        return
    if not sys.stdin.isatty():
        raise click.ClickException(
            "the database is not empty; --yes replaces everything in it by what is in the archive"
        )
    manifest = backups.read_manifest(source)
    source.seek(0)
    _print_counts(("Now", before), ("In the archive", manifest.count_documents()))
    click.confirm(
        f"Replace everything by the state of {manifest.header.created}, keys included?",
        abort=True,
        err=True,
    )


def _describe(manifest: Manifest) -> str:
    documents = sum(manifest.count_documents().values())
    header = manifest.header
    return f"{documents:,} documents of {header.created} (Floorgate {header.release})"


def _print_counts(*columns: tuple[str, Mapping[str, int]]) -> None:
    from rich.console import Console
    from rich.table import Table

    from storage.backup import backups

    table = Table("Collection", *(title for title, _ in columns))
    for name in backups.SAVED_COLLECTIONS:
        counts = [counts.get(name, 0) for _, counts in columns]
        if any(counts):
            table.add_row(name, *(f"{count:,}" for count in counts))
    Console(stderr=True).print(table)
