"""Commands run within this process, which is quick, and what they print."""

import io
import json
from typing import Any

from click.testing import CliRunner, Result

from gateway.cli.main import main


def floorgate(*arguments: object, stdin: str | None = None, columns: int = 200) -> Result:
    """Runs a command; `columns` is the width of the terminal."""
    runner = CliRunner(env={"COLUMNS": str(columns)})
    return runner.invoke(main, [*map(str, arguments)], input=stdin, prog_name="floorgate")


def run_at_terminal(*arguments: object, answer: str) -> Result:
    """Runs a command whose standard input is a terminal, where this answer is given."""

    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    runner = CliRunner(env={"COLUMNS": "200"})
    terminal = Terminal(answer.encode())
    return runner.invoke(main, [*map(str, arguments)], input=terminal, prog_name="floorgate")


def output_of(run: Result) -> Any:
    """What a command that worked printed as JSON."""
    assert run.exit_code == 0, run.stderr
    return json.loads(run.stdout)


def assert_explains(run: Result, status: int, *parts: str) -> None:
    """A failure ends with its status and a sentence, never with a traceback."""
    assert run.exit_code == status, run.stderr
    assert run.stdout == ""
    for part in ("Error: ", *parts):
        assert part in run.stderr
    assert "Traceback" not in run.stderr
    assert "internal error" not in run.stderr
