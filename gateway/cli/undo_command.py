"""The command that undoes an import or a removal."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from gateway.settings import STORAGE_OPTIONS


def format_undo_command(path: str | Path, options: Sequence[str]) -> str:
    """Return the command that imports an undo file into the database of the running command.

    Storage options that the command line has are repeated; the environment stays.

    >>> format_undo_command("un do.ndjson", ["--force-drawings"])
    "floorgate import --force-drawings 'un do.ndjson'"
    """
    parts = ["floorgate", "import", *options, *_list_storage_options()]
    text = str(path)
    return shlex.join([*parts, f"./{text}" if text.startswith("-") else text])


def _list_storage_options() -> list[str]:
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    return [
        text
        for name in STORAGE_OPTIONS
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        for text in (f"--{name.replace('_', '-')}", str(context.params[name]))
    ]
