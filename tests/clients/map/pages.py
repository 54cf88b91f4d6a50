"""A page that has the view of a map and nothing else, from a server of its own."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

from tests.clients.generated_types import generate_types
from tests.rest.packages import install, npm
from tools.client_generation import TYPESCRIPT

PACKAGE = Path(__file__).parents[3] / "clients" / "map"
FILES = Path(__file__).with_name("page")
BUNDLE = PACKAGE / "dist" / "floorgate-map.js"

# The policy of the strictest page that may hold the component.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'"
)
ICON = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


def build_bundle() -> None:
    """Build the package; skip the test if its packages cannot be had."""
    generate_types(install(TYPESCRIPT))
    install(PACKAGE).run(*npm(), "run", "--silent", "build")


@contextmanager
def serve(
    maps: Mapping[str, object], files: Mapping[str, bytes] = MappingProxyType({})
) -> Iterator[str]:
    """Serve the page, parsed maps by their names, and files by their paths; yields the address."""
    served = {
        "/": (FILES / "page.html").read_bytes(),
        "/icon.svg": ICON,
        "/page.css": (FILES / "page.css").read_bytes(),
        "/page.js": (FILES / "page.js").read_bytes(),
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
