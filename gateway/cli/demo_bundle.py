"""Where the bundle of the demo property is."""

from pathlib import Path

DEMO_BUNDLE = Path(__file__).parents[2] / "samples" / "demo" / "bundle.json"
