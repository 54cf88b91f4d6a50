"""Every setting with its command-line option, `FLOORGATE_*` environment variable and default."""

import dataclasses
import functools
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from gateway.server.logs import LogFormat
from schema.query_limits import QueryLimits
from storage.mongo.connection import (
    ConnectionSettings,
    DriverName,
    has_secret,
    validate_database_name,
    validate_mongo_url,
)
from storage.records.kinds import is_storable

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
ENVIRONMENT_PREFIX = "FLOORGATE_"
DRIVERS = ("motor", "pymongo")
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("json", "text")
_LIMITS = QueryLimits()
_BASE_URL = re.compile(r"https://[^\s?#@\\<>\"]+")
_HOST = re.compile(r"\[[^]]+\]|[^][:]+")
BYTES_PER_MB = 1_000_000
POSITIVE_COUNT = click.IntRange(min=1)
COUNT_OR_ZERO = click.IntRange(min=0)
_IN_WHEEL = Path(__file__).with_name("files")
IS_CHECKOUT = not _IN_WHEEL.is_dir()
FILES = Path(__file__).parents[1] if IS_CHECKOUT else _IN_WHEEL
"""The folder with `docs`, `samples` and `clients`: in a wheel (see setup.py), or the checkout."""
PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
DIRECTORY = click.Path(path_type=Path, file_okay=False)


class Parsed(click.ParamType[T]):
    """What `parse` makes of text, or rejects with a ValueError.

    The error message does not quote the text: a MongoDB URL may contain a password.
    """

    def __init__(self, name: str, parse: Callable[[str], T]) -> None:
        self.name = name
        self.parse = parse

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> T:
        """Return the parsed value. Raises click.BadParameter."""
        try:
            return self.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _check_encoding(text: str) -> str:
    if not is_storable(text):
        raise ValueError("must be text in UTF-8")
    return text


STORABLE_TEXT = Parsed("text", _check_encoding)
"""An id or a name, which a shell may pass in another encoding."""
id_option = functools.partial(click.option, type=STORABLE_TEXT, metavar="ID")


