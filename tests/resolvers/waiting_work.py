"""Work for other processes that waits for a test. It imports little, so that they start fast."""

from pathlib import Path

from resolvers.shown_units import parse_with_units
from storage.bundles.shown_parts import ShownParts


def parse_after(fifo: Path, svg: bytes, force: bool = False) -> tuple[bytes, ShownParts, list[str]]:
    """Parse a drawing when the other end of the pipe is closed."""
    fifo.read_bytes()
    return parse_with_units(svg, force)
