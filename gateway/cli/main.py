"""The command line `floorgate`: its commands and its error messages."""

import errno
import importlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from gateway.errors import StartError, TlsError
from resolvers.request.errors import RequestError
from storage.errors import BundleError, StorageError, iter_notes

DEBUG_VARIABLE = "FLOORGATE_DEBUG"
AS_JSON = "floorgate.as_json"
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_WITHOUT_NAME = "standard output, or a temporary file"
EXPECTED_ERRORS = (StorageError, TlsError, StartError, RequestError)

COMMANDS = {
    "serve": ("serve:serve", "Serve /v1 and /graphql until SIGTERM; print one line when ready."),
    "import": (
        "catalog:import_",
        "Load catalog bundles: all of them, or nothing if any is invalid.",
    ),
    "check": (
        "catalog:check",
        "Check catalog bundles, spreadsheets and drawings (FILE.svg), and print all that is wrong.",
    ),
    "remove": (
        "catalog:remove",
        "Remove records and all that depends on them: all of it, or nothing.",
    ),
    "export": (
        "catalog:export",
        "Write the catalog to standard output, as a bundle that import accepts.",
    ),
    "template": (
        "catalog:template",
        "Write a workbook to fill in, with notes, choice lists and the rows of the demo.",
    ),
    "backup": ("backup:backup", "Save the whole database, as of one moment, to the file ARCHIVE."),
    "restore": (
        "backup:restore",
        "Replace the whole database by what floorgate backup has saved: all of it, or nothing.",
    ),
    "keys": ("administration:keys", "Create, list, update, rotate and revoke API keys."),
    "documents": (
        "administration:documents",
        "Register the GraphQL documents of your clients, and list and remove them.",
    ),
    "endpoints": (
        "endpoints:endpoints",
        "Make GraphQL operations endpoints of REST, and list, check and remove these.",
    ),
    "audit": (
        "administration:audit",
        "List who changed what, when and from where, the latest first.",
    ),
    "erase": (
        "erase:erase",
        "Erase what is left of an asset or a key, also in the audit log.",
    ),
    "doctor": (
        "doctor:doctor",
        "Check versions, disk, certificate, MongoDB and its content; say what to do.",
    ),
    "files": (
        "files:files",
        "Write the guides, samples and clients of this version to a new DIRECTORY.",
    ),
    "maps": ("maps:maps", "Work on unit maps."),
    "parse": ("parse:parse", "Parse unit maps and print their JSON; - reads standard input."),
    "schema": ("describe:schema", "Print the GraphQL schema in SDL."),
    "openapi": ("describe:openapi", "Print the OpenAPI description of the REST API."),
    "bundle-schema": (
        "describe:bundle_schema",
        "Print the JSON Schema of catalog bundles, with which editors complete and check them.",
    ),
}
"""They say where in `gateway.cli` a command is defined, and the first sentence of its help.

Commands are imported on use: all together take a second, and `floorgate --help` needs none."""


class LazyGroup(click.Group):
    """A group that imports commands on use and shows errors as one sentence, not a traceback.

    With `--json`, errors of a command are one object on standard output: `{"errors": [{"message":
    ...}], "error_count": 1}`, with the `place` of those that have one.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the first that a new user needs first."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Import the command that the arguments name. Raises click.UsageError."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and import_command(command.name or ""), rest

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note whether what the command prints is to be JSON, before its options are parsed."""
        ctx.meta[AS_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def main(self, *given: Any, **more: Any) -> Any:
        """Run a command and exit."""
        try:
            super().main(*given, **more)
        finally:
            try:
                if sys.stdout is not None:  # it may be closed
                    sys.stdout.flush()
            except OSError:  # else the end of the program tries again, and makes the status 120
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        """Parse the arguments; `--help` and `--version` are carried out meanwhile."""
        with _translate_errors():
            return super().make_context(*given, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Exit status 1: invalid input or environment; 2: wrong usage."""
        try:
            with _translate_errors():
                return super().invoke(ctx)
        except (click.ClickException, click.Abort) as error:
            with suppress(OSError):  # there may be no room for it either
                if ctx.meta[AS_JSON]:
                    _print_as_json(error)
                    raise click.exceptions.Exit(getattr(error, "exit_code", 1)) from error
            raise


def import_command(name: str) -> click.Command:
    module, _, attribute = COMMANDS[name][0].partition(":")
    command: click.Command = getattr(importlib.import_module(f"gateway.cli.{module}"), attribute)
    return command


def _print_as_json(error: click.ClickException | click.Abort) -> None:
    sentence = error.format_message() if isinstance(error, click.ClickException) else "Aborted"
    parts = getattr(error.__cause__, "parts", None) or [sentence]
    errors = [
        {"place": part.place, "message": part.message}
        if hasattr(part, "place")
        else {"message": str(part)}
        for part in parts
    ]
    count = getattr(error.__cause__, "total", len(errors))
    click.echo(json.dumps({"errors": errors, "error_count": count}))


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except EXPECTED_ERRORS as error:
        for note in error.notes if isinstance(error, BundleError) else ():
            click.echo(f"Note: {note}", err=True)
        raise click.ClickException("; ".join([str(error), *iter_notes(error)])) from error
    except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
        raise
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        if isinstance(error, OSError):  # a full disk, a read-only directory
            place = error.filename or (error.errno in _NO_ROOM and _WITHOUT_NAME)
            path = f"{place}: " if place else ""
            raise click.ClickException(f"{path}{error.strerror or error}") from error
        raise click.ClickException(
            f"an internal error ({type(error).__name__}: {error}); "
            f"{DEBUG_VARIABLE}=1 shows the traceback"
        ) from error


@click.group(
    cls=LazyGroup,
    commands={name: click.Command(name, help=text) for name, (_, text) in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="floorgate")
def main() -> None:
    """Floorgate: indoor maps and unit directories over REST and GraphQL."""
