"""Tables of what was measured: on a terminal, in files of figures, on the documentation's pages.

`docs/performance.json` has all tables of each experiment's last run that was written there. A page
shows some of them, between markers that name the experiment:

    <!-- measured: staleness -->
    ...
    <!-- /measured: staleness -->

`python -m bench.report` writes the tables of the data file into docs/performance.md.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
PERFORMANCE_PAGE = ROOT / "docs" / "performance.md"
FIGURES = PERFORMANCE_PAGE.with_suffix(".json")
COST_TITLE = "Server CPU, ms per request"
PIPED_COLUMNS = 160
NO_VALUE = "–"
"""Cell for what there is not, as for a workload that a peer does not serve."""


class MissingMarkersError(Exception):
    """A page lacks the markers for the figures."""


class ReportTable(msgspec.Struct, frozen=True):
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


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of a run of an experiment, and what they were measured with."""

    taken_at: str
    machine: dict[str, Any]
    options: dict[str, Any]
    tables: list[ReportTable]


def format_figure(value: float) -> str:
    """Format a number with three significant digits, or more from 1,000.

    >>> format_figure(0.12345), format_figure(12.345), format_figure(12345), format_figure(0)
    ('0.12', '12.3', '12,345', '0.0')
    """
    if not value:
        return "0.0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    size = abs(value)
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 else f"{value:.3f}"


def tabulate(title: str, rows: Sequence[Mapping[str, Any]], note: str = "") -> ReportTable:
    """Return a table with a line for each row, and a column for each field of the first one.

    Texts, up to the first field that is none, are aligned left. Where two columns have the same
    name, one of the fields ends with a space.

    >>> tabulate("", [{"of": "a", "ms": (1.0, 12.345), "requests": 1234, "met": True}]).rows
    [['a', '1.00 / 12.3', '1,234', 'yes']]
    """
    names = [*rows[0]] if rows else []
    filled = [[_format_cell(row.get(name)) for name in names] for row in rows]
    figures = [at for at, name in enumerate(names) if not isinstance(rows[0][name], str)]
    text_columns = max(1, min([*figures, len(names)]))
    return ReportTable(title, [name.rstrip() for name in names], filled, text_columns, note)


def _format_cell(value: Any) -> str:
    match value:
        case None:
            return NO_VALUE
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return format_figure(value)
        case tuple() | list():
            cells = [_format_cell(each) for each in value]
            return NO_VALUE if {*cells} == {NO_VALUE} else " / ".join(cells)
    return str(value)


def print_tables(tables: Iterable[ReportTable], columns: int = PIPED_COLUMNS) -> None:
    """Print tables, as wide as the terminal, or as many columns if there is none."""
    console = Console(width=None if sys.stdout.isatty() else columns)
    for table in tables:
        console.print(table.to_rich_table())


def read_records(path: Path) -> dict[str, Record]:
    """Return what a file of figures has, by the names of experiments; nothing if it is not there.

    Raises msgspec.DecodeError.
    """
    if not path.exists():
        return {}
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Record])


def write_record(path: Path, name: str, record: Record) -> None:
    """Replace the record of an experiment in a file of figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    records = read_records(path) | {name: record}
    # A line for each row: a table is as readable as its file is short.
    lines = re.sub(rb"(?<=[\]}]),(?=[\[{\"])", b",\n", msgspec.json.encode(records))
    path.write_bytes(lines + b"\n")


# Pages


def rewrite_section(page: Path, name: str, content: str) -> None:
    """Replace the content between a page's markers. Raises MissingMarkersError."""
    page.write_text(replace_section(page.read_text(), name, content, page.name))


def replace_section(text: str, name: str, content: str, page: str = "the page") -> str:
    """Return `text` with new content between its markers. Raises MissingMarkersError."""
    begin, end = f"<!-- measured: {name} -->", f"<!-- /measured: {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.S)
    if len(pattern.findall(text)) != 1:
        raise MissingMarkersError(f"{page} must have {begin} and, behind it, {end}, once each")
    return pattern.sub(lambda _: f"{begin}\n{content}\n{end}", text)


def render_page(text: str, records: Mapping[str, Record]) -> str:
    """Return a page with the tables that its markers name. Raises MissingMarkersError."""
    for name in re.findall(r"<!-- measured: ([\w-]+) -->", text):
        text = replace_section(text, name, _render_block(name, records))
    return text


def _render_block(name: str, records: Mapping[str, Record]) -> str:
    """Return the first table of an experiment; of the comparison there are two blocks."""
    if name == "ratios":
        return records["peers"].tables[0].to_markdown()
    if name == "details":
        return find_cost_table(records["peers"]).to_markdown()
    if name not in records:
        raise MissingMarkersError(f"{FIGURES.name} has no experiment {name!r} for the page")
    return records[name].tables[0].to_markdown()


def find_cost_table(record: Record) -> ReportTable:
    """Return the table of the comparison that readers look figures up in."""
    return next(table for table in record.tables if table.title == COST_TITLE)


def write_page() -> None:
    """Show what the data file has on the page."""
    text = PERFORMANCE_PAGE.read_text()
    PERFORMANCE_PAGE.write_text(render_page(text, read_records(FIGURES)))


if __name__ == "__main__":
    write_page()
