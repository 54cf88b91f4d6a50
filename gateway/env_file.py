"""`--env-file`: settings in a file of variables, which a reload reads anew."""

from pathlib import Path
from typing import Any

import click

from gateway.settings import ALL_OPTIONS, environment_variable, warn_if_readable_by_others

_SETTINGS = {environment_variable(name): name for name in ALL_OPTIONS}


def _read_env_file(ctx: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Use the variables in a file as defaults of a command, as a callback of click.

    Options and variables of the environment go before. Raises click.BadParameter.
    """
    if path is None:
        return None
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise click.BadParameter(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise click.BadParameter(f"{path}, line {number}: must be text in UTF-8") from error
    values: dict[str, Any] = {}
    for number, line in enumerate(map(str.strip, lines), start=1):
        if not line or line.startswith("#"):
            continue
        variable, _separator, value = line.partition("=")
        if variable not in _SETTINGS:
            raise click.BadParameter(
                f"{path}, line {number}: must be a variable of a setting and its value, such as"
                " FLOORGATE_WORKERS=2"
            )
        values[_SETTINGS[variable]] = _unquote(value.strip())
    values = {name: value for name, value in values.items() if value}  # as in the environment
    if "mongo_url" in values:
        warn_if_readable_by_others(path, values["mongo_url"])
    ctx.default_map = {**(ctx.default_map or {}), **values}
    return path


def _unquote(value: str) -> str:
    """Remove the quotes around a value, as systemd does.

    >>> [_unquote(value) for value in ("'/a b'", '"/a b"', "it's", "'", "")]
    ['/a b', '/a b', "it's", "'", '']
    """
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value


env_file_option = click.option(
    "--env-file",
    type=click.Path(path_type=Path),
    envvar="FLOORGATE_ENV_FILE",
    show_envvar=True,
    is_eager=True,
    expose_value=False,
    callback=_read_env_file,
    help="File of settings, a line FLOORGATE_NAME=value for each; a reload reads it anew.",
)
"""Of commands with settings of a gateway."""
