"""Make the pictures of the explorer in the README: `python -m tools.screenshots`.

Serves the demo property with a MongoDB of its own, opens the explorer in Chromium, and writes
`docs/pictures/explorer.png` and `docs/pictures/explorer-phone.png`, with 256 colours to be small.
"""

import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import click
from PIL import Image
from playwright.sync_api import ViewportSize

from tests.gateway.pages import browser

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
ROUTE = {
    "map": "alder-court-floor-plates",
    "from": "unit:ugs5wt5xndi",
    "to": "l4xusy2pgwt",
    "mode": "wheelchair",
}
SIGN = {"map": "alder-court-floor-plates", "here": "lqzelqyebp4", "to": "l4xusy2pgwt"}
SHOTS: dict[str, tuple[ViewportSize, dict[str, str]]] = {
    "explorer": ({"width": 1280, "height": 800}, ROUTE),
    "explorer-phone": ({"width": 390, "height": 844}, SIGN),
}
NOTE_READY = "addEventListener('ready', () => { document.documentElement.dataset.drawn = 'yes' })"


@contextmanager
def serve_demo() -> Iterator[str]:
    """Serve the demo property, and yield the address of the explorer with the key."""
    with tempfile.TemporaryDirectory() as data_dir:
        floorgate = str(Path(sys.executable).with_name("floorgate"))
        command = [floorgate, "serve", "--demo", "--port", "0", "--data-dir", data_dir]
        command += ["--log-level", "warning"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                printed = (re.match(r"Explorer +(\S+)", line) for line in process.stdout or ())
                found = next(filter(None, printed), None)
                if found is None:
                    raise SystemExit("The demo could not be served, see above.")
                yield found[1]
            finally:
                process.terminate()
                process.communicate()


def take(address: str, size: ViewportSize, query: dict[str, str]) -> bytes:
    """Return a PNG of what the explorer shows."""
    page_address, key = address.split("#")
    with browser.visit(page_address.removesuffix("/maps")) as seen:
        seen.page.set_viewport_size(size)
        seen.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        seen.page.add_init_script(NOTE_READY)
        seen.page.goto(f"{page_address}?{urlencode(query)}#{key}")
        seen.page.locator("html[data-drawn]").wait_for()
        seen.page.wait_for_load_state("networkidle")
        if errors := seen.all_errors():
            raise SystemExit("\n".join(errors))
        return seen.page.screenshot()


def main() -> None:
    with serve_demo() as address:
        for name, (size, query) in SHOTS.items():
            picture = Image.open(io.BytesIO(take(address, size, query)))
            path = PICTURES / f"{name}.png"
            picture.convert("RGB").quantize(256).save(path, optimize=True)
            click.echo(f"{path.relative_to(Path.cwd())}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
