"""Every setting once: its option on the command line, its `FLOORGATE_*` variable, its default."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from gateway.logs import Format
from schema.bounds import Limits
from storage.connection import Connection, DriverName, checked_name, checked_url

F = TypeVar("F", bound=Callable[..., Any])
PREFIX = "FLOORGATE_"
DRIVERS = ("motor", "pymongo")
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("json", "text")
_BOUNDS = Limits()
_BASE_ADDRESS = re.compile(r"https://[^\s?#@\\<>\"]+")
COUNT = click.IntRange(min=1)
COUNT_OR_OFF = click.IntRange(min=0)


class Checked(click.ParamType[str]):
    """Text that `check` gives back as it is used, or refuses with a ValueError.

    The refusal does not show the text: a MongoDB address may hold a password.
    """

    def __init__(self, name: str, check: Callable[[str], str]) -> None:
        self.name = name
        self.check = check

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is used."""
        try:
            return self.check(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _base_address(text: str) -> str:
    example = "it must be like https://maps.example.com or https://host:8443/path"
    if _BASE_ADDRESS.fullmatch(text) is None:
        raise ValueError(example)
    try:
        has_host = bool(urlsplit(text).hostname)
        urlsplit(text).port  # noqa: B018, it raises for what is no port
    except ValueError as error:
        raise ValueError(f"{error}; {example}") from error
    if not has_host:
        raise ValueError(example)
    return text.rstrip("/")


def _setting(default: Any, type: Any, help: str) -> Any:
    return field(default=default, metadata={"type": type, "help": help})


def _flag(help: str) -> Any:
    return field(default=False, metadata={"type": bool, "help": help})


@dataclass(frozen=True, slots=True)
class Settings:
    """How one gateway runs."""

    data_dir: Path = _setting(
        Path(".floorgate"),
        click.Path(path_type=Path),
        "Directory of the embedded MongoDB and the self-signed certificate.",
    )
    mongo_url: str | None = _setting(
        None,
        Checked("url", checked_url),
        "A MongoDB replica set to use instead of the embedded one.",
    )
    mongo_driver: DriverName = _setting("motor", click.Choice(DRIVERS), "The MongoDB driver.")
    database: str = _setting(
        "floorgate", Checked("name", checked_name), "Name of the MongoDB database."
    )
    host: str = _setting("127.0.0.1", str, "Address to listen on.")
    port: int = _setting(8443, click.IntRange(0, 65535), "Port to listen on; 0 takes a free one.")
    base_url: str | None = _setting(
        None,
        Checked("address", _base_address),
        "Address that clients use; paging links start with it.",
    )
    tls_cert: Path | None = _setting(
        None, click.Path(path_type=Path), "Certificate chain (PEM); without it one is made."
    )
    tls_key: Path | None = _setting(
        None, click.Path(path_type=Path), "Private key (PEM) of the certificate."
    )
    behind_proxy: bool = _flag("Speak plain HTTP to a proxy that terminates TLS.")
    workers: int = _setting(1, COUNT, "Serving processes.")
    cors_origins: str = _setting(
        "", str, "Origins, separated by commas, whose pages may call the API; * allows all."
    )
    requests_in_flight: int = _setting(
        100, COUNT, "Requests that a worker answers at a time; more are answered 503."
    )
    rate_limit: int = _setting(
        0, COUNT_OR_OFF, "Requests per second and key that a worker answers; 0 sets no limit."
    )
    rate_burst: int = _setting(50, COUNT, "Requests that a key may save up under --rate-limit.")
    cache_mb: int = _setting(
        64, COUNT_OR_OFF, "Megabytes of answers that a worker keeps; 0 keeps none."
    )
    drain_seconds: int = _setting(10, COUNT, "How long SIGTERM waits for requests in flight.")
    log_level: str = _setting(
        "info", click.Choice(LOG_LEVELS), "Least severe lines that are logged."
    )
    log_format: Format = _setting("json", click.Choice(LOG_FORMATS), "Form of the log lines.")
    graphql_depth: int = _setting(_BOUNDS.depth, COUNT, "How deep a GraphQL operation may nest.")
    graphql_aliases: int = _setting(_BOUNDS.aliases, COUNT, "Aliases in a GraphQL operation.")
    graphql_tokens: int = _setting(_BOUNDS.tokens, COUNT, "Tokens in a GraphQL document.")
    graphql_breadth: int = _setting(_BOUNDS.breadth, COUNT, "Fields of one object in an operation.")
    graphql_cost: int = _setting(_BOUNDS.cost, COUNT, "Records that an operation may ask for.")

    interpret_queries: bool = _flag("Leave GraphQL queries to graphql-core; do not compile them.")

    @property
    def connection(self) -> Connection:
        """Where the catalog is."""
        return Connection(self.data_dir, self.mongo_url, self.mongo_driver, self.database)

    @property
    def limits(self) -> Limits:
        """The bounds of GraphQL operations."""
        names = (bound.name for bound in dataclasses.fields(Limits))
        given = {name: getattr(self, f"graphql_{name}", None) for name in names}
        return Limits(**{name: bound for name, bound in given.items() if bound is not None})

    @property
    def origins(self) -> list[str]:
        """The origins whose pages may call the API."""
        return [origin.strip() for origin in self.cors_origins.split(",") if origin.strip()]

    def environment(self) -> dict[str, str]:
        """The variables from which `from_environment` makes the same settings."""
        given = ((item.name, getattr(self, item.name)) for item in dataclasses.fields(self))
        return {variable(name): str(value) for name, value in given if value is not None}


STORAGE = ("data_dir", "mongo_url", "mongo_driver", "database")
"""What every command that touches the catalog needs to know."""
EVERYTHING = tuple(item.name for item in dataclasses.fields(Settings))


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def options(*names: str) -> Callable[[F], F]:
    """Gives a command an option for each of the settings."""

    def decorate(command: F) -> F:
        for name in reversed(names):
            command = _option(name)(command)
        return command

    return decorate


def from_environment() -> Settings:
    """The settings of a worker process, which gets all of them as variables."""
    reader = options(*EVERYTHING)(click.command(lambda **values: values))
    with reader.make_context("settings", []) as context:
        return gather(context.params)


def gather(values: Mapping[str, Any]) -> Settings:
    """Settings from a command's parameters; the rest keep their defaults."""
    return Settings(**{name: value for name, value in values.items() if name in EVERYTHING})


def _option(name: str) -> Callable[[F], F]:
    item = next(item for item in dataclasses.fields(Settings) if item.name == name)
    is_flag = item.metadata["type"] is bool
    return click.option(
        f"--{name.replace('_', '-')}",
        name,
        type=item.metadata["type"],
        is_flag=is_flag,
        default=item.default,
        help=item.metadata["help"],
        envvar=variable(name),
        show_envvar=True,
        show_default=item.default not in (None, "", False),
    )
