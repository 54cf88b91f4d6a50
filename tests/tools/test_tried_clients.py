"""The table of tools that have read the APIs, and the tools that would be run again."""

from tools.tried_clients import PAGE, read_rows, read_tools


def test_the_table_has_what_was_run_with_these_versions() -> None:
    """`make tried-clients` brings it up to date; with NAMES, only these tools."""
    rows = [row[: -len("YYYY-MM-DD |")] for row in read_rows(PAGE.read_text()).values()]
    assert rows == [tool.write_row("").removesuffix(" |") for tool in read_tools()]
