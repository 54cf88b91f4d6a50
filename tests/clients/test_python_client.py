"""The Python client when something fails, and without `with`."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clients.unsteady_service import serve
from tools import client_generation

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.slow]

PROGRAMS = Path(__file__).parent
PYTHON = client_generation.PYTHON
SOURCE = PYTHON / "src"


@pytest.fixture(scope="module", autouse=True)
def generated() -> None:
    client_generation.main()


def run(program: str, *arguments: str, **variables: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, PROGRAMS / program, *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE), **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_fails_is_an_exception_and_settings_are_sent() -> None:
    with serve() as service:
        found = run("failures.py", service.url)
    for client, errors in found.items():
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
