"""Process maps for `floorgate maps process`, and print what came of it."""

from collections import Counter
from pathlib import Path
from typing import Any

import click
import orjson
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from gateway.cli.operator import run_with_database
from gateway.cli.terminal import count_of
from gateway.settings import Settings
from parsing.drawing import is_number
from resolvers.processing.pipeline import ProcessingOutcome, ProcessingRequest
from resolvers.processing.process_pool import ProcessPool
from resolvers.processing.stale_networks import (
    SettledNetwork,
    process_with_other_maps,
    settle_stale_networks,
)
from resolvers.request.errors import NotFoundError, RequestError
from resolvers.routable_maps import is_loadable
from storage.mongo import driver
from storage.routing_inputs import list_stale_networks
from storage.store import Store

TIMEOUT_SECONDS = 60.0
SHOWN_PROBLEMS = 3
"""Problems of a group that are printed without `--verbose`."""
SHOWN_LEVELS = 8


def print_report(report: dict[str, Any], *, verbose: bool = False) -> None:
    """Print a processing report as a table and lines; `verbose` prints all that it lists."""
    # Names come from the plan and may hold [brackets] and :colons:.
    console = Console(soft_wrap=True, markup=False, emoji=False, highlight=False)
    console.print(_build_level_table(report["levels"]))
    for reach in report["reachability"]:
        is_single = reach["reached"] == 1 < report["locations"]
        components = count_of(reach["components"], "component")
        share = "" if is_single else f" ({reach['share']:.1%})"
        console.print(
            f"{reach['mode']}: {'no two' if is_single else reach['reached']} of "
            f"{report['locations']} locations reach each other{share}, {reach['vertices']} "
            f"vertices, {reach['edges']} edges, {components}"
        )
    _print_groups(console, report, verbose=verbose)
    for note in report["notes"]:
        console.print(f"note: {note}")
    if not report["published"]:
        console.print(f"not published: {report['refusal']}")
        return
    console.print(f"published: routable by {' and '.join(report['modes'])}")
    for reach in report["reachability"]:
        if reach["mode"] not in report["modes"]:
            console.print(f"not by {reach['mode']}: no two locations reach each other")


def _build_level_table(levels: list[dict[str, Any]]) -> Table:
    table = Table("Level", "Rooms", "Locations", "Doors", "repaired", "inferred", "Walkable ft²")
    names = _label_levels(levels)
    for level in levels:
        doors = level["doors_as_drawn"] + level["doors_repaired"] + level["doors_inferred"]
        table.add_row(
            names[level["level_id"]],
            str(level["rooms"]),
            str(level["locations"]),
            str(doors),
            str(level["doors_repaired"]),
            str(level["doors_inferred"]),
            f"{level['walkable_square_feet']:,.0f}",
        )
    return table


def _label_levels(levels: list[dict[str, Any]]) -> dict[str, str]:
    """Return the name of each level, else its number, by id; the id where two share it."""
    labels = {each["level_id"]: each["name"] or f"{each['ordinal']:g}" for each in levels}
    times = Counter(labels.values())
    return {
        level_id: label if times[label] == 1 else level_id for level_id, label in labels.items()
    }


def _print_groups(console: Console, report: dict[str, Any], *, verbose: bool) -> None:
    """Print each group of problems: its number in the pictures, the cause, the remedy, the parts.

    A group that keeps no location from being reached comes after a line that says so, but for
    what was left out, whose cost is not known.
    """
    names = _label_levels(report["levels"])
    had_cost = True
    for group in report["groups"]:
        has_cost = bool(group["locations"]) or group["cause"] == "element-left-out"
        if had_cost and not has_cost:
            console.print("\nWhat follows keeps no location from being reached.")
        had_cost = has_cost
        console.print(f"\n{group['number']}. {group['statement']}")
        console.print(f"   Remedy: {group['remedy']}.")
        if len(group["levels"]) > 1:
            console.print(f"   Levels: {_list_levels(group['levels'], names)}")
        shown = group["problems"] if verbose else group["problems"][:SHOWN_PROBLEMS]
        for problem in shown:
            console.print(f"   - {_describe_problem(problem, group, names)}")
        more = group["count"] - len(shown)
        if more:
            option = "" if verbose else "; --verbose lists them"
            console.print(f"   - and {more:,} more{option}")
    if report["groups"]:
        console.print()


