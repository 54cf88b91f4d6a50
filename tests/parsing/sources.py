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


def cad_export(paths: int = 600) -> bytes:
    """Return a plan as CAD programs write one: millimetres, y upwards, one style per layer."""
    pitch, columns = 500, 30
    rooms = "\n".join(
        f'<path id="LWPOLYLINE_{n:X}" class="L{n % 3}" d="M {n % columns * pitch + 20}.0000'
        f",{n // columns * pitch + 20}.0000 L {n % columns * pitch + 470}.5000"
        f",{n // columns * pitch + 20}.0000 L {n % columns * pitch + 470}.5000"
        f',{n // columns * pitch + 430 - n % 7 * 20}.2500 Z"/>'
        for n in range(paths)
    )
    return f"""<?xml version="1.0" encoding="utf-8" standalone="no"?>
<svg xmlns="http://www.w3.org/2000/svg" width="375mm" height="250mm" viewBox="0 0 15000 10000">
<style>
.L0 {{ stroke:#000; stroke-width:35 }}
.L1 {{ stroke:#7f7f7f; stroke-width:18 }}
.L2 {{ stroke:#ff0000; stroke-width:13; fill:#fee }}
</style>
<g id="MODEL" transform="matrix(1 0 0 -1 0 10000)" fill="none" stroke-linecap="round">
{rooms}
</g>
</svg>
""".encode()
