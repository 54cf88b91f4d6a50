"""Settings: options, variables, defaults, and invalid values."""

import dataclasses
import pickle
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from gateway.settings import (
    ALL_OPTIONS,
    Settings,
    environment_variable,
    settings_from_parameters,
    with_settings,
)
from schema.query_limits import QueryLimits

CHANGED = Settings(
    data_dir=Path("/data"),
    mongo_url="mongodb://host:27017/?replicaSet=rs",
    mongo_driver="pymongo",
    database="other",
    metrics_address="[::1]:9090",
    host="::1",
    port=0,
    base_url="https://maps.example/x",
    tls_cert=Path("c.pem"),
    tls_key=Path("k.pem"),
    behind_proxy=True,
    workers=2,
    cache_mb=7,
    cors_origins="https://a.example,https://b.example",
    requests_in_flight=1,
    requests_per_key=2,
    streams=9,
    streams_per_key=8,
    proxy_hops=2,
    max_connections=8,
    max_connections_per_address=0,
    rate_limit=5,
    rate_burst=6,
    bad_key_limit=15,
    bad_key_burst=16,
    drain_seconds=7,
    drain_notice_seconds=3,
    audit_days=8,
    request_seconds=8,
    slow_ms=50,
    log_level="error",
    log_format="text",
    log_file=Path("gateway.log"),
    graphql_depth=1,
    graphql_aliases=2,
    graphql_tokens=3,
    graphql_breadth=4,
    graphql_cost=5,
    graphql_response_mb=6,
    persisted_queries="off",
    trusted_documents=True,
    interpret_queries=True,
)


def read(*arguments: str, **environment: str) -> Settings:
    """The settings that a command with every option gets."""
    got: list[Settings] = []

    @click.command()
    @with_settings(*ALL_OPTIONS)
    def command(settings: Settings) -> None:
        got.append(settings)

    runner = CliRunner()
    result = runner.invoke(command, arguments, env=environment, catch_exceptions=False)
    if result.exit_code:
        raise click.UsageError(result.output)
    return got[0]


def test_every_setting_has_a_default() -> None:
    assert read() == Settings()


def test_every_setting_of_the_test_differs_from_its_default() -> None:
    for item in dataclasses.fields(Settings):
        if item.name != "mongo_url_file":  # it excludes another
            assert getattr(CHANGED, item.name) != item.default


@pytest.mark.parametrize("given", [Settings(), CHANGED])
def test_every_setting_can_be_an_environment_variable(given: Settings) -> None:
    values = ((name, getattr(given, name)) for name in ALL_OPTIONS if name != "mongo_url_file")
    variables = {
        environment_variable(name): str(value) for name, value in values if value is not None
    }
    assert read(**variables) == given


def test_settings_survive_pickling_for_worker_processes() -> None:
    assert pickle.loads(pickle.dumps(CHANGED)) == CHANGED


def test_every_setting_has_an_option_with_help() -> None:
    command = click.command(with_settings(*ALL_OPTIONS)(lambda settings: None))
    text = CliRunner().invoke(command, ["--help"], terminal_width=200).output
    for name in ALL_OPTIONS:
        assert f"--{name.replace('_', '-')}" in text
        assert environment_variable(name) in text


def test_an_option_counts_before_its_variable() -> None:
    assert read("--port", "1", FLOORGATE_PORT="2").port == 1
    assert read(FLOORGATE_PORT="2").port == 2
    assert read(FLOORGATE_BEHIND_PROXY="true").behind_proxy


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--port", "65536"),
        ("--metrics-address", "9090"),
        ("--metrics-address", "127.0.0.1"),
        ("--metrics-address", "::1:9090"),
        ("--metrics-address", "127.0.0.1:65536"),
        ("--metrics-address", "127.0.0.1:http"),
        ("--workers", "0"),
        ("--rate-limit", "-1"),
        ("--mongo-driver", "other"),
        ("--log-level", "loud"),
        ("--base-url", "http://maps.example"),  # HTTPS only
        ("--base-url", "https://"),
        ("--base-url", "https://maps.example?x=1"),
        ("--base-url", "https://maps.example/#x"),
        ("--base-url", "https://maps.example:99999"),
        ("--base-url", "https://[::1"),
        ("--mongo-url", "http://localhost"),
        ("--mongo-url", "mongodb://host:port"),
        ("--mongo-url-file", "/"),
        ("--database", ""),
        ("--database", "a.b"),
        ("--database", "x" * 64),
    ],
)
def test_an_invalid_setting_is_rejected(option: str, value: str) -> None:
    with pytest.raises(click.UsageError, match=f"Invalid value for '{option}'"):
        read(option, value)


