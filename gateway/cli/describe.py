"""`floorgate schema`, `openapi` and `bundle-schema`: print the schemas of what is exchanged."""

import click
import orjson

from gateway.settings import Settings, with_settings


@click.command()
def schema() -> None:
    """Print the GraphQL schema in SDL."""
    from schema.root import build_sdl

    click.echo(build_sdl(), nl=False)


@click.command()
@click.option("--format", "output_format", type=click.Choice(["json", "yaml"]), default="json")
@with_settings("base_url")
def openapi(output_format: str, settings: Settings) -> None:
    """Print the OpenAPI description of the REST API."""
    from rest.openapi.description import build_description, to_yaml
    from schema.root import GRAPHQL_SCHEMA

    document = build_description(GRAPHQL_SCHEMA, settings.base_url)
    if output_format == "yaml":
        click.echo(to_yaml(document), nl=False)
    else:
        click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2))


@click.command("bundle-schema")
def bundle_schema() -> None:
    """Print the JSON Schema of catalog bundles, with which editors complete and check them."""
    from storage.bundles.description import build_bundle_schema

    click.echo(orjson.dumps(build_bundle_schema(), option=orjson.OPT_INDENT_2))
