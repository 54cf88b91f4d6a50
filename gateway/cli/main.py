"""The command line `floorgate`: its commands and its error messages."""

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from gateway.errors import StartError, TlsError
from resolvers.request.errors import RequestError
from storage.errors import BundleError, StorageError, UnavailableError, iter_notes

DEBUG_VARIABLE = "FLOORGATE_DEBUG"
EXPECTED_ERRORS = (StorageError, TlsError, StartError, RequestError)

COMMAND_PATHS = {
    "serve": "gateway.cli.serve:serve",
    "import": "gateway.cli.catalog:import_",
    "check": "gateway.cli.check:check",
    "remove": "gateway.cli.catalog:remove",
    "export": "gateway.cli.catalog:export",
    "template": "gateway.cli.catalog:template",
    "backup": "gateway.cli.backup:backup",
    "restore": "gateway.cli.backup:restore",
    "keys": "gateway.cli.keys:keys",
    "documents": "gateway.cli.documents:documents",
    "audit": "gateway.cli.audit:audit",
    "doctor": "gateway.cli.doctor:doctor",
    "maps": "gateway.cli.maps:maps",
    "parse": "gateway.cli.parse:parse",
    "schema": "gateway.cli.describe:schema",
    "openapi": "gateway.cli.describe:openapi",
    "bundle-schema": "gateway.cli.describe:bundle_schema",
}
"""Where each command is defined. Imported on use: all together take a second to import."""


class LazyGroup(click.Group):
    """A group that imports commands on use and shows errors as one sentence, not a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the first that a new user needs first."""
        return list(COMMAND_PATHS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command. Return None if there is none of this name."""
        if cmd_name not in COMMAND_PATHS:
            return None
        module, _, name = COMMAND_PATHS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Exit status 1: invalid input or environment; 2: wrong usage."""
        with _translate_errors():
            return super().invoke(ctx)


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except EXPECTED_ERRORS as error:
        is_lost = type(error) is UnavailableError  # the messages of others say what to do
        hint = ": is it running, and is --mongo-url right?" if is_lost else ""
        for note in error.notes if isinstance(error, BundleError) else ():
            click.echo(f"Note: {note}", err=True)
        raise click.ClickException("; ".join([f"{error}{hint}", *iter_notes(error)])) from error
    except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
        raise
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        if isinstance(error, OSError):  # a full disk, a read-only directory
            path = f"{error.filename}: " if error.filename else ""
            raise click.ClickException(f"{path}{error.strerror or error}") from error
        raise click.ClickException(
            f"an internal error ({type(error).__name__}: {error}); "
            f"{DEBUG_VARIABLE}=1 shows the traceback"
        ) from error


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="floorgate")
def main() -> None:
    """Floorgate: indoor maps and unit directories over REST and GraphQL."""
