"""Show which drawings of others look the same after parsing: `python -m tests.fidelity`."""

import click

from tests.fidelity.measuring import CORPORA, compare_drawings, summarize


@click.command()
@click.option("--fetch", is_flag=True, help="Download the drawings that are absent.")
@click.option("--only", default="", help="Only files with this in their path.")
@click.option("--strictly", is_flag=True, help="Leave images, clip paths and animation in.")
def main(fetch: bool, only: str, strictly: bool) -> None:
    """Name each drawing whose parsed map looks different, and count the others."""
    for corpus in CORPORA:
        if fetch:
            corpus.fetch()
        paths = [path for path in corpus.find() if only in str(path)]
        comparisons = []
        for comparison in compare_drawings(paths, strictly):
            comparisons.append(comparison)
            if not comparison.keeps_round_trip:
                click.echo(f"round trip   {comparison.path}")
            if not comparison.is_same:
                share = f"{comparison.differing_share:8.2%}"
                click.echo(f"{comparison.error or share}  {comparison.path}")
        click.echo(f"{corpus.name}: {summarize(comparisons)}")


if __name__ == "__main__":
    main()
