"""Process floor plans that others have published: `python -m tests.real_plans`."""

import time
from urllib.parse import quote

import click
import httpx
from rich.console import Console
from rich.progress import track
from rich.table import Table

from parsing.errors import ParsingError
from parsing.plans import read_plan
from resolvers.plans.translation import translate_plan
from resolvers.request.errors import RequestError
from routing.errors import RoutingError
from routing.processing import process_plan
from tests.real_plans.catalog import DIRECTORY, RealPlan, list_plans

ROUTABLE_SHARE = 0.8
"""Of the locations: a plan of which so many reach each other on foot needs little work."""


@click.command()
@click.option("--fetch", is_flag=True, help="Download the plans that are absent.")
def main(fetch: bool) -> None:
    """Process each plan as it is, and show which share of its locations reach each other."""
    plans = list_plans()
    if fetch:
        for plan in track(plans, "Downloading"):
            download(plan)
    columns = ("plan", "locations", "foot %", "wheelchair %", "CPU s", "not processed because")
    sheet = Table(*columns, title=f"Plans in {DIRECTORY.resolve()}")
    shares = []
    for plan in track(plans, "Processing"):
        if not plan.is_present:
            sheet.add_row(plan.name, "", "", "", "", "absent; --fetch downloads it")
            continue
        row, share = process(plan)
        sheet.add_row(plan.name, *row)
        shares.append(share)
    console = Console()
    console.print(sheet)
    routable = sum(share > 0 for share in shares)
    mostly = sum(share >= ROUTABLE_SHARE for share in shares)
    console.print(
        f"{routable} of {len(shares)} routable; in {mostly} at least {ROUTABLE_SHARE:.0%} of the "
        "locations reach each other on foot"
    )


def process(plan: RealPlan) -> tuple[tuple[str, ...], float]:
    """Return the row of a plan, and the share of its locations that reach each other on foot."""
    start = time.process_time()
    try:
        drawing = read_plan(plan.read())
        processed = process_plan(translate_plan(drawing, plan.name).plan)
    except (ParsingError, RequestError, RoutingError) as error:
        return ("", "", "", "", str(error)), 0.0
    seconds = time.process_time() - start
    foot, wheelchair = processed.report.reachability
    share = foot.share if processed.report.modes else 0.0
    figures = (f"{100 * foot.share:.1f}", f"{100 * wheelchair.share:.1f}", f"{seconds:.1f}")
    return (str(processed.report.locations), *figures, ""), share


def download(plan: RealPlan) -> None:
    for file, path in plan.paths.items():
        if not path.exists():
            response = httpx.get(quote(plan.url(file), safe=":/"), follow_redirects=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(response.raise_for_status().content)


if __name__ == "__main__":
    main()
