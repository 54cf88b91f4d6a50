"""The user docs name everything that the code offers, and each limit with its value."""

import ast
import dataclasses
import logging
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import click
import orjson
import pytest

from gateway.cli.main import main
from gateway.exchange import log_request
from gateway.metrics import FAMILIES, PREFIX
from gateway.responses import MIN_COMPRESSED_BYTES
from gateway.server.config import ConnectionLimits
from gateway.server.logs import LogFormatter
from gateway.settings import ALL_OPTIONS, Settings, environment_variable
from parsing.limits import DEFAULT_LIMITS
from resolvers.processing.process_pool import WALL_SECONDS_PER_CPU_SECOND, max_seconds
from resolvers.processing.task_process import MAX_PARSE_CPU_SECONDS
from resolvers.request.caller import FLAGS, PERMISSIONS
from resolvers.request.errors import RequestError
from rest.errors import HttpError
from rest.openapi.description import build_description
from schema.definitions import cost_of, strawberry_field_of
from schema.execution import InvalidOperationError
from schema.query_limits import QueryLimits
from schema.root import GRAPHQL_SCHEMA
from tests.doc_pages import PRODUCT, ROOT, is_test, page, rows, section
from tests.endpoints import ENDPOINTS
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
        _, found, _ = command.resolve_command(context, [inner])
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


@pytest.mark.parametrize("name", FAMILIES)
def test_each_metric_is_described(name: str) -> None:
    family = FAMILIES[name]
    labels, meaning = ", ".join(family.labels), family.meaning.replace("`", "")
    metrics = rows(section(page("operation.md"), "## Metrics"))
    assert [PREFIX + name, family.kind, labels, meaning] in metrics
    assert len(metrics) == len(FAMILIES) + 1


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