class MongoUrl(Parsed[str]):
    """A MongoDB URL, which contains no password if it comes from the command line."""

    def __init__(self) -> None:
        super().__init__("url", validate_mongo_url)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the URL. Raises click.BadParameter."""
        source = ctx.get_parameter_source(param.name or "") if ctx and param else None
        if source is ParameterSource.COMMANDLINE and has_secret(value):
            self.fail(
                "every user of this machine can read the password in a command line: change it,"
                " and pass the URL in the variable FLOORGATE_MONGO_URL, or in a file that only you"
                " can read with --mongo-url-file",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


def _read_mongo_url(path: Path) -> str:
    """Return the URL in a file; warn if other users can read its password."""
    try:
        url = validate_mongo_url(path.read_text().strip())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise click.BadParameter(f"{path}: {reason}", param_hint="'--mongo-url-file'") from error
    warn_if_readable_by_others(path, url)
    return url


def warn_if_readable_by_others(path: Path, url: str) -> None:
    """Say so if a MongoDB URL in a file has a password that other users can read."""
    if has_secret(url) and path.stat().st_mode & stat.S_IROTH:
        click.echo(
            f"Note: other users can read the password in {path}; 'chmod o=' keeps it private.",
            err=True,
        )


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


def _parse_metrics_address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if _HOST.fullmatch(host) is None or not (port.isdecimal() and int(port) < 1 << 16):
        raise ValueError("must be an address such as 127.0.0.1:9090 or [::1]:9090")
    return text


def _setting(default: Any, param_type: Any, help_text: str, *, is_secret: bool = False) -> Any:
    metadata = {"type": param_type, "help": help_text}
    return field(default=default, repr=not is_secret, metadata=metadata)


def _flag(help_text: str) -> Any:
    return field(default=False, metadata={"type": bool, "help": help_text})


@dataclass(frozen=True, slots=True)
class Settings:
    data_dir: Path = _setting(
        Path(".floorgate"),
        PATH,
        "Directory of the embedded MongoDB and the self-signed certificate.",
    )
    mongo_url: str | None = _setting(
        None,
        MongoUrl(),
        "A MongoDB replica set to use instead of the embedded one; an option may have no password.",
        is_secret=True,
    )
    mongo_url_file: Path | None = _setting(
        None, PATH, "A file with that URL, which may have a password and should be private."
    )
    mongo_driver: DriverName | None = _setting(
        None, click.Choice(DRIVERS), "The MongoDB driver: motor for gateways unless set."
    )
    database: str = _setting(
        "floorgate", Parsed("name", validate_database_name), "Name of the MongoDB database."
    )
    host: str = _setting("127.0.0.1", str, "Address to listen on.")
    port: int = _setting(8443, click.IntRange(0, 65535), "Port to listen on; 0 takes a free one.")
    metrics_address: str | None = _setting(
        None,
        Parsed("host:port", _parse_metrics_address),
        "Address at which metrics for Prometheus are served, without a key.",
    )
    base_url: str | None = _setting(
        None,
        Parsed("address", _parse_base_url),
        "Address that clients use; paging links start with it.",
    )
    tls_cert: Path | None = _setting(
        None, PATH, "Certificate chain (PEM); without it, one is self-signed."
    )
    tls_key: Path | None = _setting(None, PATH, "Private key (PEM) of the certificate.")
    behind_proxy: bool = _flag("Speak plain HTTP to a proxy that terminates TLS.")
    proxy_hops: int = _setting(
        1, POSITIVE_COUNT, "Proxies in front that append to X-Forwarded-For, with --behind-proxy."
    )
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
    streams: int = _setting(
        2000, POSITIVE_COUNT, "GraphQL subscriptions, and WebSockets, that a worker holds."
    )
    streams_per_key: int = _setting(
        1000, POSITIVE_COUNT, "Of these, subscriptions and WebSockets of the same API key."
    )
    request_seconds: int = _setting(
        5, POSITIVE_COUNT, "Seconds that a request may take; after that it is answered 503."
    )
    max_connections: int = _setting(
        4000, POSITIVE_COUNT, "Connections that a worker holds; more are refused."
    )
    max_connections_per_address: int = _setting(
        1000,
        COUNT_OR_ZERO,
        "Connections that a worker holds of one address, except of a proxy; 0 sets no limit.",
    )
    rate_limit: int = _setting(
        500,
        COUNT_OR_ZERO,
        "Requests per second and key, and without a valid key per address; 0: no limit.",
    )
    rate_burst: int = _setting(
        1000, POSITIVE_COUNT, "Requests that a key or address may make at once under --rate-limit."
    )
    bad_key_limit: int = _setting(
        1, COUNT_OR_ZERO, "Invalid keys per second and client address; 0: no limit."
    )
    bad_key_burst: int = _setting(
        20, POSITIVE_COUNT, "Invalid keys that an address may send at once under --bad-key-limit."
    )
    cache_mb: int = _setting(
        64, COUNT_OR_ZERO, "Response cache size per worker in MB; 0 turns caching off."
    )
    drain_seconds: int = _setting(
        10, POSITIVE_COUNT, "Seconds to wait for requests in progress after SIGTERM."
    )
    drain_notice_seconds: int = _setting(
        0,
        COUNT_OR_ZERO,
        "Seconds after SIGTERM in which /health/ready is 503 and connections are still accepted.",
    )
    audit_days: int = _setting(
        400, COUNT_OR_ZERO, "Days after which audit records are deleted; 0 keeps them for ever."
    )
    slow_ms: int = _setting(
        1000,
        COUNT_OR_ZERO,
        "Milliseconds from which a request is logged with what took the time; 0: none is.",
    )
    log_level: str = _setting("info", click.Choice(LOG_LEVELS), "Lowest severity that is logged.")
    log_format: LogFormat = _setting("json", click.Choice(LOG_FORMATS), "Format of the log lines.")
    log_file: Path | None = _setting(
        None,
        PATH,
        "File that log lines are appended to, instead of standard error; it may be renamed.",
    )
    graphql_depth: int = _setting(
        _LIMITS.depth, POSITIVE_COUNT, "Maximum nesting depth of a GraphQL operation."
    )
    graphql_aliases: int = _setting(
        _LIMITS.aliases, POSITIVE_COUNT, "Maximum aliases in a GraphQL operation."
    )
    graphql_tokens: int = _setting(
        _LIMITS.tokens, POSITIVE_COUNT, "Maximum tokens in a GraphQL document."
    )
    graphql_breadth: int = _setting(
        _LIMITS.breadth,
        POSITIVE_COUNT,
        "Maximum fields selected of one object in a GraphQL operation.",
    )
    graphql_cost: int = _setting(
        _LIMITS.cost, POSITIVE_COUNT, "Maximum records that a GraphQL operation may request."
    )

    graphql_response_mb: int = _setting(
        _LIMITS.response_bytes // BYTES_PER_MB,
        POSITIVE_COUNT,
        "Maximum size of a GraphQL response in MB, before compression.",
    )
    persisted_queries: str = _setting(
        "on",
        click.Choice(("on", "off")),
        "Whether clients may send the hash of a GraphQL document that they have sent before.",
    )
    trusted_documents: bool = _flag(
        "Run only the GraphQL documents that were registered with floorgate documents register."
    )
    interpret_queries: bool = _flag(
        "Run GraphQL queries with graphql-core instead of compiling them."
    )

    @property
    def connection(self) -> ConnectionSettings:
        """The settings by which a gateway reaches the database."""
        return self._connect_by("motor")

    @property
    def command_connection(self) -> ConnectionSettings:
        """Return how other commands reach MongoDB: Motor takes half a second to close."""
        return self._connect_by("pymongo")

    def _connect_by(self, driver: DriverName) -> ConnectionSettings:
        chosen = self.mongo_driver or driver
        return ConnectionSettings(self.data_dir, self.mongo_url, chosen, self.database)

    @property
    def query_limits(self) -> QueryLimits:
        return QueryLimits(
            depth=self.graphql_depth,
            aliases=self.graphql_aliases,
            tokens=self.graphql_tokens,
            breadth=self.graphql_breadth,
            cost=self.graphql_cost,
            response_bytes=self.graphql_response_mb * BYTES_PER_MB,
        )

    @property
    def allowed_origins(self) -> list[str]:
        """Origins of the browser pages that may call the API."""
        return [origin.strip() for origin in self.cors_origins.split(",") if origin.strip()]


STORAGE_OPTIONS = ("data_dir", "mongo_url", "mongo_url_file", "mongo_driver", "database")
"""Options of every command that reads or writes the database."""
LIMIT_OPTIONS = (
    "graphql_depth",
    "graphql_aliases",
    "graphql_tokens",
    "graphql_breadth",
    "graphql_cost",
    "graphql_response_mb",
)
"""The limits of GraphQL operations."""
ALL_OPTIONS = tuple(item.name for item in dataclasses.fields(Settings))


def environment_variable(name: str) -> str:
    """Return the environment variable of a setting.

    >>> environment_variable("mongo_url")
    'FLOORGATE_MONGO_URL'
    """
    return ENVIRONMENT_PREFIX + name.upper()


def with_settings(*names: str) -> Callable[[F], F]:
    """Add an option for each of these settings to a command, which gets them as `settings`."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def run(**values: Any) -> Any:
            given = {name: values.pop(name) for name in names}
            return command(settings=settings_from_parameters(given), **values)

        return with_options(*names)(cast(F, run))

    return decorate