def _list_levels(level_ids: list[str], names: dict[str, str]) -> str:
    labels = [names.get(level_id, level_id) for level_id in level_ids]
    more = len(labels) - SHOWN_LEVELS
    return ", ".join(labels[:SHOWN_LEVELS]) + (f" and {more} more" if more > 0 else "")


def _describe_problem(problem: dict[str, Any], group: dict[str, Any], names: dict[str, str]) -> str:
    """Return a problem and its place, with the name and the id of the part that it does not have.

    Leave out a message that the group's statement begins with.
    """
    level_id = problem["level_id"]
    place = [f"level {names.get(level_id, level_id)}"] if level_id is not None else []
    if problem["x"] is not None:
        place.append(f"{problem['x']:.1f}, {problem['y']:.1f} ft")
    if "source_x" in problem:
        place.append(f"source {problem['source_x']:.10g}, {problem['source_y']:.10g}")
    line, file = problem.get("line"), problem.get("file")
    is_told = not line or problem["message"].startswith(f"{file}, line {line}:")
    source = "" if is_told else f"line {line} of {file}"
    part = "" if line and is_number(problem["part"]) else problem["part"]
    place += [
        label
        for label in (problem["name"], source, part)
        if label not in problem["message"] and problem["part"] != level_id
    ]
    if group["statement"].startswith(problem["message"]):
        return "; ".join(place)
    return f"{problem['message']} ({'; '.join(place)})" if place else str(problem["message"])


def read_sources(sources: tuple[Path, ...]) -> dict[str, bytes]:
    """Return contents by name; files of the same name are named with their folders."""
    files = [
        (path, path.relative_to(source if source.is_dir() else path.parent))
        for source in sources
        for path in (sorted(source.rglob("*")) if source.is_dir() else [source])
        if not path.is_dir()
    ]
    counts = Counter(name for _, name in files)
    return {
        (path if counts[name] > 1 else name).as_posix(): path.read_bytes() for path, name in files
    }


def _show_progress() -> Progress:
    console = Console(stderr=True)
    return Progress(console=console, disable=not console.is_terminal, transient=True)


def process_stale_maps(settings: Settings, *, as_json: bool) -> None:
    """Process all maps again that need it, and print what became of each. Exits with a status."""

    async def work(database: driver.Database) -> list[SettledNetwork]:
        store = Store(database.client, database.name)
        stale = await list_stale_networks(database, is_loadable)
        with _show_progress() as bar:
            task = bar.add_task("processing", total=len(stale))
            async with ProcessPool(1) as pool:
                return await settle_stale_networks(
                    store,
                    stale,
                    pool=pool,
                    on_progress=lambda done: bar.update(task, completed=done),
                )

    settled = run_with_database(settings, work, TIMEOUT_SECONDS, writes=True)
    if as_json:
        click.echo(orjson.dumps([each._asdict() for each in settled], option=orjson.OPT_INDENT_2))
    else:
        click.echo("\n".join(map(str, settled)) or "no map is stale")
    if not all(each.is_routable for each in settled):
        raise click.exceptions.Exit(1)


def process_map(settings: Settings, request: ProcessingRequest, networks: str) -> ProcessingOutcome:
    """Process a map. Raises ClickException."""
    try:
        with _show_progress() as bar:
            task = bar.add_task("processing", total=1.0)

            def progress(share: float, step: str) -> None:
                bar.update(task, completed=share, description=step)

            async def work(database: driver.Database) -> ProcessingOutcome:
                store = Store(database.client, database.name)
                return await process_with_other_maps(store, request, networks, progress)

            return run_with_database(settings, work, TIMEOUT_SECONDS, writes=True)
    except NotFoundError as error:
        raise click.ClickException(
            f"there is no map {request.map_id!r}: pass a floor plan as SOURCE to create it"
        ) from error
    except RequestError as error:
        raise click.ClickException(str(error)) from error
