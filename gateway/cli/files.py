"""`floorgate files`: write the guides, samples and clients that a wheel has in it."""

import shutil
from pathlib import Path

import click

from gateway.settings import FILES, IS_CHECKOUT, PATH
from storage.written_files import write_file


@click.command()
@click.argument("directory", type=PATH)
def files(directory: Path) -> None:
    """Write the guides, samples and clients of this version to a new DIRECTORY.

    README.md leads to the guides in docs. Drawings and tables to try are in samples. In clients are
    example programs, and packages that the service has at /clients/.
    """
    if IS_CHECKOUT:
        raise click.ClickException(f"This is a checkout, which has them already: {FILES}")
    directory.mkdir(parents=True)
    try:
        # No modes are copied: what is installed may be read-only.
        for file in FILES.rglob("*"):
            copy = directory / file.relative_to(FILES)
            if file.is_dir():
                copy.mkdir(exist_ok=True)
            elif file.parent.name != "__pycache__":
                write_file(copy, file.read_bytes())
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    click.echo(f"Start with {directory / 'README.md'}")
