"""Run the examples of a page against a service, and compare what it shows with what was sent."""

import contextlib
import io
import json
import math
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import httpx

from tests.clients.environment import trust_of
from tests.docs.pages import Example, find_examples
from tests.rest.demo_service import DemoService

ELLIPSIS: Final = "…"
WIDTH: Final = 100
MAX_FILLED_ELEMENTS: Final = 3
_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\]…]')
_VOLATILE: Final = {
    "<time>": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
    "<date>": r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT",
    "<request>": r"\b[0-9a-f]{32}\b",
    "after=<cursor>": r"\bafter=[\w%.~-]+",
    "<tag>": r'"[\w-]{16,}"',
    "<key>": r"\bfgk_(\w+|…)",
    "<key id>": r"\bkey_[0-9a-f]+",
}
_CURSORS: Final = frozenset({"cursor", "startCursor", "endCursor"})


def read(text: str) -> Any:
    """Parse JSON in which `…` may stand for what is left out."""
    enclosing: list[str] = []

    def replace(found: re.Match[str]) -> str:
        token = found[0]
        if token in "{[":
            enclosing.append(token)
        elif token in "}]":
            enclosing.pop()
        elif token == ELLIPSIS:
            return '"…": "…"' if enclosing and enclosing[-1] == "{" else '"…"'
        return token

    return json.loads(_TOKEN.sub(replace, text))


def is_same(shown: Any, sent: Any, member: str = "") -> bool:
    """Whether the response that was sent is the one that is shown."""
    if isinstance(shown, dict) and isinstance(sent, dict):
        names = shown.keys() - {ELLIPSIS}
        complete = ELLIPSIS in shown or sent.keys() == names
        return complete and all(
            name in sent and is_same(shown[name], sent[name], name) for name in names
        )
    if isinstance(shown, list) and isinstance(sent, list):
        return _is_same_list(shown, sent)
    if isinstance(shown, str) and isinstance(sent, str):
        return member in _CURSORS or is_same_text(shown, sent)
    if isinstance(shown, float) and isinstance(sent, float):
        return math.isclose(shown, sent, rel_tol=1e-3)
    return type(shown) is type(sent) and bool(shown == sent)


def _is_same_list(shown: list[Any], sent: list[Any]) -> bool:
    if ELLIPSIS not in shown:
        return len(shown) == len(sent) and all(map(is_same, shown, sent))
    before = shown[: shown.index(ELLIPSIS)]
    after = shown[len(before) + 1 :]
    return (
        len(before) + len(after) < len(sent)
        and all(map(is_same, before, sent))
        and all(map(is_same, after, sent[len(sent) - len(after) :]))
    )


def is_same_text(shown: str, sent: str) -> bool:
    """Whether a text is as shown, but for times, cursors, ids, and what `…` leaves out."""
    for name, pattern in _VOLATILE.items():
        shown, sent = re.sub(pattern, name, shown), re.sub(pattern, name, sent)
    parts = map(re.escape, shown.split(ELLIPSIS))
    return re.fullmatch(".*".join(parts), sent, re.S) is not None


def update(shown: Any, sent: Any, member: str = "") -> Any:
    """Return what was sent, with what was left out of what is shown left out again."""
    if isinstance(shown, dict) and isinstance(sent, dict):
        left_out = {ELLIPSIS: ELLIPSIS} if shown.pop(ELLIPSIS, None) else {}
        kept = {name: sent[name] for name in (shown if left_out else sent) if name in sent}
        return {
            name: update(shown[name], value, name) if name in shown else value
            for name, value in kept.items()
        } | left_out
    if isinstance(shown, list) and isinstance(sent, list):
        count = shown.index(ELLIPSIS) if ELLIPSIS in shown else len(sent)
        kept_elements = [
            update(shown[number], each) if number < min(count, len(shown)) else each
            for number, each in enumerate(sent[:count])
        ]
        return kept_elements + [ELLIPSIS] * (count < len(sent))
    return shown if is_same(shown, sent, member) else sent


def abbreviate(sent: Any) -> Any:
    """Return what was sent with long arrays of objects cut short, as a first version to show."""
    if isinstance(sent, dict):
        return {name: abbreviate(value) for name, value in sent.items()}
    if isinstance(sent, list):
        is_long = len(sent) > MAX_FILLED_ELEMENTS and isinstance(sent[0], dict | list)
        shortened = [abbreviate(each) for each in (sent[:2] if is_long else sent)]
        return shortened + [ELLIPSIS] * is_long
    return sent


def write(value: Any, margin: int = 0, prefix: int = 0, width: int = WIDTH) -> str:
    """Format JSON for a page: what fits on a line, after a margin and a prefix, is on one."""
    line = _write_line(value)
    if len(line) + margin + prefix <= width or not isinstance(value, dict | list) or not value:
        return line
    indent = margin + 2
    if isinstance(value, dict):
        parts = [
            ELLIPSIS
            if name == ELLIPSIS
            else f"{json.dumps(name)}: {write(each, indent, len(name) + 5, width)}"
            for name, each in value.items()
        ]
    else:
        parts = [write(each, indent, 1, width) for each in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    inner = (",\n" + " " * indent).join(parts)
    return f"{opening}\n{' ' * indent}{inner}\n{' ' * margin}{closing}"


def _write_line(value: Any) -> str:
    if value == ELLIPSIS:
        return ELLIPSIS
    if isinstance(value, dict):
        members = (
            ELLIPSIS if name == ELLIPSIS else f"{json.dumps(name)}: {_write_line(each)}"
            for name, each in value.items()
        )
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_write_line, value))}]"
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class Response:
    """What a request printed, and the status and headers if it was one over HTTP."""

    body: str
    status_line: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    prints_head: bool = False
    """Whether the command prints status and headers, too."""

    @property
    def status(self) -> int:
        return int(self.status_line.split()[1]) if self.status_line else 200

    def header(self, name: str) -> str | None:
        """Return the values of a header, if there is one."""
        values = [value for each, value in self.headers if each.lower() == name.lower()]
        return ", ".join(values) if values else None


def update_block(language: str, shown: str, response: Response) -> str:
    """Return the text of the block: as it is if it shows the response, else the right one."""
    if language == "http":
        if not response.prints_head:
            raise AssertionError("the command prints no status: call curl with -i")
        return _update_http(shown, response)
    if response.prints_head:
        raise AssertionError("the command prints the status: show it, in a block `http`")
    if language == "json" and response.status >= 400:
        raise AssertionError(f"the status is {response.status}: show it, in a block `http`")
    return _update_body(shown, response.body)


def _update_http(shown: str, response: Response) -> str:
    head, _, body = shown.partition("\n\n")
    lines = [response.status_line]
    for line in head.splitlines():
        name, colon, value = line.partition(":")
        sent = response.header(name) if colon and not line.startswith("HTTP/") else None
        if sent is not None:
            value = value.strip()
            lines.append(f"{name}: {value if value and is_same_text(value, sent) else sent}")
    if not response.body:
        return "\n".join(lines) + "\n"
    return "\n".join(lines) + "\n\n" + _update_body(body, response.body)


def _update_body(shown: str, sent: str) -> str:
    value = _read_or_none(sent)
    if value is None:
        kept = shown.strip() and is_same_text(shown.strip(), sent.strip())
        return shown if kept else sent.strip() + "\n"
    if not shown.strip():
        return write(abbreviate(value)) + "\n"
    known = read(shown)
    if is_same(known, value):
        return shown
    return write(update(known, value)) + "\n"


def _read_or_none(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


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
        variables = example.variables and self._insert(read(example.variables.text))
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