def with_options(*names: str) -> Callable[[F], F]:
    """Add an option for each of these settings to a command, which gets them one by one."""

    def decorate(command: F) -> F:
        for name in reversed(names):
            command = _add_option(name)(command)
        return command

    return decorate


def settings_from_parameters(values: Mapping[str, Any]) -> Settings:
    """Build settings from a command's parameters. The others keep their defaults.

    `mongo_url` gets the content of `mongo_url_file`. Raises click.UsageError.
    """
    settings = Settings(**{name: value for name, value in values.items() if name in ALL_OPTIONS})
    if settings.mongo_url_file is None:
        return settings
    if settings.mongo_url is not None:
        raise click.UsageError(
            "--mongo-url and --mongo-url-file (FLOORGATE_MONGO_URL and FLOORGATE_MONGO_URL_FILE)"
            " exclude each other"
        )
    return dataclasses.replace(settings, mongo_url=_read_mongo_url(settings.mongo_url_file))


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


with_storage = with_settings(*STORAGE_OPTIONS)
"""Adds the options of the storage to a command."""

# `--env-file`: settings in a file of variables, which a reload reads anew.


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
    type=PATH,
    envvar="FLOORGATE_ENV_FILE",
    show_envvar=True,
    is_eager=True,
    expose_value=False,
    callback=_read_env_file,
    help="File of settings, a line FLOORGATE_NAME=value for each; a reload reads it anew.",
)
"""Adds the option to commands with settings of a gateway."""