LIMITS = {
    "bundles.md": """
        resolvers.drawings.shown_units: MAX_WARNINGS MAX_LEVELS
        storage.importing.change_plan: MAX_LISTED_CHANGES
        storage.importing.change_plan: MAX_VALUE_CHARACTERS
        storage.importing.validation: MAX_CHECK_VIOLATIONS MAX_LISTED_OWNERS
        storage.importing.change_plan: MAX_LOSS_NOTES
        storage.importing.import_bundles: MAX_SOURCE_NOTES
        storage.bundles.json_bundles: MAX_MEMBER_CHARACTERS
        storage.bundles.drawings: MAX_DRAWING_BYTES
        storage.bundles.violations: MAX_VIOLATIONS
        storage.catalog: MAX_COORDINATE
        storage.records.kinds: MAX_ID_CHARACTERS MAX_TEXT_CHARACTERS
    """,
    "command-line.md": """
        parsing.svg.warning_pictures: MAX_PICTURES MAX_MARKERS
    """,
    "decisions/server/subscriptions.md": """
        gateway.graphql.streams: MAX_EVENTS_AT_A_TIME
    """,
    "endpoints.md": """
        resolvers.administration.endpoints: MAX_SAVED_TOGETHER MAX_CHARACTERS_TOGETHER
        storage.administration.saved_endpoints: MAX_ENDPOINTS MAX_CHARACTERS
    """,
    "explain.md": """
        storage.mongo.plans: MAX_EXPLAINED_BYTES
        gateway.explain: MAX_COMMANDS
    """,
    "floor-plans.md": """
        parsing.archives: MAX_MEMBERS MAX_UNPACKED_BYTES
        parsing.drawing: MAX_LISTED_FAULTS
        parsing.geo.geojson: MAX_SOURCE_BYTES
        parsing.geo.projection: MAX_EXTENT_FEET MAX_FEATURES
        parsing.osm.tags: MAX_STOREYS
        resolvers.plans.connectors: MAX_LIFT_OFFSET_FEET MAX_FLIGHT_FEET
        resolvers.plans.translation: MAX_BRANCH_FEET
        resolvers.plans.shapes: MAX_MEETING_CORNERS
        resolvers.plans.tag_classification: MAX_CROSSINGS
        resolvers.processing.pipeline: MAX_PROCESSING_CPU_SECONDS
        routing.issues: MAX_LISTED_PROBLEMS MAX_TEXT_CHARS
        routing.picture: MAX_MARKERS
        routing.report: MAX_LISTED_LOCATIONS
        routing.space.plan_repair: MAX_NEIGHBOURS
        routing.space.door_inference: MAX_WALL_OPENING_FEET
        routing.space.walkable: MAX_ONE_WAY_DOORS
    """,
    "graphql/caching.md": """
        resolvers.nodes: MAX_NODE_IDS
    """,
    "graphql/changes.md": """
        gateway.server.websocket_connection: MAX_MESSAGE_BYTES MAX_FRAMES_WITHOUT_KEY MAX_FRAGMENTS
        gateway.graphql.websocket: MAX_ID_CHARACTERS
        gateway.graphql.websocket: MAX_OPERATIONS
    """,
    "graphql/documents.md": """
        gateway.cli.document_files: MAX_MANIFEST_BYTES MAX_LISTED_ERRORS
        gateway.graphql.request: MAX_DOCUMENT_ID_CHARACTERS
        gateway.graphql.request: MAX_PERSISTED_QUERIES MAX_PERSISTED_BYTES
        storage.administration.trusted_documents: MAX_TRUSTED_DOCUMENTS
    """,
    "graphql/errors.md": """
        schema.compiler.rows: MAX_ERRORS
        schema.compiler.coercion: MAX_VARIABLE_ERRORS
        schema.execution: MAX_ITEMS_WHEN_DENIED
        storage.records.kinds: MAX_INT32
    """,
    "graphql/limits.md": """
        gateway.graphql.request: MAX_BODY_BYTES MAX_JSON_TOKENS
        resolvers.request.context: MAX_RECORDS_PER_REQUEST
        schema.execution: MAX_INTERPRETED_COST
        schema.interpretation: MAX_INTROSPECTED_FIELDS MAX_FIELDS_INTROSPECTED_ALONG
        schema.operations: MAX_NUMBER_DIGITS
        schema.validation: MAX_COMPARED_FIELDS
    """,
    "graphql/maps.md": """
        parsing.svg.outcome: MAX_LISTED_PLACES
        resolvers.drawings.shapes: MAX_DRAWING_BYTES
        resolvers.routes: MAX_NEAREST_SOURCES
    """,
    "graphql/reading.md": """
        resolvers.request.listing: MAX_IDS MAX_SEARCH_CHARACTERS MAX_SEARCH_WORDS
        resolvers.directory: MAX_RELATED_UNITS
        storage.records.filters: MAX_INDEXED_WORDS MAX_WORD_CHARACTERS
        storage.records.paging: MAX_TOTAL_COUNT
    """,
    "graphql/writing.md": """
        resolvers.administration.audit: MAX_AUDIT_PER_PAGE
        resolvers.administration.imports: MAX_UNDO_BYTES MAX_REMOVED_IDS MAX_MIRRORED_ASSETS
        storage.administration.audit: MAX_SHOWN_CHANGES MAX_SHOWN_IDS
    """,
    "operation.md": """
        gateway.metrics: MAX_OPERATIONS
        gateway.server.metrics_server: MAX_CONNECTIONS REQUEST_SECONDS
        gateway.server.admission: MAX_ARRIVING_BYTES MAX_KEYLESS_IN_FLIGHT
        gateway.server.http_connection: MAX_DELAYED_SECONDS
        gateway.server.config: MAX_LONG_TASK_SECONDS
        gateway.server.websocket_connection: MAX_FRAMES_WITHOUT_KEY
        resolvers.administration.api_keys: MAX_ASSETS
        resolvers.processing.task_process: MAX_PARSE_CPU_SECONDS
        resolvers.processing.task_process: MAX_TASK_BYTES
        resolvers.processing.process_pool: MAX_WAITING MAX_WAITING_BYTES MAX_WAIT_SECONDS
        resolvers.processing.task_process: MAX_IDLE_BYTES
        resolvers.processing.pipeline: MAX_PROCESSING_CPU_SECONDS
        rest.scope_members: MAX_HEADER_BYTES MAX_URL_BYTES
        storage.administration.api_keys: MAX_OVERLAP_DAYS
        storage.administration.audit: MAX_SHOWN_IDS
        storage.mongo.topology: MAX_SECONDS_WITHOUT_PRIMARY
    """,
    "rest.md": """
        resolvers.changes: MAX_CHANGES
        resolvers.closures: MAX_CLOSED
        resolvers.distances: MAX_PAIRS
        resolvers.locations: MAX_FILTER_CHARACTERS
        resolvers.maps: MAX_TAGS_CHARACTERS
        resolvers.routes: MAX_REACHABLE
        resolvers.request.inputs: MAX_CURSOR_CHARACTERS
        resolvers.request.listing: MAX_IDS
        rest.bodies: MAX_TOKENS
        rest.parameters: MAX_IGNORED_REPORTED
        rest.scope_members: MAX_URL_BYTES
        storage.records.kinds: MAX_ID_CHARACTERS
        storage.records.filters: MAX_TERMS
    """,
    "rest/changes.md": """
        resolvers.changes: MAX_CHANGES
    """,
    "rest/distances.md": """
        resolvers.closures: MAX_CLOSED
        resolvers.distances: MAX_PAIRS
        resolvers.routes: MAX_MINUTES MAX_REACHABLE
        resolvers.routes: MAX_CANDIDATES MAX_NEAREST
        storage.catalog: MAX_COORDINATE
        storage.records.kinds: MAX_TEXT_CHARACTERS
    """,
    "rest/maps.md": """
        rest.responses: MAX_WARNINGS_HEADER_BYTES
    """,
    "rest/pictures.md": """
        resolvers.drawings.drawn_features: MAX_UNITED MAX_MEETING_EDGES MAX_UNION_WORK
        resolvers.drawings.drawn_features: MAX_POSITIONS
        resolvers.drawings.geojson: MAX_GEOJSON_DRAWING_BYTES
        resolvers.drawings.drawn_features: MAX_METRES
        resolvers.drawings.picture_files: MAX_PNG_SHAPES MAX_PICTURE_HEIGHT
        resolvers.drawings.pictures: MAX_PICTURE_WIDTH
    """,
    "routing.md": """
        resolvers.routes: MAX_UNITS_TO_NAME
        routing.directions.manoeuvres: MAX_ASIDE_FEET
        routing.directions.steps: MAX_EXACT_FEET
        routing.directions.manoeuvres: MAX_CURVE_FEET
        routing.network.mesh: MAX_COARSE_CORNERS
        routing.network.levels: MAX_EXACT_WORK MAX_EXACT_CORNERS
        routing.network.portals: MAX_DOOR_POINTS MAX_DOOR_PORTALS
        routing.search.matrix: MAX_TABLE_LOCATIONS
        routing.space.walkable: MAX_ONE_WAY_DOORS
        routing.values: MAX_STEP_NAMES
        routing.verification: MAX_TESTED_LINES
    """,
    "runbook.md": """
        resolvers.routable_maps: MAX_FILES_BYTES
        resolvers.routable_maps: MAX_CACHE_BYTES
    """,
    "spreadsheets.md": """
        storage.spreadsheets.sheets: MAX_SPREADSHEET_BYTES MAX_ROWS MAX_COLUMNS
        storage.spreadsheets.workbook_process: MAX_UNPACKED_BYTES MAX_PARTS
            MAX_MEMORY_BYTES MAX_CPU_SECONDS MAX_CELLS
        storage.spreadsheets.mapping_file: MAX_MAPPING_BYTES
        storage.spreadsheets.cells: MAX_CELL_CHARACTERS
    """,
    "unit-maps.md": """
        parsing.svg.viewports: MAX_TRACED
        parsing.svg.lengths: MAX_MAGNITUDE
        parsing.svg.outlines: MAX_PATH_CHARS
        parsing.svg.group_names: MAX_NAME_CHARACTERS
        parsing.svg.outcome: MAX_PLACES MAX_LISTED_PLACES
        parsing.svg.shape_checks: MAX_TRACED_CHARS MAX_GLANCE_CHARS
        parsing.svg.drawing_report: MAX_CHECKED_IDS MAX_ID_CHARACTERS
        parsing.svg.warnings: MAX_BOXES
        parsing.svg.style_sheets: MAX_MEDIA_CHARS MAX_COMPOUNDS MAX_STYLE_CHARS
        parsing.svg.transforms: MAX_TRANSFORM_CHARS
        parsing.svg.values: MAX_SUBSTITUTED_CHARS
        parsing.svg.walk: MAX_NESTED_USES
        resolvers.processing.task_process: MAX_PARSE_CPU_SECONDS
    """,
}
"""The constants of which a page has the values, by module."""


