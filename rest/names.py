"""Names in GraphQL and in REST."""

import re


def to_snake_case(name: str) -> str:
    """Return the REST name of a GraphQL name, or of a path of them.

    >>> to_snake_case("sources[0].floorId")
    'sources[0].floor_id'
    """
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def to_kebab_case(name: str) -> str:
    """Return the name of a query parameter.

    >>> to_kebab_case("perPage")
    'per-page'
    """
    return to_snake_case(name).replace("_", "-")


def to_camel_case(name: str) -> str:
    """Return the name in GraphQL of a parameter.

    >>> to_camel_case("group-id")
    'groupId'
    """
    return re.sub("[-_]([a-z])", lambda letter: letter[1].upper(), name)
