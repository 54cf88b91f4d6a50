"""An idle stream takes little memory: a worker holds a thousand in less than 100 MB."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from gateway.server.worker import EventLoop
from tests.fixtures import World
from tests.gateway.subscriptions.service import TICKS, serve

CHECKOUT = Path(__file__).parents[3]
STREAMS = int(os.environ.get("FLOORGATE_TEST_STREAMS", "200"))
MAX_KB = 100.0


@pytest.mark.slow
def test_an_idle_stream_takes_less_than_100_kilobytes(world: World) -> None:
    async def scenario() -> str:
        async with serve(world, streams=3 * STREAMS, streams_per_key=3 * STREAMS) as service:
            program = [sys.executable, "-m", "bench.streams", service.address, world.keys.full]
            options = ["--pid", str(os.getpid()), "--streams", str(STREAMS), "--query", TICKS]
            process = await asyncio.create_subprocess_exec(
                *program, *options, cwd=CHECKOUT, stdout=asyncio.subprocess.PIPE
            )
            output, _ = await process.communicate()
            return output.decode()

    with asyncio.Runner(loop_factory=EventLoop) as runner:
        output = runner.run(scenario())

    sys.stdout.write(output)
    grown = re.findall(r"^(\w+): ([0-9.-]+) KB", output, re.MULTILINE)
    assert [transport for transport, _ in grown] == ["websocket", "sse"]
    assert all(float(kilobytes) < MAX_KB for _, kilobytes in grown), output
