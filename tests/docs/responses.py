"""Compare a response as it was sent with the block that shows it, and write that block anew."""

import json
from dataclasses import dataclass
from typing import Any

from tests.docs import shown_json
from tests.docs.shown_json import is_same_text


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
        return shown_json.write(shown_json.abbreviate(value)) + "\n"
    known = shown_json.read(shown)
    if shown_json.is_same(known, value):
        return shown
    return shown_json.write(shown_json.update(known, value)) + "\n"


def _read_or_none(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
