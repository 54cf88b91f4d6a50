"""`floorgate parse` and `describe`: what is read from a drawing, or what is wrong and where."""

import gc
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from graphql import build_schema

from parsing.svg import unit_map
from parsing.svg.unit_map import parse_unit_map
from resolvers.processing import task_process
from resolvers.processing.task_process import limit_cpu_time
from schema.root import build_sdl
from storage.bundles.description import build_bundle_schema
from tests.endpoints import ENDPOINTS
from tests.gateway.cli.commands import assert_explains, floorgate, output_of

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
    monkeypatch.setattr(task_process, "limit_cpu_time", partial(limit_cpu_time, 0.01))
    drawing.write_text(f"<svg>{'<g><path/></g>' * 50_000}</svg>")
    gc.collect()  # else the signal could arrive while what other tests have left is collected
    refused = floorgate("parse", drawing)
    assert refused.exit_code == 1
    assert "plan.svg: the drawing takes over 0.01 seconds of CPU time" in refused.stderr


@pytest.mark.parametrize("svg", [[], ["--svg"]])
def test_a_drawing_that_cannot_be_read_is_explained_with_its_position(
    drawing: Path, svg: list[str]
) -> None:
    drawing.write_text('<svg xmlns="http://www.w3.org/2000/svg">\n <g>')
    assert_explains(floorgate("parse", *svg, drawing), 1, "plan.svg: line 2, column ")


