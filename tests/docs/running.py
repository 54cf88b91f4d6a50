"""Run the examples of a page against a service: with a shell and curl, over GraphQL, in Python."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from tests.clients.trust import trust_of
from tests.docs import shown_json
from tests.docs.markdown import Example, find_examples
from tests.docs.responses import Response, update_block
from tests.rest.demo_service import DemoService

DOCUMENTED_URL = "https://127.0.0.1:8443"
"""The address of the service in pages."""
_HEADER = re.compile(r"^# ([A-Z][\w-]+): (.+)$", re.M)


@dataclass
class Runner:
    """Runs examples one after the other: what one assigns in the shell, the next ones have.

    They have `URL` and `KEY`, which stay as they are for the reader's next page, and curl trusts
    the service's certificate. The command `floorgate` works with the service's database.
    """

    service: DemoService
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # curl leaves the head of each response here, whether the command prints it or not.
        (self.folder / ".curlrc").write_text(f'dump-header = "{self._head}"\n')
        self.variables = {
            **{name: text for name, text in os.environ.items() if "FLOORGATE" not in name},
            **self.service.environment,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "100",
            "CURL_HOME": str(self.folder),
            "CURL_CA_BUNDLE": str(self.service.certificate),
            "SSL_CERT_FILE": str(self.service.certificate),
            "URL": self.service.url,
            "KEY": self.service.key,
        }

    @property
    def _head(self) -> Path:
        return self.folder / "head"

    def run(self, example: Example) -> Response:
        """Run an example; raise AssertionError if it fails."""
        run = {"sh": self._run_shell, "graphql": self._run_graphql, "python": self._run_python}
        response = run[example.request.language](example)
        return replace(
            response,
            body=self._as_documented(response.body),
            headers=tuple((name, self._as_documented(value)) for name, value in response.headers),
        )

    def _as_documented(self, text: str) -> str:
        return text.replace(self.service.url, DOCUMENTED_URL)

    def _run_shell(self, example: Example) -> Response:
        self._head.unlink(missing_ok=True)
        exported = self.folder / "variables"
        done = subprocess.run(
            ["bash", "-ac", f"set -euo pipefail\n{example.request.text}\nenv -0 > '{exported}'"],
            capture_output=True,
            text=True,
            env=self.variables,
            cwd=self.folder,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        pairs = exported.read_text().removesuffix("\0").split("\0")
        assigned = dict(pair.split("=", 1) for pair in pairs)
        changed = [name for name in ("URL", "KEY") if assigned[name] != self.variables[name]]
        assert not changed, f"it assigns {changed}, which the next page needs"
        self.variables |= assigned
        head = self._head.read_text() if self._head.exists() else ""
        prints_head = done.stdout.startswith("HTTP/")
        body = done.stdout.partition("\n\n")[2] if prints_head else done.stdout
        response = Response(body, *_read_head(head), prints_head)
        assert response.status < 400 or example.response, f"{response.status}: {response.body}"
        return response

    def _run_graphql(self, example: Example) -> Response:
        query = example.request.text
        variables = example.variables and self._insert(shown_json.read(example.variables.text))
        is_subscription = re.search(r"^subscription\b", query, re.M) is not None
        with httpx.stream(
            "POST",
            f"{self.service.url}/graphql",
            json={"query": query, "variables": variables},
            headers={
                "API-Key": self.variables["KEY"],
                "Accept": "text/event-stream" if is_subscription else "application/json",
                **self._insert(dict(_HEADER.findall(query))),
            },
            verify=trust_of(self.service),
            timeout=60,
        ) as response:
            body = _first_event(response) if is_subscription else response.read().decode()
        assert example.response or "errors" not in json.loads(body), body
        return Response(body, headers=tuple(response.headers.items()))

    def _insert(self, variables: dict[str, Any]) -> dict[str, Any]:
        """Replace each value `$name` by that of the shell's variable."""
        return {
            name: self.variables[value[1:]] if str(value).startswith("$") else value
            for name, value in variables.items()
        }

    def _run_python(self, example: Example) -> Response:
        printed = io.StringIO()
        given = {name: self.variables[name] for name in ("URL", "KEY", "SSL_CERT_FILE")}
        before = {name: os.environ.get(name) for name in given}
        os.environ.update(given)
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(example.request.text, "<example>", "exec"), {"__name__": "__main__"})
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                os.environ.update({name: value} if value is not None else {})
        return Response(printed.getvalue())


def _first_event(response: httpx.Response) -> str:
    """Return the data of the first event of a stream."""
    return next(line[6:] for line in response.iter_lines() if line.startswith("data: "))


def _read_head(head: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the status line and the headers of a response."""
    status_line, *lines = head.strip().splitlines() or [""]
    pairs = (line.partition(":") for line in lines)
    return status_line.strip(), tuple((name, value.strip()) for name, _, value in pairs)


def run_page(page: str, runner: Runner) -> tuple[str, list[str]]:
    """Run the examples of a page; return the page as it should be, and what is wrong with it."""
    faults: list[str] = []
    replaced: list[tuple[int, int, str]] = []
    for example in find_examples(page):
        try:
            response = runner.run(example)
            if (block := example.response) is None:
                continue
            right = update_block(block.language, block.text, response)
        except (AssertionError, KeyError, ValueError, httpx.HTTPError) as error:
            faults.append(f"line {example.request.line}: {error}")
            continue
        if right != block.text:
            faults.append(f"line {block.line}: shown\n{block.text}but sent\n{right}")
            replaced.append((block.start, block.end, right))
    for start, end, text in reversed(replaced):
        page = page[:start] + text + page[end:]
    return page, faults
