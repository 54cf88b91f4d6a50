"""Profile the CPU time of requests by py-spy: `python -m bench.profiling --workload units-1000`.

py-spy reads the stacks of the worker from outside, hundreds of times a second, with those of the
threads in which Motor reads sockets and decodes BSON. `make bench` installs it; it needs the right
to trace other processes (`--cap-add SYS_PTRACE` in a container).
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from bench.comparison import find_workloads
from bench.data.workloads import LIST
from bench.harness import start_run
from bench.load import machine
from bench.load.servers import start_peer
from bench.peers.peer import CACHED, UNCACHED

PY_SPY = Path(sys.executable).with_name("py-spy")
OUTPUT = Path(__file__).parents[1] / "build" / "bench" / "profile.json"
RATE = 500


@click.command()
@click.option("--workload", default=LIST, show_default=True)
@click.option("--cache/--no-cache", default=False, show_default=True)
@click.option("--units", type=click.IntRange(1_000), default=20_000, show_default=True)
@click.option("--seconds", type=click.IntRange(1), default=5, show_default=True)
@click.option("--native", is_flag=True, help="Show functions of C, too.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["speedscope", "flamegraph", "raw"]),
    default="speedscope",
    show_default=True,
)
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, show_default=True)
def main(
    workload: str,
    cache: bool,
    units: int,
    seconds: int,
    native: bool,
    form: str,
    output: Path,
) -> None:
    """Write a profile of a workload's requests, which https://www.speedscope.app shows."""
    if not PY_SPY.exists():
        raise click.ClickException("py-spy is absent; `make bench` installs it")
    [sent] = find_workloads([workload])
    output.parent.mkdir(parents=True, exist_ok=True)
    with (
        start_run() as run,
        start_peer(CACHED if cache else UNCACHED, run.load_directory(units)) as server,
        ThreadPoolExecutor(1) as threads,
    ):
        run.load.run(server.build_order(sent, 1, sent.connections))
        _, worker = machine.list_process_tree(server.pid)
        order = server.build_order(sent, seconds + 1, sent.connections)
        loading = threads.submit(run.load.run, order)
        command = [str(PY_SPY), "record", "--pid", str(worker), "--duration", str(seconds)]
        command += ["--rate", str(RATE), "--format", form, "--output", str(output), "--gil"]
        subprocess.run(command + ["--native"] * native, check=True)
        requests = loading.result().answered.requests
    click.echo(f"{requests:,} requests were sent meanwhile")


if __name__ == "__main__":
    main()
