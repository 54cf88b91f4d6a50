"""Record the examples of responses: `make examples` sends the described requests to the demo."""

import json
import re
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from resolvers.request.caller import FLAGS, PERMISSIONS
from rest.openapi.description import EXAMPLES_FILE, build_description
from rest.openapi.responses import BASE_URL
from schema.root import GRAPHQL_SCHEMA
from storage.embedded.embedded_mongo import run_embedded_mongo
from tests.rest.demo_service import FLOORGATE, DemoService, demo_service

MAX_POINTS = 8
"""Points of a line or an outline; a longer one is shortened."""
VOLATILE = re.compile(r'("(?:cursor|at|created_at|updated_at)": "|after=)[^"]+')
"""What differs from one demo to the next: times of processing and of changes, and cursors."""


def record(service: DemoService) -> dict[str, Any]:
    """Return the response of each endpoint to its described request, by operation id."""
    examples: dict[str, Any] = {}
    requests = {request.extensions["id"]: request for request in described_requests()}
    # What is closed, and what has changed, is read after it was written.
    order = sorted(requests, key=lambda id: id in ("getClosures", "listChanges"))
    trusting = ssl.create_default_context(cafile=service.certificate)
    with httpx.Client(base_url=service.url, verify=trusting, timeout=60) as client:
        client.headers.update(
            {"API-Key": create_key(service), "Experimental-Flags": ", ".join(FLAGS)}
        )
        start = client.get("/v1/changes").json()["cursor"]
        for id in order:
            request = requests[id]
            params = dict(request.url.params)
            if id == "listChanges":
                params["after"] = start
            response = client.request(
                request.method,
                request.url.raw_path.decode().partition("?")[0],
                params=params,
                content=request.content,
                headers={"Content-Type": request.headers.get("Content-Type", "")},
            )
            assert response.is_success, response.text
            if "json" in response.headers.get("Content-Type", ""):
                text = response.text.replace(service.url, BASE_URL)
                examples[id] = shorten(json.loads(text))
        client.put("/v1/maps/alder-court-floor-plates/closures", json={"data": {}})
    return {id: examples[id] for id in requests if id in examples}


def described_requests() -> Iterator[httpx.Request]:
    """Yield the request of each operation that the examples of its inputs make."""
    for path, methods in build_description(GRAPHQL_SCHEMA, BASE_URL)["paths"].items():
        for method, operation in methods.items():
            id, inputs = operation["operationId"], operation["parameters"]
            named = {each["name"]: each for each in inputs if "name" in each}
            in_path = {name: each["example"] for name, each in named.items() if name in path}
            query = {
                name: each["example"]
                for name, each in named.items()
                if each["in"] == "query" and each["required"]
            }
            query |= {"per-page": 1} if "per-page" in named else {}
            content, headers = None, {}
            for media_type, media in operation.get("requestBody", {}).get("content", {}).items():
                headers = {"Content-Type": media_type}
                example = media["example"]
                content = example if isinstance(example, str) else json.dumps(example)
            yield httpx.Request(
                method.upper(),
                BASE_URL + path.format_map(in_path),
                params=query,
                content=content,
                headers=headers,
                extensions={"id": id},
            )


def create_key(service: DemoService) -> str:
    """Create a key that may do everything."""
    permissions = [word for each in PERMISSIONS for word in ("--permission", each)]
    command = [str(FLOORGATE), "keys", "create", "--name", "examples", "--all-assets", "--json"]
    done = subprocess.run(
        [*command, *permissions], env=service.environment, capture_output=True, check=True
    )
    return str(json.loads(done.stdout)["key"])


def shorten(value: Any) -> Any:
    """Return an example with one object of each type in a list, and with few points in a line."""
    if isinstance(value, dict):
        return {name: shorten(member) for name, member in value.items()}
    if not isinstance(value, list) or not value:
        return value
    if isinstance(value[0], dict):
        by_type = {str(each.get("type")): each for each in reversed(value)}
        return [shorten(each) for each in reversed(by_type.values())]
    if not isinstance(value[0], list):
        return value
    if isinstance(value[0][0], list):
        return [shorten(value[0])]
    is_short = len(value) <= MAX_POINTS
    return value if is_short else [*value[: MAX_POINTS - 1], value[-1]]


def write(examples: dict[str, Any]) -> str:
    """Return the text of the file: a line for each endpoint."""
    lines = (f"{json.dumps(id)}: {json.dumps(body)}" for id, body in examples.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def mask(text: str) -> str:
    """Return a text without what differs from one demo to the next.

    >>> mask('{"created_at": "2026-03-02", "next_url": "/v1/units?page=2&after=k"}')
    '{"created_at": "…", "next_url": "/v1/units?page=2&after=…"}'
    """
    return VOLATILE.sub(r"\1…", text)


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory() as folder,
        run_embedded_mongo(Path(folder)) as mongo_url,
        demo_service(mongo_url, Path(folder)) as service,
    ):
        EXAMPLES_FILE.write_text(write(record(service)))