SECRET_URLS = (
    "mongodb://user:hunter2@host:27017/?replicaSet=rs",
    "mongodb://user:hunter2@host:port",
    "mongodb://user:hunter%322@a,b/db",
    "mongodb://user:hunter2/@host",
    "mongodb+srv://user:hunter2@host/",
    "mongodb://host/?tls=true&tlsCertificateKeyFilePassword=hunter2",
    "mongodb://id@host/?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:hunter2",
)


@pytest.mark.parametrize("url", SECRET_URLS)
def test_a_password_is_rejected_on_the_command_line_and_not_shown(url: str) -> None:
    with pytest.raises(click.UsageError) as raised:
        read("--mongo-url", url)
    assert "hunter" not in str(raised.value)
    for part in ("Invalid value for '--mongo-url'", "FLOORGATE_MONGO_URL", "--mongo-url-file"):
        assert part in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://user:hunter2/x@host/",
        "mongodb+srv://user:x/hunter2@host/",
        "mongodb://us/er:hunter2@host/",
        "mongodb://user:x@hunter2@host/",
        "mongodb+srv://user:x/hunter2",  # without a host
        "mongodb://user:[hunter2@host",
        "mongodb://host/db?w=@hunter2",
    ],
)
def test_a_password_that_is_not_encoded_is_not_shown(url: str) -> None:
    with pytest.raises(click.UsageError, match="must be percent-encoded") as raised:
        read(FLOORGATE_MONGO_URL=url)
    assert "hunter" not in str(raised.value)


def test_the_representation_of_settings_has_no_password() -> None:
    settings = Settings(mongo_url=SECRET_URLS[0])
    assert "hunter2" not in repr(settings) + repr(settings.connection)
    assert "mongo_driver=None" in repr(settings)


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://user@host/?tls=true",
        "mongodb://h:1,h:2/?replicaSet=rs&appName=token",
        "mongodb://[::1]:27017/",
        "mongodb://%2Ftmp%2Fmongodb.sock/db",
        "mongodb+srv://db.example/?appName=a",
    ],
)
def test_an_address_without_a_password_may_be_on_the_command_line(url: str) -> None:
    assert read("--mongo-url", url).mongo_url == url


@pytest.mark.parametrize(("mode", "is_noted"), [(0o600, False), (0o640, False), (0o604, True)])
def test_a_password_may_be_in_the_environment_or_in_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: int, is_noted: bool
) -> None:
    url, file = SECRET_URLS[0], tmp_path / "url"
    file.write_text(f"{url}\n")
    file.chmod(mode)
    assert read(FLOORGATE_MONGO_URL=url).mongo_url == url
    settings = settings_from_parameters({"mongo_url_file": file})
    assert settings.connection.mongo_url == url
    assert capsys.readouterr().err == (
        f"Note: other users can read the password in {file}; 'chmod o=' keeps it private.\n"
        if is_noted
        else ""
    )
    for given in (read("--mongo-url-file", str(file)), read(FLOORGATE_MONGO_URL_FILE=str(file))):
        assert given == settings


def test_an_address_in_a_file_is_checked_and_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "url"
    for content in ("", "mongodb://user:hunter2@host:port", "hunter2"):
        file.write_text(content)
        with pytest.raises(
            click.UsageError, match="Invalid value for '--mongo-url-file'"
        ) as raised:
            read("--mongo-url-file", str(file))
        assert "hunter2" not in str(raised.value)


def test_an_address_and_a_file_with_one_exclude_each_other(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("mongodb://host/")
    with pytest.raises(click.UsageError, match="exclude each other"):
        read("--mongo-url-file", str(file), FLOORGATE_MONGO_URL="mongodb://other/")


def test_a_base_address_loses_the_slash_at_its_end() -> None:
    assert read("--base-url", "https://maps.example/x/").base_url == "https://maps.example/x"
    assert read("--base-url", "https://[::1]:8443").base_url == "https://[::1]:8443"


def test_origins_are_split_at_commas() -> None:
    assert Settings(cors_origins=" https://a , ,https://b").allowed_origins == [
        "https://a",
        "https://b",
    ]
    assert Settings().allowed_origins == []


def test_limits_of_graphql_follow_the_settings() -> None:
    limits = CHANGED.query_limits
    assert (limits.depth, limits.aliases, limits.tokens) == (1, 2, 3)
    assert (limits.breadth, limits.cost, limits.response_bytes) == (4, 5, 6_000_000)
    assert limits.characters == QueryLimits().characters
