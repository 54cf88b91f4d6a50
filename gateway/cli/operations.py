"""Run GraphQL operations as the operator, with all permissions."""

from functools import partial
from typing import Any

import click
from graphql import GraphQLError

from resolvers.request.caller import FLAGS, PERMISSIONS, Caller
from resolvers.request.context import Context
from resolvers.routable_maps import RoutableMapCache
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA
from storage.errors import StorageError
from storage.mongo import driver, files
from storage.records.visibility import ALL_ASSETS
from storage.store import Store

OPERATOR = Caller("operator", ALL_ASSETS, frozenset(PERMISSIONS), frozenset(FLAGS))


def build_context(database: driver.Database) -> Context:
    cache = RoutableMapCache(partial(files.read_file, database))
    store = Store(database.client, database.name)
    return Context(OPERATOR, store, routable_map_cache=cache)


async def execute(
    database: driver.Database, document: str, variables: dict[str, Any]
) -> dict[str, Any]:
    """Run an operation and return its data. Raises StorageError, or ClickException."""
    executor = Executor(GRAPHQL_SCHEMA)
    result = await executor.run(executor.prepare(document), variables, build_context(database))
    if result.errors or result.data is None:
        cause = result.errors[0].__cause__
        if isinstance(cause, StorageError):  # its message says more to an operator
            raise cause
        raise click.ClickException(_describe(result.errors[0]))
    return result.data


def _describe(error: GraphQLError) -> str:
    """Return the message, with the names of inputs as the command line has them."""
    fields: dict[str, list[str]] = (error.extensions or {}).get("fields") or {}
    named = [f"{name.removeprefix('input.')}: {text}" for name, [text] in fields.items()]
    return "; ".join(named) or error.message
