"""`floorgate parse`: a unit map's SVG as JSON, or drawn again from it."""

from pathlib import Path

import click

from parsing.errors import ParsingError
from parsing.svg.render import to_svg
from parsing.svg.unit_map import parse_unit_map as parse_svg


@click.command()
@click.argument("file", metavar="FILE.svg", type=click.Path(path_type=Path))
@click.option("--svg", is_flag=True, help="Draw the parsed map again, as SVG.")
def parse(file: Path, svg: bool) -> None:
    """Parse a unit map and print its JSON."""
    try:
        parsed = parse_svg(file.read_bytes())
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error
    except ParsingError as error:
        raise click.ClickException(f"{file}: {error}") from error
    click.echo(to_svg(parsed.to_dict()) if svg else parsed.json)
