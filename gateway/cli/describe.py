"""`floorgate schema` and `floorgate openapi`: the two descriptions of the API."""

import click
import orjson

from gateway.settings import gather, options
from rest.openapi import describe, to_yaml
from schema.root import GRAPHQL, sdl


@click.command()
def schema() -> None:
    """Print the GraphQL schema in SDL."""
    click.echo(sdl(), nl=False)


@click.command()
@click.option("--format", "form", type=click.Choice(["json", "yaml"]), default="json")
@options("base_url")
def openapi(form: str, base_url: str | None) -> None:
    """Print the OpenAPI description of the REST API."""
    described = describe(GRAPHQL, gather({"base_url": base_url}).base_url)
    if form == "yaml":
        click.echo(to_yaml(described), nl=False)
    else:
        click.echo(orjson.dumps(described, option=orjson.OPT_INDENT_2))
