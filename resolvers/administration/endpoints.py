"""Resolvers that list, save and remove the endpoints of operators."""

import json
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import strawberry
from strawberry.scalars import JSON

from resolvers.request.context import Info
from resolvers.request.errors import InvalidInputError
from resolvers.request.inputs import Items, PageArguments, argument
from resolvers.request.listing import paged
from resolvers.request.times import DateTime
from storage.administration import saved_endpoints
from storage.administration.saved_endpoints import SavedEndpoint
from storage.records.paging import Page

MAX_SAVED_TOGETHER = 100
"""Documents of one request, and endpoints in them: each takes 10 ms."""
MAX_CHARACTERS_TOGETHER = 250_000


class SavedEndpoints(NamedTuple):
    """What was saved, or would be."""

    added: Annotated[list[str], "Names of new endpoints."]
    changed: Annotated[list[str], "Names of endpoints that were saved before, and differ."]
    unchanged: Annotated[list[str], "Names of endpoints that were saved before and are the same."]
    breaking: Annotated[list[str], "What breaks callers."]
    endpoints: Annotated[list[SavedEndpoint], "All endpoints of the documents."]


class RemovedEndpoints(NamedTuple):
    """What was removed."""

    removed: Annotated[list[str], "Names of the endpoints."]


@paged
async def list_saved_endpoints(info: Info, pages: PageArguments) -> Page[SavedEndpoint]:
    """List the endpoints that operators have saved."""
    list_id = "endpoints"
    request = pages.parse_for_list(list_id)
    database = info.context.bypass_caches().database
    records = await saved_endpoints.list_endpoints(database)
    page = request.cut_page(records, lambda each: each.name).of_list(list_id, len(records))
    names = [each.name for each in page.data]
    info.context.budget.count_read(len(names))
    described = await saved_endpoints.list_endpoints(database, names, with_contracts=True)
    return replace(page, data=described)


async def save_endpoints(
    info: Info,
    documents: Annotated[
        list[str],
        argument(
            "Operations with `@endpoint`, and the fragments that they share.",
            Items(1, MAX_SAVED_TOGETHER, "documents"),
        ),
    ],
    breaking: Annotated[
        bool, argument("Whether to save also what breaks callers of these endpoints.")
    ] = False,
    dry_run: Annotated[bool, argument("Whether to say only what would be saved.")] = False,
) -> SavedEndpoints:
    """Save operations as endpoints of REST: all of them, or none.

    Those with the same names are replaced. Every gateway has them within a second.
    """
    characters = sum(map(len, documents))
    if characters > MAX_CHARACTERS_TOGETHER:  # before anything is parsed
        raise InvalidInputError(
            documents=f"must have at most {MAX_CHARACTERS_TOGETHER:,} characters together,"
            f" not {characters:,}"
        )
    editor = info.context.endpoint_editor
    assert editor is not None, "only a gateway runs this"
    plan = await editor.save(
        info.context.bypass_caches().database,
        {f"documents[{index}]": text for index, text in enumerate(documents)},
        info.context.origin,
        breaking=breaking,
        dry_run=dry_run,
    )
    parts = (plan.added, plan.changed, plan.unchanged)
    added, changed, unchanged = ([each.name for each in part] for part in parts)
    endpoints = [each for part in parts for each in part]
    return SavedEndpoints(added, changed, unchanged, [*plan.breaking], endpoints)


async def remove_endpoints(
    info: Info,
    names: Annotated[
        list[str],
        argument("Names of saved endpoints.", Items(1, saved_endpoints.MAX_ENDPOINTS, "names")),
    ],
) -> RemovedEndpoints:
    """Remove saved endpoints: all of them, or none. No gateway has them after a second."""
    editor = info.context.endpoint_editor
    assert editor is not None, "only a gateway runs this"
    database = info.context.bypass_caches().database
    removed = await editor.remove(database, names, info.context.origin)
    return RemovedEndpoints([*removed])


def read_id(parent: strawberry.Parent[SavedEndpoint]) -> str:
    """Return the name, which no other endpoint has."""
    return parent.name


def read_document(parent: strawberry.Parent[SavedEndpoint]) -> str:
    """Return the operation with its fragments, as it was written."""
    return parent.text


def read_time(parent: strawberry.Parent[SavedEndpoint]) -> DateTime | None:
    """Return when the endpoint was saved; null if it is not yet."""
    return DateTime(parent.saved_at) if parent.saved_at else None


def read_openapi(parent: strawberry.Parent[SavedEndpoint]) -> JSON:
    """Describe the endpoint as an operation of OpenAPI, with an example of its response."""
    return JSON(_read_contract(parent))


def read_summary(parent: strawberry.Parent[SavedEndpoint]) -> str:
    """Say what the endpoint does."""
    summary: str = _read_contract(parent)["summary"]
    return summary


def _read_contract(endpoint: SavedEndpoint) -> dict[str, Any]:
    operation: dict[str, Any] = json.loads(endpoint.contract)["operation"]
    return operation
