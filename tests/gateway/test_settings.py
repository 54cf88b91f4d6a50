"""Settings: options, variables, defaults, and invalid values."""

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from gateway.settings import (
    ALL_OPTIONS,
    Settings,
    environment_variable,
    settings_from_parameters,
    with_options,
)
from schema.query_limits import QueryLimits

CHANGED = Settings(
    data_dir=Path("/data"),
    mongo_url="mongodb://host:27017/?replicaSet=rs",
    mongo_driver="pymongo",
    database="other",
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
    rate_limit=5,
    rate_burst=6,
    drain_seconds=7,
    log_level="error",
    log_format="text",
    graphql_depth=1,
    graphql_aliases=2,
    graphql_tokens=3,
    graphql_breadth=4,
    graphql_cost=5,
    interpret_queries=True,
)


def read(*arguments: str, **environment: str) -> Settings:
    """The settings that a command with every option gets."""
    got: list[Settings] = []

    @click.command()
    @with_options(*ALL_OPTIONS)
    def command(**values: Any) -> None:
        got.append(settings_from_parameters(values))

    runner = CliRunner()
    result = runner.invoke(command, arguments, env=environment, catch_exceptions=False)
    if result.exit_code:
        raise click.UsageError(result.output)
    return got[0]


def test_every_setting_has_a_default() -> None:
    assert read() == Settings()


def test_every_setting_of_the_test_differs_from_its_default() -> None:
    for item in dataclasses.fields(Settings):
        assert getattr(CHANGED, item.name) != item.default


@pytest.mark.parametrize("given", [Settings(), CHANGED])
def test_every_setting_can_be_an_environment_variable(given: Settings) -> None:
    values = ((item.name, getattr(given, item.name)) for item in dataclasses.fields(given))
    variables = {
        environment_variable(name): str(value) for name, value in values if value is not None
    }
    assert read(**variables) == given


def test_settings_survive_pickling_for_worker_processes() -> None:
    assert pickle.loads(pickle.dumps(CHANGED)) == CHANGED


def test_every_setting_has_an_option_with_help() -> None:
    command = with_options(*ALL_OPTIONS)(click.command(lambda **_: None))
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
        ("--port", "x"),
        ("--workers", "0"),
        ("--graphql-depth", "0"),
        ("--rate-limit", "-1"),
        ("--mongo-driver", "other"),
        ("--log-level", "loud"),
        ("--base-url", "maps.example"),
        ("--base-url", "http://maps.example"),  # HTTPS only
        ("--base-url", "https://"),
        ("--base-url", "https://maps.example?x=1"),
        ("--base-url", "https://maps.example/#x"),
        ("--base-url", "https://user@maps.example"),
        ("--base-url", "https://maps.example:port"),
        ("--base-url", "https://maps.example:99999"),
        ("--base-url", "https://maps .example"),
        ("--base-url", "https://[::1"),
        ("--mongo-url", "localhost"),
        ("--mongo-url", "http://localhost"),
        ("--mongo-url", "mongodb://host:port"),
        ("--database", ""),
        ("--database", "a b"),
        ("--database", "a.b"),
        ("--database", "x" * 64),
    ],
)
def test_an_invalid_setting_is_rejected(option: str, value: str) -> None:
    with pytest.raises(click.UsageError, match=f"Invalid value for '{option}'"):
        read(option, value)


def test_a_refusal_never_shows_a_password() -> None:
    with pytest.raises(click.UsageError) as raised:
        read("--mongo-url", "mongodb://user:hunter2@host:port")
    assert "hunter2" not in str(raised.value)


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
    assert (limits.breadth, limits.cost) == (4, 5)
    assert limits.characters == QueryLimits().characters