def values_of(constants: str) -> list[tuple[str, float]]:
    """Return the names and values of constants that are listed by module."""
    found = []
    module = None
    for word in constants.split():
        if word.endswith(":"):
            module = import_module(word[:-1])
        else:
            found.append((word, getattr(module, word)))
    return found


def has_number(text: str, value: float) -> bool:
    """Tell whether a text has the value as a number, as it is written in a sentence or a table."""
    forms = {f"{value:,}", f"{value}", f"{value:,.0f}", f"{value:g}", f"{value:.0%}"}
    numbers = rf"(?<!\d)(?<!\d[,.])({'|'.join(map(re.escape, forms))})(?![,.]?\d)"
    return re.search(numbers, text) is not None


@pytest.mark.parametrize("name", LIMITS)
def test_a_page_has_the_values_of_the_code(name: str) -> None:
    text = page(name)
    missing = [limit for limit, value in values_of(LIMITS[name]) if not has_number(text, value)]
    assert not missing, f"{name} must say the value of {missing}"


def test_each_limit_of_a_drawing_is_documented() -> None:
    text = section(page("unit-maps.md"), "## Limits")
    limits = dataclasses.asdict(DEFAULT_LIMITS)
    assert not [name for name, value in limits.items() if not has_number(text, value)]


def test_each_limit_of_a_request_body_is_documented() -> None:
    text = section(page("rest.md"), "## Limits")
    limits = {row.body.max_bytes for row in ENDPOINTS if row.body}
    assert not [limit for limit in limits if not has_number(text, limit)]


def test_the_time_within_which_a_drawing_is_answered_is_documented() -> None:
    text = section(page("operation.md"), "## Processes for drawings")
    assert has_number(text, MAX_PARSE_CPU_SECONDS * WALL_SECONDS_PER_CPU_SECOND)
    assert has_number(text, max_seconds(MAX_PARSE_CPU_SECONDS))


def test_the_size_from_which_responses_are_compressed_is_documented() -> None:
    assert has_number(section(page("rest.md"), "## Caching"), MIN_COMPRESSED_BYTES)


def test_the_cost_of_each_expensive_field_is_documented() -> None:
    documented = {
        (name.strip("` "), cost)
        for names, cost, *_ in rows(section(page("graphql/limits.md"), "## Limits"))
        for name in names.split(",")
    }
    for type in GRAPHQL_SCHEMA.type_map.values():
        for name, definition in getattr(type, "fields", {}).items():
            cost = cost_of(strawberry_field_of(definition)) if definition.extensions else 0
            assert not cost or (name, f"{cost:,}") in documented
