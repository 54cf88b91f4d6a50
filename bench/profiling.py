"""Profile the CPU time of requests by py-spy: `python -m bench profiling --workload units-1000`.

py-spy reads the stacks of the worker from outside, hundreds of times a second, with those of the
threads in which Motor reads sockets and decodes BSON. `make bench` installs it; it needs the right
to trace other processes (`--cap-add SYS_PTRACE` in a container).
"""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from bench.comparison import find_workloads
from bench.data.workloads import LIST
from bench.harness import RESULTS, Row, Run, experiment
from bench.load import machine
from bench.load.servers import start_peer
from bench.peers.peer import CACHED, UNCACHED

PY_SPY = Path(sys.executable).with_name("py-spy")
PROFILE = RESULTS.with_name("profile.json")
RATE = 500


@experiment("Profile", "https://www.speedscope.app shows it.")
def profiling(
    run: Run, units: int = 20_000, seconds: int = 5, workload: str = LIST, cache: bool = False
) -> Iterator[Row]:
    """Write a profile of a workload's requests."""
    if not PY_SPY.exists():
        raise click.ClickException("py-spy is absent; `make bench` installs it")
    [sent] = find_workloads([workload])
    PROFILE.parent.mkdir(parents=True, exist_ok=True)
    with (
        start_peer(CACHED if cache else UNCACHED, run.load_directory(units)) as server,
        ThreadPoolExecutor(1) as threads,
    ):
        server.measure(run.load, sent, 1)
        _, worker = machine.list_process_tree(server.pid)
        loading = threads.submit(server.measure, run.load, sent, seconds + 1)
        command = [str(PY_SPY), "record", "--pid", str(worker), "--duration", str(seconds)]
        command += ["--rate", str(RATE), "--format", "speedscope", "--gil"]
        subprocess.run([*command, "--output", str(PROFILE)], check=True)
        yield {
            "workload": sent.title,
            "profile": str(PROFILE),
            "requests": loading.result().requests,
        }
