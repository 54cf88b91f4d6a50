"""Make the pictures of the pages in the README and the docs: `python -m tools.screenshots`.

Serves the demo property with a MongoDB of its own, opens the pages in Chromium, and writes
`docs/pictures/*.png`, with 256 colours to be small.
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
DRAWN = "html[data-drawn]"
OPERATION = "section[id$='/listUnits']"
SHOTS: dict[str, tuple[ViewportSize, str, str]] = {
    "explorer": ({"width": 1280, "height": 800}, f"/maps?{urlencode(ROUTE)}", DRAWN),
    "explorer-phone": ({"width": 390, "height": 844}, f"/maps?{urlencode(SIGN)}", DRAWN),
    "reference": ({"width": 1280, "height": 800}, "/v1/openapi#/Units/listUnits", OPERATION),
}
"""The size, the address and what is there at the end, by the name of the picture."""
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


@contextmanager
def open_with_key(address: str) -> Iterator[browser.Visit]:
    """Open the explorer, which keeps the key of its address for the pages that follow."""
    with browser.visit(address.partition("/maps#")[0]) as seen:
        seen.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        seen.page.add_init_script(NOTE_READY)
        seen.page.goto(address)
        yield seen


def take(seen: browser.Visit, size: ViewportSize, address: str, drawn: str) -> bytes:
    """Return a PNG of a page."""
    seen.page.set_viewport_size(size)
    seen.page.goto(seen.base_url + address)
    seen.page.locator(drawn).wait_for()
    seen.page.wait_for_load_state("networkidle")
    if errors := seen.all_errors():
        raise SystemExit("\n".join(errors))
    return seen.page.screenshot()


def main() -> None:
    with serve_demo() as address, open_with_key(address) as seen:
        for name, shot in SHOTS.items():
            picture = Image.open(io.BytesIO(take(seen, *shot)))
            path = PICTURES / f"{name}.png"
            picture.convert("RGB").quantize(256).save(path, optimize=True)
            click.echo(f"{path.relative_to(Path.cwd())}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
