"""Write figures into documentation pages, between pairs of markers.

<!-- measured: ratios -->
...
<!-- /measured: ratios -->
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PERFORMANCE_PAGE = ROOT / "docs" / "performance.md"
CHART_PATH = ROOT / "docs" / "pictures" / "performance.svg"


class MissingMarkersError(Exception):
    """A page lacks the markers for the figures."""


def rewrite_section(page: Path, name: str, content: str) -> None:
    """Replace the content between a page's markers. Raises MissingMarkersError."""
    page.write_text(replace_section(page.read_text(), name, content, page.name))


def replace_section(text: str, name: str, content: str, page: str = "the page") -> str:
    """Return `text` with new content between its markers. Raises MissingMarkersError."""
    begin, end = f"<!-- measured: {name} -->", f"<!-- /measured: {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.S)
    if len(pattern.findall(text)) != 1:
        raise MissingMarkersError(f"{page} must have {begin} and, behind it, {end}, once each")
    return pattern.sub(lambda _: f"{begin}\n{content}\n{end}", text)
