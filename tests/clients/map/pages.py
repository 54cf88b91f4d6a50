"""A page that has the view of a map and nothing else, from a server of its own."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

from tests.rest.packages import install, npm

PACKAGE = Path(__file__).parents[3] / "clients" / "map"
BUNDLE = PACKAGE / "dist" / "floorgate-map.js"

# The policy of the strictest page that may hold the component.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'"
)
PAGE = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>View</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="icon.svg">
<link rel="stylesheet" href="page.css"><main id="host"></main><script type="module" src="page.js"></script>
"""
ICON = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
STYLE = b"""
:root { color-scheme: light dark }
body { margin: 0 }
#host { position: relative; width: 100vw; height: 100vh }
#host[hidden] { display: none }
"""
SCRIPT = b"""
import { MapView, viewStyles } from './floorgate-map.js'
const sheet = new CSSStyleSheet()
sheet.replaceSync(viewStyles)
document.adoptedStyleSheets.push(sheet)
const view = new MapView(document.querySelector('#host'), { label: 'Map of the building' })
const events = []
for (const name of ['pick', 'hover', 'marker']) view.on(name, (detail) => events.push([name, detail]))
view.on('move', () => { window.moves++ })
view.on('drawn', () => { window.drawn++ })
Object.assign(window, { view, events, moves: 0, drawn: 0 })
window.show = async (name) => {
  const parsed = await (await fetch(name)).json()
  const before = window.drawn
  view.setDrawing(parsed)
  await window.settled(before)
}
/** Resolves when a condition holds, which is looked at once a frame. */
window.until = (condition) => new Promise((resolve) => {
  const check = () => (condition() ? resolve() : requestAnimationFrame(check))
  check()
})
/** Resolves when the view is drawn once more than `before`. */
window.settled = (before) => until(() => window.drawn > before)
"""
TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


def build_bundle() -> str | None:
    """Build the package; returns a sentence if its packages cannot be had."""
    packages = install(PACKAGE)
    if isinstance(packages, str):
        return packages
    packages.run(*npm(), "run", "--silent", "check")
    packages.run(*npm(), "run", "--silent", "build")
    return None


@contextmanager
def serve(
    maps: Mapping[str, object], files: Mapping[str, bytes] = MappingProxyType({})
) -> Iterator[str]:
    """Serve the page, parsed maps by their names, and files by their paths; yields the address."""
    served = {
        "/": PAGE,
        "/icon.svg": ICON,
        "/page.css": STYLE,
        "/page.js": SCRIPT,
        "/floorgate-map.js": BUNDLE.read_bytes(),
        **files,
        **{f"/{name}.json": json.dumps(parsed).encode() for name, parsed in maps.items()},
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, served))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Handler(BaseHTTPRequestHandler):
    """Answers with the files that it was made with."""

    def __init__(self, files: dict[str, bytes], *args: object) -> None:
        self.files = files
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        content = self.files.get(self.path)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Type", TYPES.get(Path(self.path).suffix, "text/html"))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""
