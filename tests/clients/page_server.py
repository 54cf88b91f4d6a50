"""Serve the pages of a directory from an origin of their own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        if self.path != "/favicon.ico":  # browsers ask for it by themselves
            return super().do_GET()
        self.send_response(HTTPStatus.NO_CONTENT)
        self.end_headers()


@contextmanager
def serve_directory(directory: Path) -> Iterator[str]:
    """Yield the address of the files."""
    handler = partial(QuietHandler, directory=str(directory))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
