"""Write the responses in the docs as they are really sent: `python -m tests.docs [page…]`."""

import sys
import tempfile
from pathlib import Path

import click

from storage.embedded.embedded_mongo import run_embedded_mongo
from tests.docs.pages import RUN_PAGES
from tests.docs.running import Runner, run_page
from tests.rest.demo_service import demo_service


def main(pages: list[Path]) -> None:
    """Run the examples of pages, and put the right responses into them."""
    with (
        tempfile.TemporaryDirectory() as folder,
        run_embedded_mongo(Path(folder)) as mongo_url,
        demo_service(mongo_url, Path(folder), limits=()) as service,
    ):
        for page in pages:
            updated, faults = run_page(page.read_text(), Runner(service, Path(folder)))
            page.write_text(updated)
            for fault in faults:
                click.echo(f"{page}: {fault}\n")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or RUN_PAGES)
