"""`make mutants`: which faults it plants, and which tests it runs for a place."""

from pathlib import Path

import pytest

from tools.mutants.places import Place, choose_places, find_places, plant
from tools.mutants.reach import Reach, add_probes, order_tests

SOURCE = """
LIMIT = 3

def is_within(é, size: int = 10, *, strict: bool):
    '''Say 1 < 2.'''
    if (0 <= é
            < size) and not strict:
        return f"{é < 1}"
    return é not in (LIMIT,)
"""


def written(kind: str) -> list[str]:
    """What stands at the first line that each fault of a kind changes."""
    places = [place for place in find_places("routing/example.py", SOURCE) if place.kind == kind]
    changed = [plant(SOURCE, place) or "" for place in places]
    lines = [zip(text.splitlines(), SOURCE.splitlines(), strict=False) for text in changed]
    return [next(new.strip() for new, old in pairs if new != old) for pairs in lines]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            "turned",
            ["if (0 > é", ">= size) and not strict:", "return é in (LIMIT,)"],
        ),
        ("moved", ["if (0 < é", "<= size) and not strict:"]),
        ("dropped", ["if (True) and not strict:", "< size) and True:"]),
        (
            "constant",
            [
                "LIMIT = 4",
                "def is_within(é, size: int = 11, *, strict: bool):",
                "if (1 <= é",
            ],
        ),
    ],
)
def test_faults_of_each_kind_are_planted(kind: str, expected: list[str]) -> None:
    assert sorted(written(kind)) == sorted(expected)


def example(root: Path, source: str = SOURCE) -> Path:
    (root / "routing").mkdir(exist_ok=True)
    (root / "routing" / "example.py").write_text(source)
    return root


def test_the_same_seed_chooses_the_same_places_in_equal_shares(tmp_path: Path) -> None:
    example(tmp_path)
    chosen = choose_places(tmp_path, 8, seed=1)
    assert chosen == choose_places(tmp_path, 8, seed=1)
    assert [place.kind for place in chosen] == [
        kind for kind in ("turned", "moved", "dropped", "constant") for _ in range(2)
    ]


def constant() -> Place:
    return next(p for p in find_places("routing/example.py", SOURCE) if p.old == "3")


def test_a_place_is_found_again_where_other_lines_have_changed() -> None:
    assert "LIMIT = 4" in (plant(f"import ast\n{SOURCE}", constant()) or "")
    assert plant(SOURCE.replace("LIMIT = 3", "LIMIT = 5"), constant()) is None


def test_a_constant_is_probed_in_the_functions_that_mention_it(tmp_path: Path) -> None:
    add_probes(example(tmp_path), [constant()])
    probed = (tmp_path / "routing" / "example.py").read_text().splitlines()
    at = probed.index("    '''Say 1 < 2.'''")
    assert probed[at + 1] == '    __import__("floorgate_probe").note(0)'


def test_tests_of_the_module_run_first_and_the_dear_ones_not_at_all() -> None:
    mirror, beside = "tests/routing/test_example.py::test_a", "tests/routing/test_b.py::test_b"
    far, dear, other = (f"tests/rest/test_{name}.py::test" for name in ("far", "dear", "other"))
    seconds = {far: 1.0, dear: 50.0, other: 0.1, beside: 2.0, mirror: 3.0}
    reach = Reach(seconds, {7: [far, dear]})
    assert order_tests(constant(), 7, reach, 40) == [[mirror], [far]]
    assert order_tests(constant(), 7, reach, 100) == [[mirror], [far, dear, beside]]
