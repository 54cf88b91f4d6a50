"""The user docs name everything that the code offers.

Every list here comes from the code: adding a setting, an endpoint or a log field shows here
which page has to describe it.
"""

import ast
import dataclasses
import logging
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import click
import orjson
import pytest

from gateway.cli.main import main
from gateway.exchange import log_request
from gateway.server.config import ConnectionLimits
from gateway.server.logs import LogFormatter
from gateway.settings import ALL_OPTIONS, Settings, environment_variable
from resolvers.request.caller import FLAGS, PERMISSIONS
from resolvers.request.errors import RequestError
from rest.errors import HttpError
from rest.openapi.description import build_description
from schema.execution import InvalidOperationError
from schema.query_limits import QueryLimits
from schema.root import GRAPHQL_SCHEMA
from tests.doc_pages import PRODUCT, ROOT, is_test, page, rows, section
from tests.faults.test_scenarios import ALWAYS, SELDOM

OPENAPI = build_description(GRAPHQL_SCHEMA)
FAULTS = rows(section(page("runbook.md"), "## What is guaranteed"))[1:]


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Every command below one, by the words that call it."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for inner in command.list_commands(context):
        found = command.get_command(context, inner)
        assert found is not None
        yield from commands(found, f"{name} {inner}")


def sources() -> Iterator[ast.AST]:
    """Every node of the product's code."""
    for package in PRODUCT:
        for file in sorted((ROOT / package).rglob("*.py")):
            yield from ast.walk(ast.parse(file.read_text()))


def error_codes() -> set[str]:
    """Every code that an error is made with: at its class, in a call, or by a variable `code`."""
    constructors = {HttpError.__name__, InvalidOperationError.__name__}
    found: set[str] = set()
    for node in sources():
        if isinstance(node, ast.Call) and _name(node.func) in constructors:
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            found |= {text for argument in arguments if (text := _code(argument))}
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                found |= {text for name, text in _pairs(target, node.value) if name == "code"}
    return found - {RequestError.code}  # of the base class, which is never raised


def _name(function: ast.expr) -> str | None:
    return getattr(function, "id", None) or getattr(function, "attr", None)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, str]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from _pairs(one, other)
    elif isinstance(target, ast.Name) and (text := _code(value)):
        yield target.id, text


def _code(node: ast.expr) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) and re.fullmatch("[A-Z]+(_[A-Z]+)*", value) else None


# What the code offers


@pytest.mark.parametrize("name", ALL_OPTIONS)
def test_each_setting_is_described_with_its_variable_and_default(name: str) -> None:
    default = next(item.default for item in dataclasses.fields(Settings) if item.name == name)
    shown = "" if default is None else "off" if default is False else str(default)
    settings = rows(section(page("operation.md"), "## Settings"))
    option = f"--{name.replace('_', '-')}"
    assert [option, environment_variable(name), shown] in [row[:3] for row in settings]


@pytest.mark.parametrize(("name", "command"), [*commands(main, "floorgate")])
def test_each_command_is_described_with_its_arguments_and_options(
    name: str, command: click.Command
) -> None:
    arguments = [
        parameter.make_metavar(click.Context(command))
        for parameter in command.params
        if isinstance(parameter, click.Argument)
    ]
    title = " ".join([name, *arguments])
    described = section(page("command-line.md"), f"## `{title}`")
    options = {
        parameter.opts[0]
        for parameter in command.params
        if isinstance(parameter, click.Option) and parameter.name not in ALL_OPTIONS
    }
    assert options == {row[0] for row in rows(described) if row[0].startswith("--")}


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_each_permission_is_described(permission: str) -> None:
    keys = rows(section(page("operation.md"), "## Keys"))
    assert permission in [row[0] for row in keys]


@pytest.mark.parametrize("flag", FLAGS)
def test_each_experimental_flag_is_described(flag: str) -> None:
    experimental = rows(section(page("rest.md"), "## Experimental features"))
    assert flag in [row[0] for row in experimental]


def test_each_endpoint_is_listed_with_its_flag_and_permission() -> None:
    listed = [
        (row[0], row[1], row[3], row[4])
        for row in rows(section(page("rest.md"), "## Endpoints"))
        if row[1].startswith("/")
    ]
    assert sorted(listed) == sorted(
        (method.upper(), path, _flag(operation), operation.get("x-permission", ""))
        for path, methods in OPENAPI["paths"].items()
        for method, operation in methods.items()
    )


def _flag(operation: dict[str, Any]) -> str:
    found = re.search(r"`Experimental-Flags` must include `([^`]+)`", operation["description"])
    return found[1] if found else ""


@pytest.mark.parametrize("code", sorted(error_codes()))
def test_each_error_code_is_described(code: str) -> None:
    pages = (page("graphql/errors.md"), page("rest.md"))
    assert any(f"`{code}`" in section(text, "## Errors") for text in pages)


@pytest.mark.parametrize("limit", dataclasses.fields(QueryLimits), ids=lambda limit: limit.name)
def test_each_limit_of_a_query_is_described(limit: dataclasses.Field[int]) -> None:
    limits = rows(section(page("graphql/limits.md"), "## Limits"))
    assert [limit.name, f"{limit.default:,}"] in [row[:2] for row in limits]


@pytest.mark.parametrize(
    "limit", dataclasses.fields(ConnectionLimits), ids=lambda limit: limit.name
)
def test_each_limit_of_a_connection_is_described(limit: dataclasses.Field[float]) -> None:
    limits = rows(section(page("operation.md"), "## Connection limits"))
    assert [limit.name.replace("_", " "), f"{limit.default:,.10g}"] in [row[:2] for row in limits]


def test_each_field_of_a_log_line_is_described(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_request(
        "id", method="GET", route="/", status=500, duration_ms=1, sent_bytes=1, reason="late"
    )
    record = caplog.records[-1]
    record.exc_info = (ValueError, ValueError(), None)
    described = {row[0] for row in rows(section(page("operation.md"), "## Logs"))}
    assert set(orjson.loads(LogFormatter().format(record))) <= described


@pytest.mark.parametrize("row", FAULTS, ids=lambda row: row[0])
def test_what_is_guaranteed_under_a_fault_has_tests(row: list[str]) -> None:
    named = [name.rstrip("]").partition("[") for name in row[-1].split("<br>")]
    assert [name for name, _, _ in named if not is_test(name)] == []
    assert {fault for _, _, fault in named if fault} <= {*ALWAYS, *SELDOM}


def test_the_licence_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    licence = project["license"]
    assert OPENAPI["info"]["license"]["identifier"] == licence
    assert (ROOT / "LICENSE").read_text().startswith(f"{licence} License\n")
    assert f"[{licence} licence](LICENSE)" in (ROOT / "README.md").read_text()


def test_the_changelog_has_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    released = re.findall(
        r"^## (\d\S*) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    assert released[0] == project["version"]
