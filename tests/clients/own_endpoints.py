"""Descriptions with operators' endpoints, also with texts that try to become code."""

import json
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from rest.openapi.contracts import add_contracts
from rest.openapi.description import build_description
from schema.root import GRAPHQL_SCHEMA
from tests.rest.openapi.test_contracts import contract_of

HOSTILE_TEXTS = (
    '"""\nprint("CODE RAN")\n"""',
    '\\"""\nprint("CODE RAN")\n"""',
    "'''\nprint('CODE RAN')\n'''",
    '" + print("CODE RAN") + "',
    "' + console.log('CODE RAN') + '",
    '*/ console.log("CODE RAN") /*',
    "*\\/ console.log('CODE RAN') /*",
    '${console.log("CODE RAN")}',
    "`${console.log('CODE RAN')}`",
    'It ends with a quotation mark"',
    "It ends with a backslash\\",
)


def describe(*operations: str) -> dict[str, Any]:
    """Return the description of a service with these endpoints of its operator."""
    contracts = [contract_of(each) for each in operations]
    # Generators change what they get; the contracts are part of the built-in description.
    described: dict[str, Any] = json.loads(
        json.dumps(add_contracts(build_description(GRAPHQL_SCHEMA), contracts))
    )
    return described


def with_hostile_texts(value: Any, texts: Iterator[str] | None = None) -> Any:
    """Return a description with hostile texts in all places for texts, and in enums."""
    texts = texts or cycle(HOSTILE_TEXTS)
    if isinstance(value, list):
        return [with_hostile_texts(each, texts) for each in value]
    if not isinstance(value, dict):
        return value
    changed = {name: with_hostile_texts(each, texts) for name, each in value.items()}
    for name in ("summary", "description", "default"):
        if isinstance(value.get(name), str):
            changed[name] = next(texts)
    if isinstance(value.get("enum"), list):
        changed["enum"] = [*value["enum"], *HOSTILE_TEXTS]
    return changed
