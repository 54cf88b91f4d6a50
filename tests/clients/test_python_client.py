"""The Python client, as its guide shows it: typed, for every endpoint, and when something fails."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from rest.openapi.description import build_description
from schema.root import GRAPHQL_SCHEMA
from tests.clients.environment import read_snippets, trust_variables
from tests.clients.rest_clients import MAP, REQUESTS, check, check_errors, check_requests
from tests.clients.unsteady_service import serve
from tests.docs.pages import find_blocks
from tests.endpoints import ENDPOINTS
from tests.rest.demo_service import DemoService
from tools import client_generation

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.usefixtures("generated")]

PROGRAMS = Path(__file__).parent
PYTHON = client_generation.PYTHON
SOURCE = PYTHON / "src"
TYPED = """
from floorgate_client import AsyncFloorgate, Floorgate
from floorgate_client.rest.api.assets import list_assets
from floorgate_client.rest.api.changes import list_changes
from floorgate_client.rest.api.units import get_unit, list_units

def read(client: Floorgate, other: AsyncFloorgate) -> list[str]:
    client.iterate(get_unit.sync_detailed, "u", client=client)  # type: ignore[arg-type]
    client.iterate(list_units.sync, client=client)  # type: ignore[arg-type]
    client.iterate(list_units.sync_detailed, client=client, none=1)  # type: ignore[call-arg]
    client.iterate(list_changes.sync_detailed, client=client)  # type: ignore[arg-type]
    other.iterate(list_changes.asyncio_detailed, client=other)  # type: ignore[arg-type]
    for asset in client.iterate(list_assets.sync_detailed, client=client):
        asset.floor_id  # type: ignore[attr-defined]
    unit = get_unit.sync("u", client=client)
    return [unit.id, *(each.id for each in client.iterate(list_units.sync_detailed, client=client))]
"""
"""What is ignored has to be an error: in strict mode, mypy reports comments without one."""


def run(*arguments: object, **variables: str) -> str:
    """What a program of a user prints."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(SOURCE), **variables},
        cwd=PROGRAMS,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def ask(*asked: tuple[str, list[str]], **variables: str) -> dict[str, dict[str, Any]]:
    """The errors of both clients by the names of what was asked for."""
    found: dict[str, dict[str, Any]] = json.loads(run("asking.py", json.dumps(asked), **variables))
    assert found.keys() == {"sync", "async"}
    return found


def test_it_calls_every_endpoint(demo: DemoService, service: httpx.Client) -> None:
    found = json.loads(run("every_endpoint.py", demo.url, demo.key, demo.certificate))
    check(found, service)
    assert found["concurrently"]["units"] == found["read_directory"]["units"]

    modules = (SOURCE / "floorgate_client/rest/api").glob("*/*.py")
    endpoints = {module.stem for module in modules} - {"__init__"}
    program = (PROGRAMS / "every_endpoint.py").read_text()
    assert endpoints == {*re.findall(r"\b(\w+)\.(?:sync|asyncio)\w*\b", program)}
    assert len(endpoints) == len(ENDPOINTS)


def test_it_repeats_what_fails_for_a_while_and_nothing_else() -> None:
    asked = [name for name, count in REQUESTS.items() for _ in range(2 if name == "same" else 1)]
    with serve() as service:
        found = ask((service.url, asked))
    for client, errors in found.items():
        check_requests(service, client)
        for error in errors.values():
            del error["message"]
        check_errors([*errors.values()])


@pytest.mark.slow
def test_what_fails_is_an_exception() -> None:
    names = ["cut", "gone", "later", "moved", "array", "null", "text", "html"]
    with serve() as service:
        found = ask((service.url, names))
    for client, errors in found.items():
        shown = {name: f"{error['type']}: {error['message']}" for name, error in errors.items()}
        assert shown.pop("gone").startswith("RemoteProtocolError: ")
        assert shown == {
            "later": "RateLimitedError: 429 RATE_LIMITED: Too Many Requests",
            "moved": "FloorgateError: 301: Moved Permanently, to https://floorgate.example/v1",
            **dict.fromkeys(("array", "null", "text", "html"), "FloorgateError: 502: Bad Gateway"),
        }
        asked = {name: len(service.requests[f"{name}-{client}"]) for name in names}
        assert asked == {**dict.fromkeys(names, 1), "cut": 2, "gone": 5}


