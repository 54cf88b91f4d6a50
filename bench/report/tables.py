"""Tables that can be shown on a terminal and in Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

NO_VALUE = "–"
"""Cell for a workload that a peer does not serve."""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A title, a header, and rows; the first `text_columns` columns are aligned left."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: int = 1
    note: str = ""

    def to_rich_table(self) -> Table:
        """Return the table for a terminal."""
        table = Table(title=self.title, caption=self.note or None)
        for at, name in enumerate(self.header):
            table.add_column(name, justify="left" if at < self.text_columns else "right")
        for row in self.rows:
            table.add_row(*row)
        return table

    def to_markdown(self) -> str:
        """Return the table for a page, without the title."""
        rule = ["---" if at < self.text_columns else "--:" for at in range(len(self.header))]
        lines = [f"| {' | '.join(row)} |" for row in (self.header, rule, *self.rows)]
        return "\n".join(lines) + (f"\n\n{self.note}" if self.note else "")


def format_figure(value: float) -> str:
    """Format a number with three significant digits, or more from 1,000.

    >>> format_figure(0.12345), format_figure(12.345), format_figure(12345)
    ('0.12', '12.3', '12,345')
    """
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
