"""Every setting with its command-line option, `FLOORGATE_*` environment variable and default."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from gateway.server.logs import LogFormat
from schema.query_limits import QueryLimits
from storage.mongo.connection import (
    ConnectionSettings,
    DriverName,
    validate_database_name,
    validate_mongo_url,
)

F = TypeVar("F", bound=Callable[..., Any])
ENVIRONMENT_PREFIX = "FLOORGATE_"
DRIVERS = ("motor", "pymongo")
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("json", "text")
_DEFAULT_QUERY_LIMITS = QueryLimits()
_BASE_URL = re.compile(r"https://[^\s?#@\\<>\"]+")
POSITIVE_COUNT = click.IntRange(min=1)
COUNT_OR_ZERO = click.IntRange(min=0)


class ValidatedText(click.ParamType[str]):
    """Text that `validate` normalizes, or rejects with a ValueError.

    The error message does not quote the text: a MongoDB URL may contain a password.
    """

    def __init__(self, name: str, validate: Callable[[str], str]) -> None:
        self.name = name
        self.validate = validate

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the normalized text. Raises click.BadParameter."""
        try:
            return self.validate(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _parse_base_url(text: str) -> str:
    example = "must be an https URL such as https://maps.example.com"
    if _BASE_URL.fullmatch(text) is None:
        raise ValueError(example)
    try:
        has_host = bool(urlsplit(text).hostname)
        urlsplit(text).port  # noqa: B018, reading it raises if it is not a port
    except ValueError as error:
        raise ValueError(f"{error}; {example}") from error
    if not has_host:
        raise ValueError(example)
    return text.rstrip("/")


def _setting(default: Any, param_type: Any, help_text: str) -> Any:
    return field(default=default, metadata={"type": param_type, "help": help_text})


def _flag(help_text: str) -> Any:
    return field(default=False, metadata={"type": bool, "help": help_text})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a gateway."""

    data_dir: Path = _setting(
        Path(".floorgate"),
        click.Path(path_type=Path),
        "Directory of the embedded MongoDB and the self-signed certificate.",
    )
    mongo_url: str | None = _setting(
        None,
        ValidatedText("url", validate_mongo_url),
        "A MongoDB replica set to use instead of the embedded one.",
    )
    mongo_driver: DriverName = _setting("motor", click.Choice(DRIVERS), "The MongoDB driver.")
    database: str = _setting(
        "floorgate", ValidatedText("name", validate_database_name), "Name of the MongoDB database."
    )
    host: str = _setting("127.0.0.1", str, "Address to listen on.")
    port: int = _setting(8443, click.IntRange(0, 65535), "Port to listen on; 0 takes a free one.")
    base_url: str | None = _setting(
        None,
        ValidatedText("address", _parse_base_url),
        "Address that clients use; paging links start with it.",
    )
    tls_cert: Path | None = _setting(
        None, click.Path(path_type=Path), "Certificate chain (PEM); without it, one is self-signed."
    )
    tls_key: Path | None = _setting(
        None, click.Path(path_type=Path), "Private key (PEM) of the certificate."
    )
    behind_proxy: bool = _flag("Speak plain HTTP to a proxy that terminates TLS.")
    workers: int = _setting(1, POSITIVE_COUNT, "Serving processes.")
    cors_origins: str = _setting(
        "", str, "Comma-separated origins of web pages that may call the API; * allows all."
    )
    requests_in_flight: int = _setting(
        100, POSITIVE_COUNT, "Requests that a worker processes at a time; more are answered 503."
    )
    requests_per_key: int = _setting(
        50, POSITIVE_COUNT, "Of these, requests of the same API key; more are answered 429."
    )
    rate_limit: int = _setting(
        0, COUNT_OR_ZERO, "Requests per second and key that a worker answers; 0 sets no limit."
    )
    rate_burst: int = _setting(
        50, POSITIVE_COUNT, "Requests that a key may make at once under --rate-limit."
    )
    cache_mb: int = _setting(
        64, COUNT_OR_ZERO, "Response cache size per worker in MB; 0 turns caching off."
    )
    drain_seconds: int = _setting(
        10, POSITIVE_COUNT, "Seconds to wait for requests in progress after SIGTERM."
    )
    log_level: str = _setting("info", click.Choice(LOG_LEVELS), "Lowest severity that is logged.")
    log_format: LogFormat = _setting("json", click.Choice(LOG_FORMATS), "Format of the log lines.")
    graphql_depth: int = _setting(
        _DEFAULT_QUERY_LIMITS.depth, POSITIVE_COUNT, "Maximum nesting depth of a GraphQL operation."
    )
    graphql_aliases: int = _setting(
        _DEFAULT_QUERY_LIMITS.aliases, POSITIVE_COUNT, "Maximum aliases in a GraphQL operation."
    )
    graphql_tokens: int = _setting(
        _DEFAULT_QUERY_LIMITS.tokens, POSITIVE_COUNT, "Maximum tokens in a GraphQL document."
    )
    graphql_breadth: int = _setting(
        _DEFAULT_QUERY_LIMITS.breadth,
        POSITIVE_COUNT,
        "Maximum fields selected of one object in a GraphQL operation.",
    )
    graphql_cost: int = _setting(
        _DEFAULT_QUERY_LIMITS.cost,
        POSITIVE_COUNT,
        "Maximum records that a GraphQL operation may request.",
    )

    interpret_queries: bool = _flag(
        "Run GraphQL queries with graphql-core instead of compiling them."
    )

    @property
    def connection(self) -> ConnectionSettings:
        """How to reach the database."""
        return ConnectionSettings(self.data_dir, self.mongo_url, self.mongo_driver, self.database)

    @property
    def query_limits(self) -> QueryLimits:
        """The limits of GraphQL operations."""
        return QueryLimits(
            depth=self.graphql_depth,
            aliases=self.graphql_aliases,
            tokens=self.graphql_tokens,
            breadth=self.graphql_breadth,
            cost=self.graphql_cost,
        )

    @property
    def allowed_origins(self) -> list[str]:
        """Origins of the browser pages that may call the API."""
        return [origin.strip() for origin in self.cors_origins.split(",") if origin.strip()]


STORAGE_OPTIONS = ("data_dir", "mongo_url", "mongo_driver", "database")
"""Options of every command that reads or writes the database."""
ALL_OPTIONS = tuple(item.name for item in dataclasses.fields(Settings))


def environment_variable(name: str) -> str:
    """Return the environment variable of a setting.

    >>> environment_variable("mongo_url")
    'FLOORGATE_MONGO_URL'
    """
    return ENVIRONMENT_PREFIX + name.upper()


def with_options(*names: str) -> Callable[[F], F]:
    """Add an option for each of these settings to a command."""

    def decorate(command: F) -> F:
        for name in reversed(names):
            command = _add_option(name)(command)
        return command

    return decorate


def settings_from_parameters(values: Mapping[str, Any]) -> Settings:
    """Build settings from a command's parameters. The others keep their defaults."""
    return Settings(**{name: value for name, value in values.items() if name in ALL_OPTIONS})


def _add_option(name: str) -> Callable[[F], F]:
    item = next(item for item in dataclasses.fields(Settings) if item.name == name)
    is_flag = item.metadata["type"] is bool
    return click.option(
        f"--{name.replace('_', '-')}",
        name,
        type=item.metadata["type"],
        is_flag=is_flag,
        default=item.default,
        help=item.metadata["help"],
        envvar=environment_variable(name),
        show_envvar=True,
        show_default=item.default not in (None, "", False),
    )
