"""The Python client, as its guide shows it: typed, without `with`, and when something fails."""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.clients.trust import trust_of
from tests.clients.unsteady_service import serve
from tests.docs.markdown import find_blocks
from tests.rest.demo_service import DemoService
from tools import client_generation

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.slow]

PROGRAMS = Path(__file__).parent
PYTHON = client_generation.PYTHON
SOURCE = PYTHON / "src"
MAP = "alder-court-floor-plates"
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


@pytest.fixture(scope="module", autouse=True)
def generated() -> None:
    client_generation.main()


def run(program: str, *arguments: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, PROGRAMS / program, *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE), **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_programs_are_checked_strictly_against_what_endpoints_return(tmp_path: Path) -> None:
    shown, typed = tmp_path / "shown.py", tmp_path / "typed.py"
    [shown_text] = [
        each.text
        for each in find_blocks((PYTHON / "README.md").read_text())
        if each.language == "python"
    ]
    shown.write_text(shown_text)
    typed.write_text(TYPED)
    names = ("failures.py", "paging.py", "proxies.py", "threads.py")
    programs = [shown, typed, *(PROGRAMS / name for name in names)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", *programs],
        env={**os.environ, "MYPYPATH": str(SOURCE)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_lists_are_followed_and_bytes_are_sent_without_with(demo: DemoService) -> None:
    with httpx.Client(
        base_url=f"{demo.url}/v1",
        verify=trust_of(demo),
        timeout=60,
        headers={"API-Key": demo.key, "Experimental-Flags": "locations-resource"},
    ) as client:
        listed = client.get(f"/maps/{MAP}/locations", params={"per-page": 10_000}).json()["data"]
    assert len(listed) > 5
    found = json.loads(run("paging.py", demo.url, demo.key, SSL_CERT_FILE=str(demo.certificate)))
    expected = {"locations": [each["id"] for each in listed], "elements": 1, "request_id": "mine"}
    refused = "Floorgate is not for asyncio: use AsyncFloorgate"
    assert found == {"sync": expected, "async": expected, "refused": refused}


def test_what_fails_is_an_exception_and_settings_are_sent() -> None:
    with serve() as service:
        found = json.loads(run("failures.py", service.url))
    for client, errors in found.items():
        kind = {"sync": "Floorgate", "async": "AsyncFloorgate"}[client]
        shown = f"{kind}(URL('{service.url}'))"  # without the key
        assert errors.pop("shown") == f"{shown} {shown}"
        assert errors.pop("gone").startswith("RemoteProtocolError: ")
        foreign = "FloorgateError: 502: Bad Gateway"
        assert errors == {
            "later": "RateLimitedError: 429 RATE_LIMITED: Too Many Requests",
            "moved": "FloorgateError: 301: Moved Permanently, to https://floorgate.example/v1",
            **dict.fromkeys(("array", "null", "text", "html"), foreign),
            "timeout": "Timeout(timeout=5)",
            "unchanged": "FloorgateError: 304: Not Modified",
        }
        asked = {
            name: len(service.requests[f"{name}-{client}"])
            for name in errors.keys() - {"timeout", "unchanged"}
        }
        assert asked == dict.fromkeys(asked, 1)
        assert len(service.requests[f"cut-{client}"]) == 2
        assert len(service.requests[f"gone-{client}"]) == 5
        requests = service.requests[f"same-{client}"]
        assert [each["If-None-Match"] for each in requests] == [None, '"1"', '"1"', '"1"']
        assert [each["X-Request-Id"] for each in requests] == [None, "mine", None, None]
        assert [each["Cookie"] for each in requests] == [None, "a=b", None, None]
        assert {each["Experimental-Flags"] for each in requests} == {"distances"}


def test_a_thread_reuses_a_response_that_another_drops() -> None:
    run("threads.py")


def test_the_proxy_of_the_environment_is_used() -> None:
    with serve() as service:
        address = f"user:secret@{service.url.removeprefix('http://')}"
        proxies = {"http_proxy": address, "https_proxy": address}
        found = json.loads(run("proxies.py", service.url, **proxies, no_proxy="127.0.0.1"))
    refused = ["ProxyError: 502 Bad Gateway"]
    assert found == {"sync": refused, "async": refused}
    assert len(service.requests.pop("secure.example:443")) == 2
    for client in found:
        cut, same, direct = (
            service.requests.pop(f"{name}-{client}") for name in ("cut", "same", "direct")
        )
        assert len(cut) == 3
        assert [each["If-None-Match"] for each in same] == [None, '"1"']
        assert {each["Host"] for each in (*cut, *same)} == {"floorgate.example"}
        assert all(each["Proxy-Authorization"] for each in (*cut, *same))
        assert len(direct) == 2
        assert not any(each["Proxy-Authorization"] for each in direct)
    assert service.requests == {}
