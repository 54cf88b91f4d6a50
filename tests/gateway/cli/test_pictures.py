"""`floorgate maps picture` at the command line."""

from pathlib import Path

import pytest

from tests.gateway.cli.commands import assert_explains, floorgate
from tests.gateway.floorgate_process import storage_options
from tests.resolvers.yard import write_bundle

pytestmark = pytest.mark.slow


def test_a_level_is_drawn_with_a_route(mongo_url: str, database_name: str, tmp_path: Path) -> None:
    storage = storage_options(mongo_url, database_name, tmp_path)
    assert floorgate("import", write_bundle(tmp_path), *storage).exit_code == 0
    assert floorgate("maps", "process", "yard", *storage).exit_code == 0
    ends = ["--from", "5,5,lower", "--to", "5,5,upper", "--mode", "wheelchair"]

    plain = floorgate("maps", "picture", "yard", *storage)
    assert plain.exit_code == 0, plain.stderr
    assert plain.stdout.startswith("<svg ")
    assert "<polyline" not in plain.stdout

    file = tmp_path / "upper.svg"
    drawn = floorgate("maps", "picture", "yard", "--level", "upper", *ends, "-o", file, *storage)
    assert (drawn.exit_code, drawn.stdout) == (0, ""), drawn.stderr
    assert 'fill="#c92a2a"' in file.read_text()

    avoid = ["--avoid", "lifts", "--avoid", "stairs"]
    nowhere = floorgate("maps", "picture", "yard", *ends, *avoid, *storage)
    assert nowhere.exit_code == 0, nowhere.stderr
    assert "<polyline" not in nowhere.stdout

    pixels = tmp_path / "lower.png"
    floorgate("maps", "picture", "yard", "--width", "99", "-o", pixels, *storage)
    assert pixels.read_bytes().startswith(b"\x89PNG")

    for arguments, message in (
        (["none"], "there is no map 'none'"),
        (["plain"], "the map 'plain' has no drawing"),
        (["yard", "--unit", "none"], "unit: 'none' is not drawn there"),
        (["yard", "--from", "5,5,lower"], "to: must be given too, as from is"),
    ):
        assert_explains(floorgate("maps", "picture", *arguments, *storage), 1, message)