@pytest.mark.parametrize(
    ("arguments", "status", "explanation"),
    [
        (["missing.svg"], 1, "missing.svg: No such file or directory"),
        ([], 2, "Missing argument 'FILE.svg...'"),
        (["plan.svg", "-o", "plan.svg"], 2, "plan.svg would be overwritten"),
        (["plan.svg", "b.svg", "-o", "c"], 2, "c is not a directory"),
        (["plan.svg", "a/plan.svg", "-o", "."], 2, "would be written to plan.json"),
        (["plan.svg", "-o", "missing/plan.json"], 1, "missing/plan.json: No such file"),
        (["-", "-"], 2, "- is given twice"),
        (["--check", "--svg", "plan.svg"], 2, "--check prints no map"),
        (["--svg", "--pretty", "plan.svg"], 2, "--pretty is for JSON"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    drawing: Path, arguments: list[str], status: int, explanation: str
) -> None:
    assert_explains(floorgate("parse", *arguments), status, explanation)


LOSSY = DRAWING.replace("</svg>", '\n<text>1</text><text>1</text>\n<g id="Unit Layer"/></svg>')
PICTURE = '<svg viewBox="0 0 9 9"><image width="9" height="9"/></svg>'


def test_warnings_go_to_standard_error_one_line_a_cause(drawing: Path) -> None:
    drawing.write_text(LOSSY, encoding="utf-8")
    printed = floorgate("parse", drawing)
    assert (printed.exit_code, output_of(printed)["type"]) == (0, "application/vnd.map+json")
    assert printed.stderr.splitlines() == [
        "Warning: plan.svg: line 3: the name of a group is not read, because the drawing uses "
        "data-type: 'Unit Layer' would be a UnitLayer",
        "Warning: plan.svg: the drawing has no Level",
        "Warning: plan.svg: line 2: text is left out: <text>, and 1 more",
    ]


def test_standard_input_is_read(drawing: Path) -> None:
    assert floorgate("parse", "-", stdin=DRAWING).stdout == floorgate("parse", drawing).stdout
    refused = floorgate("parse", "-", stdin="<svg>")
    assert_explains(refused, 1, "standard input: line 1")


def test_a_rejected_drawing_does_not_stop_the_others(drawing: Path) -> None:
    Path("broken.svg").write_text("<svg>")
    printed = floorgate("parse", "broken.svg", "missing.svg", drawing)
    assert printed.exit_code == 1
    assert printed.stdout == floorgate("parse", drawing).stdout
    assert "Error: broken.svg: line 1" in printed.stderr
    assert "Error: missing.svg: No such file or directory" in printed.stderr


def test_maps_are_written_to_a_file_or_into_a_directory(drawing: Path) -> None:
    expected = parse_unit_map(DRAWING.encode()).json
    assert floorgate("parse", drawing, "-o", "map.json").stdout == ""
    assert Path("map.json").read_bytes() == expected
    Path("maps").mkdir()
    Path("b.svg").write_text(DRAWING, encoding="utf-8")
    assert floorgate("parse", drawing, "b.svg", "-", "-o", "maps", stdin=DRAWING).exit_code == 0
    assert {path.name: path.read_bytes() for path in Path("maps").iterdir()} == dict.fromkeys(
        ("plan.json", "b.json", "stdin.json"), expected
    )
    floorgate("parse", drawing, "--svg", "-o", "maps")
    assert Path("maps/plan.svg").read_text(encoding="utf-8").startswith("<svg ")


def test_pretty_json_of_several_drawings_needs_a_directory(drawing: Path) -> None:
    Path("b.svg").write_text(DRAWING, encoding="utf-8")
    assert_explains(floorgate("parse", "--pretty", drawing, "b.svg"), 2, "give -o a directory")
    assert floorgate("parse", "--pretty", drawing, "b.svg", "-o", ".").exit_code == 0
    assert Path("b.json").read_text(encoding="utf-8").startswith("{\n")


def test_check_prints_places_remedies_and_a_summary_and_no_map(drawing: Path) -> None:
    drawing.write_text(LOSSY.replace("<text>1</text>", "<text>1</text>" * 10), encoding="utf-8")
    checked = floorgate("parse", "--check", drawing)
    assert (checked.exit_code, checked.stderr) == (0, "")
    lines = checked.stdout.splitlines()
    assert lines[0].startswith("plan.svg:3:1: warning: the name of a group is not read")
    assert "plan.svg:2:15: warning: text is left out: <text> [text]" in lines
    assert "plan.svg: warning: and 10 more [text]" in lines
    assert lines[-1] == "plan.svg: 0 levels, 1 unit, 0 hit areas, 0 other shapes; 22 warnings"


def test_a_check_fails_if_a_drawing_is_rejected_and_with_strict_if_there_are_warnings(
    drawing: Path,
) -> None:
    assert floorgate("parse", "--check", "--strict", drawing).exit_code == 1
    clean = Path(__file__).parents[3] / "tests/parsing/drawings/unit-map.svg"
    assert floorgate("parse", "--check", clean).exit_code == 0
    Path("noted.svg").write_text(
        '<svg><g id="Level 1"><g id="UnitLayer"><rect id="1" width="9" height="9"/></g></g></svg>'
    )
    noted = floorgate("parse", "--check", "--strict", "noted.svg")
    assert (noted.exit_code, "no warnings" in noted.stdout) == (0, True)  # notes alone do not fail
    drawing.write_text("<svg>\n<")
    checked = floorgate("parse", "--check", drawing, clean)
    assert checked.exit_code == 1
    assert checked.stdout.startswith("plan.svg:2:2: error: not well-formed XML")
    assert "unit-map.svg: 1 level, 3 units" in checked.stdout


def test_a_check_as_json(drawing: Path) -> None:
    drawing.write_text(LOSSY.replace("<text>", '<text x="3" y="4">', 1), encoding="utf-8")
    Path("broken.svg").write_text("<svg>\n<")
    checked = floorgate("parse", "--check", "--json", drawing, "broken.svg")
    first, second = json.loads(checked.stdout)
    assert first["summary"] == {"levels": 0, "units": 1, "hit_areas": 0, "shapes": 0}
    text = first["warnings"][-1]
    assert (text["code"], text["count"], text["is_note"]) == ("text", 2, False)
    [place, *_] = text["places"]
    assert (place["line"], place["element"]) == (2, "text")
    assert (place["level_index"], place["x"], place["y"]) == (None, 3, 4)
    assert (second["file"], second["error"]["line"]) == ("broken.svg", 2)
    assert (second["summary"], second["warnings"], checked.exit_code) == (None, [], 1)


def test_a_plan_that_is_a_picture_has_to_be_forced(drawing: Path) -> None:
    drawing.write_text(PICTURE)
    assert_explains(floorgate("parse", drawing), 1, "images cover 100% of the canvas", "--force")
    assert output_of(floorgate("parse", "--force", drawing))["elements"] == []


def test_a_fault_of_the_parser_names_the_drawing_and_spares_the_others(
    drawing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(svg: bytes, **options: Any) -> object:
        if b"<rect" not in svg:
            raise KeyError("font")
        return parse_unit_map(svg, **options)

    monkeypatch.setattr(unit_map, "parse_unit_map", parse)
    Path("odd.svg").write_text("<svg/>")
    result = floorgate("parse", "odd.svg", drawing)
    assert result.exit_code == 1
    assert "odd.svg: the parser has a fault; report it: KeyError: 'font'" in result.stderr
    assert '"Unit"' in result.stdout


def test_pictures_show_each_level_with_its_warnings(drawing: Path) -> None:
    levels = "".join(f'<g data-type="Level" id="{id}"><text>A</text></g>' for id in ("a/b", "c"))
    drawing.write_text(DRAWING.replace("</svg>", f"{levels}</svg>"), encoding="utf-8")
    printed = floorgate("parse", "--check", "--pictures", "out", drawing)
    assert printed.exit_code == 0
    names = ["plan.1.a_b.svg", "plan.2.c.svg"]
    assert sorted(path.name for path in Path("out").iterdir()) == names
    assert "text is left out" in Path("out", names[0]).read_text(encoding="utf-8")
    # They are drawings, so they can be parsed; the map is printed as without them.
    assert floorgate("parse", Path("out", names[1])).exit_code == 0
    assert floorgate("parse", "--picture", "out", drawing).stdout == (
        floorgate("parse", drawing).stdout
    )


def test_pictures_replace_no_drawing(drawing: Path) -> None:
    drawing.rename("plan.map.svg")
    Path("plan.svg").write_text(DRAWING, encoding="utf-8")
    refused = floorgate("parse", "--pictures", ".", "plan.svg", "plan.map.svg")
    assert_explains(refused, 2, "plan.map.svg would be overwritten")
    assert Path("plan.map.svg").read_text(encoding="utf-8") == DRAWING


ROOT = Path(__file__).parents[3]
COMMITTED_SCHEMA = ROOT / "schema" / "schema.graphql"
COMMITTED_BUNDLE_SCHEMA = ROOT / "storage" / "bundles" / "bundle.schema.json"


def test_the_schema_is_printed() -> None:
    printed = floorgate("schema").stdout
    assert printed == build_sdl() == COMMITTED_SCHEMA.read_text()
    assert build_schema(printed).query_type


def test_the_schema_of_bundles_is_printed() -> None:
    printed = floorgate("bundle-schema")
    assert output_of(printed) == build_bundle_schema()
    assert printed.stdout == COMMITTED_BUNDLE_SCHEMA.read_text(), "run: make schema"


def describe(*options: str) -> dict[str, Any]:
    described: dict[str, Any] = output_of(floorgate("openapi", *options))
    return described


def test_the_openapi_description_has_every_endpoint_in_both_formats() -> None:
    described = describe()
    assert {row.path for row in ENDPOINTS} <= set(described["paths"])
    printed = floorgate("openapi", "--format", "yaml").stdout
    assert printed.startswith("openapi: 3.1")
    assert yaml.safe_load(printed) == describe("--format", "json") == described


def test_the_description_names_the_address_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "https://maps.example/x"
    assert [each["url"] for each in describe()["servers"]] == ["/"]
    given = describe("--base-url", f"{address}/")
    assert [each["url"] for each in given["servers"]] == [address]
    monkeypatch.setenv("FLOORGATE_BASE_URL", address)
    assert describe() == given


@pytest.mark.parametrize(
    ("arguments", "explanation"),
    [
        (["openapi", "--format", "xml"], "'xml' is not one of 'json', 'yaml'"),
        (["openapi", "--base-url", "maps.example"], "must be an https URL"),
        (["openapi", "--database", "d"], "No such option"),  # it needs none
        (["schema", "--format", "json"], "No such option"),
        (["schema", "more"], "unexpected extra argument"),
    ],
)
def test_a_wrong_usage_is_explained(arguments: list[str], explanation: str) -> None:
    assert_explains(floorgate(*arguments), 2, explanation)
