"""The drawings that tests run over: made for the tests, of the demo property, real ones."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
MADE = sorted((ROOT / "tests" / "parsing" / "drawings").glob("*.svg"))
DEMO = sorted((ROOT / "samples").rglob("*.svg"))
REAL_FOLDER = Path(os.environ.get("FLOORGATE_PLANS", ROOT.parent / "shared/data")) / "wayfinding"
REAL = sorted(REAL_FOLDER.glob("*.svg"))
