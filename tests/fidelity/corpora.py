"""Drawings of others, by repository and commit; their files are not kept here.

`python -m tests.fidelity --fetch` downloads them.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import httpx

SUITE_FOLDER = Path(os.environ.get("FLOORGATE_SVG_SUITE", "../resvg-suite"))
"""Has the folders of the tests of resvg (Apache-2.0 or MIT)."""
SUITE_REPOSITORY: Final = "linebender/resvg"
SUITE_COMMIT: Final = "08c79a3148df4ce8ab08fca72204b142b95423dd"
SUITE_ROOT: Final = "crates/resvg/tests/tests"
SUITE_PARTS: Final = ("painting", "shapes", "structure")

PLANS_FOLDER = Path(os.environ.get("FLOORGATE_SVG_PLANS", "../plans-svg"))
"""Has a folder for each repository of `plans.json`."""


class RealDrawing(NamedTuple):
    """A floor plan in a public repository."""

    repository: str
    commit: str
    file: str

    @property
    def path(self) -> Path:
        """Where the file is, or would be."""
        return PLANS_FOLDER / self.repository.replace("/", "+") / self.file.replace("/", "__")

    @property
    def url(self) -> str:
        address = f"{self.repository}/{self.commit}/{self.file}"
        return f"https://raw.githubusercontent.com/{quote(address)}"


def list_real_drawings() -> list[RealDrawing]:
    rows = json.loads(Path(__file__).with_name("plans.json").read_text())
    return [
        RealDrawing(row["repository"], row["commit"], file) for row in rows for file in row["files"]
    ]


def find_plans() -> list[Path]:
    """Return the real floor plans that are present."""
    return [drawing.path for drawing in list_real_drawings() if drawing.path.exists()]


def find_suite() -> list[Path]:
    """Return the files of those parts of the suite that are present."""
    return sorted(path for part in SUITE_PARTS for path in (SUITE_FOLDER / part).rglob("*.svg"))


def fetch_plans() -> None:
    for drawing in list_real_drawings():
        if not drawing.path.exists():
            drawing.path.parent.mkdir(parents=True, exist_ok=True)
            drawing.path.write_bytes(_download(drawing.url))


def fetch_suite() -> None:
    if find_suite():
        return
    archive = _download(f"https://codeload.github.com/{SUITE_REPOSITORY}/tar.gz/{SUITE_COMMIT}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files.getmembers():
            _, _, name = member.name.partition(f"/{SUITE_ROOT}/")
            source = files.extractfile(member)
            if source is not None and name.endswith(".svg"):
                path = SUITE_FOLDER / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(source.read())


def _download(url: str) -> bytes:
    return httpx.get(url, follow_redirects=True, timeout=60).raise_for_status().content


class Corpus(NamedTuple):
    """A set of drawings, and the share of all of them that looks as in a browser.

    `min_average_share` counts gradients and patterns that have the right colour on average, too.
    """

    name: str
    find: Callable[[], list[Path]]
    fetch: Callable[[], None]
    min_same_share: float
    min_average_share: float


CORPORA: Final = (
    Corpus("resvg suite", find_suite, fetch_suite, 0.88, 0.89),
    Corpus("real plans", find_plans, fetch_plans, 0.91, 0.95),
)
