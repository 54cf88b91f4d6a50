"""`floorgate parse`: print a unit map as JSON, or as an SVG drawn from that JSON."""

from pathlib import Path

import click

from parsing.errors import ParsingError
from parsing.svg.render import to_svg
from parsing.svg.unit_map import parse_unit_map as parse_svg
from resolvers.processes.cpu_limit import limit_cpu_time


@click.command()
@click.argument("file", metavar="FILE.svg", type=click.Path(path_type=Path))
@click.option("--svg", is_flag=True, help="Print an SVG drawn from the parsed map.")
def parse(file: Path, svg: bool) -> None:
    """Parse a unit map and print its JSON."""
    try:
        content = file.read_bytes()
        with limit_cpu_time():
            parsed = parse_svg(content)
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error
    except ParsingError as error:
        raise click.ClickException(f"{file}: {error}") from error
    click.echo(to_svg(parsed.to_dict()) if svg else parsed.json)
