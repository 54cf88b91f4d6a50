"""Measure what metrics, spans and traces cost a worker, each alone and in one process."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.harness import Row, experiment
from gateway.metrics import Counters, SnapshotMemory, create_shared_memory
from gateway.request_spans import open_tracing
from storage.mongo.spans import Span, begin_root

ROUNDS = 20
WORKS = 100
"""Fewer spans than the queue of the exporter takes."""
COLLECTOR = """
from http.server import BaseHTTPRequestHandler, HTTPServer
class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_): ...
server = HTTPServer(("127.0.0.1", 0), Collector)
print(server.server_port, flush=True)
server.serve_forever()
"""


@experiment("What metrics, spans and traces cost: CPU microseconds")
def observing(_: object) -> Iterator[Row]:
    """Measure counters, snapshots, spans and traces."""
    counters = Counters()
    yield _measure("count a request", lambda: counters.count_request("GetUnit", 200, "", 0.001))
    memory = SnapshotMemory(create_shared_memory(1))
    for names in (70, 1_000):
        for number in range(names):
            counters.count_request(f"Operation{number}", 200, "", 0.001)
        yield _measure(
            f"write a snapshot of {names:,} names", lambda: memory.write(0, counters.read())
        )
    yield _measure("spans of a request", _work)
    with subprocess.Popen([sys.executable, "-c", COLLECTOR], stdout=subprocess.PIPE) as collector:
        assert collector.stdout is not None
        endpoint = f"http://127.0.0.1:{int(collector.stdout.readline())}"
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
        yield _measure_traces("a request beyond the rate of traces")
        os.environ["OTEL_TRACES_SAMPLER"] = "always_on"
        yield _measure_traces("a trace of four spans, its export included")
        collector.kill()


def _work() -> Any:
    root = begin_root()
    with Span("query"), Span("Query.unit"), Span("find units"):
        pass
    return root


def _measure_traces(what: str) -> Row:
    tracing = open_tracing()
    assert tracing is not None

    def trace() -> None:
        scope: dict[str, Any] = {"method": "GET", "headers": [], "state": {"request_id": "0"}}
        tracing.begin(scope)
        tracing.end(scope, _work(), 200, (), is_slow=False)

    return _measure(what, trace, tracing._provider.force_flush)


def _measure(what: str, work: Callable[[], Any], finish: Callable[[], Any] = lambda: None) -> Row:
    """Return the least of some rounds, so that other processes matter little."""
    least = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(WORKS):
            work()
        finish()
        least = min(least, (time.process_time() - began) / WORKS)
    return {"what": what, "µs": round(least * 1e6, 2)}
