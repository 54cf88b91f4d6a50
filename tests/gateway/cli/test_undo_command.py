"""The command that undoes an import, as it is printed."""

import click
from click.testing import CliRunner

from gateway.cli.undo_command import format_undo_command
from gateway.settings import STORAGE_OPTIONS, with_options


def printed(*arguments: str, **environment: str) -> str:
    @click.command()
    @with_options(*STORAGE_OPTIONS)
    def command(**values: object) -> None:
        click.echo(format_undo_command("-undo", []))

    return CliRunner().invoke(command, arguments, env=environment).stdout.strip()


def test_options_of_the_storage_are_repeated_as_given() -> None:
    assert printed() == "floorgate import ./-undo"
    given = ("--data-dir", "/my data", "--database", "oak")
    assert printed(*given) == "floorgate import --data-dir '/my data' --database oak ./-undo"
    assert printed(FLOORGATE_DATABASE="oak") == "floorgate import ./-undo"