@pytest.mark.slow
def test_settings_are_sent() -> None:
    with serve() as service:
        found = json.loads(run("settings.py", service.url))
    requests = service.requests["same-sync"]
    assert [each["If-None-Match"] for each in requests] == [None, '"1"', '"1"', '"1"']
    assert [each["X-Request-Id"] for each in requests] == [None, "mine", None, None]
    assert [each["Cookie"] for each in requests] == [None, "a=b", None, None]
    assert found == {
        "shown": f"Floorgate(URL('{service.url}'))",  # without the key
        "timeout": "Timeout(timeout=5)",
        "unchanged": "304: Not Modified",
    }


@pytest.mark.slow
def test_the_proxy_of_the_environment_is_used() -> None:
    with serve() as service:
        address = f"user:secret@{service.url.removeprefix('http://')}"
        found = ask(
            ("http://floorgate.example", ["cut", "same", "same"]),
            ("https://secure.example", ["none"]),
            (service.url, ["direct"]),
            http_proxy=address,
            https_proxy=address,
            no_proxy="127.0.0.1",
        )
    refused = {"none": {"type": "ProxyError", "message": "502 Bad Gateway"}}
    assert found == {"sync": refused, "async": refused}
    assert len(service.requests.pop("secure.example:443")) == 2
    for client in found:
        cut, same, direct = (
            service.requests.pop(f"{name}-{client}") for name in ("cut", "same", "direct")
        )
        assert len(cut) == 2
        assert [each["If-None-Match"] for each in same] == [None, '"1"']
        assert {each["Host"] for each in (*cut, *same)} == {"floorgate.example"}
        assert all(each["Proxy-Authorization"] for each in (*cut, *same))
        assert not any(each["Proxy-Authorization"] for each in direct)
    assert service.requests == {}


@pytest.mark.slow
def test_lists_are_followed_and_bytes_are_sent_without_with(
    demo: DemoService, service: httpx.Client
) -> None:
    listed = service.get(f"/maps/{MAP}/locations").json()["data"]
    assert len(listed) > 5
    found = json.loads(run("paging.py", demo.url, demo.key, SSL_CERT_FILE=str(demo.certificate)))
    expected = {"locations": [each["id"] for each in listed], "elements": 1, "request_id": "mine"}
    refused = "Floorgate is not for asyncio: use AsyncFloorgate"
    assert found == {"sync": expected, "async": expected, "refused": refused}


@pytest.mark.slow
def test_a_thread_reuses_a_response_that_another_drops() -> None:
    run("threads.py")


@pytest.mark.slow
def test_the_snippet_of_the_guide_prints_what_is_shown(demo: DemoService) -> None:
    text, shown = read_snippets()["python"]
    assert run("-c", text, URL=demo.url, KEY=demo.key, **trust_variables(demo)) == shown


@pytest.mark.slow
def test_the_client_and_programs_with_it_pass_mypy_in_strict_mode(tmp_path: Path) -> None:
    [shown] = [
        each.text
        for each in find_blocks((PYTHON / "README.md").read_text())
        if each.language == "python"
    ]
    for name, text in (("shown.py", shown), ("typed.py", TYPED)):
        (tmp_path / name).write_text(text)
    names = ("asking.py", "every_endpoint.py", "paging.py", "settings.py", "threads.py")
    programs = [*tmp_path.glob("*.py"), *(PROGRAMS / name for name in names)]
    programs += [PYTHON / "examples" / "sync_directory.py", SOURCE / "floorgate_client"]
    run("-m", "mypy", "--strict", "--config-file=", *programs, MYPYPATH=str(SOURCE))


def test_generation_leaves_the_description_for_others_as_it_is() -> None:
    before = json.dumps(build_description(GRAPHQL_SCHEMA))
    client_generation.describe_for_typescript()
    assert json.dumps(build_description(GRAPHQL_SCHEMA)) == before


def test_elements_of_maps_are_parsed_as_the_type_that_they_name() -> None:
    # Maps have tens of thousands; to try one type after the other takes 25 times as long.
    models = SOURCE / "floorgate_client/rest/models"
    for name in ("parsed_map", "map_level", "map_layer"):
        text = (models / f"{name}.py").read_text()
        assert "parse_element(" in text and "MapRect.from_dict" not in text
