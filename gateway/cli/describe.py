"""`floorgate schema` and `floorgate openapi`: the two descriptions of the API."""

import click
import orjson

from gateway.settings import settings_from_parameters, with_options
from rest.openapi.description import build_description, to_yaml
from schema.root import GRAPHQL_SCHEMA, build_sdl


@click.command()
def schema() -> None:
    """Print the GraphQL schema in SDL."""
    click.echo(build_sdl(), nl=False)


@click.command()
@click.option("--format", "form", type=click.Choice(["json", "yaml"]), default="json")
@with_options("base_url")
def openapi(form: str, base_url: str | None) -> None:
    """Print the OpenAPI description of the REST API."""
    described = build_description(
        GRAPHQL_SCHEMA, settings_from_parameters({"base_url": base_url}).base_url
    )
    if form == "yaml":
        click.echo(to_yaml(described), nl=False)
    else:
        click.echo(orjson.dumps(described, option=orjson.OPT_INDENT_2))
