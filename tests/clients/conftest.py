"""What users have: the generated clients, and pages of their own beside the demo property."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from clients import build
from tests.clients.environment import build_component, generate, install, serve_directory, trust_of
from tests.rest.demo_service import FLOORGATE, UNLIMITED, DemoService, demo_service

FLAGS = "changes, distances, locations-resource, references, unit-attributes-resource"


@pytest.fixture(scope="session")
def generated() -> None:
    """The clients for Python and TypeScript, generated anew."""
    generate()


@pytest.fixture(scope="session")
def published(generated: None) -> None:
    """What services have at `/clients/`, built anew."""
    build_component()
    [hatchling] = install().directory.glob("lib/python*/site-packages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(hatchling))
        build.replace_packages()


@pytest.fixture(scope="session")
def service(demo: DemoService) -> Iterator[httpx.Client]:
    """Requests to the demo service without a client of ours, with long pages."""
    with httpx.Client(
        base_url=f"{demo.url}/v1",
        verify=trust_of(demo),
        timeout=60,
        headers={"API-Key": demo.key, "Experimental-Flags": FLAGS},
        params={"per-page": 10_000},
    ) as client:
        yield client


@dataclass(frozen=True)
class Site:
    """A web site of others, and the demo service, which lets its pages in."""

    directory: Path
    """Its files: each test adds a folder of pages."""
    url: str
    demo: DemoService

    def create_key(self, *options: str) -> str:
        """Create an API key with the options of the command."""
        command = [str(FLOORGATE), "keys", "create", "--name", "site", "--json", *options]
        environment = {**os.environ, **self.demo.environment}
        done = subprocess.run(command, env=environment, capture_output=True, check=True)
        return str(json.loads(done.stdout)["key"])


@pytest.fixture(scope="session")
def site(mongo_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The web site, with a service of its own: its limits and origins are not those of `demo`."""
    directory, data = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("data")
    with (
        serve_directory(directory) as url,
        demo_service(mongo_url, data, ("--cors-origins", url, *UNLIMITED)) as demo,
    ):
        yield Site(directory, url, demo)
