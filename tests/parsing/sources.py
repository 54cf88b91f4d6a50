"""The drawings that tests run over: made for the tests, of the demo property, real ones."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MADE = sorted((ROOT / "tests" / "parsing" / "drawings").glob("*.svg"))
DEMO = sorted((ROOT / "samples").rglob("*.svg"))
REAL_FOLDER = Path(os.environ.get("FLOORGATE_PLANS", ROOT.parent / "shared/data")) / "wayfinding"
REAL = sorted(REAL_FOLDER.glob("*.svg"))
TEXT = re.compile(rb"<text\b.*?</text>", re.DOTALL)


def without_text(svg: bytes) -> bytes:
    """Return a drawing without text, which the format lacks: labels come from the directory."""
    return TEXT.sub(b"", svg)
