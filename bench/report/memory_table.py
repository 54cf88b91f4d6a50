"""The results of `bench.memory`, and their table."""

from collections.abc import Sequence

import msgspec

from bench.report.tables import ReportTable


class MemorySample(msgspec.Struct, frozen=True, kw_only=True):
    """What a response cache has cost, in megabytes."""

    shape: str
    encodings: str
    requests: int
    body_mb: float
    """Of all bodies sent; the cache holds them as far as it has room."""
    cache_mb: int
    grown_mb: float
    """By which the gateway has grown in resident memory."""
    uncached_mb: float
    """By which one without the cache has grown."""

    @property
    def cost(self) -> float:
        """What each configured megabyte takes."""
        return (self.grown_mb - self.uncached_mb) / self.cache_mb


def build_table(samples: Sequence[MemorySample]) -> ReportTable:
    """Return the table of all samples."""
    return ReportTable(
        "Memory of the response cache",
        (
            *("response", "encodings", "responses", "MB of bodies", "cache, MB"),
            *("grown, MB", "without the cache", "for each MB"),
        ),
        [
            (
                *(sample.shape, sample.encodings, f"{sample.requests:,}", f"{sample.body_mb:.1f}"),
                *(str(sample.cache_mb), f"{sample.grown_mb:.1f}", f"{sample.uncached_mb:.1f}"),
                f"{sample.cost:.2f}",
            )
            for sample in samples
        ],
        text_columns=2,
        note="Resident memory after as many distinct requests as fill the cache at least.",
    )
