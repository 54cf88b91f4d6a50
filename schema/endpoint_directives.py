"""What makes an operation an endpoint of REST: directives, which change nothing at `/graphql`.

`rest/endpoint_files.py` reads them.
"""

from datetime import date
from typing import Annotated

import strawberry
from graphql import DirectiveLocation
from strawberry import UNSET, argument
from strawberry.directive import StrawberryDirective

from resolvers.request.kinds import DescribedEnum, graphql_enum


@graphql_enum
class HttpMethod(DescribedEnum):
    """A method of HTTP that an endpoint has."""

    GET = "GET", "A query; its variables are query parameters."
    POST = "POST", "A query or a mutation; its variables are members of the JSON body."
    PUT = "PUT", "A mutation; its variables are members of the JSON body."
    DELETE = "DELETE", "A mutation; its variables are query parameters."


@graphql_enum
class ResponseForm(DescribedEnum):
    """The form of an endpoint's response."""

    PAGE = "PAGE", "One page of a list: `{paging, data}`, with a `Link` header."
    LINKED_LIST = "LINKED_LIST", "One page of a list: `{data}`, with a `Link` header."
    LIST = "LIST", "A whole list: `{data}`."
    OBJECT = "OBJECT", "The object itself, or 404 where it is null."
    DATA = "DATA", "Anything, null too: `{data}`."
    DOCUMENT = "DOCUMENT", "A document with a media type of its own."
    NONE = "NONE", "No body: status 204."
    MATRIX = (
        "MATRIX",
        "A distance matrix: `{data}`; waypoints lack an `id` and a `name` that are null.",
    )
    DRAWING = "DRAWING", "The result of parsing a drawing, with its warnings in a header."
    PICTURE = "PICTURE", "The content of a picture, as SVG or PNG."


@strawberry.directive(
    locations=[DirectiveLocation.QUERY, DirectiveLocation.MUTATION],
    description="Makes the operation an endpoint of REST. At `/graphql` it runs as without this.",
)
def endpoint(
    *,
    method: Annotated[HttpMethod, argument("The method.")] = HttpMethod.GET,
    path: Annotated[
        str,
        argument("Begins with `/v1/`; each `{parameter}` is a variable: `{group-id}`, `$groupId`."),
    ],
    also_at: Annotated[list[str] | None, argument("Further paths of a built-in endpoint.")] = UNSET,
    summary: Annotated[str, argument("What it does, in a few words.")],
    description: Annotated[str | None, argument("What it does, in sentences.")] = UNSET,
    tag: Annotated[str | None, argument("The group in which descriptions show it.")] = UNSET,
    result: Annotated[
        str | None,
        argument(
            "Where the response is in the result: response names, joined by dots. Without it, the "
            "only root field."
        ),
    ] = UNSET,
    as_: Annotated[
        ResponseForm | None, argument("The form of the response; else the type says it.", "as")
    ] = UNSET,
    number: Annotated[str | None, argument("The number of a built-in endpoint.")] = UNSET,
    changes: Annotated[
        str | None,
        argument(
            "The name of the endpoint that reads what this one writes: `If-Match` and "
            "`If-None-Match` compare with its entity tag."
        ),
    ] = UNSET,
    deprecated: Annotated[
        date | None, argument("Since when it should not be used any more.")
    ] = UNSET,
    sunset: Annotated[date | None, argument("When it stops working.")] = UNSET,
) -> None:
    """Do nothing: the executor does not call it."""


@strawberry.directive(
    locations=[DirectiveLocation.QUERY, DirectiveLocation.MUTATION],
    description="Describes the JSON body of an endpoint.",
)
def body(
    title: Annotated[
        str | None, argument("The name of its schema; else that of the operation and `Request`.")
    ] = UNSET,
    max_bytes: Annotated[int, argument("Its size limit.")] = 1_000_000,
    description: Annotated[str | None, argument("What it is.")] = UNSET,
) -> None:
    """Do nothing: the executor does not call it."""


@strawberry.directive(
    locations=[DirectiveLocation.VARIABLE_DEFINITION],
    description="Names the parameter of a path or a query that becomes the variable.",
)
def parameter(
    name: Annotated[str, argument("Its name; else that of the variable in kebab-case.")],
) -> None:
    """Do nothing: the executor does not call it."""


DIRECTIVES: tuple[StrawberryDirective[None], ...] = (endpoint, body, parameter)
