"""`make chaos`: try all faults, report what they did, and fail if a promise is broken."""

import itertools
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import orjson
from rich.console import Console

from bench.load.machine import load_average
from bench.report import ROOT, rewrite_section
from tests.faults import report
from tests.faults.checking.verdict import Round, Verdict, describe, judge
from tests.faults.deployment import Deployment, run_deployment
from tests.faults.gateways import DEADLINE_SECONDS
from tests.faults.scenarios import SCENARIOS, Scenario

PAGE = ROOT / "docs" / "reliability.md"
KILLS_PER_CYCLE = sum(scenario.kills for scenario in SCENARIOS)
MAX_IMPORT_SECONDS = 10.0
"""Within which a running gateway finishes or undoes an interrupted import."""
MAX_GAP_SECONDS, MAX_RECOVERY_SECONDS, MAX_CACHE_SECONDS = 4.0, 5.0, 1.0
"""With --strict. The gap is the promise for elections, where a majority exists."""
DEADLINE_SLACK_SECONDS = 1.0
_ELECTIONS = ("kill-primary", "stop-primary", "step-down", "isolate-primary", "kill-secondary")


def try_scenario(deployment: Deployment, scenario: Scenario, longest_allowed: float) -> Verdict:
    """Try a fault once."""
    played = deployment.play(scenario.inject, with_importer=scenario.with_importer)
    # In a process of its own: it would slow down the network, and MongoDB would elect a primary.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as judges:
        verdict = judges.submit(judge, played, longest_allowed).result()
    if verdict.violations:
        name = f"{scenario.name}-{datetime.now(UTC):%H%M%S}.jsonl"
        _save_history(deployment.directory / name, played)
    return verdict


def try_all(
    tries: Sequence[Scenario], directory: Path, election_seconds: float, longest_allowed: float
) -> Iterator[tuple[Scenario, Verdict]]:
    """Try one fault after the other; when a try cannot end, go on with new processes."""
    remaining = deque(tries)
    for started in itertools.count(1):
        scenario, began = remaining.popleft(), time.monotonic()
        place = directory / f"deployment-{started}"
        place.mkdir(parents=True, exist_ok=True)
        try:
            with run_deployment(place, round(election_seconds * 1000)) as deployment:
                while True:
                    verdict = try_scenario(deployment, scenario, longest_allowed)
                    yield scenario, _count_try(verdict, scenario, began)
                    if not remaining:
                        break
                    scenario, began = remaining.popleft(), time.monotonic()
        except Exception as error:
            failed = Verdict([f"not judged: {type(error).__name__}: {error}"])
            yield scenario, _count_try(failed, replace(scenario, kills=0), began)
        if not remaining:
            return


def _count_try(verdict: Verdict, scenario: Scenario, began: float) -> Verdict:
    seconds = round(time.monotonic() - began)
    verdict.counts.update(tries=1, kills=scenario.kills, seconds=seconds)
    return verdict


def _save_history(path: Path, played: Round) -> None:
    lines = [*played.operations, *played.requests, played.outage]
    path.write_bytes(b"\n".join(orjson.dumps(line) for line in lines))


def find_late(scenario: Scenario, verdict: Verdict) -> list[str]:
    """Return the promises about time that a try has broken; a busy machine breaks them too."""
    late = []
    finished = verdict.maxima.get("import finished", 0.0)
    if finished > MAX_IMPORT_SECONDS:
        late.append(f"an interrupted import was finished after {finished:.1f} s")
    cached = verdict.maxima.get("cache recovery", 0.0)
    if cached > MAX_CACHE_SECONDS:
        late.append(f"nothing was cached until {cached:.1f} s after the change stream was back")
    gap, recovery = verdict.maxima.get("read gap", 0.0), verdict.maxima.get("recovery", 0.0)
    if scenario.name in _ELECTIONS and gap > MAX_GAP_SECONDS:
        late.append(f"no reads for {gap:.1f} s")
    if recovery > MAX_RECOVERY_SECONDS:
        late.append(f"errors until {recovery:.1f} s after recovery")
    return late


def list_tries(kills: int, names: Sequence[str]) -> list[Scenario]:
    """Return all faults once, and those that kill until there are so many kills."""
    chosen = [each for each in SCENARIOS if not names or each.name in names]
    tries = list(chosen)
    while (total := sum(each.kills for each in tries)) < kills:
        more = [each for each in chosen if each.kills]
        if not more:
            break
        for each in more:
            if total < kills:
                tries.append(each)
                total += each.kills
    return tries


@click.command()
@click.option("--kills", type=click.IntRange(0), default=KILLS_PER_CYCLE, show_default=True)
@click.option("--only", "names", multiple=True, type=click.Choice([s.name for s in SCENARIOS]))
@click.option("--election-seconds", type=click.FloatRange(0.5), default=2.0, show_default=True)
@click.option("--strict", is_flag=True, help="Fail for long gaps and slow recovery too.")
@click.option("--write-docs", is_flag=True, help="Write the table into docs/reliability.md.")
@click.option("--directory", type=click.Path(path_type=Path), help="Keep logs and histories here.")
def main(
    kills: int,
    names: tuple[str, ...],
    election_seconds: float,
    strict: bool,
    write_docs: bool,
    directory: Path | None,
) -> None:
    """Try faults on a replica set of three with two gateways; fail if a promise is broken."""
    console = Console() if sys.stdout.isatty() else Console(width=200)
    verdicts: dict[str, Verdict] = {}
    tries = list_tries(kills, names)
    with TemporaryDirectory(prefix="floorgate-faults-") as scratch:
        longest_allowed = DEADLINE_SECONDS + DEADLINE_SLACK_SECONDS
        tried = try_all(tries, directory or Path(scratch), election_seconds, longest_allowed)
        for number, (scenario, verdict) in enumerate(tried, start=1):
            if strict:
                verdict.violations += find_late(scenario, verdict)
            result = "broken" if verdict.violations else "ok"
            console.print(
                f"{number}/{len(tries)} {scenario.title}: {result} "
                f"({verdict.counts['seconds']} s, load {load_average():.1f})",
                highlight=False,
            )
            for line in describe(verdict.violations):
                console.print(f"  {line}", highlight=False, markup=False)
            verdicts.setdefault(scenario.title, Verdict()).add(verdict)
    for table in (report.build_count_table(verdicts), report.build_time_table(verdicts)):
        console.print(table.to_rich_table())
    if write_docs:
        rewrite_section(PAGE, "faults", report.build_page_table(verdicts).to_markdown())
        killed = sum(verdict.counts["kills"] for verdict in verdicts.values())
        minutes = sum(verdict.counts["seconds"] for verdict in verdicts.values()) / 60
        rewrite_section(
            PAGE,
            "fault-run",
            f"{datetime.now(UTC):%Y-%m-%d}: {len(tries)} faults with {killed} kills,"
            f" elections after {election_seconds:g} s, {minutes:.0f} minutes.",
        )
    sys.exit(any(verdict.violations for verdict in verdicts.values()))


if __name__ == "__main__":
    main()
