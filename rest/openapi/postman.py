"""The Postman collection: a request for each operation, which the demo answers as it is imported.

Postman makes a collection of an OpenAPI description too, but by its stock settings without the
examples, and with every optional parameter filled in: few of its requests are answered. Here, what
is optional is there with its example and switched off. The format is v2.1, which Bruno, Insomnia
and Hoppscotch import as well: https://schema.postman.com.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from rest.openapi.map_schemas import OpenApiObject

FORMAT: Final = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
FLAGS_HEADER: Final = "Experimental-Flags"
AUTH: Final = {"key": "API-Key", "value": "{{apiKey}}", "in": "header"}
"""How requests send the key."""


def build_collection(description: OpenApiObject, base_url: str) -> OpenApiObject:
    """Return the collection of a description's operations, in folders by tag.

    `base_url` is its variable `baseUrl`; that of the key, `apiKey`, is empty.
    """
    components = description["components"]["parameters"]
    folders: dict[str, list[OpenApiObject]] = {tag["name"]: [] for tag in description["tags"]}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            [tag] = operation["tags"]
            folders[tag].append(_describe_request(method.upper(), path, operation, components))
    info = description["info"]
    return {
        "info": {"name": info["title"], "description": info["description"], "schema": FORMAT},
        "auth": {"type": "apikey", "apikey": _list_pairs(AUTH)},
        "variable": _list_pairs({"baseUrl": base_url.rstrip("/"), "apiKey": ""}),
        "item": [
            {"name": tag["name"], "description": tag["description"], "item": folders[tag["name"]]}
            for tag in description["tags"]
        ],
    }


def _describe_request(
    method: str, path: str, operation: OpenApiObject, components: OpenApiObject
) -> OpenApiObject:
    inputs = [
        components[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        for each in operation["parameters"]
    ]
    headers, body = _list_values(inputs, "header"), {}
    for media_type, media in operation.get("requestBody", {}).get("content", {}).items():
        example = media["example"]
        text = example if isinstance(example, str) else json.dumps(example, indent=2)
        headers.append({"key": "Content-Type", "value": media_type})
        language = "json" if media_type.endswith("json") else "xml"
        body = {"mode": "raw", "raw": text, "options": {"raw": {"language": language}}}
    segments = re.sub(r"{(.+?)}", r":\1", path).strip("/").split("/")
    query = _list_values(inputs, "query")
    sent = "&".join(f"{each['key']}={each['value']}" for each in query if not each["disabled"])
    return {
        "id": operation["operationId"],
        "name": operation["summary"],
        "request": {
            "method": method,
            "description": operation["description"],
            "url": {
                "raw": f"{{{{baseUrl}}}}/{'/'.join(segments)}{sent and '?'}{sent}",
                "host": ["{{baseUrl}}"],
                "path": segments,
                "query": query,
                "variable": _list_values(inputs, "path"),
            },
            "header": headers,
            **({"body": body} if body else {}),
        },
        "response": [],
    }


def _list_pairs(values: dict[str, str]) -> list[OpenApiObject]:
    return [{"key": name, "value": value} for name, value in values.items()]


def _list_values(inputs: Iterable[OpenApiObject], place: str) -> list[OpenApiObject]:
    """Return the parameters in a place with their examples.

    Those that are optional are switched off, but not the flags that some of them need.
    """
    return [
        {
            "key": each["name"],
            "value": _write(each.get("example", "")),
            "description": each["description"],
            "disabled": not (each.get("required") or each["name"] == FLAGS_HEADER),
        }
        for each in inputs
        if each["in"] == place
    ]


def _write(example: Any) -> str:
    """Return an example as it is sent.

    >>> _write(["stairs", "lifts"]), _write(True), _write(2.5)
    ('stairs,lifts', 'true', '2.5')
    """
    if isinstance(example, list):
        return ",".join(map(_write, example))
    return example if isinstance(example, str) else json.dumps(example)
