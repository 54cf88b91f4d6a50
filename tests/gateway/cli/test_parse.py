"""`floorgate parse` prints what is read from a drawing, or says what is wrong with it and where."""

from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from parsing.svg.unit_map import parse_unit_map
from resolvers.processes.cpu_limit import limit_cpu_time
from tests.gateway.cli.commands import assert_explains, floorgate, output_of

cli_parse = import_module("gateway.cli.commands.parse")

DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100">'
    '<g data-type="UnitLayer"><rect id="\N{LATIN SMALL LETTER E WITH ACUTE}1" x="1" width="40"'
    ' height="80" fill="red"/></g></svg>'
)


@pytest.fixture
def drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A drawing in the current directory."""
    monkeypatch.chdir(tmp_path)
    path = Path("plan.svg")
    path.write_text(DRAWING, encoding="utf-8")
    return path


def test_a_drawing_is_printed_as_json(drawing: Path) -> None:
    printed = output_of(floorgate("parse", drawing))
    assert printed == parse_unit_map(DRAWING.encode()).to_dict()
    [layer] = printed["elements"]
    [unit] = layer["elements"]
    assert (unit["type"], unit["id"]) == ("Unit", "\N{LATIN SMALL LETTER E WITH ACUTE}1")


def test_the_printed_svg_is_a_drawing_of_the_same_map(drawing: Path) -> None:
    printed = floorgate("parse", "--svg", drawing)
    assert printed.exit_code == 0
    assert printed.stdout.startswith("<svg ")
    Path("printed.svg").write_text(printed.stdout, encoding="utf-8")
    assert floorgate("parse", "printed.svg").stdout == floorgate("parse", drawing).stdout


def test_a_drawing_that_takes_too_much_cpu_time_is_refused(
    drawing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_parse, "limit_cpu_time", partial(limit_cpu_time, 0.01))
    drawing.write_text(f"<svg>{'<g><path/></g>' * 50_000}</svg>")
    refused = floorgate("parse", drawing)
    assert refused.exit_code == 1
    assert "plan.svg: the drawing takes over 0.01 seconds of CPU time" in refused.stderr


def test_parsing_leaves_no_files(drawing: Path) -> None:
    floorgate("parse", drawing)
    assert [*Path().iterdir()] == [drawing]


@pytest.mark.parametrize("svg", [[], ["--svg"]])
@pytest.mark.parametrize(
    ("content", "explanation"),
    [
        ('<svg xmlns="http://www.w3.org/2000/svg">\n <g>', "plan.svg: line 2, column "),
        ("", "plan.svg: "),
        ("<html/>", "plan.svg: line 1, column 1: "),
        ('<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]><svg>&a;</svg>', "plan.svg: "),
    ],
)
def test_a_drawing_that_cannot_be_read_is_explained_with_its_position(
    drawing: Path, svg: list[str], content: str, explanation: str
) -> None:
    drawing.write_text(content)
    assert_explains(floorgate("parse", *svg, drawing), 1, explanation)


@pytest.mark.parametrize(
    ("arguments", "status", "explanation"),
    [
        (["missing.svg"], 1, "missing.svg: No such file or directory"),
        (["."], 1, ".: Is a directory"),
        (["plan.svg/x"], 1, "plan.svg/x: Not a directory"),
        ([], 2, "Missing argument 'FILE.svg'"),
        (["plan.svg", "other.svg"], 2, "unexpected extra argument"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    drawing: Path, arguments: list[str], status: int, explanation: str
) -> None:
    assert_explains(floorgate("parse", *arguments), status, explanation)
