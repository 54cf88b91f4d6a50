"""The programs of the docs that follow changes go on where they were when a connection is lost."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.clients.environment import trust_of
from tests.doc_pages import DOCS
from tests.docs.pages import find_blocks
from tests.rest.demo_service import DemoService
from tests.rest.packages import Packages, install

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.slow]

PROGRAMS = Path(__file__).with_name("graphql_clients")
GROUP = "/v1/units/attribute-groups/views-and-features/assignments"
ASSIGNMENT = {
    "group_id": "views-and-features",
    "attribute_id": "views-and-features-balcony",
    "asset_id": "alder-court",
    "unit_id": "ugwo2tfiznm",
}
RECORD = "attribute_assignments views-and-features/ugwo2tfiznm/views-and-features-balcony"


@pytest.fixture(scope="module")
def packages() -> Packages:
    return install(PROGRAMS)


class Link:
    """Forwards connections to the service, until it drops them."""

    def __init__(self, port: int) -> None:
        self.service_port = port
        self.writers: list[asyncio.StreamWriter] = []

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.service_port)
        self.writers += [writer, back]
        await asyncio.gather(copy(reader, back), copy(there, writer))

    def drop(self) -> None:
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
    except ConnectionError:
        pass
    writer.close()


@asynccontextmanager
async def link_to(demo: DemoService) -> AsyncIterator[tuple[Link, str]]:
    """A link to the service, and the address at its beginning."""
    link = Link(urlsplit(demo.url).port or 443)
    server = await asyncio.start_server(link.forward, "127.0.0.1", 0)
    try:
        yield link, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        link.drop()


@asynccontextmanager
async def running(
    packages: Packages, demo: DemoService, program: str
) -> AsyncIterator[asyncio.StreamReader]:
    """What a program prints until the block ends."""
    process = await asyncio.create_subprocess_exec(
        *(packages.node_directory / "node", "--input-type=module", "--eval", program),
        cwd=PROGRAMS,
        env={"NODE_EXTRA_CA_CERTS": str(demo.certificate)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("package", ["graphql-sse", "graphql-ws"])
def test_a_program_goes_on_after_the_last_change_when_its_connection_was_lost(
    packages: Packages, demo: DemoService, package: str
) -> None:
    blocks = find_blocks((DOCS / "graphql" / "changes.md").read_text())
    [shown] = [block.text for block in blocks if f"from '{package}'" in block.text]
    at_once = shown.replace(
        "Infinity,", "Infinity, retry: async () => {}, retryWait: async () => {},"
    )
    assert at_once != shown

    async def scenario() -> None:
        flags = {"Experimental-Flags": "changes, unit-attributes-resource"}
        async with (
            httpx.AsyncClient(
                base_url=demo.url,
                verify=trust_of(demo),
                timeout=60,
                headers={"API-Key": demo.key, **flags},
            ) as client,
            link_to(demo) as (link, address),
        ):
            cursor = (await client.get("/v1/changes")).json()["cursor"]
            assigned = await client.put(GROUP, json={"data": [ASSIGNMENT]})
            assert assigned.is_success, assigned.text
            given = {"address": address, "key": demo.key, "cursor": cursor}
            constants = "".join(f"const {name} = {json.dumps(given[name])}\n" for name in given)
            try:
                async with running(packages, demo, constants + at_once) as printed:
                    assert (await printed.readline()).decode() == f"created {RECORD}\n"
                    link.drop()
                    await client.post(f"{GROUP}/remove", json={"data": [ASSIGNMENT]})
                    assert (await printed.readline()).decode() == f"removed {RECORD}\n"
            finally:
                await client.post(f"{GROUP}/remove", json={"data": [ASSIGNMENT]})

    asyncio.run(asyncio.wait_for(scenario(), 60))
