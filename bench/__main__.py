"""`make bench` compares Floorgate with its peers; `python -m bench NAME` runs one experiment."""

import importlib
import signal
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from bench import chart, comparison, report
from bench.harness import (
    EXPERIMENTS,
    RESULTS,
    Record,
    Results,
    build_command,
    read_results,
    start_run,
    write_docs,
    write_results,
)

NONE = "none"
EXPERIMENT_MODULES = (
    *("cold_start", "comparison", "growth", "importing", "instructions", "map_view", "overload"),
    *("parsing", "response_cache", "routing", "streams"),
)
for module in EXPERIMENT_MODULES:  # which registers their experiments
    importlib.import_module(f"bench.{module}")


@click.group(invoke_without_command=True)
@click.option("--units", type=click.IntRange(1_000), default=20_000, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--seconds",
    type=click.FloatRange(0.1),
    default=1.0,
    show_default=True,
    help="Duration of each load; there are two per round, workload and peer.",
)
@click.option("--starts", type=click.IntRange(0), default=3, show_default=True)
@click.option("--writes", type=click.IntRange(0), default=200, show_default=True)
@click.option(
    "--alone",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    help="Rounds in which each peer is started anew, for cold caches and writes.",
)
@click.option("--peer", "peers", multiple=True, help="Only these and Floorgate.")
@click.option("--workload", "workloads", multiple=True, help="Only these; `none` for none.")
@click.option(
    "--add", "is_added", is_flag=True, help="Keep the figures in the file that are not measured."
)
@click.option(
    "--output", type=click.Path(path_type=Path), default=RESULTS, help="File for the figures."
)
@click.option(
    "--from",
    "earlier",
    type=click.Path(path_type=Path, exists=True),
    help="Show the figures of an earlier run instead.",
)
@click.option("--write-docs", "is_written", is_flag=True, help="Write tables and chart into docs/.")
@click.pass_context
def main(
    context: click.Context,
    units: int,
    rounds: int,
    seconds: float,
    starts: int,
    writes: int,
    alone: int,
    peers: tuple[str, ...],
    workloads: tuple[str, ...],
    is_added: bool,
    output: Path,
    earlier: Path | None,
    is_written: bool,
) -> None:
    """Measure speed and memory beside the peers; print tables and write the figures as JSON.

    With a command, run that experiment only.
    """
    # Exiting by an exception lets context managers stop every peer.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if context.invoked_subcommand:
        return
    shared = {"units": units, "peer": peers, "seconds": seconds}
    parts: dict[str, dict[str, Any]] = {
        "peers": shared | {"rounds": rounds, "workload": workloads},
        "alone": shared | {"rounds": alone},
        "staleness": {"units": units, "writes": writes},
        "starts": {"units": units, "times": starts},
    }
    chosen = {
        "peers": workloads != (NONE,),
        "alone": bool(alone),
        "staleness": bool(writes),
        "starts": bool(starts),
    }
    results = read_results(earlier or output)
    if earlier is None:
        with start_run() as run:
            measured = {
                name: EXPERIMENTS[name].record(run, **options)
                for name, options in parts.items()
                if chosen[name]
            }
        kept = {name: each for name, each in results.items() if is_added or name not in parts}
        results = add_results(kept, measured)
        write_results(output, results)
    rows = results["peers"].rows if "peers" in results else []
    for name in ["peers"] if rows else [name for name in parts if name in results]:
        report.print_tables(EXPERIMENTS[name].report(results))
    for row in rows:
        if "left_out" in row:
            click.echo(row["left_out"])
    if is_written:
        write_docs(results, [name for name in parts if name in results])
        if groups := comparison.build_bar_groups(rows):
            report.CHART_PATH.write_text(chart.draw_chart(groups))
    click.echo(f"All figures: {earlier or output}")
    click.echo(f"More: python -m bench {', '.join(x for x in EXPERIMENTS if x not in parts)}")


def add_results(earlier: Results, new: Results) -> dict[str, Record]:
    """Return the new results with those earlier ones that the new run left out.

    Of a workload, all peers are from one run, because ratios compare within rounds.
    """
    added = {**earlier, **new}
    if "peers" in earlier and "peers" in new:
        rows = new["peers"].rows
        measured = {row.get("workload", row.get("process")) for row in rows} | {None}
        kept = [
            row
            for row in earlier["peers"].rows
            if row.get("workload", row.get("process")) not in measured
        ]
        added["peers"] = msgspec.structs.replace(new["peers"], rows=[*kept, *rows])
    return added


for each in EXPERIMENTS.values():
    main.add_command(build_command(each))

if __name__ == "__main__":
    main()
