"""`make bench` runs the experiment `peers`; `python -m bench NAME` runs any."""

import importlib

import click

from bench.harness import EXPERIMENTS, build_command

EXPERIMENT_MODULES = (
    *("comparison", "growth", "importing", "instructions", "map_view", "observing", "overload"),
    *("parsing", "profiling", "response_cache", "routing", "saved_endpoints", "streams"),
)
for module in EXPERIMENT_MODULES:  # which registers their experiments
    importlib.import_module(f"bench.{module}")

main = click.Group(
    "bench",
    help="Measure speed and memory.",
    commands=[*map(build_command, EXPERIMENTS.values())],
)

if __name__ == "__main__":
    main()
