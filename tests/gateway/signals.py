"""What the operator of a service sees: metrics, log lines and traces, and nothing else."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.gateway.test_tracing import Collector, attributes_of
from tests.waiting import TIMEOUT_SECONDS, wait_until

Line = dict[str, Any]
_SERVED = "Metrics are served on "


class Signals:
    """The signals of a service since `begin`."""

    def __init__(self, log: Path, collector: Collector) -> None:
        self._log = log
        self._collector = collector
        self._log_start = 0
        [line] = [line for line in self.list_lines() if line["message"].startswith(_SERVED)]
        self._metrics_url = line["message"].removeprefix(_SERVED)
        self.begin()

    def begin(self) -> None:
        """Look at nothing that was before."""
        self._log_start = self._log.stat().st_size
        self._before = self._scrape()

    def _scrape(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        text = httpx.get(self._metrics_url, timeout=TIMEOUT_SECONDS).text
        return {
            (sample.name.removeprefix("floorgate_"), frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def read(self, name: str, **labels: str) -> float:
        """Return the sum of a gauge over the series with these labels."""
        return sum(
            value
            for (each, given), value in self._scrape().items()
            if each == name and labels.items() <= dict(given).items()
        )

    def rise(self, name: str, **labels: str) -> float:
        """Return by how much a counter has risen, over the series with these labels."""
        return self.rises(name, "", **labels).total()

    def rises(self, name: str, by: str, **labels: str) -> Counter[str]:
        """Return by how much a counter has risen for each value of a label."""
        risen = Counter[str]()
        for (each, given), value in self._scrape().items():
            has = dict(given)
            if each == name and labels.items() <= has.items():
                risen[has.get(by, "")] += value - self._before.get((each, given), 0)  # type: ignore[assignment]
        return +risen

    def wait_for_rise(self, name: str, by: str, *values: str, **labels: str) -> None:
        """Wait until the counter has risen for these values of a label, and see that for no other.

        A request is counted when its response has ended, which its client may see before.
        """
        wait_until(lambda: len(self.rises(name, by, **labels)) >= len(values), f"{name} has risen")
        assert {*self.rises(name, by, **labels)} == {*values}

    def list_lines(self, logger: str = "", **members: Any) -> list[Line]:
        """Return the log lines of a logger that have these members."""
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            text = log.read()
        wanted = {**({"logger": f"floorgate.{logger}"} if logger else {}), **members}
        lines = map(json.loads, text[: text.rfind(b"\n") + 1].splitlines())
        return [line for line in lines if wanted.items() <= line.items()]

    def wait_for_line(
        self, logger: str, fits: Callable[[Line], bool] = lambda line: True, **members: Any
    ) -> Line:
        """Return the first such line, once there is one."""
        found: list[Line] = []

        def is_written() -> bool:
            found[:] = filter(fits, self.list_lines(logger, **members))
            return bool(found)

        wait_until(is_written, f"a line of {logger} with {members}")
        return found[0]

    def wait_for_trace(self, trace_id: str, name: str) -> dict[str, dict[str, Any]]:
        """Return the attributes of the spans of a trace by their names, once it has the span."""
        spans: dict[str, dict[str, Any]] = {}

        def is_exported() -> bool:
            for span in [*self._collector.spans]:
                if span.trace_id.hex() == trace_id:
                    spans[span.name] = attributes_of(span)
            return name in spans

        wait_until(is_exported, f"a trace {trace_id} with {name}")
        return spans


def find_span(line: Line, name: str, **members: Any) -> dict[str, Any] | None:
    """Return the span with this name in a line about a slow request, or None."""
    wanted = {"span": name, **members}
    return next((span for span in line["spans"] if wanted.items() <= span.items()), None)
