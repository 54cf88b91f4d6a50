"""Write generated files into the checkout."""

from collections.abc import Mapping
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write contents by path relative to the checkout."""
    for path, content in files.items():
        target = CHECKOUT / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
